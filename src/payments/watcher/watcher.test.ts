import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { orderOf, payerAccount, pendingOrder, registeredHash, reservedAttempt } from '../../../test/orders.ts'
import { openSetting, type Setting, stranger } from '../../../test/payment-setting.ts'
import { auditLedger } from '../../ledger/audit.ts'
import { reconciliationReports } from './reconciliation/service.ts'

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
  const reports = await reconciliationReports(setting.database.db, ['dev_usdc'], new Date())
  expect(reports).toMatchObject([{ ok: true, drift: 0n }])
  await setting.stop()
})

/** Two blocks, each followed by a round: what is two deep is settled then. */
const confirm = async () => {
  for (let block = 0; block < 2; block += 1) {
    await setting.chain.mine()
    await round.once()
  }
  expect(setting.troubles).toEqual([])
}
const statusOf = async (id: string) => (await orderOf(setting.database, id)).status
const HOUR_MS = 3_600_000
const ago = (ms: number) => new Date(Date.now() - ms)

describe('a payment', () => {
  test('is found and credited exactly once with no hash registered and no attempt reserved', async () => {
    const { chain, payer, database } = setting
    const { id, amount } = await setting.order()
    const before = await setting.totals()
    const hash = await chain.pay({ from: payer, amount })
    await chain.mine()
    await round.once()
    expect(await orderOf(database, id)).toMatchObject({ status: 'confirming', tx_hash: hash })
    await chain.mine()
    await round.once()
    await round.once()
    expect(setting.troubles).toEqual([])
    expect(await orderOf(database, id)).toMatchObject({
      status: 'completed',
      tx_hash: hash,
      credit_micro: amount,
    })
    expect((await setting.totals()).granted - before.granted).toBe(amount)
    expect(await database.sql('select event from outbox where object_id = $1', [id])).toEqual([
      { event: 'order.completed' },
    ])
  })

  test('goes to the order that registered its hash, else to the oldest attempt, else to the oldest order', async () => {
    const { chain, payer, database } = setting
    const amount = 7_000_000n
    const old = await setting.order({ amount, createdAt: ago(600_000) })
    const reserved = await setting.order({ amount, createdAt: ago(500_000) })
    const registered = await setting.order({ amount, createdAt: ago(400_000) })
    await reservedAttempt(database, reserved.id)
    const hash = await chain.pay({ from: payer, amount })
    await registeredHash(database, registered.id, hash)
    await confirm()
    expect(await Promise.all([old, reserved, registered].map(({ id }) => statusOf(id)))).toEqual([
      'pending',
      'confirming',
      'completed',
    ])
    await chain.pay({ from: payer, amount })
    await confirm()
    expect(await Promise.all([old, reserved].map(({ id }) => statusOf(id)))).toEqual(['pending', 'completed'])
    await chain.pay({ from: payer, amount })
    await confirm()
    expect(await statusOf(old.id)).toBe('completed')
  })

  test('made a second time waits for an operator as unmatched and gives nothing', async () => {
    const { chain, payer } = setting
    const { id, amount } = await setting.order()
    await chain.pay({ from: payer, amount })
    await confirm()
    const before = await setting.totals()
    const again = await chain.pay({ from: payer, amount })
    await confirm()
    expect(await statusOf(id)).toBe('completed')
    expect(await setting.transfer(again)).toMatchObject({ state: 'unmatched', order_id: null })
    expect((await setting.totals()).granted).toBe(before.granted)
  })

  test('that is late is credited within a day when its attempt was reserved in time, and reviewed otherwise', async () => {
    const { chain, payer, database } = setting
    const lapsed = { createdAt: ago(2 * HOUR_MS), expiresAt: ago(1.5 * HOUR_MS) }
    const reserved = await setting.order(lapsed)
    await reservedAttempt(database, reserved.id, ago(1.8 * HOUR_MS))
    const unreserved = await setting.order(lapsed)
    const long = { createdAt: ago(40 * HOUR_MS), expiresAt: ago(39.5 * HOUR_MS) }
    const tooLate = await setting.order(long)
    await reservedAttempt(database, tooLate.id, ago(39.8 * HOUR_MS))
    for (const { amount } of [reserved, unreserved, tooLate]) await chain.pay({ from: payer, amount })
    await confirm()
    expect(await statusOf(reserved.id)).toBe('completed')
    expect(await orderOf(database, unreserved.id)).toMatchObject({
      status: 'review_required',
      review_reason: 'late_transfer',
    })
    expect(await orderOf(database, tooLate.id)).toMatchObject({
      status: 'review_required',
      review_reason: 'late_transfer',
    })
  })

  test('of a larger amount waits for its own depth: finalized above the limits', async () => {
    const { chain, payer } = setting
    const { id, amount } = await setting.order({ amount: 2_000_000_000n })
    await chain.pay({ from: payer, amount })
    await confirm()
    expect(await statusOf(id)).toBe('confirming')
    await chain.mine()
    await round.once()
    expect(await statusOf(id)).toBe('completed')
  })
})

describe('an order without a payment', () => {
  test('whose transaction failed may be paid again', async () => {
    const { chain, payer, database } = setting
    const { id, amount } = await setting.order()
    const failed = await chain.pay({ from: payer, amount: amount + 10n ** 18n })
    await registeredHash(database, id, failed)
    await confirm()
    expect(await orderOf(database, id)).toMatchObject({ status: 'pending', tx_hash: null })
    const [attempt] = await database.sql<{ state: string }>('select state from order_attempts where order_id = $1', [
      id,
    ])
    expect(attempt).toEqual({ state: 'failed_onchain' })
    await chain.pay({ from: payer, amount })
    await confirm()
    expect(await statusOf(id)).toBe('completed')
  })

  test('whose transaction was replaced by a cancellation may be paid again; one that was sped up is completed', async () => {
    const { chain, payer, database } = setting
    const cancelled = await setting.order()
    const first = await chain.pay({ from: payer, amount: cancelled.amount, gasPrice: '0x77359400' })
    await registeredHash(database, cancelled.id, first)
    await round.once()
    const { nonce } = (await chain.rpc('eth_getTransactionByHash', first)) as { nonce: string }
    await chain.send({ from: payer, to: payer, value: '0x0', nonce, gasPrice: '0x12a05f200' })
    await confirm()
    expect(await statusOf(cancelled.id)).toBe('pending')
    expect(await database.sql('select refused from order_hashes where order_id = $1', [cancelled.id])).toEqual([
      { refused: 'replaced' },
    ])

    const spedUp = await setting.order()
    const slow = await chain.pay({ from: payer, amount: spedUp.amount, gasPrice: '0x77359400' })
    await registeredHash(database, spedUp.id, slow)
    await round.once()
    const slowNonce = ((await chain.rpc('eth_getTransactionByHash', slow)) as { nonce: string }).nonce
    const fast = await chain.pay({
      from: payer,
      amount: spedUp.amount,
      nonce: slowNonce,
      gasPrice: '0x12a05f200',
    })
    await confirm()
    expect(await orderOf(database, spedUp.id)).toMatchObject({ status: 'completed', tx_hash: fast })
  })

  test('whose transaction pays somebody else is open again and says why the hash is refused', async () => {
    const { chain, payer, database } = setting
    const { id, amount } = await setting.order()
    const hash = await chain.pay({ from: payer, amount, to: stranger() })
    await registeredHash(database, id, hash)
    await confirm()
    expect(await statusOf(id)).toBe('pending')
    expect(await database.sql('select refused from order_hashes where order_id = $1', [id])).toEqual([
      { refused: 'wrong_recipient' },
    ])
  })

  test('is given up a day after its expiry by the time of the chain, never by the clock', async () => {
    const { chain, database } = setting
    const order = await setting.order({
      createdAt: ago(26 * HOUR_MS),
      expiresAt: ago(25 * HOUR_MS),
    })
    await reservedAttempt(database, order.id, ago(25.5 * HOUR_MS))
    const recent = await setting.order({
      createdAt: ago(24 * HOUR_MS),
      expiresAt: ago(23 * HOUR_MS),
    })
    await reservedAttempt(database, recent.id, ago(23.5 * HOUR_MS))
    await chain.mine(3)
    await setting.rounds({ clock: { now: () => ago(-48 * HOUR_MS), monotonicMs: () => performance.now() } }).once()
    expect(await orderOf(database, order.id)).toMatchObject({
      status: 'expired',
      payment_attempt_id: null,
    })
    expect(await statusOf(recent.id)).toBe('confirming')
  })
})

describe('a wallet that belongs to another account', () => {
  test('is not up for claims: its registered hash is refused, and its own order is paid', async () => {
    const { chain, database, asset } = setting
    const wallet = chain.payers[1] ?? ''
    const other = await payerAccount(database, wallet)
    const theirs = await pendingOrder(database, asset, {
      accountId: other,
      payer: wallet,
      amount: 8_100_000n,
    })
    const thief = await setting.order({ amount: 8_100_000n })
    const hash = await chain.pay({ from: wallet, amount: 8_100_000n })
    await registeredHash(database, thief.id, hash)
    await confirm()
    expect(await statusOf(theirs)).toBe('completed')
    expect(await statusOf(thief.id)).not.toBe('completed')
    expect(await statusOf(thief.id)).not.toBe('review_required')
  })

  test('unlike an exchange, whose withdrawal for a registered hash is reviewed', async () => {
    const { chain, database } = setting
    const exchange = chain.payers[2] ?? ''
    const { id, amount } = await setting.order()
    const hash = await chain.pay({ from: exchange, amount })
    await registeredHash(database, id, hash)
    await confirm()
    expect(await orderOf(database, id)).toMatchObject({
      status: 'review_required',
      review_reason: 'payer_mismatch',
      received_micro: amount,
    })
  })
})
