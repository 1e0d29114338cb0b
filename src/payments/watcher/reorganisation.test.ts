import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { watchedThrough } from '../../../test/chain.ts'
import { orderOf, registeredHash } from '../../../test/orders.ts'
import { openSetting, type Setting } from '../../../test/payment-setting.ts'
import { systemClock } from '../../kernel/clock.ts'
import { systemRandom } from '../../kernel/random.ts'
import { auditLedger } from '../../ledger/audit.ts'
import { decideOrder } from '../orders/review/service.ts'
import { settleTransfers } from './settle.ts'
import * as store from './store.ts'

let setting: Setting
let round: ReturnType<Setting['rounds']>

beforeAll(async () => {
  setting = await openSetting()
  round = setting.rounds()
  await round.once()
})
beforeEach(() => {
  setting.troubles.length = 0
})
afterAll(async () => {
  const totals = await setting.totals()
  expect(totals.granted).toBe(totals.completed)
  expect(await auditLedger(setting.database.db)).toEqual([])
  await setting.stop()
})

const block = async (count = 1) => {
  for (let mined = 0; mined < count; mined += 1) {
    await setting.chain.mine()
    await round.once()
  }
}
const balance = async () => {
  const [row] = await setting.database.sql<{ posted: string; held: string; available: string }>(
    `select coalesce(sum(posted_micro), 0) as posted, coalesce(sum(held_micro), 0) as held, account_available_micro($1) as available
     from buckets where account_id = $1`,
    [setting.accountId],
  )
  return { posted: BigInt(row?.posted ?? 0), held: BigInt(row?.held ?? 0), available: BigInt(row?.available ?? 0) }
}
/** Makes another branch of so many blocks, with transactions at a distance from where it begins. */
const reorganise = (depth: number, transactions: readonly [raw: unknown, at: number][] = []) =>
  setting.chain.rpc('anvil_reorg', depth, transactions)
const raw = (hash: string) => setting.chain.rpc('eth_getRawTransactionByHash', hash)
const order = (id: string) => orderOf(setting.database, id)

test.each([1, 5])(
  '%i blocks deep, before the credit: the order waits again, and the transfer that is mined again pays it',
  async (depth) => {
    const { id, amount } = await setting.order()
    const large = await setting.order({ amount: amount + 3_000_000_000n })
    await block(depth)
    const hash = await setting.chain.pay({ from: setting.payer, amount: large.amount })
    await block()
    const signed = await raw(hash)
    expect(await order(large.id)).toMatchObject({ status: 'confirming', tx_hash: hash })
    await reorganise(depth)
    await block()
    expect(await order(large.id)).toMatchObject({ status: 'confirming', tx_hash: null })
    expect(await setting.transfer(hash)).toMatchObject({ state: 'orphaned' })
    expect(round.status().reorganisations).toBeGreaterThan(0)
    await setting.chain.rpc('eth_sendRawTransaction', signed)
    await block(4)
    expect(await order(large.id)).toMatchObject({ status: 'completed', tx_hash: hash })
    expect((await order(id)).status).toBe('pending')
  },
)

test('that moves a transfer to another block changes nothing but its block', async () => {
  const { id, amount } = await setting.order({ amount: 3_100_000_000n })
  const hash = await setting.chain.pay({ from: setting.payer, amount })
  await block()
  await reorganise(1, [[await raw(hash), 0]])
  await block(4)
  expect(await order(id)).toMatchObject({ status: 'completed', tx_hash: hash })
})

test('after the credit: the order is reviewed, nothing is credited twice when the transfer is mined again, and the review ends', async () => {
  const { id, amount } = await setting.order()
  const hash = await setting.chain.pay({ from: setting.payer, amount })
  await block(2)
  const signed = await raw(hash)
  expect((await order(id)).status).toBe('completed')
  const before = await setting.totals()
  const funds = await balance()
  await reorganise(4)
  await block()
  expect(await balance()).toEqual({
    posted: funds.posted,
    held: funds.held + amount,
    available: funds.available - amount,
  })
  expect(await auditLedger(setting.database.db)).toEqual([])
  expect(await order(id)).toMatchObject({
    status: 'review_required',
    review_reason: 'reorged_after_credit',
  })
  expect(await setting.transfer(hash)).toMatchObject({ state: 'orphaned' })
  await setting.chain.rpc('eth_sendRawTransaction', signed)
  await block(3)
  expect(await order(id)).toMatchObject({
    status: 'completed',
    tx_hash: hash,
    review_resolution: 'restored',
  })
  expect(await setting.totals()).toEqual(before)
  expect(await balance()).toEqual(funds)
  await block(4)
  expect(await setting.transfer(hash)).toMatchObject({ state: 'final' })
})

test('that leaves a shorter chain is followed at once, and not taken for a node that lags', async () => {
  const { id, amount } = await setting.order({ amount: 3_300_000_000n })
  await block(3)
  const hash = await setting.chain.pay({ from: setting.payer, amount })
  await block()
  const signed = await raw(hash)
  expect(await order(id)).toMatchObject({ status: 'confirming', tx_hash: hash })
  await setting.chain.rpc('anvil_rollback', 3)
  await block()
  expect(await order(id)).toMatchObject({ status: 'confirming', tx_hash: null })
  expect(await setting.transfer(hash)).toMatchObject({ state: 'orphaned' })
  await setting.chain.rpc('eth_sendRawTransaction', signed)
  await block(4)
  expect(await order(id)).toMatchObject({ status: 'completed', tx_hash: hash })
})

test('that drops a transaction for good lets another transfer of the payer pay the order', async () => {
  const { id, amount } = await setting.order()
  const first = await setting.chain.pay({ from: setting.payer, amount })
  await block()
  await reorganise(2)
  await block()
  const second = await setting.chain.pay({ from: setting.payer, amount, gasPrice: '0x12a05f200' })
  expect(second).not.toBe(first)
  await block(3)
  expect(await order(id)).toMatchObject({ status: 'completed', tx_hash: second })
})

test('between the scan and the credit: a transfer that is in another block by now is not credited from what was read', async () => {
  const { chain, database, asset } = setting
  const { id, amount } = await setting.order({ amount: 3_200_000_000n })
  const hash = await chain.pay({ from: setting.payer, amount })
  await block()
  await reorganise(1, [[await raw(hash), 0]])
  await chain.mine(6)
  const latest = await chain.height()
  const troubles: unknown[] = []
  const credited = await settleTransfers(
    { db: database.db, clock: systemClock, random: systemRandom },
    watchedThrough([chain.rpcUrl, `${chain.rpcUrl}/`], [asset]),
    { latest, safe: latest, finalized: latest, at: new Date() },
    (error) => troubles.push(error),
  )
  expect(credited).toBe(0)
  expect(troubles).toHaveLength(1)
  await block(2)
  expect(await order(id)).toMatchObject({ status: 'completed', tx_hash: hash })
})

test('the cursor moves only from the very block at which it was read, not from another of the same height', async () => {
  const { db } = setting.database
  const cursor = await store.cursor(db, 31_337n)
  if (!cursor) throw new Error('the chain was read')
  const head = {
    latest: cursor.head_block,
    safe: cursor.safe_block,
    finalized: cursor.finalized_block,
    at: cursor.head_at,
  }
  const here = { number: cursor.block, hash: cursor.hash }
  const move = (from: store.KnownBlock) =>
    db.transaction().execute((tx) => store.moveCursor(tx, from, here, 31_337n, head))
  expect(await move({ ...here, hash: `0x${'0'.repeat(64)}` })).toBe(false)
  expect(await move({ ...here, number: here.number - 1n })).toBe(false)
  expect(await move(here)).toBe(true)
})

test('that takes a failed transaction away leaves its order to be paid, and one that fails on the new branch counts nothing', async () => {
  const { id, amount } = await setting.order()
  const failed = await setting.chain.pay({ from: setting.payer, amount: amount + 10n ** 18n })
  await registeredHash(setting.database, id, failed)
  await block()
  await reorganise(1)
  await block(2)
  expect(await order(id)).toMatchObject({ status: 'confirming', tx_hash: null })
  const hash = await setting.chain.pay({ from: setting.payer, amount })
  await block(3)
  expect(await order(id)).toMatchObject({ status: 'completed', tx_hash: hash })
})

test('that lets another transaction have the nonce of a credited one leaves the review to the operator, and takes back what is held', async () => {
  const { id, amount } = await setting.order()
  const hash = await setting.chain.pay({ from: setting.payer, amount })
  await block(2)
  const { nonce } = (await setting.chain.rpc('eth_getTransactionByHash', hash)) as { nonce: string }
  expect((await order(id)).status).toBe('completed')
  const funds = await balance()
  await reorganise(3)
  await setting.chain.send({ from: setting.payer, to: setting.payer, value: '0x0', nonce, gasPrice: '0x12a05f200' })
  await block(6)
  expect(await order(id)).toMatchObject({ status: 'review_required', review_reason: 'reorged_after_credit' })
  const deps = { db: setting.database.db, clock: systemClock, aloneLimitMicro: 10n ** 12n }
  const decided = await decideOrder(deps, id, {
    action: 'dismiss',
    reason: 'it never came back',
    operator: { kind: 'operator', name: 'ann' },
  })
  expect(decided).toMatchObject({ outcome: 'done', takenMicro: amount })
  expect(await balance()).toEqual({ posted: funds.posted - amount, held: 0n, available: funds.available - amount })
  expect((await order(id)).status).toBe('expired')
})

test('that brings a transfer back after its order was closed leaves it to the operator as unmatched', async () => {
  const { id, amount } = await setting.order()
  const hash = await setting.chain.pay({ from: setting.payer, amount })
  await block(2)
  const signed = await raw(hash)
  await reorganise(3)
  await block()
  const deps = { db: setting.database.db, clock: systemClock, aloneLimitMicro: 10n ** 12n }
  await decideOrder(deps, id, {
    action: 'dismiss',
    reason: 'it never came back',
    operator: { kind: 'operator', name: 'ann' },
  })
  const before = await setting.totals()
  await setting.chain.rpc('eth_sendRawTransaction', signed)
  await block(4)
  expect(await setting.transfer(hash)).toMatchObject({ state: 'unmatched', order_id: null })
  expect(await order(id)).toMatchObject({ status: 'expired' })
  expect(await setting.totals()).toEqual(before)
})
