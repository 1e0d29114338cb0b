import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { developmentAsset } from '../../../test/chain.ts'
import { freshDatabase, type TestDatabase } from '../../../test/database.ts'
import { orderOf, payerAccount, pendingOrder } from '../../../test/orders.ts'
import { waitingX402 } from '../../../test/waiting-x402.ts'
import { systemClock } from '../../kernel/clock.ts'
import { auditLedger } from '../../ledger/audit.ts'
import * as lifecycle from '../orders/lifecycle.ts'
import * as orders from '../orders/store.ts'
import { credit } from './crediting/credit.ts'
import * as store from './store.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await freshDatabase()
})
afterAll(() => database.drop())

const asset = developmentAsset('0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc')
const hash = (): string => `0x${randomBytes(32).toString('hex')}`
const AMOUNT = 1_000_000n

/** An order and an x402 payment of one wallet that wait for the same transfer. */
async function bothWaiting() {
  const wallet = `0x${randomBytes(20).toString('hex')}`
  const accountId = await payerAccount(database, wallet)
  const txHash = hash()
  const orderId = await pendingOrder(database, asset, { accountId, payer: wallet, amount: AMOUNT })
  const now = new Date()
  const payment = await database.db.transaction().execute(async (tx) => {
    const order = await orders.lock(tx, orderId)
    if (order) await lifecycle.see(tx, order, { txHash, attemptId: crypto.randomUUID() }, now)
    return waitingX402(tx, asset, { wallet, accountId, txHash, amount: AMOUNT })
  })
  return { orderId, payment, txHash }
}

test('one transfer that is offered to an order and to an x402 payment at once is credited once, and the loser says who has it', async () => {
  const winners = new Set<string>()
  for (let round = 0; round < 12; round += 1) {
    const { orderId, payment, txHash } = await bothWaiting()
    const byOrder = () =>
      database.db.transaction().execute(async (tx) => {
        const order = await orders.lock(tx, orderId)
        if (order) await lifecycle.settle(tx, order, { chainId: payment.chain_id, txHash, logPosition: 0 }, new Date())
      })
    const byPayment = () => credit({ db: database.db, clock: systemClock }, payment, { txHash, position: 0, block: 1n })
    await Promise.all(round % 2 === 0 ? [byOrder(), byPayment()] : [byPayment(), byOrder()])
    const [order, after] = await Promise.all([orderOf(database, orderId), store.find(database.db, payment.id)])
    const grants = await database.sql('select from credit_grants where account_id = $1', [payment.account_id])
    expect(grants).toHaveLength(1)
    const [event] = await database.sql<{ data: { taken_by?: string } }>(
      `select data from x402_events where payment_id = $1 and event = 'doubt'`,
      [payment.id],
    )
    if (order.status === 'completed') {
      winners.add('order')
      expect([after?.status, after?.reason]).toEqual(['review_required', 'credited_elsewhere'])
      expect(event?.data.taken_by).toBe(`order:${orderId}`)
    } else {
      winners.add('x402')
      expect([order.status, order.review_reason]).toEqual(['review_required', 'tx_already_used'])
      expect(after?.status).toBe('credited')
    }
  }
  expect(winners.size).toBeGreaterThan(0)
  expect(await auditLedger(database.db)).toEqual([])
})

test('a transfer that an operator has decided about is not credited again', async () => {
  const { payment, txHash } = await bothWaiting()
  await database.sql(
    `insert into chain_transfers (chain_id, tx_hash, log_position, block, block_hash, block_at, token_address, payer, recipient, amount, state, resolution, resolved_at)
     values ($1, $2, 0, 1, $3, now(), $4, $5, $6, $7, 'unmatched', 'refunded', now())`,
    [payment.chain_id, txHash, hash(), asset.tokenAddress, payment.payer, asset.recipientAddress, AMOUNT],
  )
  await credit({ db: database.db, clock: systemClock }, payment, { txHash, position: 0, block: 1n })
  const after = await store.find(database.db, payment.id)
  expect([after?.status, after?.reason, after?.grant_id]).toEqual(['review_required', 'decided_by_operator', null])
})
