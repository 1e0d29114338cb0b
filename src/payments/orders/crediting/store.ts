import { sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'
import { assert } from '../../../kernel/assert.ts'
import type { Order } from '../store.ts'

/** Tells the world later of what became true in this transaction (order.completed, order.review_required). */
export async function tell(
  tx: Tx,
  event: 'order.completed' | 'order.review_required',
  order: Order,
  at: Date,
): Promise<void> {
  const payload = {
    order_id: order.id,
    account_id: Number(order.account_id),
    status: order.status,
    asset_id: order.asset_id,
    tx_hash: order.tx_hash ?? '',
    amount_micro: String(order.amount_micro),
    credit_micro: String(order.credit_micro),
    review_reason: order.review_reason,
    at: at.toISOString(),
  }
  await tx
    .insertInto('outbox')
    .values({
      event,
      account_id: order.payer_account_id,
      object_id: order.id,
      payload: JSON.stringify(payload),
    })
    .execute()
}

/** A transfer on a chain, to be credited. */
export interface Receipt {
  readonly chainId: bigint
  readonly txHash: string
  readonly logPosition: number
}

/**
 * Gives the Credits of an order for one transfer. `taken`: another purchase has that transfer, on whatever rail;
 * `paid_before`: this order got its Credits for another transfer. Nothing is given then.
 */
export async function grantForReceipt(
  tx: Tx,
  receipt: Receipt,
  grant: {
    readonly source: 'order' | 'operator'
    readonly sourceId: string
    readonly accountId: bigint
    readonly amountMicro: bigint
    readonly reason: string
  },
): Promise<{
  readonly outcome: 'granted' | 'repeated' | 'taken' | 'paid_before'
  readonly grantId: bigint
}> {
  const { rows } = await sql<{
    outcome: 'granted' | 'repeated' | 'taken' | 'paid_before'
    grant_id: bigint
  }>`
    select outcome, grant_id from ledger_grant_receipt(${receipt.chainId}, ${receipt.txHash}, ${receipt.logPosition},
      ${grant.source}, ${grant.sourceId}, ${grant.accountId}, ${grant.amountMicro}, ${grant.reason})`.execute(tx)
  const row = rows[0]
  assert(row, 'the ledger answered nothing to a receipt')
  return { outcome: row.outcome, grantId: row.grant_id }
}

/**
 * Sets aside what the account still has of a grant whose payment is in doubt: at most what was given, at most what is
 * available. Nobody can spend it until `endGrantHold`. `holdId` is null when there was nothing left.
 */
export async function holdGrant(
  tx: Tx,
  grantId: bigint,
): Promise<{ readonly holdId: bigint | null; readonly heldMicro: bigint }> {
  const { rows } = await sql<{
    hold_id: bigint | null
    held_micro: bigint
  }>`select hold_id, held_micro from ledger_hold_grant(${grantId})`.execute(tx)
  const row = rows[0]
  assert(row, 'the ledger answered nothing to a hold of a grant')
  return { holdId: row.hold_id, heldMicro: row.held_micro }
}

/** Gives back what `holdGrant` set aside, or takes it from its account for good. Gives what was taken, in microcredits. */
export async function endGrantHold(
  tx: Tx,
  hold: { readonly holdId: bigint; readonly grantId: bigint },
  ending: { readonly take: boolean; readonly by: string; readonly reason: string },
): Promise<bigint> {
  const { rows } = await sql<{ taken: bigint }>`
    select ledger_end_grant_hold(${hold.holdId}, ${hold.grantId}, ${ending.take}, ${ending.by}, ${ending.reason}) as taken`.execute(
    tx,
  )
  return rows[0]?.taken ?? 0n
}
