import { sql } from 'kysely'
import type { Database, Tx } from '../../db/database.ts'
import type { WebhookDeliveryState } from '../../db/schema.ts'
import { stateAfter } from '../delivery-states.ts'
import type { OutboxEvent } from '../event-types.ts'

/** A delivery as the log shows it. */
export interface Delivery {
  readonly id: bigint
  readonly endpoint_id: bigint
  readonly kind: 'registered' | 'task_host'
  readonly url: string
  readonly event_id: bigint
  readonly event: string
  readonly object_id: string
  readonly state: WebhookDeliveryState
  readonly attempts: number
  readonly next_attempt_at: Date
  readonly last_attempt_at: Date | null
  readonly last_outcome: string | null
  readonly last_status: number | null
  readonly created_at: Date
  readonly finished_at: Date | null
}

/** Which deliveries are asked for. */
export interface Filter {
  readonly accountId: bigint
  readonly endpointId?: bigint | undefined
  readonly state?: WebhookDeliveryState | undefined
  readonly event?: string | undefined
  readonly beforeId?: bigint | undefined
  readonly limit: number
}

const selected = (db: Database | Tx) =>
  db
    .selectFrom('webhook_deliveries as d')
    .innerJoin('webhook_endpoints as e', 'e.id', 'd.endpoint_id')
    .innerJoin('outbox as o', 'o.id', 'd.event_id')
    .select(['d.id', 'd.endpoint_id', 'e.kind', 'd.event_id', 'o.event', 'o.object_id', 'd.state', 'd.attempts'])
    .select(['d.next_attempt_at', 'd.last_attempt_at', 'd.last_outcome', 'd.last_status'])
    .select(['d.created_at', 'd.finished_at'])
    .select((select) => select.fn.coalesce('d.url', 'e.url').as('url'))

/** One page of an account's deliveries, newest first. */
export async function list(db: Database, filter: Filter): Promise<Delivery[]> {
  let select = selected(db).where('e.account_id', '=', filter.accountId)
  if (filter.endpointId !== undefined) select = select.where('d.endpoint_id', '=', filter.endpointId)
  if (filter.state !== undefined) select = select.where('d.state', '=', filter.state)
  if (filter.event !== undefined) select = select.where('o.event', '=', filter.event)
  if (filter.beforeId !== undefined) select = select.where('d.id', '<', filter.beforeId)
  return select.orderBy('d.id', 'desc').limit(filter.limit).execute()
}

/** One of the account's deliveries. */
export async function find(db: Database | Tx, which: { accountId: bigint; id: bigint }): Promise<Delivery | undefined> {
  return selected(db).where('d.id', '=', which.id).where('e.account_id', '=', which.accountId).executeTakeFirst()
}

/** The event of a delivery. */
export async function eventOf(db: Database, eventId: bigint): Promise<OutboxEvent | undefined> {
  return db
    .selectFrom('outbox')
    .select(['id', 'event', 'account_id', 'object_id', 'payload', 'created_at'])
    .where('id', '=', eventId)
    .executeTakeFirst()
}

/** One attempt as the log shows it. */
export interface Attempt {
  readonly n: number
  readonly at: Date
  readonly duration_ms: number
  readonly outcome: string
  readonly status: number | null
  readonly answer: string
}

/** The attempts of a delivery, oldest first. */
export async function attempts(db: Database, id: bigint, limit: number): Promise<Attempt[]> {
  return db
    .selectFrom('webhook_attempts')
    .select(['n', 'at', 'duration_ms', 'outcome', 'status', 'answer'])
    .where('delivery_id', '=', id)
    .orderBy('n')
    .limit(limit)
    .execute()
}

/** Locks an endpoint and says whether it is disabled. */
export async function lockEndpoint(tx: Tx, id: bigint): Promise<{ disabled: boolean } | undefined> {
  const row = await tx
    .selectFrom('webhook_endpoints')
    .select('disabled_at')
    .where('id', '=', id)
    .forNoKeyUpdate()
    .executeTakeFirst()
  return row && { disabled: row.disabled_at !== null }
}

const again = (at: Date) => ({
  state: stateAfter('replay', 'failed'),
  tries: 0,
  next_attempt_at: at,
  finished_at: null,
})

/** Makes a delivery due now, with all its tries before it. One whose attempt is running is left to that. */
export async function replay(tx: Tx, id: bigint, at: Date): Promise<void> {
  await tx
    .updateTable('webhook_deliveries')
    .set(again(at))
    .where('id', '=', id)
    .where((is) => is.or([is('leased_until', 'is', null), is('leased_until', '<=', at)]))
    .execute()
}

/**
 * Makes due what an endpoint missed since a time: what failed, was canceled, or happened while it did not listen; with
 * `all`, what it got as well. Gives how many, at most `limit`, oldest first.
 */
export async function replaySince(
  tx: Tx,
  wanted: { endpointId: bigint; since: Date; all: boolean; limit: number; at: Date },
): Promise<number> {
  const { endpointId, since, all, limit, at } = wanted
  const { numAffectedRows } = await sql`
    with concerned as (
      select o.id from webhook_endpoints e
      join outbox o on o.account_id = e.account_id and o.created_at >= ${since}
      where e.id = ${endpointId} and (e.events = '{}' or o.event = any(e.events))
      union
      select event_id from webhook_deliveries where endpoint_id = ${endpointId} and created_at >= ${since}
    )
    insert into webhook_deliveries as d (endpoint_id, event_id, object, next_attempt_at, created_at)
    select ${endpointId}::bigint, o.id, split_part(o.event, '.', 1) || ':' || o.object_id, ${at}::timestamptz, ${at}::timestamptz
    from concerned
    join outbox o on o.id = concerned.id and o.delivered_at is not null
    left join webhook_deliveries known on known.endpoint_id = ${endpointId} and known.event_id = o.id
    where o.event not in ('webhook.test', 'webhook.disabled')
      and (known.id is null or known.state in ('failed', 'canceled') or (${all}::boolean and known.state = 'delivered'))
    order by o.id limit ${limit}
    on conflict (endpoint_id, event_id) do update
    set state = ${stateAfter('replay', 'failed')}, tries = 0, next_attempt_at = ${at}, finished_at = null
    where d.state <> 'pending'`.execute(tx)
  return Number(numAffectedRows ?? 0n)
}

/** An event for one endpoint alone, with its delivery. Gives the delivery's id. */
export async function insertTest(
  tx: Tx,
  test: { endpointId: bigint; accountId: bigint; message: string; at: Date },
): Promise<bigint> {
  const payload = { endpoint_id: Number(test.endpointId), message: test.message, at: test.at.toISOString() }
  const event = await tx
    .insertInto('outbox')
    .values({
      event: 'webhook.test',
      account_id: test.accountId,
      object_id: String(test.endpointId),
      payload: JSON.stringify(payload),
      delivered_at: test.at,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  const delivery = await tx
    .insertInto('webhook_deliveries')
    .values({
      endpoint_id: test.endpointId,
      event_id: event.id,
      object: `webhook:${test.endpointId}`,
      next_attempt_at: test.at,
      created_at: test.at,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  return delivery.id
}

/** The newest deliveries of these tasks to their own URLs. */
export async function ofTasks(
  db: Database,
  taskIds: readonly string[],
): Promise<Array<Pick<Delivery, 'state' | 'attempts' | 'last_attempt_at' | 'last_status'> & { task_id: string }>> {
  return db
    .selectFrom('webhook_deliveries')
    .distinctOn('object')
    .select(['state', 'attempts', 'last_attempt_at', 'last_status'])
    .select(sql<string>`substr(object, length('task:') + 1)`.as('task_id'))
    .where('object', '=', sql<string>`any(${taskIds.map((id) => `task:${id}`)}::text[])`)
    .where('url', 'is not', null)
    .orderBy('object')
    .orderBy('id', 'desc')
    .execute()
}
