import type { OrderStatus } from '../../db/schema.ts'
import { assert } from '../../kernel/assert.ts'
import { catalogue, type ErrorCode, Fault } from '../../kernel/errors.ts'

/** What can happen to an order: asked by its payer, told by the clock or the chain, decided by an operator. */
export type Event =
  | 'reserve'
  | 'reject'
  | 'resume'
  | 'register'
  | 'lapse'
  | 'see'
  | 'settle'
  | 'suspect'
  | 'fail'
  | 'replace'
  | 'mismatch'
  | 'abandon'
  | 'orphan'
  | 'undo'
  | 'restore'
  | 'operator_propose'
  | 'operator_credit'
  | 'operator_refund'
  | 'operator_dismiss'

/**
 * What an event does to a status: the status after it (the same one when only a fact is added), the refusal that
 * its sender gets, or `stale`: the news is overtaken and nothing moves.
 */
export type Step = OrderStatus | ErrorCode | 'stale'

type Row = Readonly<Record<OrderStatus, Step>>
const on = (pending: Step, confirming: Step, completed: Step, expired: Step, review_required: Step): Row => ({
  pending,
  confirming,
  completed,
  expired,
  review_required,
})

/**
 * Every move of an order (spec 3.1). No cell is undecided. `pending` past its expiry reads as `expired`, so a move
 * back to `pending` never revives an order that lapsed. A transfer that finds its order `order_completed` or
 * `review_unresolved` belongs to no order: it becomes an unmatched transfer.
 */
// biome-ignore format: a table is read by its columns.
const table: Readonly<Record<Event, Row>> = {
  //                    pending                confirming             completed          expired                review_required
  reserve:          on('confirming',          'attempt_active',      'order_completed', 'order_expired',       'review_unresolved'),
  reject:           on('attempt_not_current', 'pending',             'order_completed', 'attempt_not_current', 'review_unresolved'),
  resume:           on('pending',             'attempt_active',      'order_completed', 'pending',             'review_unresolved'),
  register:         on('confirming',          'confirming',          'order_completed', 'confirming',          'review_unresolved'),
  // only a pending order ends by the clock: a reserved attempt may be a payment on its way
  lapse:            on('expired',             'stale',               'stale',           'stale',               'stale'),
  // a matching transfer is in a block; registered or not
  see:              on('confirming',          'confirming',          'order_completed', 'confirming',          'review_unresolved'),
  // it is deep enough and every check holds on every node; an order is seen before it is settled
  settle:           on('stale',               'completed',           'order_completed', 'stale',               'review_unresolved'),
  // value arrived that is not what was asked for, or not in time, or not directly
  suspect:          on('review_required',     'review_required',     'order_completed', 'review_required',     'review_unresolved'),
  // no value moved: the transaction failed, lost its nonce to another, or paid somebody else
  fail:             on('stale',               'pending',             'stale',           'stale',               'stale'),
  replace:          on('stale',               'pending',             'stale',           'stale',               'stale'),
  mismatch:         on('stale',               'pending',             'stale',           'stale',               'stale'),
  // the finalized chain passed expiry and grace without a payment
  abandon:          on('stale',               'expired',             'stale',           'stale',               'stale'),
  // a reorganisation took the transfer away before or after it was credited, or brought it back
  orphan:           on('stale',               'confirming',          'stale',           'stale',               'stale'),
  undo:             on('stale',               'stale',               'review_required', 'stale',               'stale'),
  restore:          on('stale',               'stale',               'stale',           'stale',               'completed'),
  operator_propose: on('order_not_in_review', 'order_not_in_review', 'order_completed', 'order_not_in_review', 'review_required'),
  operator_credit:  on('order_not_in_review', 'order_not_in_review', 'order_completed', 'order_not_in_review', 'completed'),
  operator_refund:  on('order_not_in_review', 'order_not_in_review', 'order_completed', 'order_not_in_review', 'expired'),
  operator_dismiss: on('order_not_in_review', 'order_not_in_review', 'order_completed', 'order_not_in_review', 'expired'),
}

/** How long an order waits for its send attempt, and by how much one resume extends it (spec 8). */
export const ORDER_LIFETIME_MS = 30 * 60_000
/** An order this old is resumed no more: its rate would be an option held for ever. */
const RESUME_AGE_MAX_MS = 24 * 3_600_000
/** How late an exact transfer may be and still be credited by itself, when its attempt was reserved in time. */
export const GRACE_MS = 24 * 3_600_000
/** Hashes that one order remembers. */
export const HASHES_MAX = 5
/** Orders that one account may have waiting for payment. */
export const OPEN_ORDERS_MAX = 20

/** What the predicates look at. */
export interface OrderTimes {
  readonly status: OrderStatus
  readonly created_at: Date
  readonly expires_at: Date
}

/** The status at this moment: a pending order ends at `expires_at` exactly, before any sweeper has been there. */
export function statusAt(order: OrderTimes, now: Date): OrderStatus {
  return order.status === 'pending' && order.expires_at <= now ? 'expired' : order.status
}

/** What `event` does to the order at `now`. For events that may be overtaken: it throws nothing. */
export function stepOf(order: OrderTimes, event: Event, now: Date): Step {
  // the sweeper writes down what every read already says
  return table[event][event === 'lapse' ? order.status : statusAt(order, now)]
}

/** True when a step is a status to move to. */
export function isMove(step: Step): step is OrderStatus {
  return step !== 'stale' && !(step in catalogue)
}

/** Where `event` takes the order at `now`; throws the table's refusal. */
export function advance(order: OrderTimes, event: Event, now: Date): OrderStatus {
  const step = stepOf(order, event, now)
  assert(step !== 'stale', `${event} finds an order that is ${order.status}`)
  if (!isMove(step)) throw new Fault(step)
  return step
}

/** The expiry that a resume gives, or undefined when the order is too old: resumes do not add up beyond a day either. */
export function extendedExpiry(order: OrderTimes, now: Date): Date | undefined {
  const from = Math.max(order.expires_at.getTime(), now.getTime())
  return from - order.created_at.getTime() < RESUME_AGE_MAX_MS ? new Date(from + ORDER_LIFETIME_MS) : undefined
}

/** Whether a transfer in a block of this time may be credited by itself, by the time of the chain. */
export function isInTime(
  order: OrderTimes,
  blockAt: Date,
  attempts: readonly { readonly created_at: Date }[],
): boolean {
  if (blockAt <= order.expires_at) return true
  const reservedInTime = attempts.some((attempt) => attempt.created_at < order.expires_at)
  return reservedInTime && blockAt.getTime() <= order.expires_at.getTime() + GRACE_MS
}

/** Whether a confirming order without a payment is given up: the finalized chain, read to there, is past expiry and grace. */
export function isPastRecovery(order: OrderTimes, finalizedChainTime: Date): boolean {
  return finalizedChainTime.getTime() > order.expires_at.getTime() + GRACE_MS
}
