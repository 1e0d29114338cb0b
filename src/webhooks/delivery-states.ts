import type { WebhookDeliveryState as DeliveryState } from '../db/schema.ts'

/** What can happen to a delivery. */
export type DeliveryEvent =
  /** The receiver answered 2xx. */
  | 'succeed'
  /** An attempt failed and another one follows. */
  | 'retry'
  /** The last attempt failed, or the receiver is gone. */
  | 'give_up'
  /** Its endpoint was disabled, or has too much waiting. */
  | 'cancel'
  /** Somebody asks for it once more. */
  | 'replay'

/** What an event makes of a delivery. One that has ended stays so until it is replayed. */
// biome-ignore format: a table is read by its columns.
const table: Readonly<Record<DeliveryEvent, Readonly<Record<DeliveryState, DeliveryState>>>> = {
  //         pending               delivered               failed            canceled
  succeed: { pending: 'delivered', delivered: 'delivered', failed: 'failed', canceled: 'canceled' },
  retry:   { pending: 'pending',   delivered: 'delivered', failed: 'failed', canceled: 'canceled' },
  give_up: { pending: 'failed',    delivered: 'delivered', failed: 'failed', canceled: 'canceled' },
  cancel:  { pending: 'canceled',  delivered: 'delivered', failed: 'failed', canceled: 'canceled' },
  replay:  { pending: 'pending',   delivered: 'pending',   failed: 'pending', canceled: 'pending' },
}

/** The state after an event. */
export function stateAfter(event: DeliveryEvent, state: DeliveryState): DeliveryState {
  return table[event][state]
}
