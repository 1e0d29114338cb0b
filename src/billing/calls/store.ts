import { type RawBuilder, sql } from 'kysely'
import type { Database, Tx } from '../../db/database.ts'
import type { BucketKind, CallOutcome, HoldFlag, ResolutionKind } from '../../db/schema.ts'

/** Where a call stands, as people read it. */
export const callStatuses = ['running', 'success', 'failed', 'usage_unknown', 'pending_settlement'] as const
/** One of them. */
export type CallStatus = (typeof callStatuses)[number]

/** A call with its end, if it has one, and the viewer's own part of its funding. */
export interface CallRow {
  readonly id: bigint
  readonly request_id: string
  readonly category: string
  readonly subject: string
  readonly actor_account_id: bigint
  readonly key_id: bigint | null
  readonly reserve_micro: bigint
  readonly detail: unknown
  readonly created_at: Date
  readonly status: CallStatus
  readonly resolution: ResolutionKind | null
  /** Of a call that waits for its settlement: what it would be. */
  readonly outcome: CallOutcome | null
  readonly usage: unknown
  readonly actual_micro: bigint | null
  readonly resolved_at: Date | null
  /** Its refund, in whatever state. */
  readonly refund_id: bigint | null
  /** In the order of use. Amounts in JSON are exact: they stay below 2^53. */
  readonly funding: ReadonlyArray<{
    account_id: number
    bucket: BucketKind
    reserved_amount_micro: number
    amount_micro: number
  }>
}

/** Which calls a list wants. `before` is a call: older ones follow it. */
export interface CallFilter {
  readonly model: string | undefined
  readonly status: CallStatus | undefined
  readonly keyId: bigint | undefined
  readonly requestId: string | undefined
  readonly from: Date | undefined
  readonly to: Date | undefined
  readonly before: CallPlace | undefined
}

/** A call's place in the order of lists: its time, exact to the microsecond as the database writes it, then its id. */
export interface CallPlace {
  readonly id: bigint
  readonly created_at: string
}

const status = sql<CallStatus>`case when r.hold_id is not null then r.outcome::text when short.hold_id is not null then 'pending_settlement'
  when lost.hold_id is not null then 'usage_unknown' else 'running' end`

/** The end of `h`, or why it has none yet. */
const ends = sql`left join hold_resolutions r on r.hold_id = h.id
  left join hold_flags short on short.hold_id = h.id and short.flag = 'shortfall'
  left join hold_flags lost on lost.hold_id = h.id and lost.flag = 'usage_unknown'`

const resolved = (outcome: CallOutcome) =>
  sql`exists (select from hold_resolutions e where e.hold_id = h.id and e.outcome = ${outcome})`
const open = sql`not exists (select from hold_resolutions e where e.hold_id = h.id)`
const flagged = (flag: HoldFlag) => sql`exists (select from hold_flags f where f.hold_id = h.id and f.flag = ${flag})`

/**
 * The status as a condition that starts from where such calls are few: from the flags, or, for running ones,
 * from the oldest call that a living process may still have open.
 */
const statusIs: Readonly<Record<CallStatus, RawBuilder<unknown>>> = {
  running: sql`h.id >= coalesce((select min(oldest_hold_id) from processes where ended_at is null), 0) and ${open} and not ${flagged('shortfall')} and not ${flagged('usage_unknown')}`,
  success: resolved('success'),
  failed: resolved('failed'),
  usage_unknown: sql`${flagged('usage_unknown')} and not ${flagged('shortfall')} and ${open}`,
  pending_settlement: sql`${flagged('shortfall')} and ${open}`,
}

/** Rows of `holds` as a viewer reads them. A part's charge is what its capture took: parts are used in order. */
const read = (viewer: bigint, holds: RawBuilder<unknown>) => sql<CallRow>`
  select h.id, h.request_id, h.category, h.subject, h.actor_account_id, case when h.credential_kind = 'api_key' then h.credential_id end as key_id,
         h.reserve_micro, h.detail, h.created_at, ${status} as status, r.kind as resolution, coalesce(r.outcome, short.outcome) as outcome,
         coalesce(r.usage, short.usage) as usage, coalesce(r.actual_micro, short.actual_micro)::bigint as actual_micro, r.resolved_at,
         (select f.id from refunds f where f.call_id = h.id) as refund_id, coalesce(funding.parts, '[]') as funding
  from (${holds}) h ${ends}
  left join lateral (
    select json_agg(json_build_object('account_id', p.payer_account_id, 'bucket', b.kind, 'reserved_amount_micro', p.amount_micro,
                                      'amount_micro', greatest(0, least(p.amount_micro, coalesce(r.actual_micro, 0) - p.used_before))) order by p.n) as parts
    from (select a.*, sum(a.amount_micro) over (order by a.n) - a.amount_micro as used_before from hold_allocations a where a.hold_id = h.id) p
    join buckets b on b.id = p.bucket_id
    where p.payer_account_id = ${viewer}
  ) funding on true
  order by h.created_at desc, h.id desc`

/** The newest calls that an account made or funded. One walk down each of two indexes by time. */
export async function list(db: Database, viewer: bigint, filter: CallFilter, limit: number): Promise<CallRow[]> {
  const conditions = [
    filter.before &&
      sql`h.created_at <= ${filter.before.created_at}::timestamptz and (h.created_at, h.id) < (${filter.before.created_at}::timestamptz, ${filter.before.id}::bigint)`,
    filter.from && sql`h.created_at >= ${filter.from}`,
    filter.to && sql`h.created_at < ${filter.to}`,
    filter.model !== undefined && sql`h.subject = ${filter.model}`,
    filter.requestId !== undefined && sql`h.request_id = ${filter.requestId}`,
    filter.keyId !== undefined && sql`h.credential_kind = 'api_key' and h.credential_id = ${filter.keyId}`,
    filter.status && statusIs[filter.status],
  ].filter((condition) => condition !== undefined && condition !== false)
  const matching = (who: RawBuilder<unknown>) => sql`
    (select h.* from holds h where ${sql.join([who, ...conditions], sql` and `)} order by h.created_at desc, h.id desc limit ${limit})`
  const page = sql`select * from (
      ${matching(sql`h.actor_account_id = ${viewer}`)}
      union all
      ${matching(sql`h.family_id = ${viewer} and h.family_id <> h.actor_account_id
        and exists (select from hold_allocations a where a.hold_id = h.id and a.payer_account_id = ${viewer})`)}
    ) either order by created_at desc, id desc limit ${limit}`
  return (await read(viewer, page).execute(db)).rows
}

/** The call with this id, whoever made it. */
export async function find(db: Database, viewer: bigint, id: bigint): Promise<CallRow | undefined> {
  return (await read(viewer, sql`select * from holds where id = ${id}`).execute(db)).rows[0]
}

/** Where a call stands in the order of lists. */
export async function place(db: Database, id: bigint): Promise<CallPlace | undefined> {
  return db
    .selectFrom('holds')
    .select('id')
    .select(sql<string>`created_at::text`.as('created_at'))
    .where('id', '=', id)
    .executeTakeFirst()
}

/** Above every id of a movement. */
export const AFTER_EVERY_ID = 9_007_199_254_740_992n

/**
 * For each moment the id at which an account's movements pass it, as statement_cut() finds it: smaller ids are before.
 * Null for what is no moment.
 */
export async function idsAtMoments(
  db: Database | Tx,
  accountId: bigint,
  moments: ReadonlyArray<Date | undefined>,
): Promise<Array<bigint | null>> {
  // most statements are read without a range: they need not ask
  if (moments.every((moment) => moment === undefined)) return []
  const { rows } = await sql<{ id: bigint | null }>`
    select case when m.moment is not null then statement_cut(${accountId}, m.moment) end as id
    from unnest(${moments.map((moment) => moment?.toISOString())}::timestamptz[]) with ordinality m (moment, n) order by n`.execute(
    db,
  )
  return rows.map((row) => row.id)
}
