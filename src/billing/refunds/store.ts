import { type RawBuilder, sql } from 'kysely'
import type { Database, Tx } from '../../db/database.ts'

/** Where a refund stands. */
export const refundStatuses = ['completed', 'review_required', 'rejected'] as const
/** One of them. */
export type RefundStatus = (typeof refundStatuses)[number]

/** A refund as its account reads it. */
export interface RefundRow {
  readonly id: bigint
  readonly account_id: bigint
  readonly call_id: bigint
  readonly amount_micro: bigint
  readonly reason: string
  readonly status: RefundStatus
  readonly created_at: Date
}

const refunds = (where: RawBuilder<unknown>) => sql`
  select f.id, f.account_id, f.call_id, f.amount_micro::bigint as amount_micro, f.reason, f.created_at,
         case when f.is_verified or d.decision = 'approved' then 'completed' when d.decision = 'rejected' then 'rejected' else 'review_required' end as status
  from refunds f left join refund_decisions d on d.refund_id = f.id where ${where}`

/** The refund with this id. */
export async function find(db: Database | Tx, id: bigint): Promise<RefundRow | undefined> {
  return (await sql<RefundRow>`${refunds(sql`f.id = ${id}`)}`.execute(db)).rows[0]
}

/** A page of an account's refunds, newest first, and how many there are. */
export async function page(
  db: Database,
  accountId: bigint,
  wanted: { status: RefundStatus | undefined; offset: number; limit: number },
): Promise<{ rows: RefundRow[]; total: number }> {
  const status = wanted.status === undefined ? sql`true` : sql`status = ${wanted.status}`
  const { rows } = await sql<RefundRow>`
    select * from (${refunds(sql`f.account_id = ${accountId}`)}) f where ${status}
    order by id desc limit ${wanted.limit} offset ${wanted.offset}`.execute(db)
  const { rows: counted } = await sql<{ total: bigint }>`
    select count(*) as total from (${refunds(sql`f.account_id = ${accountId}`)}) f where ${status}`.execute(db)
  return { rows, total: Number((counted[0] as (typeof counted)[number]).total) }
}
