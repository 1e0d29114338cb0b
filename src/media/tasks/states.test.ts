import { describe, expect, test } from 'vitest'
import type { Microcredits } from '../../kernel/money.ts'
import { callbackAddresses } from './callbacks.ts'
import { taskIdOf, uuidOf } from './ids.ts'
import { costOf, holdOf, priceRow, readPrice, type TaskPrice } from './price.ts'
import { taskStates } from './schema.ts'
import { isFinal, table } from './states.ts'
import { together } from './together.ts'
import { pollIntervalMs } from './view.ts'

describe('the table of states', () => {
  test('has every state, and no event moves what has ended', () => {
    for (const [event, row] of Object.entries(table)) {
      expect(Object.keys(row).sort()).toEqual([...taskStates].sort())
      for (const state of taskStates.filter(isFinal))
        expect([event, state, row[state]]).toEqual([event, state, event === 'cancel' ? state : 'stale'])
    }
  })

  test('never leads back to waiting, and from generating never back to queuing', () => {
    const order = ['waiting', 'queuing', 'generating', 'success', 'fail', 'canceled']
    for (const row of Object.values(table))
      for (const state of taskStates) {
        const to = row[state]
        if (to !== 'stale' && !isFinal(state)) expect(order.indexOf(to)).toBeGreaterThanOrEqual(order.indexOf(state))
      }
  })
})

describe('a price', () => {
  const price = (unitMicro: bigint, units = 1): TaskPrice => ({
    version: 1,
    unit: 'second',
    unitMicro: unitMicro as Microcredits,
    units,
  })

  test.each([
    [40_000n, 3, 120_000n],
    [100_000n, 4.0405, 404_100n],
    // exact to a thousandth, whatever binary fractions say
    [1_000n, 0.1 + 0.2, 300n],
    [1n, 0.001, 1n],
    [0n, 5, 0n],
    [7n, 0, 0n],
  ])('of %s for %s units is %s, rounded up once', (unit, units, cost) => {
    expect(costOf(price(unit), units)).toBe(cost)
  })

  test.each([Number.NaN, Number.POSITIVE_INFINITY, -1, 1e18])('of %s units is none', (units) => {
    expect(costOf(price(1_000_000n), units)).toBeUndefined()
  })

  test('holds at least one microcredit, and is read as it was written', () => {
    expect(holdOf(price(0n, 4))).toBe(1n)
    expect(holdOf(price(5n, 4))).toBe(20n)
    expect(readPrice(priceRow(price(5n, 4)))).toEqual(price(5n, 4))
  })
})

test('a task id and its UUID are the same thing in two forms, and nothing else is one', () => {
  const uuid = '01a1fb04-c84b-761b-b290-dc3d95aed53b'
  expect(uuidOf(taskIdOf(uuid))).toBe(uuid)
  for (const odd of ['', uuid, 'task_', taskIdOf(uuid).toUpperCase(), `${taskIdOf(uuid)}0`])
    expect(uuidOf(odd)).toBeUndefined()
})

test('a callback address belongs to one attempt, and one digit more or less belongs to none', () => {
  const addresses = callbackAddresses({ pepper: Buffer.alloc(32, 1), publicUrl: () => 'https://x.example' })
  const attempt = '01a1fb04-c84b-761b-b290-dc3d95aed53b'
  const token = addresses.urlOf(attempt).replace('https://x.example/v1/callbacks/', '')
  expect(addresses.attemptOf(token)).toBe(attempt)
  const others = callbackAddresses({ pepper: Buffer.alloc(32, 2), publicUrl: () => '' })
  expect(others.attemptOf(token)).toBeUndefined()
  const forged = (token.startsWith('0') ? '1' : '0') + token.slice(1)
  for (const odd of [forged, token.slice(1), `${token}0`, '']) expect(addresses.attemptOf(odd)).toBeUndefined()
})

test('clients are asked to come back ever more rarely', () => {
  const now = new Date('2026-06-01T00:00:00Z')
  const after = (seconds: number) => pollIntervalMs(new Date(now.getTime() - seconds * 1000), now)
  expect([0, 9, 10, 59, 60, 299, 300, 86_400].map(after)).toEqual([1000, 1000, 2000, 2000, 5000, 5000, 15_000, 15_000])
})

describe('asking together', () => {
  test('takes what is asked while a statement runs into the next, each key once', async () => {
    const batches: (readonly string[])[] = []
    const ask = together<{ id: string }>(
      async (keys) => {
        batches.push(keys)
        await new Promise((resolve) => setImmediate(resolve))
        return keys.filter((key) => key !== 'none').map((id) => ({ id }))
      },
      ({ id }) => id,
    )
    const first = Promise.all([ask('a'), ask('b'), ask('a'), ask('none')])
    expect(await first).toEqual([{ id: 'a' }, { id: 'b' }, { id: 'a' }, undefined])
    expect(batches).toEqual([['a', 'b', 'none']])
  })

  test('tells each who asked when a statement fails, and goes on', async () => {
    let fails = true
    const ask = together<{ id: string }>(
      async (keys) => {
        if (fails) throw new Error('away')
        return keys.map((id) => ({ id }))
      },
      ({ id }) => id,
    )
    await expect(ask('a')).rejects.toThrow('away')
    fails = false
    expect(await ask('a')).toEqual({ id: 'a' })
  })
})
