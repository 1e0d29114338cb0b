import { afterAll, beforeAll, expect, test } from 'vitest'
import { freshDatabase, type TestDatabase } from '../../test/database.ts'
import { ledgerFixture } from '../../test/ledger-fixture.ts'
import type { Tx } from '../db/database.ts'
import { microcredits } from '../kernel/money.ts'
import { heldByState } from './held.ts'
import { endHold } from './hold-end.ts'
import { decideRefund, refundCall } from './refunds.ts'
import { endGrantHold, holdGrant } from './review-holds.ts'

let database: TestDatabase
let make: ReturnType<typeof ledgerFixture>
beforeAll(async () => {
  database = await freshDatabase()
  make = ledgerFixture(database)
})
afterAll(() => database.drop())

const within = <T>(work: (tx: Tx) => Promise<T>): Promise<T> => database.db.transaction().execute(work)
const buckets = (account: bigint) =>
  database.sql(
    'select kind, posted_micro::int as posted, held_micro::int as held from buckets where account_id = $1 order by id',
    [account],
  )

test('the review of a payment holds what that payment gave, and nothing of another', async () => {
  const account = await make.account('agent')
  await make.grant(account, 300n, { bucket: 'promo' })
  const { grantId } = await make.grant(account, 100n)
  expect(await within((tx) => holdGrant(tx, grantId))).toEqual({ holdId: expect.any(BigInt), heldMicro: 100n })
  expect(await buckets(account)).toEqual([
    { kind: 'promo', posted: 300, held: 0 },
    { kind: 'purchased', posted: 100, held: 100 },
  ])
  expect(await heldByState(database.db)).toEqual({ in_flight: 0, usage_unknown: 0, pending_settlement: 0, review: 100 })
})

test('what a review held is given back, or taken for good and once; where nothing was left there is no hold', async () => {
  const account = await make.account('agent')
  const { grantId } = await make.grant(account, 100n)
  const held = await within((tx) => holdGrant(tx, grantId))
  expect(await within((tx) => holdGrant(tx, grantId))).toEqual({ holdId: null, heldMicro: 0n })
  const end = (holdId: bigint | null, take: boolean) =>
    within((tx) =>
      endGrantHold(tx, { holdId: holdId as bigint, grantId }, { take, by: 'operator:test', reason: 'a test' }),
    )
  expect(await end(held.holdId, false)).toBe(0n)
  expect(await buckets(account)).toEqual([{ kind: 'purchased', posted: 100, held: 0 }])
  const again = await within((tx) => holdGrant(tx, grantId))
  expect(await end(again.holdId, true)).toBe(100n)
  expect(await end(again.holdId, true)).toBe(100n)
  expect(await buckets(account)).toEqual([{ kind: 'purchased', posted: 0, held: 0 }])
})

test('the end that people give a hold becomes true with what they do beside it, or not at all', async () => {
  const account = await make.account('agent')
  await make.grant(account, 100n)
  const { id } = await make.hold(await make.key(account), 60n)
  await make.unknown(id)
  const end = {
    operation: 'capture',
    holdId: id,
    actualMicro: microcredits(25n),
    outcome: 'success',
    usage: null,
    resolvedBy: 'operator:test',
    reason: 'a test',
  } as const
  const undone = within(async (tx) => {
    await endHold(tx, end)
    throw new Error('what was done beside it failed')
  })
  await expect(undone).rejects.toThrow('beside it')
  expect(await buckets(account)).toEqual([{ kind: 'purchased', posted: 100, held: 60 }])
  expect(await within((tx) => endHold(tx, end))).toEqual({
    status: 'captured',
    amountMicro: 25n,
    availableMicro: 75n,
    detail: undefined,
  })
  expect(await within((tx) => endHold(tx, { ...end, holdId: 999_999n }))).toMatchObject({
    status: 'hold_not_found',
    amountMicro: undefined,
    availableMicro: undefined,
  })
  expect(await database.sql('select resolved_by, reason from hold_resolutions where hold_id = $1', [id])).toEqual([
    { resolved_by: 'operator:test', reason: 'a test' },
  ])
})

test('a refund that was given is decided by no operator', async () => {
  const account = await make.account('agent')
  await make.grant(account, 100n)
  const { id } = await make.hold(await make.key(account), 60n)
  await make.capture(id, 60n, { outcome: 'failed' })
  const wanted = { callId: id, accountId: account, reason: 'a test' }
  const refunded = await within((tx) => refundCall(tx, wanted))
  const refundId = refunded.kind === 'refunded' ? refunded.refundId : 0n
  expect(await within((tx) => refundCall(tx, wanted))).toEqual({ kind: 'repeated', refundId })
  expect(
    await within((tx) => decideRefund(tx, { refundId, word: 'approved', actor: 'operator:test', reason: 'a test' })),
  ).toBe('not_in_review')
})
