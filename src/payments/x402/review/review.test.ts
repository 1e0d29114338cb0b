import { randomBytes } from 'node:crypto'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { developmentAsset } from '../../../../test/chain.ts'
import { freshDatabase, type TestDatabase } from '../../../../test/database.ts'
import { payerAccount } from '../../../../test/orders.ts'
import { waitingX402 } from '../../../../test/waiting-x402.ts'
import { systemClock } from '../../../kernel/clock.ts'
import { Fault } from '../../../kernel/errors.ts'
import { auditLedger } from '../../../ledger/audit.ts'
import type { Decision } from '../../orders/review/decision.ts'
import { decideTransfer } from '../../orders/review/service.ts'
import { credit, doubtLocked } from '../crediting/credit.ts'
import type { Payment } from '../model.ts'
import { stepOf } from '../states.ts'
import * as payments from '../store.ts'
import { decidePayment } from './service.ts'

const AMOUNT = 900_000n
const ALONE = 100_000_000n
const asset = developmentAsset('0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc')
const hash = (): string => `0x${randomBytes(32).toString('hex')}`

let database: TestDatabase
beforeAll(async () => {
  database = await freshDatabase()
})
afterAll(() => database.drop())
afterEach(async () => expect(await auditLedger(database.db)).toEqual([]))

const by = (name: string, action: Decision['action'], change: Partial<Decision> = {}): Decision => ({
  action,
  reason: 'seen with the payer',
  operator: { kind: 'operator', name },
  ...change,
})
const decide = (payment: Payment, decision: Decision, aloneLimitMicro = ALONE) =>
  decidePayment({ db: database.db, clock: systemClock, aloneLimitMicro }, payment.id, decision)
const refusal = (work: Promise<unknown>) =>
  work.then(
    (value) => value,
    (error: unknown) => (error instanceof Fault ? error.code : Promise.reject(error)),
  )

/** A payment in review, whose transaction brought these amounts instead of what was authorized. */
async function inReview(arrived: readonly bigint[], amount = AMOUNT): Promise<Payment> {
  const wallet = `0x${randomBytes(20).toString('hex')}`
  const accountId = await payerAccount(database, wallet)
  const txHash = hash()
  const payment = await database.db.transaction().execute(async (tx) => {
    const made = await waitingX402(tx, asset, { wallet, accountId, txHash, amount })
    await doubtLocked(tx, made, { reason: 'used_with_other_terms', txHash, at: new Date() })
    return made
  })
  for (const [position, value] of arrived.entries())
    await database.sql(
      `insert into chain_transfers (chain_id, tx_hash, log_position, block, block_hash, block_at, token_address, payer, recipient, amount, state)
       values ($1, $2, $3, 1, $4, now(), $5, $6, $7, $8, 'unmatched')`,
      [payment.chain_id, txHash, position, hash(), asset.tokenAddress, payment.payer, asset.recipientAddress, value],
    )
  return payment
}

const after = async ({ id }: Payment) => (await payments.find(database.db, id)) as Payment
const transfers = ({ tx_hash }: Payment) =>
  database.sql<{ state: string; resolved: boolean }>(
    'select state, resolved_at is not null as resolved from chain_transfers where tx_hash = $1 order by log_position',
    [tx_hash],
  )
const grants = ({ account_id }: Payment) =>
  database.sql<{ amount: string; source: string }>(
    'select amount_micro::text as amount, source::text from credit_grants where account_id = $1',
    [account_id],
  )
const logged = ({ id }: Payment) =>
  database.sql<{ actor: string; action: string; reason: string }>(
    `select actor, action, reason from audit_log where target_kind = 'payment' and target_id = $1`,
    [String(id)],
  )

test('what arrived is credited at the rate of the payment, told, written down with its reason, and followed no more', async () => {
  const payment = await inReview([400_000n])
  expect(await decide(payment, by('ada', 'credit'))).toEqual({ outcome: 'done', creditMicro: 400_000n })
  expect(await after(payment)).toMatchObject({
    status: 'credited',
    credit_micro: 400_000n,
    amount_micro: AMOUNT,
    log_position: 0,
    reason: null,
    final_at: expect.any(Date),
    credited_at: expect.any(Date),
  })
  expect(await grants(payment)).toEqual([{ amount: '400000', source: 'x402' }])
  expect(await transfers(payment)).toEqual([{ state: 'credited', resolved: true }])
  expect(await logged(payment)).toEqual([
    { actor: 'operator:ada', action: 'credit.payment', reason: 'seen with the payer' },
  ])
  const told = await database.sql<{ payload: object }>(
    `select payload from outbox where event = 'payment.credited' and account_id = $1`,
    [payment.account_id],
  )
  expect(told).toMatchObject([{ payload: { credit_micro: '400000', tx_hash: payment.tx_hash } }])
  const due = await payments.takeDue(database.db, { now: new Date('2100-01-01'), soonMs: 1, laterMs: 1, limit: 100 })
  expect(due.map(({ id }) => id)).not.toContain(payment.id)
})

test('less than what arrived is worth can be credited, and never more', async () => {
  const payment = await inReview([400_000n])
  expect(await refusal(decide(payment, by('ada', 'credit', { creditMicro: 400_001n })))).toBe('amount_above_maximum')
  await decide(payment, by('ada', 'credit', { creditMicro: 1n }))
  expect(await grants(payment)).toMatchObject([{ amount: '1' }])
})

test('two operators who credit it at once give it once, and so do a payment and its transfer that are credited at once', async () => {
  for (let round = 0; round < 4; round += 1) {
    const payment = await inReview([500_000n])
    const outcomes = await Promise.all(['ada', 'ben'].map((name) => refusal(decide(payment, by(name, 'credit')))))
    expect(outcomes.filter((outcome) => typeof outcome === 'object')).toHaveLength(1)
    expect(outcomes).toContain('order_not_in_review')
    expect(await grants(payment)).toHaveLength(1)

    const other = await inReview([500_000n])
    const key = { chainId: other.chain_id, txHash: other.tx_hash ?? '', logPosition: 0 }
    const deps = { db: database.db, clock: systemClock, aloneLimitMicro: ALONE }
    const both = await Promise.all([
      refusal(decide(other, by('ada', 'credit'))),
      refusal(decideTransfer(deps, key, by('ben', 'credit', { accountId: other.account_id }))),
    ])
    expect(both.filter((outcome) => typeof outcome === 'object')).toHaveLength(1)
    expect(await grants(other)).toHaveLength(1)
  }
})

test('above the limit it takes two operators who say the same', async () => {
  const payment = await inReview([400_000n])
  const alone = 399_999n
  const proposed = { outcome: 'proposed', creditMicro: 400_000n }
  expect(await decide(payment, by('ada', 'credit'), alone)).toMatchObject(proposed)
  expect(await decide(payment, by('ada', 'credit'), alone)).toMatchObject(proposed)
  expect(await decide(payment, by('ben', 'refund', { refundTxHash: hash() }), alone)).toMatchObject(proposed)
  expect(await grants(payment)).toEqual([])
  expect(await decide(payment, by('ada', 'credit'), alone)).toMatchObject(proposed)
  expect((await after(payment)).status).toBe('review_required')
  expect(await decide(payment, by('ben', 'credit'), alone)).toMatchObject({ outcome: 'done' })
  const events = await payments.events(database.db, payment.id)
  expect(events.map(({ event }) => event)).toEqual([
    'store',
    'doubt',
    'operator_propose',
    'operator_propose',
    'operator_propose',
    'operator_credit',
  ])
  expect(events.at(-1)?.data).toMatchObject({ by: 'operator:ben', proposed_by: 'operator:ada' })
  expect(await grants(payment)).toHaveLength(1)
})

test('a refund is recorded with its transaction, and closes the transfer; a dismissal leaves the transfer to the other reviews', async () => {
  const refunded = await inReview([400_000n])
  const refundTxHash = hash()
  await decide(refunded, by('ada', 'refund', { refundTxHash }))
  expect(await after(refunded)).toMatchObject({ status: 'failed', reason: 'refunded', grant_id: null })
  expect(await transfers(refunded)).toEqual([{ state: 'unmatched', resolved: true }])
  expect((await payments.events(database.db, refunded.id)).at(-1)?.data).toMatchObject({
    refund_tx_hash: refundTxHash,
    reason: 'seen with the payer',
  })
  const dismissed = await inReview([400_000n])
  await decide(dismissed, by('ada', 'dismiss'))
  expect(await after(dismissed)).toMatchObject({ status: 'failed', reason: 'dismissed', grant_id: null })
  expect(await transfers(dismissed)).toEqual([{ state: 'unmatched', resolved: false }])
  expect([await logged(refunded), await logged(dismissed)]).toMatchObject([
    [{ action: 'refund.payment' }],
    [{ action: 'dismiss.payment' }],
  ])
  for (const payment of [refunded, dismissed]) {
    expect(await grants(payment)).toEqual([])
    expect(await refusal(decide(payment, by('ben', 'credit')))).toBe('order_not_in_review')
  }
})

test('nothing is credited without a transfer, for one of several, for one that somebody has, or that was decided before', async () => {
  const credited = (payment: Payment) => refusal(decide(payment, by('ada', 'credit')))
  expect(await credited(await inReview([]))).toBe('order_not_in_review')
  expect(await credited(await inReview([1n, 2n]))).toBe('order_not_in_review')
  const taken = await inReview([400_000n])
  const key = { chainId: taken.chain_id, txHash: taken.tx_hash ?? '', logPosition: 0 }
  const deps = { db: database.db, clock: systemClock, aloneLimitMicro: ALONE }
  await decideTransfer(deps, key, by('ben', 'credit', { accountId: taken.account_id }))
  expect(await credited(taken)).toBe('tx_already_used')
  const decided = await inReview([400_000n])
  await decideTransfer(deps, { ...key, txHash: decided.tx_hash ?? '' }, by('ben', 'dismiss'))
  expect(await credited(decided)).toBe('order_not_in_review')
  const young = await inReview([400_000n])
  await database.sql(`update chain_transfers set state = 'seen' where tx_hash = $1`, [young.tx_hash])
  expect(await credited(young)).toBe('order_not_in_review')
  expect(await refusal(decide({ ...young, id: 999_999n }, by('ada', 'credit')))).toBe('payment_not_found')
  // each of them can still be closed
  expect(await decide(taken, by('ada', 'dismiss'))).toMatchObject({ outcome: 'done' })
})

test('Credits that were given before their block was lost can be left for good, and are not taken back', async () => {
  const wallet = `0x${randomBytes(20).toString('hex')}`
  const accountId = await payerAccount(database, wallet)
  const txHash = hash()
  const { db } = database
  const payment = await db
    .transaction()
    .execute((tx) => waitingX402(tx, asset, { wallet, accountId, txHash, amount: AMOUNT }))
  await credit({ db, clock: systemClock }, payment, { txHash, position: 0, block: 1n })
  await db.transaction().execute(async (tx) => {
    const locked = await payments.lock(tx, payment.id)
    const to = stepOf(locked.status, 'reorganise')
    expect(to).toBe('review_required')
    const change = { reason: 'reorganised_after_credit' }
    await payments.move(tx, locked, { event: 'reorganise', to: 'review_required', at: new Date(), change })
  })
  for (const action of ['refund', 'dismiss'] as const)
    expect(await refusal(decide(payment, by('ada', action)))).toBe('order_not_in_review')
  expect(await decide(payment, by('ada', 'credit'))).toEqual({ outcome: 'done', creditMicro: AMOUNT })
  expect(await after(payment)).toMatchObject({ status: 'credited', reason: null, final_at: expect.any(Date) })
  expect(await grants(payment)).toHaveLength(1)
})
