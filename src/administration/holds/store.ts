import { sql } from 'kysely'
import type { Database, Tx } from '../../db/database.ts'
import type { CallOutcome, HoldFlag, Json, ResolutionKind } from '../../db/schema.ts'

/** A hold with what is known of its end. A hold that was flagged twice shows `shortfall`, which came last. */
export interface HoldRow {
  readonly id: bigint
  readonly request_id: string
  readonly actor_account_id: bigint
  readonly category: string
  readonly subject: string
  readonly reserve_micro: bigint
  readonly created_at: Date
  readonly age_seconds: number
  readonly flag: HoldFlag | null
  readonly flag_detail: string | null
  readonly flagged_at: Date | null
  /** What is known of a call of unknown cost, to look it up by. */
  readonly evidence: Json | null
  /** What the call cost, where it is known. */
  readonly actual_micro: bigint | null
  /** Name of the server process that made the hold: host and process id. */
  readonly process: string | null
  readonly resolution: ResolutionKind | null
  readonly resolved_micro: bigint | null
  readonly resolved_outcome: CallOutcome | null
  readonly resolved_by: string | null
  readonly resolved_reason: string | null
  readonly resolved_at: Date | null
  readonly detail: Json | null
}

/** Who pays which part of a hold, in the order in which it is consumed. */
export interface AllocationRow {
  readonly payer_account_id: bigint
  readonly bucket_id: bigint
  readonly kind: string
  readonly amount_micro: bigint
}

const columns = sql`
  h.id, h.request_id, h.actor_account_id, h.category, h.subject, h.reserve_micro, h.created_at, h.detail,
  extract(epoch from now() - h.created_at)::float8 as age_seconds,
  f.flag, f.detail as flag_detail, f.flagged_at, (select u.evidence from hold_flags u where u.hold_id = h.id and u.flag = 'usage_unknown') as evidence, f.actual_micro, p.host || ':' || p.pid as process,
  r.kind as resolution, r.actual_micro as resolved_micro, r.outcome as resolved_outcome, r.resolved_by, r.reason as resolved_reason, r.resolved_at`
const joins = sql`
  left join lateral (select * from hold_flags where hold_id = h.id order by flag desc limit 1) f on true
  left join hold_resolutions r on r.hold_id = h.id
  left join processes p on p.id = h.process_id`

/** Which waiting holds to read. */
export interface Waiting {
  readonly accountId?: bigint | undefined
  readonly flag?: HoldFlag | undefined
  /** The hold after which the page begins. */
  readonly after?: bigint | undefined
  readonly limit: number
}

/** Open holds that wait for somebody, longest first, at most `limit`. */
export async function waiting(db: Database, wanted: Waiting): Promise<HoldRow[]> {
  const { accountId, flag, after, limit } = wanted
  const ofAccount = accountId === undefined ? sql`` : sql`and h.actor_account_id = ${accountId}`
  const flagged = flag === undefined ? sql`` : sql`and f.flag = ${flag}`
  const later =
    after === undefined
      ? sql``
      : sql`and s.id > coalesce((select id from settlements where hold_id = ${after}), ${LAST}::bigint)`
  const { rows } = await sql<HoldRow>`
    select ${columns} from settlements s join holds h on h.id = s.hold_id ${joins}
    where r.hold_id is null ${ofAccount} ${flagged} ${later} order by s.id limit ${limit}`.execute(db)
  return rows
}

/** After the last settlement there can be: an unknown cursor ends the list. */
const LAST = 9_223_372_036_854_775_807n

/** How many open holds wait for somebody, by why, and since when the oldest does. */
export async function countWaiting(
  db: Database,
): Promise<Array<{ flag: HoldFlag; holds: bigint; micro: bigint; oldest_seconds: number }>> {
  const { rows } = await sql<{
    flag: HoldFlag
    holds: bigint
    micro: bigint
    oldest_seconds: number
  }>`
    select f.flag, count(*) as holds, sum(h.reserve_micro)::bigint as micro, extract(epoch from now() - min(h.created_at))::float8 as oldest_seconds
    from settlements s join holds h on h.id = s.hold_id ${joins} where r.hold_id is null group by f.flag order by f.flag`.execute(
    db,
  )
  return rows
}

/** Keeps everything of the family of a hold as it is until the transaction ends. Does nothing where there is no such hold. */
export async function lockFamily(tx: Tx, holdId: bigint): Promise<void> {
  await sql`select ledger_lock_families(array[actor_account_id]) from holds where id = ${holdId}`.execute(tx)
}

/** The hold with this id, or of the request with this id. */
export async function find(
  db: Database | Tx,
  by: { id: bigint } | { requestId: string },
): Promise<HoldRow | undefined> {
  const condition = 'id' in by ? sql`h.id = ${by.id}` : sql`h.request_id = ${by.requestId}`
  const { rows } = await sql<HoldRow>`select ${columns} from holds h ${joins} where ${condition}`.execute(db)
  return rows[0]
}

/** The parts of a hold. */
export async function allocations(db: Database, holdId: bigint): Promise<AllocationRow[]> {
  return db
    .selectFrom('hold_allocations')
    .innerJoin('buckets', 'buckets.id', 'bucket_id')
    .select(['payer_account_id', 'bucket_id', 'kind', 'amount_micro'])
    .where('hold_id', '=', holdId)
    .orderBy('n')
    .execute()
}
