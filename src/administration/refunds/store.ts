import { sql } from 'kysely'
import type { Database } from '../../db/database.ts'
import type { RefundDecision } from '../../db/schema.ts'

/** A refund with its call and what was decided. */
export interface RefundRow {
  readonly id: bigint
  readonly call_id: bigint
  readonly request_id: string
  readonly account_id: bigint
  readonly amount_micro: bigint
  readonly reason: string
  readonly is_verified: boolean
  /** Why its funding is not known, where that was noted. */
  readonly note: string | null
  readonly decision: RefundDecision | null
  readonly decided_by: string | null
  readonly decision_reason: string | null
  readonly decided_at: Date | null
  readonly created_at: Date
  readonly age_seconds: number
}

const rows = sql`
  select f.id, f.call_id, h.request_id, f.account_id, f.amount_micro::bigint as amount_micro, f.reason, f.is_verified, w.reason as note,
         d.decision, d.decided_by, d.reason as decision_reason, d.decided_at, f.created_at, extract(epoch from now() - f.created_at)::float8 as age_seconds
  from refunds f
  join holds h on h.id = f.call_id
  left join refund_decisions d on d.refund_id = f.id
  left join holds_without_allocations w on w.hold_id = f.call_id`

/** Refunds that wait for a decision, oldest first; with `afterId`, those that came after that one. */
export async function waiting(db: Database, limit: number, afterId = 0n): Promise<RefundRow[]> {
  return (
    await sql<RefundRow>`${rows} where not f.is_verified and d.refund_id is null and f.id > ${afterId}
      order by f.id limit ${limit}`.execute(db)
  ).rows
}

/** Refunds that somebody decided on, the newest first; with `beforeId`, those that are older than that one. */
export async function decided(db: Database, limit: number, beforeId: bigint | undefined): Promise<RefundRow[]> {
  return (
    await sql<RefundRow>`${rows} where not f.is_verified and d.refund_id is not null
      and (${beforeId ?? null}::bigint is null or f.id < ${beforeId ?? null}) order by f.id desc limit ${limit}`.execute(
      db,
    )
  ).rows
}

/** The refund with this id. */
export async function find(db: Database, id: bigint): Promise<RefundRow | undefined> {
  return (await sql<RefundRow>`${rows} where f.id = ${id}`.execute(db)).rows[0]
}

/** Where a refund's Credits went: the parts of its movement. */
export async function parts(
  db: Database,
  refund: Pick<RefundRow, 'id' | 'call_id'>,
): Promise<Array<{ account_id: bigint; bucket_id: bigint; kind: string; amount_micro: bigint }>> {
  const { rows: found } = await sql<{ account_id: bigint; bucket_id: bigint; kind: string; amount_micro: bigint }>`
    select p.payer_account_id as account_id, p.bucket_id, b.kind, p.captured_micro as amount_micro
    from hold_resolutions r cross join captured_parts(r.hold_id, r.actual_micro) p join buckets b on b.id = p.bucket_id
    where r.hold_id = ${refund.call_id} order by p.bucket_id`.execute(db)
  return found
}
