import type { Database } from '../../../db/database.ts'
import type { JsonObject } from '../../../db/schema.ts'
import * as reading from '../../../payments/orders/reading/store.ts'
import { receivedWorth } from '../../../payments/orders/review/decision.ts'
import { decideOrder } from '../../../payments/orders/review/service.ts'
import * as store from '../../../payments/orders/review/store.ts'
import type { Order } from '../../../payments/orders/store.ts'
import { tokenAmount } from './amounts.ts'
import { EVENTS_SHOWN_MAX, type Proposal, type Review, type ReviewKind, type Shown, type Waiting } from './review.ts'

/** Orders in review. */
export const orderReviews: ReviewKind = {
  waiting: async (db, limit) => (await store.ordersInReview(db, limit)).map(inList),
  read,
  decide: decideOrder,
}

const inList = (order: Order): Waiting => ({
  id: order.id,
  kind: 'order',
  reason: order.review_reason ?? '',
  openedAt: order.review_opened_at ?? order.created_at,
  accountId: order.account_id,
  chainId: order.chain_id,
  expected: tokenAmount(order.amount_micro, order.chain_id, order.token_address),
  received:
    order.received_micro === null ? undefined : tokenAmount(order.received_micro, order.chain_id, order.token_address),
})

async function read(db: Database, id: string): Promise<Review | undefined> {
  const order = await reading.read(db, id)
  if (!order) return undefined
  const [transfer, events, proposed] = await Promise.all([
    store.transferOf(db, id),
    reading.events(db, id, EVENTS_SHOWN_MAX),
    store.newestProposal(db, order),
  ])
  const { expected, received: _, ...waiting } = inList(order)
  const received = order.received_micro ?? 0n
  return {
    ...waiting,
    status: order.status,
    waits: order.status === 'review_required',
    expected: expected && {
      ...expected,
      from: order.payer_address,
      to: order.recipient_address,
      creditMicro: order.credit_micro,
      madeAt: order.created_at,
      expiresAt: order.expires_at,
    },
    shown: transfer && shownOf(transfer),
    txHash: order.tx_hash ?? undefined,
    worthMicro: received > 0n ? receivedWorth(received, order.rate_ppm) : undefined,
    granted: order.grant_id !== null,
    heldMicro: order.review_held_micro ?? undefined,
    proposal: proposed && proposalOf(proposed.actor, proposed.at, proposed.data as JsonObject),
    events: events.map(({ at, event, to_status, actor }) => ({ at, event, status: to_status, by: actor })),
    actions: ['credit', 'refund', 'dismiss'],
  }
}

/** A transfer as the chain shows it. */
export const shownOf = (transfer: store.Transfer): Shown => ({
  ...tokenAmount(BigInt(transfer.amount), transfer.chain_id, transfer.token_address),
  from: transfer.payer,
  to: transfer.recipient,
  txHash: transfer.tx_hash,
  block: transfer.block,
  blockAt: transfer.block_at,
  note: transfer.note ?? undefined,
})

/** A proposal as its event or its transfer keeps it. */
export const proposalOf = (by: string, at: Date, terms: JsonObject): Proposal => ({
  action: String(terms.action),
  creditMicro: BigInt(String(terms.credited_micro ?? 0)),
  by,
  at,
  reason: String(terms.reason ?? ''),
})
