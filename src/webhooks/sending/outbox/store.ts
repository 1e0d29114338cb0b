import { sql } from 'kysely'
import type { Database, Tx } from '../../../db/database.ts'
import type { OutboxEvent } from '../../event-types.ts'

/**
 * Asks for the only right to fan out, until the transaction ends. One process at a time: two could make the deliveries
 * of one object in the wrong order.
 */
export async function mayFanOut(tx: Tx): Promise<boolean> {
  const { rows } = await sql<{
    mine: boolean
  }>`select pg_try_advisory_xact_lock(hashtext('farebox webhooks'), 1) as mine`.execute(tx)
  return rows[0]?.mine === true
}

/** Events without deliveries yet, oldest first. */
export async function freshEvents(tx: Tx, limit: number): Promise<OutboxEvent[]> {
  return tx
    .selectFrom('outbox')
    .select(['id', 'event', 'account_id', 'object_id', 'payload', 'created_at'])
    .where('delivered_at', 'is', null)
    .orderBy('id')
    .limit(limit)
    .execute()
}

/**
 * Makes the deliveries of these events: to the endpoints of their account, and of the owner whose Credits they concern.
 * An endpoint with `queueMax` waiting gets its delivery canceled: it is in the log and can be replayed.
 */
export async function fanOut(
  tx: Tx,
  { eventIds, queueMax, at }: { eventIds: readonly bigint[]; queueMax: number; at: Date },
): Promise<void> {
  await sql`
    with wanted as materialized (
      select e.id as endpoint_id, o.id as event_id, split_part(o.event, '.', 1) || ':' || o.object_id as object
      from outbox o
      join webhook_endpoints e on e.account_id = any(array[o.account_id,
        case when jsonb_typeof(o.payload -> 'owner_account_id') = 'number'
          then trunc((o.payload ->> 'owner_account_id')::numeric)::bigint end])
      join accounts a on a.id = e.account_id
      where o.id = any(${eventIds}) and e.kind = 'registered' and e.disabled_at is null and a.status = 'active'
        and (e.events = '{}' or o.event = any(e.events))
    ), full_queues as (
      select distinct_endpoints.endpoint_id
      from (select distinct endpoint_id from wanted) distinct_endpoints
      cross join lateral (
        select count(*) as waiting from (
          select from webhook_deliveries d where d.endpoint_id = distinct_endpoints.endpoint_id and d.state = 'pending'
          limit ${queueMax}
        ) of_it
      ) queue
      where queue.waiting >= ${queueMax}
    )
    insert into webhook_deliveries
      (endpoint_id, event_id, object, state, last_outcome, next_attempt_at, created_at, finished_at)
    select w.endpoint_id, w.event_id, w.object,
      case when f.endpoint_id is null then 'pending' else 'canceled' end::webhook_delivery_state,
      case when f.endpoint_id is not null then 'queue_full' end,
      -- behind an event of the same object that is tried again: not before that
      greatest(${at}::timestamptz, (select max(d.next_attempt_at) from webhook_deliveries d
        where d.endpoint_id = w.endpoint_id and d.object = w.object and d.state = 'pending')),
      ${at}::timestamptz, case when f.endpoint_id is not null then ${at}::timestamptz end
    from wanted w left join full_queues f on f.endpoint_id = w.endpoint_id
    order by w.event_id, w.endpoint_id
    on conflict (endpoint_id, event_id) do nothing`.execute(tx)
}

/** Makes the deliveries to URLs that came with tasks, each at the host that its account has for them. */
export async function fanOutToTaskUrl(
  tx: Tx,
  { event, url, at }: { event: OutboxEvent; url: URL; at: Date },
): Promise<void> {
  await tx
    .insertInto('webhook_endpoints')
    .values({
      account_id: event.account_id,
      kind: 'task_host',
      url: url.origin,
      created_at: at,
      updated_at: at,
    })
    .onConflict((conflict) => conflict.columns(['account_id', 'url']).where('kind', '=', 'task_host').doNothing())
    .execute()
  await tx
    .insertInto('webhook_deliveries')
    .columns(['endpoint_id', 'event_id', 'object', 'url', 'next_attempt_at', 'created_at'])
    .expression((from) =>
      from
        .selectFrom('webhook_endpoints')
        .where('account_id', '=', event.account_id)
        .where('kind', '=', 'task_host')
        .where('webhook_endpoints.url', '=', url.origin)
        .select([
          'id',
          sql<bigint>`${event.id}::bigint`.as('event_id'),
          sql<string>`${`task:${event.object_id}`}::text`.as('object'),
          sql<string>`${url.href}::text`.as('task_url'),
          sql<Date>`${at}::timestamptz`.as('next_attempt_at'),
          sql<Date>`${at}::timestamptz`.as('created_at'),
        ]),
    )
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

/** Notes that the deliveries of these events are made. */
export async function markFannedOut(tx: Tx, eventIds: readonly bigint[], at: Date): Promise<void> {
  await tx.updateTable('outbox').set({ delivered_at: at }).where('id', 'in', eventIds).execute()
}

/** Forgets events that were fanned out before this, with their deliveries; those that still wait stay. Gives how many went. */
export async function forget(db: Database, before: Date, limit: number): Promise<number> {
  const old = db
    .selectFrom('outbox as o')
    .select('o.id')
    .where('o.delivered_at', '<', before)
    .where((is) =>
      is.not(
        is.exists(
          is
            .selectFrom('webhook_deliveries as d')
            .select('d.id')
            .whereRef('d.event_id', '=', 'o.id')
            .where('d.state', '=', 'pending'),
        ),
      ),
    )
    .limit(limit)
  const { numDeletedRows } = await db.deleteFrom('outbox').where('id', 'in', old).executeTakeFirst()
  return Number(numDeletedRows)
}

/** Forgets hosts of tasks that nothing was sent to for as long as the log reaches back. */
export async function forgetTaskHosts(db: Database, before: Date): Promise<void> {
  await db
    .deleteFrom('webhook_endpoints as e')
    .where('e.kind', '=', 'task_host')
    .where('e.created_at', '<', before)
    .where((is) =>
      is.not(is.exists(is.selectFrom('webhook_deliveries as d').select('d.id').whereRef('d.endpoint_id', '=', 'e.id'))),
    )
    .execute()
}

/** How much waits: events without deliveries, deliveries to be attempted, and the time since which the oldest of them is due. */
export async function backlog(
  db: Database,
  now: Date,
): Promise<{ readonly events: number; readonly deliveries: number; readonly dueSince: Date | null }> {
  const { rows } = await sql<{ events: bigint; deliveries: bigint; due_since: Date | null }>`
    select (select count(*) from outbox where delivered_at is null) as events,
      count(*) as deliveries,
      -- what waits behind an earlier event of its object is not late
      min(next_attempt_at) filter (where next_attempt_at <= ${now} and leased_until is null and not exists (
        select from webhook_deliveries earlier
        where earlier.endpoint_id = d.endpoint_id and earlier.object = d.object
          and earlier.state = 'pending' and earlier.event_id < d.event_id)) as due_since
    from webhook_deliveries d where state = 'pending'`.execute(db)
  const row = rows[0]
  return {
    events: Number(row?.events ?? 0),
    deliveries: Number(row?.deliveries ?? 0),
    dueSince: row?.due_since ?? null,
  }
}
