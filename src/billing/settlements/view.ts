import type { SettlementRow } from './store.ts'

/** How the money of an item stands (decisions 5). */
export type BillingState = 'pending_settlement' | 'usage_unknown' | 'settled' | 'released'

/** One account that paid the hold, as far as the viewer may see it. */
export interface Funding {
  readonly accountId: number
  readonly reservedMicro: number
  readonly availableMicro: number
  readonly supplementalAllowed: boolean
}

/** An item as one viewer sees it. */
export interface Item {
  readonly billingState: BillingState
  readonly status: 'reserved' | 'settled' | 'released'
  /** The viewer paid a part and is not, or no longer, the owner of the Agent that made the call. */
  readonly historicalOwner: boolean
  readonly canAuthorize: boolean
  readonly shortfallMicro: bigint
  readonly funding: readonly Funding[]
}

/** What a viewer sees of an item, and what it may do. Reads nothing and decides nothing that the ledger does not decide again. */
export function itemFor(row: SettlementRow, viewer: bigint): Item {
  const billingState = stateOf(row)
  const pending = billingState === 'pending_settlement'
  return {
    billingState,
    status: row.resolution === null ? 'reserved' : row.resolution === 'captured' ? 'settled' : 'released',
    historicalOwner: row.actor_account_id !== viewer && !row.viewer_owns_actor,
    canAuthorize:
      pending &&
      mayAuthorize(row, viewer) &&
      row.payers.every(({ available_micro, part_micro }) => available_micro >= part_micro),
    shortfallMicro: pending ? (row.actual_micro ?? 0n) - row.reserve_micro : 0n,
    funding: fundingFor(row, viewer, pending),
  }
}

/** True for whoever's money it is: an owner that paid a part of the hold, or an account that paid all of it. */
export function mayAuthorize(row: SettlementRow, viewer: bigint): boolean {
  const paid = row.payers.some(({ account_id }) => BigInt(account_id) === viewer)
  return paid && (row.viewer_type === 'owner' || row.payers.length === 1)
}

function stateOf(row: SettlementRow): BillingState {
  if (row.resolution !== null) return row.resolution === 'captured' ? 'settled' : 'released'
  return row.short ? 'pending_settlement' : 'usage_unknown'
}

/**
 * The viewer's own account whole. Other payers only to the owner of the Agent that made the call, and of what they
 * have no more than their part of this item: enough to see who has to top up, and nobody's balance.
 */
function fundingFor(row: SettlementRow, viewer: bigint, pending: boolean): Funding[] {
  return row.payers
    .filter(({ account_id }) => BigInt(account_id) === viewer || row.viewer_owns_actor)
    .map((payer) => ({
      accountId: payer.account_id,
      reservedMicro: payer.reserved_micro,
      availableMicro:
        BigInt(payer.account_id) === viewer
          ? payer.available_micro
          : pending
            ? Math.min(payer.available_micro, payer.part_micro)
            : 0,
      supplementalAllowed: pending,
    }))
}
