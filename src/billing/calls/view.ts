import type { CallRow } from './store.ts'

/** Why a call cannot be refunded (spec 4.7). */
export type NotRefundable =
  | 'call_running'
  | 'usage_unknown'
  | 'pending_settlement'
  | 'call_successful'
  | 'nothing_charged'
  | 'already_refunded'
  | 'not_original_account'

/** How the money of a call stands (decisions 5), with `reserved` while it runs. */
export type BillingState = 'reserved' | 'pending_settlement' | 'usage_unknown' | 'settled' | 'released'

/** True when this account made the call or paid a part of it. */
export function mayRead(row: CallRow, viewer: bigint): boolean {
  return row.actor_account_id === viewer || row.funding.length > 0
}

/** How the money of a call stands. */
export function billingState(row: CallRow): BillingState {
  if (row.resolution) return row.resolution === 'captured' ? 'settled' : 'released'
  return row.status === 'usage_unknown' || row.status === 'pending_settlement' ? row.status : 'reserved'
}

/** Why this viewer cannot have the call refunded, or undefined when it can: failed, charged, and its own. */
export function refusalToRefund(row: CallRow, viewer: bigint): NotRefundable | undefined {
  if (row.actor_account_id !== viewer) return 'not_original_account'
  switch (row.status) {
    case 'running':
      return 'call_running'
    case 'usage_unknown':
    case 'pending_settlement':
      return row.status
    case 'success':
      return 'call_successful'
    case 'failed':
      if (row.actual_micro === 0n) return 'nothing_charged'
      return row.refund_id === null ? undefined : 'already_refunded'
  }
}

/** What the viewer's own account paid for the call: the sum of the parts that it sees, and of its statement's rows for the call. */
export function chargedMicro(row: CallRow): number {
  return row.funding.reduce((sum, part) => sum + part.amount_micro, 0)
}
