import { heldCall } from '../../../billing/calls/lifecycle.ts'
import type { Microcredits } from '../../../kernel/money.ts'
import type { JsonObject } from '../../../providers/provider.ts'
import type { TaskDeps } from '../deps.ts'
import { taskIdOf } from '../ids.ts'
import { costOf, readPrice } from '../price.ts'
import { presented } from '../result.ts'
import type { WorkEnd } from '../runner.ts'
import { table } from '../states.ts'
import { lock, read, type TaskRow } from '../store.ts'
import { finishedPayload } from '../view.ts'
import * as store from './store.ts'

const ID_LENGTH_MAX = 200

/** Where the news of an end comes from, and what it means for the task. */
export type EndEvent = 'succeed' | 'fail' | 'withdraw' | 'give_up'

/** How a place's end of its work ends the task, and what it costs. */
export function endOf(task: TaskRow, end: WorkEnd): { event: EndEvent; end: store.End } {
  const price = readPrice(task.price)
  if (end.kind === 'succeeded') {
    const units = end.units ?? price.units
    const actualMicro = costOf(price, units)
    return {
      event: 'succeed',
      end: { state: 'success', actualMicro, usage: { unit: price.unit, units }, result: end.result },
    }
  }
  const isCanceled = task.cancel_requested_at !== null
  const charged = costOf(price, price.units)
  return {
    event: isCanceled ? 'withdraw' : 'fail',
    end: {
      state: isCanceled ? 'canceled' : 'fail',
      actualMicro: end.billed === undefined ? undefined : end.billed ? charged : 0n,
      usage: end.billed ? { unit: price.unit, units: price.units } : undefined,
      error: { code: end.code, message: end.message },
    },
  }
}

/** What the provider's own record of the work can be found by: ids alone. */
export const evidenceOf = (
  { id }: TaskRow,
  attempt: store.AttemptRow | undefined,
): Record<string, string | undefined> => ({
  task_id: taskIdOf(id),
  provider: attempt?.provider,
  model: attempt?.model,
  // what it knows the work by, and what we named it
  provider_job_id: attempt?.provider_job_id?.slice(0, ID_LENGTH_MAX),
  attempt_id: attempt?.id,
})

/** A task as it is kept from its end on: nobody works by its request any more, so only what its runner remembers of it stays. */
export const ended = ({ runners }: Pick<TaskDeps, 'runners'>, { id, runner, request }: TaskRow) => ({
  id,
  request: runners[runner]?.remember(request as JsonObject) ?? (request as JsonObject),
})

/** Ends a task, unless it was ended before: the first end counts. Then settles it. */
export async function conclude(
  deps: TaskDeps,
  taskId: string,
  news: (task: TaskRow) => { readonly event: EndEvent; readonly end: store.End },
  attemptId?: string,
): Promise<void> {
  const decided = await deps.db.transaction().execute(async (tx) => {
    const task = await lock(tx, taskId)
    if (!task) return undefined
    // decided and not settled yet: another process ended in between
    if (task.end_state !== null) return task.completed_at === null ? task : undefined
    const { event, end } = news(task)
    if (table[event][task.state] !== end.state) return undefined
    if (attemptId !== undefined)
      await store.moveAttempt(tx, attemptId, ['intended', 'accepted', 'lost'], { state: 'ended', ended: true })
    return store.decide(tx, ended(deps, task), end)
  })
  if (decided) await settle(deps, decided)
}

/**
 * Moves the money of a task whose end is decided, then ends it and tells the world, in this order: whoever reads
 * an ended task reads what it cost. Safe to repeat, and to run in two processes at once.
 */
export async function settle(deps: TaskDeps, task: TaskRow): Promise<void> {
  const call = heldCall(deps.ledger, task.hold_id)
  const cost = task.end_micro
  if (cost === null)
    await call.unknown(
      task.error_message ?? 'what the work cost is not known',
      evidenceOf(task, await store.newestAttempt(deps.db, task.id)),
    )
  else if (task.end_state !== 'success' && cost === 0n) await call.release()
  else
    await call.capture({
      actualMicro: cost as Microcredits,
      outcome: task.end_state === 'success' ? 'success' : 'failed',
      usage: task.end_usage,
    })
  await deps.db.transaction().execute(async (tx) => {
    const done = await store.complete(tx, task.id)
    if (!done) return
    const whole = await read(tx, task.id)
    if (whole) await store.tell(tx, done, finishedPayload(whole, await presented(deps, whole), deps.clock.now()))
  })
  deps.waiting.moved(task.id)
}
