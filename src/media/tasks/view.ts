import { toJsonInteger } from '../../kernel/money.ts'
import type { JsonObject } from '../../providers/provider.ts'
import type { WebhookDelivery } from './deps.ts'
import { taskIdOf } from './ids.ts'
import { isFinal } from './states.ts'
import type { ReadTask, TaskMoney, TaskRow } from './store.ts'

/** Seconds of a time, as the spec types the integer times of tasks. */
const seconds = (time: Date): number => Math.floor(time.getTime() / 1000)

/** Where a task is read. */
export const pollUrlOf = (uuid: string): string => `/v1/tasks/${taskIdOf(uuid)}`

const SECOND_MS = 1000
/** By the age of a task, how often it is worth asking: soon at first, then ever more rarely. */
const pollSteps = [
  { untilMs: 10 * SECOND_MS, everyMs: 1 * SECOND_MS },
  { untilMs: 60 * SECOND_MS, everyMs: 2 * SECOND_MS },
  { untilMs: 300 * SECOND_MS, everyMs: 5 * SECOND_MS },
] as const
const POLL_LATE_MS = 15 * SECOND_MS

/** How long a client should wait before it asks again, in milliseconds. */
export function pollIntervalMs(createdAt: Date, now: Date): number {
  const age = now.getTime() - createdAt.getTime()
  return pollSteps.find(({ untilMs }) => age < untilMs)?.everyMs ?? POLL_LATE_MS
}

/** The answer to a creation (spec 2.10). */
export function createdView(task: TaskRow, now: Date) {
  return {
    task_id: taskIdOf(task.id),
    object: 'task' as const,
    request_id: task.request_id,
    model: task.model,
    type: task.type,
    state: task.state,
    created_at: seconds(task.created_at),
    poll_url: pollUrlOf(task.id),
    capability_slug: task.capability_slug,
    capability_version: task.capability_version,
    recommended_poll_interval_ms: pollIntervalMs(task.created_at, now),
    eta_hint_seconds: task.eta_seconds,
  }
}

/** What a task's money did, in microcredits. */
export function billingView(task: TaskMoney & Pick<TaskRow, 'reserve_micro'>) {
  const reserve = toJsonInteger(task.reserve_micro)
  const block = (
    status: 'reserved' | 'committed' | 'released' | 'usage_unknown',
    actual: number | null,
    released: number,
  ) => ({ status, reserve_amount_micro: reserve, actual_amount_micro: actual, released_amount_micro: released })
  if (task.resolution === 'voided') return block('released', 0, reserve)
  if (task.resolution === 'captured') {
    const actual = toJsonInteger(task.actual_micro ?? 0n)
    return block('committed', actual, Math.max(0, reserve - actual))
  }
  return block(task.usage_unknown ? 'usage_unknown' : 'reserved', null, 0)
}

/** A whole task (decisions 6). `result` is what its runner presents. */
export function taskView(task: ReadTask, result: JsonObject, now: Date, delivery?: WebhookDelivery) {
  return {
    ...createdView(task, now),
    request: task.request as JsonObject,
    result,
    error: errorView(task),
    progress: task.progress,
    cancel_requested: task.cancel_requested_at !== null && !isFinal(task.state),
    updated_at: seconds(task.updated_at),
    completed_at: task.completed_at && seconds(task.completed_at),
    billing: billingView(task),
    webhook_delivery: deliveryView(task, delivery),
  }
}

/**
 * What others are told of a task that has ended: the task without what its client asked for. `webhook_url` is where
 * it is told besides the account's own webhooks.
 */
export function finishedPayload(task: ReadTask, result: JsonObject, now: Date): JsonObject {
  const { request: _, webhook_delivery: __, cancel_requested: ___, ...told } = taskView(task, result, now)
  return { ...told, ...(task.webhook_url === null ? {} : { webhook_url: task.webhook_url }) }
}

const errorView = (task: TaskRow): { code?: string; message?: string } =>
  task.completed_at && task.error_code ? { code: task.error_code, message: task.error_message ?? '' } : {}

/** What became of the notice to a task's own URL. Its log forgets after a while; the task says so then. */
function deliveryView(task: ReadTask, delivery: WebhookDelivery | undefined) {
  if (task.webhook_url === null) return {}
  const unsent =
    task.completed_at === null
      ? ('waiting' as const)
      : task.outbox_id === null
        ? ('forgotten' as const)
        : ('pending' as const)
  return {
    url: task.webhook_url,
    status: delivery?.status ?? unsent,
    attempts: delivery?.attempts ?? 0,
    last_attempt_at: delivery?.lastAttemptAt ? seconds(delivery.lastAttemptAt) : null,
    last_status: delivery?.lastStatus ?? null,
  }
}
