import { sql } from 'kysely'
import type { Database } from '../../db/database.ts'
import type { BucketKind, GrantSource, TransferKind } from '../../db/schema.ts'

/** A budget's tightest limit as budget_rooms() gives it, and when its window ends. */
export interface Bound {
  readonly limit: 'per_call' | 'daily' | 'monthly' | 'total'
  readonly limit_micro: number
  readonly spent_micro: number
  readonly held_micro: number
  readonly room_micro: number
  readonly resets_at: string | null
}

/** Everything that a balance is made of, read in one snapshot. */
export interface FundingRow {
  /** False when the link says that only the owner pays. */
  readonly own_pays: boolean
  /** True when the owner would pay for this account now. */
  readonly owner_pays: boolean
  readonly posted_micro: bigint
  readonly available_micro: bigint
  readonly held_micro: bigint
  /** What is not empty, in the order of use. Amounts and ids in JSON are exact: they stay below 2^53. */
  readonly buckets: ReadonlyArray<{
    kind: BucketKind
    available_micro: number
    held_micro: number
    expires_at: string | null
  }>
  readonly owner_available_micro: bigint
  /** What the link's budget counts as held by this account's open calls. */
  readonly owner_held_micro: bigint
  readonly key_bound: Bound | null
  readonly link_bound: Bound | null
}

/** The funds of an account, decided by the same columns and functions as a hold (ledger_reserve). */
export async function funding(
  db: Database,
  accountId: bigint,
  keyId: bigint | undefined,
): Promise<FundingRow | undefined> {
  const bound = (budget: ReturnType<typeof sql.raw>) => sql`
    select json_build_object('limit', r.name, 'limit_micro', r.limit_micro, 'spent_micro', r.spent_micro, 'held_micro', r.held_micro, 'room_micro', r.room_micro,
      'resets_at', case r.name when 'daily' then date_trunc('day', now() at time zone 'UTC') + interval '1 day'
                               when 'monthly' then date_trunc('month', now() at time zone 'UTC') + interval '1 month' end at time zone 'UTC')
    from budget_rooms(${budget}) r order by r.room_micro limit 1`
  const { rows } = await sql<FundingRow>`
    with me as (
      select a.id, l.agent_account_id is null or l.billing_mode <> 'owner_only' as own_pays, o.id as owner_id, l.budget_id as link_budget_id,
             (select k.budget_id from api_keys k where k.id = ${keyId ?? null} and k.account_id = a.id) as key_budget_id
      from accounts a
      left join agent_links l on l.agent_account_id = a.id
      left join accounts o on o.id = l.owner_account_id and o.status = 'active' and l.billing_mode <> 'self_only' and not l.funding_paused
      where a.id = ${accountId}
    ), own as (
      select b.*, case when b.expires_at is null or b.expires_at > now() then b.posted_micro - b.held_micro else 0 end as available_micro
      from buckets b where b.account_id = ${accountId} and (b.posted_micro > 0 or b.held_micro > 0)
    )
    select me.own_pays, me.owner_id is not null as owner_pays,
      (select coalesce(sum(posted_micro), 0)::bigint from own) as posted_micro,
      (select coalesce(sum(available_micro), 0)::bigint from own) as available_micro,
      (select coalesce(sum(held_micro), 0)::bigint from own) as held_micro,
      (select coalesce(json_agg(json_build_object('kind', kind, 'available_micro', available_micro, 'held_micro', held_micro, 'expires_at', expires_at)
                                order by own.expires_at nulls last, own.kind, own.id), '[]')
       from own where available_micro > 0 or held_micro > 0) as buckets,
      account_available_micro(me.owner_id) as owner_available_micro,
      coalesce((select w.held_micro from budget_windows w
                where me.owner_id is not null and w.budget_id = me.link_budget_id and w.window_kind = 'total'), 0)::bigint as owner_held_micro,
      (${bound(sql.raw('me.key_budget_id'))}) as key_bound,
      case when me.owner_id is not null then (${bound(sql.raw('me.link_budget_id'))}) end as link_bound
    from me`.execute(db)
  return rows[0]
}

/** One movement of an account, signed from the account's side. */
export interface MovementRow {
  readonly id: bigint
  readonly kind: TransferKind
  readonly amount_micro: bigint
  readonly bucket: BucketKind
  readonly balance_after_micro: bigint
  readonly moved_at: Date
  readonly call_id: bigint | null
  /** What was called, by whom and with which key, of captures and refunds. The key is null for an access token. */
  readonly model: string | null
  readonly actor_account_id: bigint | null
  readonly key_id: bigint | null
  readonly refund_id: bigint | null
  readonly grant_source: GrantSource | null
  readonly grant_source_id: string | null
}

/**
 * Movements with an id from `fromId` and below `beforeId`, newest first: one walk down the index (account_id, id).
 * The pair is compared as a whole, so that no other index will do, however many of all movements are this account's.
 */
export async function movements(
  db: Database,
  accountId: bigint,
  span: { fromId: bigint; beforeId: bigint; limit: number },
): Promise<MovementRow[]> {
  const { rows } = await sql<MovementRow>`
    select t.id, t.kind, (case when t.credit_id > 0 then t.amount_micro else -t.amount_micro end)::bigint as amount_micro, b.kind as bucket,
           t.balance_after_micro::bigint, t.moved_at, t.hold_id as call_id, h.subject as model, h.actor_account_id,
           case when h.credential_kind = 'api_key' then h.credential_id end as key_id, t.refund_id, g.source as grant_source, g.source_id as grant_source_id
    from (
      select * from transfers where (account_id, id) >= (${accountId}, ${span.fromId}) and (account_id, id) < (${accountId}, ${span.beforeId})
      order by account_id desc, id desc limit ${span.limit}
    ) t
    join buckets b on b.id = case when t.credit_id > 0 then t.credit_id else t.debit_id end
    left join holds h on h.id = t.hold_id
    left join credit_grants g on g.id = t.grant_id
    order by t.id desc`.execute(db)
  return rows
}

/** What the account owned where a span without movements lies: 0 before its first. */
export async function balanceBefore(
  db: Database,
  accountId: bigint,
  span: { fromId: bigint; beforeId: bigint },
): Promise<bigint> {
  const { rows } = await sql<{ balance_after_micro: bigint }>`
    select balance_after_micro from transfers
    where (account_id, id) >= (${accountId}, 0) and (account_id, id) < (${accountId}, least(${span.fromId}::bigint, ${span.beforeId}::bigint))
    order by account_id desc, id desc limit 1`.execute(db)
  return rows[0]?.balance_after_micro ?? 0n
}
