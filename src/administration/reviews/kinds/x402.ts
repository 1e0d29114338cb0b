import type { Database } from '../../../db/database.ts'
import { Fault } from '../../../kernel/errors.ts'
import type { Decided, Decision } from '../../../payments/orders/review/decision.ts'
import type { Payment } from '../../../payments/x402/model.ts'
import { closeReview } from '../../../payments/x402/review.ts'
import { events, find } from '../../../payments/x402/store.ts'
import * as store from '../store.ts'
import { tokenAmount } from './amounts.ts'
import type { DecideDeps, Review, ReviewKind, Waiting } from './review.ts'

/** x402 payments that the chain left in doubt. */
export const x402Reviews: ReviewKind = {
  waiting: async (db, limit) => (await store.x402InReview(db, limit)).map(inList),
  read,
  decide,
}

const inList = (payment: Payment): Waiting => ({
  id: `x402:${payment.id}`,
  kind: 'x402',
  reason: payment.reason ?? '',
  openedAt: payment.created_at,
  accountId: payment.account_id,
  chainId: payment.chain_id,
  expected: tokenAmount(payment.amount_micro, payment.chain_id, payment.token_address),
  received: undefined,
})

async function read(db: Database, name: string): Promise<Review | undefined> {
  const payment = await find(db, BigInt(name))
  if (!payment) return undefined
  const { expected, received: _, ...waiting } = inList(payment)
  const happened = await events(db, payment.id)
  return {
    ...waiting,
    status: payment.status,
    waits: payment.status === 'review_required',
    expected: expected && {
      ...expected,
      from: payment.payer,
      to: payment.recipient_address,
      creditMicro: payment.credit_micro,
      madeAt: payment.created_at,
      expiresAt: new Date(Number(payment.valid_before) * 1000),
    },
    shown: undefined,
    txHash: payment.tx_hash ?? undefined,
    worthMicro: undefined,
    granted: payment.grant_id !== null,
    heldMicro: undefined,
    proposal: undefined,
    events: happened.map(({ at, event, to_status }) => ({ at, event, status: to_status, by: undefined })),
    // one whose Credits were given ends by itself when its transfer is back
    actions: payment.grant_id === null ? ['dismiss'] : [],
  }
}

async function decide({ db, clock }: DecideDeps, name: string, decision: Decision): Promise<Decided> {
  const refuse = (message: string): never => {
    throw new Fault('order_not_in_review', { message })
  }
  if (decision.action !== 'dismiss')
    refuse('A payment by x402 can only be dismissed here. Give Credits with a reason where they are owed.')
  const { operator, reason, requestId } = decision
  const outcome = await closeReview({ db, clock }, { id: BigInt(name), operator, reason, requestId })
  if (outcome === 'missing') throw new Fault('review_not_found')
  if (outcome === 'not in review')
    refuse(`Payment x402:${name} is not in review. Open ones end by what the chain shows.`)
  if (outcome === 'credited')
    refuse(
      `The Credits of payment x402:${name} were given before its block was lost. It ends by itself when the transfer is back.`,
    )
  return { outcome: 'done', creditMicro: 0n }
}
