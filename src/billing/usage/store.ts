import { type RawBuilder, sql } from 'kysely'
import type { Tx } from '../../db/database.ts'

/** What usage may be grouped by. */
export const dimensions = ['day', 'model', 'agent', 'key'] as const
/** One of them. */
export type Dimension = (typeof dimensions)[number]

/** A UTC day, or the part of one that a range covers, with the ids of the account's movements in it. */
export interface DaySpan {
  readonly day: string
  readonly fromId: bigint
  readonly beforeId: bigint
}

/** The sums of one group. A dimension that is not grouped by is null. */
export interface UsageRow {
  readonly day: string | null
  readonly model: string | null
  readonly agent: bigint | null
  readonly key: bigint | null
  /** True of the one row that stands for all groups beyond the limit. */
  readonly other: boolean
  readonly charged_micro: bigint
  readonly owner_charged_micro: bigint
  readonly calls: bigint
  readonly errors: bigint
  readonly input_tokens: bigint
  readonly output_tokens: bigint
}

/**
 * Sums of an account's usage. Charges are its captures, by the same ids as its statement, on the day they were
 * charged; calls and tokens are of the calls it made or funded, on the day they began. At most `groupsMax` rows,
 * the dearest first, and one for all others, so that the rows always make the totals.
 * Reads every call of the range: some 3 s for a million of them.
 */
export async function sums(
  db: Tx,
  account: bigint,
  wanted: { days: readonly DaySpan[]; from: Date; to: Date | undefined; by: ReadonlySet<Dimension>; groupsMax: number },
): Promise<UsageRow[]> {
  const { by, days } = wanted
  const key = sql`case when h.credential_kind = 'api_key' then h.credential_id end`
  const grouped = (day: RawBuilder<unknown>) => sql`
    ${by.has('day') ? day : sql`null::date`} as day, ${by.has('model') ? sql`h.subject` : sql`null::text`} as model,
    ${by.has('agent') ? sql`h.actor_account_id` : sql`null::bigint`} as agent, ${by.has('key') ? key : sql`null::bigint`} as key`
  const needsCall = by.has('model') || by.has('agent') || by.has('key')
  const began = sql`h.created_at >= ${wanted.from} ${wanted.to ? sql`and h.created_at < ${wanted.to}` : sql``}`
  // the planner expects as many groups as rows and would sort them all: hashing the few there are is 2 to 3 times faster
  await sql`select set_config('enable_sort', 'off', true), set_config('work_mem', '32MB', true), set_config('jit', 'off', true)`.execute(
    db,
  )
  const { rows } = await sql<UsageRow>`
    with charged as (
      select ${grouped(sql`d.day`)}, sum(t.amount_micro) as charged
      from unnest(${days.map((d) => d.day)}::date[], ${days.map((d) => d.fromId)}::bigint[], ${days.map((d) => d.beforeId)}::bigint[]) d (day, from_id, before_id)
      join transfers t on t.account_id = ${account} and t.id >= d.from_id and t.id < d.before_id and t.kind = 'capture'
      ${needsCall ? sql`join holds h on h.id = t.hold_id` : sql``}
      group by 1, 2, 3, 4
    ), seen as (
      select h.* from holds h where h.actor_account_id = ${account} and ${began}
      union all
      select h.* from holds h where h.family_id = ${account} and h.family_id <> h.actor_account_id and ${began}
        and exists (select from hold_allocations a where a.hold_id = h.id and a.payer_account_id = ${account})
    ), called as (
      select ${grouped(sql`(h.created_at at time zone 'UTC')::date`)},
        count(*) as calls, count(*) filter (where r.outcome = 'failed') as errors,
        sum((r.usage ->> 'input_tokens')::numeric) as input_tokens, sum((r.usage ->> 'output_tokens')::numeric) as output_tokens,
        sum(case when h.actor_account_id = ${account} and h.family_id <> ${account} then r.actual_micro - (
          select coalesce(sum(greatest(0, least(p.amount_micro, r.actual_micro - p.used_before))), 0)
          from (select a.*, sum(a.amount_micro) over (order by a.n) - a.amount_micro as used_before from hold_allocations a where a.hold_id = h.id) p
          where p.payer_account_id = ${account}) end) as owner_charged
      from seen h left join hold_resolutions r on r.hold_id = h.id
      group by 1, 2, 3, 4
    ), groups as (
      select day, model, agent, key, sum(charged) as charged, sum(owner_charged) as owner_charged, sum(calls) as calls, sum(errors) as errors,
             sum(input_tokens) as input_tokens, sum(output_tokens) as output_tokens
      from (select day, model, agent, key, charged, 0 as owner_charged, 0 as calls, 0 as errors, 0 as input_tokens, 0 as output_tokens from charged
            union all
            select day, model, agent, key, 0, owner_charged, calls, errors, input_tokens, output_tokens from called) parts
      group by day, model, agent, key
    ), ranked as (
      select *, row_number() over (order by charged desc, calls desc, day, model, agent, key) > ${wanted.groupsMax}::bigint as other from groups
    )
    select case when not other then day end::text as day, case when not other then model end as model, case when not other then agent end as agent,
           case when not other then key end as key, other,
           sum(charged)::bigint as charged_micro, coalesce(sum(owner_charged), 0)::bigint as owner_charged_micro, sum(calls)::bigint as calls,
           sum(errors)::bigint as errors, coalesce(sum(input_tokens), 0)::bigint as input_tokens, coalesce(sum(output_tokens), 0)::bigint as output_tokens
    from ranked group by 1, 2, 3, 4, 5
    order by other, day, charged_micro desc, calls desc, model, agent, key`.execute(db)
  return rows
}
