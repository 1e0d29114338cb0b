import type { Reply } from '../../api/types.ts'

/** An order as the server tells it. */
export type Order = Reply<'/v1/payments/orders/{id}', 'get'>['data']

/** What an order's status is called. */
export const orderStates = {
  pending: { words: 'To be paid', tone: 'accent' },
  confirming: { words: 'On its way', tone: 'accent' },
  completed: { words: 'Paid', tone: 'good' },
  expired: { words: 'Not paid', tone: 'neutral' },
  review_required: { words: 'Under review', tone: 'warn' },
} as const

/** What this tab knows besides: where its own question to the wallet stands. */
export type Local = 'idle' | 'reserving' | 'wallet-open' | 'declined' | 'unknown'

/** What the page shows. Money can be sent from `payable` alone. */
export type View =
  | 'payable'
  | 'reserving'
  | 'confirm-in-wallet'
  | 'in-progress'
  | 'sent'
  | 'confirming'
  | 'completed'
  | 'expired'
  | 'review'

/** The parts of an order that decide what is shown. */
export type Told = Pick<Order, 'status' | 'tx_hash' | 'block_number' | 'expires_at' | 'server_time'>

/**
 * What to show. The server's word comes first: an attempt that it has reserved is never offered again, whatever this
 * tab remembers, and an order that it takes for open may still be over by its own clock.
 */
export function viewOf(order: Told, local: Local): View {
  switch (order.status) {
    case 'completed':
      return 'completed'
    case 'review_required':
      return 'review'
    case 'expired':
      return 'expired'
    case 'confirming':
      if (order.block_number !== null) return 'confirming'
      if (order.tx_hash !== '') return 'sent'
      return local === 'wallet-open' || local === 'reserving' ? 'confirm-in-wallet' : 'in-progress'
    case 'pending':
      if (Date.parse(order.expires_at) <= Date.parse(order.server_time)) return 'expired'
      // the answer to the reservation may be on its way: not yet a second press
      return local === 'reserving' || local === 'wallet-open' || local === 'unknown' ? 'reserving' : 'payable'
  }
}

/** How soon to ask the server again; false: nothing more will happen by itself. */
export function pollEvery(view: View): number | false {
  if (view === 'completed' || view === 'review') return false
  return view === 'expired' ? 15_000 : 2_000
}
