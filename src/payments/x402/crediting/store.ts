import { sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'
import { assert } from '../../../kernel/assert.ts'
import type { Payment } from '../model.ts'

/** The place of a transfer on a chain. */
export interface Place {
  readonly txHash: string
  readonly position: number
}

/**
 * Gives the Credits of a payment for one transfer, once over all payment rails; those that it asked for unless told otherwise. `taken`: another purchase has that
 * transfer, and `by` names it; nothing is given then.
 */
export async function grantForTransfer(
  tx: Tx,
  payment: Payment,
  { txHash, position }: Place,
  { creditMicro, reason }: { readonly creditMicro: bigint; readonly reason: string } = {
    creditMicro: payment.credit_micro,
    reason: 'x402 payment',
  },
): Promise<{
  readonly outcome: 'granted' | 'repeated' | 'taken' | 'paid_before'
  readonly grantId: bigint
  readonly by: string | null
}> {
  const { rows } = await sql<{
    outcome: 'granted' | 'repeated' | 'taken' | 'paid_before'
    grant_id: bigint
    taken_by: string | null
  }>`
    select outcome, grant_id, taken_by from ledger_grant_receipt(${payment.chain_id}, ${txHash}, ${position},
      'x402', ${String(payment.id)}, ${payment.account_id}, ${creditMicro}, ${reason})`.execute(tx)
  const row = rows[0]
  assert(row, 'the ledger answered nothing to a receipt')
  return { outcome: row.outcome, grantId: row.grant_id, by: row.taken_by }
}

/** Locks what the watcher of orders wrote of the transfer. True: an operator decided about it before it was known to be ours. */
export async function isDecided(tx: Tx, payment: Payment, place: Place): Promise<boolean> {
  const row = await tx
    .selectFrom('chain_transfers')
    .select('resolved_at')
    .where('chain_id', '=', payment.chain_id)
    .where('tx_hash', '=', place.txHash)
    .where('log_position', '=', place.position)
    .forUpdate()
    .executeTakeFirst()
  return row !== undefined && row.resolved_at !== null
}

/** Tells the watcher of orders whose transfer it saw, if it was there first. */
export async function markTransfer(tx: Tx, payment: Payment, place: Place): Promise<void> {
  await tx
    .updateTable('chain_transfers')
    .set({ state: 'credited', note: `x402 payment ${payment.id}` })
    .where('chain_id', '=', payment.chain_id)
    .where('tx_hash', '=', place.txHash)
    .where('log_position', '=', place.position)
    .where('state', 'in', ['seen', 'unmatched', 'ignored'])
    .execute()
}

/** Tells the world later of what became true in this transaction. */
export async function tell(
  tx: Tx,
  event: 'payment.credited' | 'payment.review_required',
  payment: Payment,
  { at, txHash, reason }: { at: Date; txHash: string; reason?: string },
): Promise<void> {
  const payload = {
    payment_id: Number(payment.id),
    account_id: Number(payment.account_id),
    rail: 'x402',
    asset_id: payment.asset_id,
    tx_hash: txHash,
    amount_micro: String(payment.amount_micro),
    credit_micro: String(payment.credit_micro),
    ...(reason === undefined ? {} : { review_reason: reason }),
    at: at.toISOString(),
  }
  await tx
    .insertInto('outbox')
    .values({
      event,
      account_id: payment.account_id,
      object_id: String(payment.id),
      payload: JSON.stringify(payload),
    })
    .execute()
}
