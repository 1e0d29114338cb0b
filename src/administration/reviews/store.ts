import type { Database } from '../../db/database.ts'
import type { Transfer } from '../../payments/orders/review/store.ts'
import type { Payment } from '../../payments/x402/model.ts'

/** Payments by x402 that wait for a decision, oldest first. */
export function x402InReview(db: Database, limit: number): Promise<Payment[]> {
  return db
    .selectFrom('x402_payments')
    .selectAll()
    .where('status', '=', 'review_required')
    .orderBy('id')
    .limit(limit)
    .execute()
}

/** What people call these accounts; without an entry where one has no label. */
export async function labels(db: Database, ids: readonly bigint[]): Promise<ReadonlyMap<bigint, string>> {
  if (ids.length === 0) return new Map()
  const rows = await db
    .selectFrom('accounts')
    .select(['id', 'label'])
    .where('id', 'in', [...new Set(ids)])
    .execute()
  return new Map(rows.flatMap(({ id, label }) => (label === null ? [] : [[id, label] as const])))
}

/** What the payment's transaction brought from its payer to us, as the watcher wrote it down. */
export function transfersOf(db: Database, payment: Payment): Promise<Transfer[]> {
  return db
    .selectFrom('chain_transfers')
    .selectAll()
    .where('chain_id', '=', payment.chain_id)
    .where('tx_hash', '=', payment.tx_hash ?? '')
    .where('token_address', '=', payment.token_address)
    .where('payer', '=', payment.payer)
    .where('recipient', '=', payment.recipient_address)
    .where('state', 'not in', ['orphaned', 'ignored'])
    .orderBy('log_position')
    .execute()
}
