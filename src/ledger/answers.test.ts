import { beforeEach, expect, test } from 'vitest'
import { AssertionFailed } from '../kernel/assert.ts'
import { Fault } from '../kernel/errors.ts'
import { microcredits } from '../kernel/money.ts'
import type { Applier } from './applier.ts'
import { createLedger, type Ledger } from './ledger.ts'
import type { Applied, Operation } from './operations.ts'

/** What the next operations are answered, and what was asked. */
let answers: Array<Partial<Applied> | Error>
let asked: Operation[]
let abandoned: Set<bigint>
let ledger: Ledger
beforeEach(() => {
  answers = []
  asked = []
  abandoned = new Set()
  const applier: Applier = {
    async submit(operation) {
      asked.push(operation)
      const answer = answers.shift()
      if (answer instanceof Error) throw answer
      return { status: 'captured', amountMicro: undefined, availableMicro: 7n, detail: undefined, ...answer }
    },
    depth: 0,
    abandoned,
    failing: false,
    drained: async () => true,
    close: async () => undefined,
  }
  let next = 0n
  ledger = createLedger(applier, {
    next: async () => (next += 1n),
    get lowest() {
      return next + 1n
    },
  })
})

const reserve = async (given: { detached?: boolean } = {}) =>
  ledger.reserve({
    holdId: await ledger.nextHoldId(),
    requestId: 'request',
    actorAccountId: 1n,
    credential: { kind: 'operator', id: 1n },
    wantedMicro: microcredits(20n),
    minimumMicro: microcredits(10n),
    category: 'chat',
    subject: 'demo',
    detail: null,
    ...given,
  })
const capture = (holdId: bigint) =>
  ledger.end({ operation: 'capture', holdId, actualMicro: microcredits(5n), outcome: 'success', usage: null })

test.each([10n, 20n])('a hold of %s, from the least that was asked to the most, is granted', async (amountMicro) => {
  answers.push({ status: 'reserved', amountMicro })
  expect(await reserve()).toEqual({ kind: 'reserved', reserveMicro: amountMicro, availableMicro: 7n })
})

test.each([9n, 21n, undefined])('a hold of %s, which nobody asked for, is a fault and no hold', async (amountMicro) => {
  answers.push({ status: 'reserved', amountMicro })
  await expect(reserve()).rejects.toThrow(AssertionFailed)
  expect([...ledger.openHoldIds]).toEqual([])
})

test.each(['captured', 'voided', 'already_resolved', 'conflict', 'hold_not_found'] as const)(
  'a reserve that is answered as %s is a fault and no hold',
  async (status) => {
    answers.push({ status, amountMicro: 10n })
    await expect(reserve()).rejects.toThrow(AssertionFailed)
    expect([...ledger.openHoldIds]).toEqual([])
  },
)

test.each(['reserved', 'unauthorized', 'conflict', 'hold_not_found'] as const)(
  'an end that is answered as %s is a fault: its hold stays open, and is not ended in another way',
  async (status) => {
    answers.push({ status: 'reserved', amountMicro: 10n }, { status })
    await reserve()
    await expect(capture(1n)).rejects.toThrow(AssertionFailed)
    expect([...ledger.openHoldIds]).toEqual([1n])
    expect(asked).toHaveLength(2)
  },
)

test.each([
  ['captured', 'captured'],
  ['voided', 'voided'],
  ['shortfall', 'shortfall'],
  ['usage_unknown', 'usage_unknown'],
  ['already_resolved', 'other'],
] as const)('an end that is answered as %s leaves the hold %s, with what can be spent', async (status, kind) => {
  answers.push({ status })
  expect(await capture(1n)).toEqual({ kind, availableMicro: 7n })
  answers.push({ status, availableMicro: undefined })
  expect(await capture(1n)).toEqual({ kind, availableMicro: 0n })
})

test('a reserve of a process that counts as ended is told to come again', async () => {
  answers.push({ status: 'process_ended' })
  await expect(reserve()).rejects.toMatchObject({ code: 'unavailable', retryAfterMs: 5000 })
})

test('a refusal says what can be spent and its numbers, and nothing where the database says nothing', async () => {
  answers.push({ status: 'budget_exceeded', detail: { limit: 'daily' } })
  expect(await reserve()).toEqual({ kind: 'budget_exceeded', availableMicro: 7n, detail: { limit: 'daily' } })
  answers.push({ status: 'account_banned', availableMicro: undefined })
  expect(await reserve()).toEqual({ kind: 'account_banned', availableMicro: 0n, detail: {} })
})

test('holds of this process are those that were granted and not ended, without the detached, the refused and the failed', async () => {
  answers.push({ status: 'reserved', amountMicro: 10n })
  await reserve()
  answers.push({ status: 'reserved', amountMicro: 10n })
  await reserve({ detached: true })
  answers.push({ status: 'insufficient_credits' })
  await reserve()
  answers.push(new Fault('overloaded'))
  await expect(reserve()).rejects.toThrow(Fault)
  answers.push({ status: 'reserved', amountMicro: 10n })
  await reserve()
  expect([...ledger.openHoldIds]).toEqual([1n, 5n])
  expect(ledger.oldestOpenHoldId).toBe(1n)
  await capture(1n)
  expect([...ledger.openHoldIds]).toEqual([5n])
  expect(ledger.oldestOpenHoldId).toBe(5n)
  abandoned.add(4n)
  expect(ledger.oldestOpenHoldId).toBe(4n)
})

test('a capture that the database refuses is marked as unknown with its amount; what was refused otherwise stays as it is', async () => {
  answers.push(new Error('numeric value out of range'), { status: 'usage_unknown' })
  expect(await capture(3n)).toMatchObject({ kind: 'usage_unknown' })
  expect(asked[1]).toEqual({ operation: 'unknown', holdId: 3n, reason: 'its capture of 5 was refused' })
  answers.push(new Fault('unavailable'))
  await expect(capture(3n)).rejects.toMatchObject({ code: 'unavailable' })
  answers.push(new Error('refused'))
  await expect(ledger.end({ operation: 'void', holdId: 3n, outcome: 'failed' })).rejects.toThrow('refused')
  expect(asked).toHaveLength(4)
})

test('an end that failed keeps its hold open, unless the applier goes on with it', async () => {
  answers.push({ status: 'reserved', amountMicro: 10n }, new Fault('unavailable'))
  await reserve()
  await expect(capture(1n)).rejects.toThrow(Fault)
  expect([...ledger.openHoldIds]).toEqual([1n])
  abandoned.add(1n)
  answers.push(new Fault('unavailable'))
  await expect(capture(1n)).rejects.toThrow(Fault)
  expect([...ledger.openHoldIds]).toEqual([])
})
