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
 * Gives the Credits of an order for one transfer. `taken`: another purchase has that transfer, on whatever rail, `takenBy`;
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
  readonly takenBy: string | null
}> {
  const { rows } = await sql<{
    outcome: 'granted' | 'repeated' | 'taken' | 'paid_before'
    grant_id: bigint
    taken_by: string | null
  }>`
    select outcome, grant_id, taken_by from ledger_grant_receipt(${receipt.chainId}, ${receipt.txHash}, ${receipt.logPosition},
      ${grant.source}, ${grant.sourceId}, ${grant.accountId}, ${grant.amountMicro}, ${grant.reason})`.execute(tx)
  const row = rows[0]
  assert(row, 'the ledger answered nothing to a receipt')
  return { outcome: row.outcome, grantId: row.grant_id, takenBy: row.taken_by }
}

/** Who got Credits for a transaction, as `rail:id`, when nothing of it is left that an order could still be joined to. */
export async function holderOf(
  tx: Tx,
  { chainId, txHash }: Pick<Receipt, 'chainId' | 'txHash'>,
): Promise<string | undefined> {
  const { rows } = await sql<{ holder: string }>`
    select g.source || ':' || g.source_id as holder
    from chain_receipts r join credit_grants g on g.id = r.grant_id
    where r.chain_id = ${chainId} and r.tx_hash = ${txHash} and not exists (
      select from chain_transfers t where t.chain_id = r.chain_id and t.tx_hash = r.tx_hash and t.state in ('seen', 'matched'))
    order by r.log_position limit 1`.execute(tx)
  return rows[0]?.holder
}
