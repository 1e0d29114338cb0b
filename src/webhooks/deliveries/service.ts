import type { Database } from '../../db/database.ts'
import type { Actor } from '../../identity/audit-log/service.ts'
import { recordAction } from '../../identity/audit-log/service.ts'
import { assert } from '../../kernel/assert.ts'
import type { Clock } from '../../kernel/clock.ts'
import { Fault } from '../../kernel/errors.ts'
import { bodyOf, type EventBody } from '../body.ts'
import * as endpoints from '../endpoints/store.ts'
import * as store from './store.ts'

/** What the delivery log needs from outside. */
export interface DeliveryDeps {
  readonly db: Database
  readonly clock: Clock
}

/** Who asks for what. */
export interface By {
  readonly actor: Actor
  readonly reason?: string | undefined
  readonly requestId?: string | undefined
}

/** A delivery with what is sent and every attempt. */
export interface WholeDelivery {
  readonly delivery: store.Delivery
  readonly body: EventBody
  readonly attempts: readonly store.Attempt[]
}

/** Of one delivery so many attempts are shown at most. */
const ATTEMPTS_SHOWN_MAX = 200
/** One replay since a time brings at most so many: whoever has more asks again from the last one's time. */
export const REPLAYED_MAX = 5_000

/** One page of the log, newest first; `next` is 0 at the end. */
export async function listDeliveries(
  deps: DeliveryDeps,
  filter: store.Filter,
): Promise<{ deliveries: store.Delivery[]; next: bigint }> {
  const rows = await store.list(deps.db, { ...filter, limit: filter.limit + 1 })
  const deliveries = rows.slice(0, filter.limit)
  return { deliveries, next: rows.length > filter.limit ? (deliveries.at(-1)?.id ?? 0n) : 0n }
}

/** One delivery with everything that is known of it. Refuses with `webhook_delivery_not_found`. */
export async function readDelivery(
  deps: DeliveryDeps,
  which: { accountId: bigint; id: bigint },
): Promise<WholeDelivery> {
  const delivery = await store.find(deps.db, which)
  const event = delivery && (await store.eventOf(deps.db, delivery.event_id))
  if (!event) throw new Fault('webhook_delivery_not_found')
  return {
    delivery,
    body: bodyOf(event, which.accountId),
    attempts: await store.attempts(deps.db, delivery.id, ATTEMPTS_SHOWN_MAX),
  }
}

/** Sends a delivery once more, whatever became of it. Refuses with `webhook_delivery_not_found`, `webhook_disabled`. */
export async function replayDelivery(
  deps: DeliveryDeps,
  which: { accountId: bigint; id: bigint },
  by: By,
): Promise<store.Delivery> {
  return deps.db.transaction().execute(async (tx) => {
    const found = await store.find(tx, which)
    const endpoint = found && (await store.lockEndpoint(tx, found.endpoint_id))
    if (!endpoint) throw new Fault('webhook_delivery_not_found')
    if (endpoint.disabled) throw new Fault('webhook_disabled')
    await store.replay(tx, found.id, deps.clock.now())
    const after = await store.find(tx, which)
    assert(after, `delivery ${which.id} went away while its endpoint was locked`)
    await recordAction(tx, {
      ...by,
      action: 'replay.webhook',
      targetId: found.endpoint_id,
      after: { delivery_id: Number(found.id) },
    })
    return after
  })
}

/** Sends what an endpoint missed since a time; with `all`, what it got as well. Refuses with `webhook_not_found`, `webhook_disabled`. */
export async function replaySince(
  deps: DeliveryDeps,
  which: { accountId: bigint; endpointId: bigint },
  wanted: { since: Date; all: boolean },
  by: By,
): Promise<number> {
  return deps.db.transaction().execute(async (tx) => {
    const endpoint = await endpoints.lock(tx, { accountId: which.accountId, id: which.endpointId })
    if (!endpoint) throw new Fault('webhook_not_found')
    if (endpoint.disabled_at !== null) throw new Fault('webhook_disabled')
    const at = deps.clock.now()
    const count = await store.replaySince(tx, { ...wanted, endpointId: endpoint.id, limit: REPLAYED_MAX, at })
    await recordAction(tx, {
      ...by,
      action: 'replay.webhook',
      targetId: endpoint.id,
      after: { since: wanted.since.toISOString(), replayed: count },
    })
    return count
  })
}

/** Sends a test event to one endpoint, whatever it listens to. Refuses with `webhook_not_found`, `webhook_disabled`. */
export async function sendTest(
  deps: DeliveryDeps,
  which: { accountId: bigint; endpointId: bigint },
): Promise<store.Delivery> {
  return deps.db.transaction().execute(async (tx) => {
    const endpoint = await endpoints.find(tx, { accountId: which.accountId, id: which.endpointId })
    if (!endpoint) throw new Fault('webhook_not_found')
    if (endpoint.disabled_at !== null) throw new Fault('webhook_disabled')
    const at = deps.clock.now()
    const message = 'A test: nothing has happened.'
    const id = await store.insertTest(tx, { endpointId: endpoint.id, accountId: which.accountId, message, at })
    const delivery = await store.find(tx, { accountId: which.accountId, id })
    assert(delivery, `the test delivery ${id} was made and is not there`)
    return delivery
  })
}

/** What a task says of the delivery to its `webhook_url`. */
export interface TaskDelivery {
  readonly status: 'pending' | 'delivered' | 'failed'
  readonly attempts: number
  readonly lastAttemptAt: Date | undefined
  readonly lastStatus: number | undefined
}

/** The deliveries of finished tasks to their own URLs, by task id: without tasks that have none, or none yet. */
export async function taskDeliveries(
  { db }: Pick<DeliveryDeps, 'db'>,
  taskIds: readonly string[],
): Promise<Map<string, TaskDelivery>> {
  const rows = taskIds.length === 0 ? [] : await store.ofTasks(db, taskIds)
  return new Map(
    rows.map((row) => [
      row.task_id,
      {
        status: row.state === 'canceled' ? 'failed' : row.state,
        attempts: row.attempts,
        lastAttemptAt: row.last_attempt_at ?? undefined,
        lastStatus: row.last_status ?? undefined,
      },
    ]),
  )
}
