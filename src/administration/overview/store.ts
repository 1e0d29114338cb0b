import { sql } from 'kysely'
import type { Database } from '../../db/database.ts'
import type { HoldFlag } from '../../db/schema.ts'
import type { UsedInPeriod } from './margin.ts'

/** Open holds that wait for somebody, by why. */
export interface WaitingHolds {
  readonly flag: HoldFlag
  readonly holds: number
  readonly micro: bigint
  readonly oldest: Date
}

/** Payments that wait for an operator. `oldest` is null where none does. */
export interface WaitingReviews {
  readonly orders: number
  readonly transfers: number
  readonly native: number
  readonly x402: number
  readonly oldest: Date | null
}

/** Tasks that are not done. `overdue_since`: when the first of those became due that nobody works on. */
export interface OpenTasks {
  readonly open: number
  readonly leased: number
  readonly overdue_since: Date | null
}

/** Receivers of events that do not take them. */
export interface FailingWebhooks {
  readonly failing: number
  readonly disabled: number
}

/** Up to where usage is summed, and movements are audited as they come. */
export async function progress(db: Database): Promise<{ readonly rolledUntil: Date; readonly auditedUntil: Date }> {
  const { rows } = await sql<{ rolled: Date; audited: Date }>`
    select (select rolled_until from usage_rolled) as rolled, (select audited_until from audit_progress) as audited`.execute(
    db,
  )
  const { rolled = new Date(0), audited = new Date(0) } = rows[0] ?? {}
  return { rolledUntil: rolled, auditedUntil: audited }
}

/**
 * What was used of each model between bounds, from the sums of whole hours. Tokens and calls are of those who made them;
 * charges of whoever paid. Gives up after `withinMs`.
 */
export function usedByModel(
  db: Database,
  wanted: { readonly bounds: readonly Date[]; readonly to: Date; readonly withinMs: number },
): Promise<UsedInPeriod[]> {
  return db
    .transaction()
    .setAccessMode('read only')
    .execute(async (tx) => {
      await sql`select set_config('statement_timeout', ${String(wanted.withinMs)}, true)`.execute(tx)
      const { rows } = await sql<UsedInPeriod>`
        select model, width_bucket(hour, ${wanted.bounds}::timestamptz[]) as period,
               sum(charged_micro)::bigint as charged, sum(refunded_micro)::bigint as refunded,
               coalesce(sum(calls) filter (where account_id = actor_account_id), 0)::bigint as calls,
               coalesce(sum(errors) filter (where account_id = actor_account_id), 0)::bigint as errors,
               coalesce(sum(input_tokens) filter (where account_id = actor_account_id), 0)::bigint as input,
               coalesce(sum(output_tokens) filter (where account_id = actor_account_id), 0)::bigint as output
        from usage_hours where hour >= ${wanted.bounds[0]} and hour < ${wanted.to} group by 1, 2`.execute(tx)
      return rows
    })
}

/** Open holds that wait, by why. Reads the list of exceptions, never the holds of ordinary calls. */
export async function waitingHolds(db: Database): Promise<WaitingHolds[]> {
  const { rows } = await sql<WaitingHolds>`
    select f.flag, count(*)::int as holds, sum(h.reserve_micro)::bigint as micro, min(h.created_at) as oldest
    from settlements s join holds h on h.id = s.hold_id
    join lateral (select flag from hold_flags where hold_id = h.id order by flag desc limit 1) f on true
    where not exists (select from hold_resolutions r where r.hold_id = s.hold_id)
    group by f.flag order by f.flag`.execute(db)
  return rows
}

/** Payments that wait for an operator, by their kind. */
export async function waitingReviews(db: Database): Promise<WaitingReviews> {
  const { rows } = await sql<WaitingReviews>`
    select o.n as orders, t.n as transfers, a.n as native, x.n as x402, least(o.since, t.since, a.since, x.since) as oldest
    from (select count(*)::int as n, min(review_opened_at) as since from orders where status = 'review_required') o,
         (select count(*)::int as n, min(block_at) as since from chain_transfers where state = 'unmatched' and resolved_at is null) t,
         (select count(*)::int as n, min(review_opened_at) as since from axon_claims where status = 'review_required') a,
         (select count(*)::int as n, min(created_at) as since from x402_payments where status = 'review_required') x`.execute(
    db,
  )
  return rows[0] ?? { orders: 0, transfers: 0, native: 0, x402: 0, oldest: null }
}

/** Tasks that are not done. */
export async function openTasks(db: Database): Promise<OpenTasks> {
  const { rows } = await sql<OpenTasks>`
    select count(*)::int as open, (count(*) filter (where lease_until > now()))::int as leased,
           min(due_at) filter (where due_at <= now() and (lease_until is null or lease_until <= now())) as overdue_since
    from tasks where completed_at is null`.execute(db)
  return rows[0] ?? { open: 0, leased: 0, overdue_since: null }
}

/** Receivers of events that do not take them. */
export async function failingWebhooks(db: Database): Promise<FailingWebhooks> {
  const { rows } = await sql<FailingWebhooks>`
    select (count(*) filter (where disabled_at is null and failing_since is not null))::int as failing,
           (count(*) filter (where disabled_at is not null))::int as disabled
    from webhook_endpoints`.execute(db)
  return rows[0] ?? { failing: 0, disabled: 0 }
}

/** Until when somebody has the lease to read each chain. */
export async function readUntil(db: Database): Promise<ReadonlyMap<bigint, Date>> {
  const rows = await db.selectFrom('chain_leases').select(['chain_id', 'until']).execute()
  return new Map(rows.map(({ chain_id, until }) => [chain_id, until]))
}
