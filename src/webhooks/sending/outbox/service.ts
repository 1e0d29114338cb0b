import type { Database } from '../../../db/database.ts'
import type { Clock } from '../../../kernel/clock.ts'
import { eventType, type OutboxEvent } from '../../event-types.ts'
import * as store from './store.ts'

/** What reading the outbox needs from outside. */
export interface OutboxDeps {
  readonly db: Database
  readonly clock: Clock
  readonly onTrouble: (message: string, error: unknown) => void
}

/** Events of one look at the outbox. */
const EVENTS_MAX = 500
/** So much may wait for one endpoint. */
const QUEUE_MAX = 10_000
const FORGET_ROWS = 2_000
/** How far back the delivery log reaches, and with it what can be replayed. */
const LOG_DAYS = 30

/** Turns events into deliveries. True: there may be more of them. */
export async function fanOutFresh(deps: OutboxDeps): Promise<boolean> {
  return deps.db.transaction().execute(async (tx) => {
    if (!(await store.mayFanOut(tx))) return false
    const events = await store.freshEvents(tx, EVENTS_MAX)
    if (events.length === 0) return false
    const at = deps.clock.now()
    const known = events.filter(({ event }) => eventType(event) !== undefined)
    for (const { id, event } of events.filter((one) => !known.includes(one)))
      deps.onTrouble(`event ${id} is of no known type and is delivered to nobody`, new Error(event))
    await store.fanOut(tx, { eventIds: known.map(({ id }) => id), queueMax: QUEUE_MAX, at })
    for (const event of known) {
      const url = taskUrl(event)
      if (url) await store.fanOutToTaskUrl(tx, { event, url, at })
    }
    await store.markFannedOut(
      tx,
      events.map(({ id }) => id),
      at,
    )
    return events.length === EVENTS_MAX
  })
}

/** The URL that came with a task. It was checked when the task was made. */
function taskUrl({ event, payload }: OutboxEvent): URL | undefined {
  if (event !== 'task.finished' || typeof payload !== 'object' || payload === null) return undefined
  const url = 'webhook_url' in payload ? payload.webhook_url : undefined
  return typeof url === 'string' && URL.canParse(url) ? new URL(url) : undefined
}

/** Forgets what is older than the log reaches back, a batch at a time. */
export async function forgetOld({ db, clock }: Omit<OutboxDeps, 'onTrouble'>): Promise<void> {
  const before = new Date(clock.now().getTime() - LOG_DAYS * 86_400_000)
  while ((await store.forget(db, before, FORGET_ROWS)) === FORGET_ROWS);
  await store.forgetTaskHosts(db, before)
}
