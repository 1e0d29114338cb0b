import type { Selectable } from 'kysely'
import type { DB, JsonObject, OrderStatus } from '../../db/schema.ts'
import type { Event } from './states.ts'

/** An order as the database keeps it. Addresses and hashes are lower-case. */
export type Order = Selectable<DB['orders']>

/** One reservation of an order's single send attempt, or what a hash or a transfer implied. */
export type Attempt = Selectable<DB['order_attempts']>

/** A hash that the payer registered: a hint. `refused` says why it is no payment of this order. */
export type RegisteredHash = Selectable<DB['order_hashes']>

/** What a move may change besides the status. What was asked for (amount, rate, payer, recipient) is not among it. */
export type Change = Partial<
  Pick<
    Order,
    | 'payment_attempt_id'
    | 'tx_hash'
    | 'expires_at'
    | 'completed_at'
    | 'grant_id'
    | 'received_micro'
    | 'review_reason'
    | 'review_opened_at'
    | 'review_resolved_at'
    | 'review_resolution'
    | 'review_hold_id'
  >
>

/** A move of an order as it is written down. */
export interface Move {
  readonly event: Event
  readonly to: OrderStatus
  /** `account:<id>`, `watcher`, `sweeper` or `operator:<name>`. */
  readonly actor: string
  readonly at: Date
  readonly change?: Change
  readonly data?: JsonObject
}
