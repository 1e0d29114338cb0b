import type { Database } from '../../../db/database.ts'
import type { JsonObject } from '../../../db/schema.ts'
import { receivedWorth } from '../../../payments/orders/review/decision.ts'
import type { Payment } from '../../../payments/x402/model.ts'
import { decidePayment } from '../../../payments/x402/review/service.ts'
import { newestProposal } from '../../../payments/x402/review/store.ts'
import { events, find } from '../../../payments/x402/store.ts'
import * as store from '../store.ts'
import { tokenAmount } from './amounts.ts'
import { proposalOf, shownOf } from './orders.ts'
import type { Happened, Review, ReviewKind, Waiting } from './review.ts'

/** x402 payments that the chain left in doubt. */
export const x402Reviews: ReviewKind = {
  waiting: async (db, limit) => (await store.x402InReview(db, limit)).map(inList),
  read,
  decide: (deps, name, decision) => decidePayment(deps, BigInt(name), decision),
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
  const [happened, transfers, proposed] = await Promise.all([
    events(db, payment.id),
    store.transfersOf(db, payment),
    newestProposal(db, payment.id),
  ])
  // of several it cannot be told which one it is: each of them is looked at by itself
  const [transfer, second] = transfers
  const terms = proposed?.data as JsonObject | undefined
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
    shown: transfer && !second ? shownOf(transfer) : undefined,
    txHash: payment.tx_hash ?? undefined,
    worthMicro: worthOf(payment, second ? undefined : transfer?.amount),
    granted: payment.grant_id !== null,
    heldMicro: undefined,
    proposal: proposed && terms ? proposalOf(String(terms.by), proposed.at, terms) : undefined,
    events: happened.map(eventOf),
    // Credits that were given can be left as they are, and no otherwise: the payment ends by itself when its transfer is back
    actions: payment.grant_id === null ? ['credit', 'refund', 'dismiss'] : ['credit'],
  }
}

const worthOf = (payment: Payment, amount: string | undefined): bigint | undefined => {
  if (payment.grant_id !== null) return payment.credit_micro
  return amount === undefined ? undefined : receivedWorth(BigInt(amount), payment.rate_ppm)
}

function eventOf({ at, event, to_status, data }: Awaited<ReturnType<typeof events>>[number]): Happened {
  const { by } = data as { by?: unknown }
  return { at, event, status: to_status, by: by === undefined ? undefined : String(by) }
}
