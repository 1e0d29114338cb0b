import { sql } from 'kysely'
import type { Database, Tx } from '../../db/database.ts'
import { stateAfter } from '../delivery-states.ts'
import type { OutboxEvent } from '../event-types.ts'

/** An attempt to be made, claimed by this process until its lease ends. */
export interface Claim {
  readonly id: bigint
  readonly endpoint_id: bigint
  /** Attempts so far, this one included: whoever claims it later has another number. */
  readonly attempts: number
  readonly tries: number
}

/** What an attempt needs besides its claim. */
export interface Job extends OutboxEvent {
  readonly delivery_id: bigint
  readonly url: string
  readonly kind: 'registered' | 'task_host'
  readonly endpoint_account_id: bigint
  readonly sealed_secret: Buffer | null
  readonly previous_sealed_secret: Buffer | null
  readonly previous_signs_until: Date | null
}

/** How many attempts of one endpoint run at once: while it answers, and after it failed. */
export interface Concurrency {
  readonly healthy: number
  readonly failing: number
}

/** What keeps the order: no earlier event of the same object is still open at the same endpoint. */
const firstOfItsObject = sql`not exists (
  select from webhook_deliveries earlier
  where earlier.endpoint_id = d.endpoint_id and earlier.object = d.object
    and earlier.state = 'pending' and earlier.event_id < d.event_id)`

/**
 * Endpoints with an attempt due, each locked until the transaction ends; one that another process looks at is left to it.
 * Steps from endpoint to endpoint through the index, so a long queue of one costs the others nothing.
 */
export async function lockDueEndpoints(tx: Tx, now: Date, limit: number): Promise<bigint[]> {
  const { rows } = await sql<{ id: bigint }>`
    with recursive waiting as (
      (select endpoint_id from webhook_deliveries where state = 'pending' order by endpoint_id limit 1)
      union all
      select (select d.endpoint_id from webhook_deliveries d
              where d.state = 'pending' and d.endpoint_id > w.endpoint_id order by d.endpoint_id limit 1)
      from waiting w where w.endpoint_id is not null
    ), due as (
      select w.endpoint_id as id, head.next_attempt_at from waiting w cross join lateral (
        select d.next_attempt_at from webhook_deliveries d
        where d.endpoint_id = w.endpoint_id and d.state = 'pending' and d.next_attempt_at <= ${now}
          and (d.leased_until is null or d.leased_until <= ${now})
          and ${firstOfItsObject}
        order by d.next_attempt_at limit 1
      ) head
    )
    select e.id from webhook_endpoints e join due on due.id = e.id
    where e.disabled_at is null
    order by (e.consecutive_failures > 0), due.next_attempt_at
    limit ${limit} for no key update of e skip locked`.execute(tx)
  return rows.map(({ id }) => id)
}

/**
 * Leases due deliveries of locked endpoints: of each as many as it may still have running, of each object only the first
 * that is open, and of all failing endpoints together no more than `failingMax`, so that they cannot take every place.
 */
export async function claim(
  tx: Tx,
  wanted: {
    endpointIds: readonly bigint[]
    now: Date
    leasedUntil: Date
    limit: number
    failingMax: number
    concurrency: Concurrency
  },
): Promise<Array<Claim & { readonly failing: boolean }>> {
  const { endpointIds, now, leasedUntil, limit, failingMax, concurrency } = wanted
  const { rows } = await sql<Claim & { failing: boolean }>`
    with lanes as (
      select e.id, e.consecutive_failures > 0 as failing,
        case when e.consecutive_failures > 0 then ${concurrency.failing}::int else ${concurrency.healthy}::int end
          - (select count(*) from webhook_deliveries b
             where b.endpoint_id = e.id and b.state = 'pending' and b.leased_until > ${now}) as room
      from webhook_endpoints e where e.id = any(${endpointIds})
    ), candidates as (
      select c.id, l.failing, c.next_attempt_at,
        row_number() over (partition by l.id order by c.next_attempt_at, c.event_id) as place
      from lanes l cross join lateral (
        select d.id, d.next_attempt_at, d.event_id
        from webhook_deliveries d
        where d.endpoint_id = l.id and d.state = 'pending' and d.next_attempt_at <= ${now}
          and (d.leased_until is null or d.leased_until <= ${now})
          and ${firstOfItsObject}
        order by d.next_attempt_at, d.event_id limit greatest(l.room, 0)
      ) c
    ), turns as (
      -- one of each endpoint, then a second one of each
      select *, row_number() over (partition by failing order by place, next_attempt_at) as turn from candidates
    ), chosen as (
      select id, failing from turns where not failing or turn <= ${failingMax}
      order by failing, place, next_attempt_at limit ${limit}
    )
    update webhook_deliveries d set leased_until = ${leasedUntil}, attempts = d.attempts + 1, tries = d.tries + 1
    from chosen where d.id = chosen.id
    returning d.id, d.endpoint_id, d.attempts, d.tries, chosen.failing`.execute(tx)
  return rows
}

/** What claimed attempts are to send, and where. */
export async function jobs(db: Database, ids: readonly bigint[]): Promise<Job[]> {
  return db
    .selectFrom('webhook_deliveries as d')
    .innerJoin('webhook_endpoints as e', 'e.id', 'd.endpoint_id')
    .innerJoin('outbox as o', 'o.id', 'd.event_id')
    .leftJoin('webhook_task_secrets as t', (join) =>
      join.onRef('t.account_id', '=', 'e.account_id').on('e.kind', '=', 'task_host'),
    )
    .select(['d.id as delivery_id', 'e.kind', 'e.account_id as endpoint_account_id'])
    .select(['o.id', 'o.event', 'o.account_id', 'o.object_id', 'o.payload', 'o.created_at'])
    .select((select) => [
      select.fn.coalesce('d.url', 'e.url').as('url'),
      select.fn.coalesce('e.sealed_secret', 't.sealed_secret').as('sealed_secret'),
      select.fn.coalesce('e.previous_sealed_secret', 't.previous_sealed_secret').as('previous_sealed_secret'),
      select.fn.coalesce('e.previous_signs_until', 't.previous_signs_until').as('previous_signs_until'),
    ])
    .where('d.id', 'in', ids)
    .execute()
}

/** Locks the endpoint of a delivery whose attempt ended. undefined: it was removed meanwhile. */
export async function lockEndpoint(tx: Tx, id: bigint): Promise<EndpointHealth | undefined> {
  return tx
    .selectFrom('webhook_endpoints')
    .select(['id', 'account_id', 'kind', 'url', 'failing_since', 'disabled_at'])
    .where('id', '=', id)
    .forNoKeyUpdate()
    .executeTakeFirst()
}

/** What a locked endpoint is judged by. */
export interface EndpointHealth {
  readonly id: bigint
  readonly account_id: bigint
  readonly kind: 'registered' | 'task_host'
  readonly url: string
  readonly failing_since: Date | null
  readonly disabled_at: Date | null
}

/** An attempt that ended. */
export interface EndedAttempt {
  readonly claim: Claim
  readonly startedAt: Date
  readonly durationMs: number
  readonly outcome: string
  readonly status: number | undefined
  readonly answer: string
}

/** Writes an attempt into the log and moves its delivery. False: another process has claimed it since, and this one counts no more. */
export async function endAttempt(
  tx: Tx,
  attempt: EndedAttempt,
  step: { event: 'succeed' | 'retry' | 'give_up'; nextAttemptAt: Date | undefined; at: Date },
): Promise<boolean> {
  const { claim, outcome, status } = attempt
  const state = stateAfter(step.event, 'pending')
  const { numUpdatedRows } = await tx
    .updateTable('webhook_deliveries')
    .set({
      state,
      leased_until: null,
      last_attempt_at: attempt.startedAt,
      last_outcome: outcome,
      last_status: status ?? null,
      finished_at: state === 'pending' ? null : step.at,
      ...(step.nextAttemptAt ? { next_attempt_at: step.nextAttemptAt } : {}),
    })
    .where('id', '=', claim.id)
    .where('state', '=', 'pending')
    .where('attempts', '=', claim.attempts)
    .executeTakeFirst()
  if (numUpdatedRows === 0n) return false
  await retimeFollowers(tx, claim.id, step.nextAttemptAt ?? step.at)
  await tx
    .insertInto('webhook_attempts')
    .values({
      delivery_id: claim.id,
      n: claim.attempts,
      at: attempt.startedAt,
      duration_ms: attempt.durationMs,
      outcome,
      status: status ?? null,
      answer: attempt.answer,
    })
    .execute()
  return true
}

/** Later events of the same object wait for the one before: until its next attempt, or no longer. */
async function retimeFollowers(tx: Tx, id: bigint, at: Date): Promise<void> {
  await sql`
    update webhook_deliveries later set next_attempt_at = ${at} from webhook_deliveries d
    where d.id = ${id} and later.endpoint_id = d.endpoint_id and later.object = d.object
      and later.state = 'pending' and later.event_id > d.event_id and later.tries = 0`.execute(tx)
}

/** Gives a claim back as if it had not been made. */
export async function giveBack(db: Database, { id, attempts }: Claim): Promise<void> {
  await db
    .updateTable('webhook_deliveries')
    .set({ leased_until: null, tries: sql<number>`greatest(tries - 1, 0)` })
    .where('id', '=', id)
    .where('state', '=', 'pending')
    .where('attempts', '=', attempts)
    .execute()
}

/** Notes that an endpoint answers: one that was failing has a clean record again. */
export async function noteSuccess(tx: Tx, id: bigint): Promise<void> {
  await tx
    .updateTable('webhook_endpoints')
    .set({ consecutive_failures: 0, failing_since: null })
    .where('id', '=', id)
    .where('consecutive_failures', '>', 0)
    .execute()
}

/** Notes on a locked endpoint that an attempt failed. */
export async function noteFailure(tx: Tx, id: bigint, at: Date): Promise<void> {
  await tx
    .updateTable('webhook_endpoints')
    .set({
      consecutive_failures: sql<number>`least(consecutive_failures + 1, 1000000)`,
      failing_since: sql<Date>`coalesce(failing_since, ${at})`,
    })
    .where('id', '=', id)
    .execute()
}

/** Tells the account's other endpoints that this one was disabled. */
export async function tellDisabled(
  tx: Tx,
  endpoint: EndpointHealth,
  reason: 'gone' | 'failing',
  at: Date,
): Promise<void> {
  await tx
    .insertInto('outbox')
    .values({
      event: 'webhook.disabled',
      account_id: endpoint.account_id,
      object_id: String(endpoint.id),
      payload: JSON.stringify({
        endpoint_id: Number(endpoint.id),
        url: endpoint.url,
        reason,
        at: at.toISOString(),
      }),
    })
    .execute()
}
