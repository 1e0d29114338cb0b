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
