import { type Selectable, sql } from 'kysely'
import type { Database, Tx } from '../../../db/database.ts'
import type { DB, JsonObject, TransferState } from '../../../db/schema.ts'
import type { Payment } from '../model.ts'

/** A transfer that a transaction of the payment made to us, and whether Credits were given for it on any rail. */
export interface Arrived {
  readonly log_position: number
  readonly amount: string
  readonly block: bigint
  readonly state: TransferState
  readonly resolved_at: Date | null
  readonly credited: boolean
}

/** What the payment's transaction brought from its payer, as the watcher wrote it down; the rows locked, in their order. */
export async function arrived(tx: Tx, payment: Payment): Promise<Arrived[]> {
  if (payment.tx_hash === null) return []
  const { rows } = await sql<Arrived>`
    select t.log_position, t.amount, t.block, t.state, t.resolved_at,
           exists (select from chain_receipts r where r.chain_id = t.chain_id and r.tx_hash = t.tx_hash and r.log_position = t.log_position) as credited
    from chain_transfers t
    where t.chain_id = ${payment.chain_id} and t.tx_hash = ${payment.tx_hash} and t.token_address = ${payment.token_address}
      and t.payer = ${payment.payer} and t.recipient = ${payment.recipient_address} and t.state not in ('orphaned', 'ignored')
    order by t.log_position for update of t`.execute(tx)
  return rows
}

/** Writes down what was decided about the transfer, so that nobody decides about it again. */
export async function resolveTransfer(
  tx: Tx,
  payment: Payment,
  { log_position: logPosition }: Arrived,
  decided: { readonly resolution: JsonObject; readonly credited: boolean; readonly at: Date },
): Promise<void> {
  await tx
    .updateTable('chain_transfers')
    .set({
      resolution: JSON.stringify(decided.resolution),
      resolved_at: decided.at,
      note: `x402 payment ${payment.id}`,
      ...(decided.credited ? { state: 'credited' as const } : {}),
    })
    .where('chain_id', '=', payment.chain_id)
    .where('tx_hash', '=', payment.tx_hash)
    .where('log_position', '=', logPosition)
    .execute()
}

/** The newest proposal of a decision, made since the payment came into review. */
export function newestProposal(db: Database | Tx, id: bigint): Promise<Selectable<DB['x402_events']> | undefined> {
  return db
    .selectFrom('x402_events')
    .selectAll()
    .where('payment_id', '=', id)
    .where('event', '=', 'operator_propose')
    .where('n', '>', (opened) =>
      opened
        .selectFrom('x402_events')
        .select((eb) => eb.fn.coalesce(eb.fn.max('n'), eb.lit(0)).as('n'))
        .where('payment_id', '=', id)
        .where('event', 'in', ['doubt', 'reorganise']),
    )
    .orderBy('n', 'desc')
    .limit(1)
    .executeTakeFirst()
}
