import { sql } from 'kysely'
import type { Tx } from '../db/database.ts'
import type { RefundDecision } from '../db/schema.ts'

/** Why a call has no refund. */
export type RefundRefused =
  | 'call_not_found'
  | 'not_original_account'
  | 'call_running'
  | 'usage_unknown'
  | 'pending_settlement'
  | 'call_successful'
  | 'nothing_charged'

/** The refund of a call, made now or before, or why there is none. */
export type Refunded =
  | { readonly kind: 'refunded' | 'repeated'; readonly refundId: bigint }
  | { readonly kind: RefundRefused }

/**
 * Gives back what a failed call cost, to the buckets and budget windows that it came from; without verified
 * allocations the refund waits for an operator. Once for each call: a repeat gives the same refund. Call it inside
 * `ledgerTransaction`.
 */
export async function refundCall(
  tx: Tx,
  wanted: { callId: bigint; accountId: bigint; reason: string },
): Promise<Refunded> {
  const { rows } = await sql<{ outcome: Refunded['kind']; refund_id: bigint | null }>`
    select outcome, refund_id from ledger_refund(${wanted.callId}, ${wanted.accountId}, ${wanted.reason})`.execute(tx)
  const { outcome, refund_id } = rows[0] as (typeof rows)[number]
  if (outcome === 'refunded' || outcome === 'repeated') return { kind: outcome, refundId: refund_id as bigint }
  return { kind: outcome }
}

/** What an operator's decision came to. */
export type RefundDecided = RefundDecision | 'repeated' | 'decided_otherwise' | 'not_in_review' | 'refund_not_found'

/** Decides on a refund in review. Approved, the account that made the call gets the amount as `refunded` Credits. Call it inside `ledgerTransaction`. */
export async function decideRefund(
  tx: Tx,
  decision: { refundId: bigint; word: RefundDecision; actor: string; reason: string },
): Promise<RefundDecided> {
  const { rows } = await sql<{ outcome: RefundDecided }>`
    select ledger_decide_refund(${decision.refundId}, ${decision.word}, ${decision.actor}, ${decision.reason}) as outcome`.execute(
    tx,
  )
  return (rows[0] as { outcome: RefundDecided }).outcome
}
