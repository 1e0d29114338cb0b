import { once } from '../billing/idempotency/once.ts'
import type { Claimed, StoredAnswer } from '../billing/idempotency/service.ts'
import { namedBy, sendStored } from '../http/repeats.ts'
import type { Call } from '../http/route.ts'
import type { JsonObject } from '../providers/provider.ts'
import type { TaskDeps } from './tasks/deps.ts'
import { createTask, type NewTask } from './tasks/service.ts'
import type { ReadTask, TaskRow } from './tasks/store.ts'
import { createdView, pollIntervalMs, pollUrlOf } from './tasks/view.ts'

// What the routes that make tasks share: the Idempotency-Key, and the answer to a creation.

/** A request that makes a task. */
export type TaskCall = Call<unknown, unknown, JsonObject>

/** What refuses a request that makes a task, besides its own fields. */
export const creationRefusals = [
  'model_not_found',
  'insufficient_credits',
  'budget_exceeded',
  'invalid_idempotency_key',
  'idempotency_conflict',
  'request_in_progress',
  'answer_not_kept',
  'overloaded',
  'shutting_down',
] as const

/** Runs the request at most once for its Idempotency-Key, whichever of its paths is used. */
export const madeOnce = (
  deps: TaskDeps,
  call: TaskCall,
  path: string,
  run: (claimed: Claimed | undefined) => Promise<unknown>,
): Promise<unknown> =>
  once(deps, { ...namedBy(call, path), body: call.body }, { run, replay: (answer) => sendStored(call.reply, answer) })

/** Makes the task and answers 202 with it; what is answered is durable together with the task. */
export async function answerTask(
  deps: TaskDeps,
  call: TaskCall,
  claimed: Claimed | undefined,
  wanted: Omit<NewTask, 'caller' | 'requestId' | 'alongside'>,
): Promise<unknown> {
  const task = await createTask(deps, {
    ...wanted,
    caller: call.caller,
    requestId: call.requestId,
    ...(claimed ? { alongside: (tx, made) => claimed.completeIn(tx, acceptedAnswer(deps, made)) } : {}),
  })
  return sendStored(call.reply, acceptedAnswer(deps, task))
}

/** The 202 that says where a task is found. */
export function acceptedAnswer(deps: Pick<TaskDeps, 'clock'>, task: TaskRow | ReadTask): StoredAnswer {
  const now = deps.clock.now()
  const pauseMs = pollIntervalMs(task.created_at, now)
  return {
    status: 202,
    headers: {
      ...jsonHeaders(task),
      location: pollUrlOf(task.id),
      'retry-after': String(Math.ceil(pauseMs / 1000)),
      'retry-after-ms': String(pauseMs),
    },
    body: JSON.stringify(createdView(task, now)),
  }
}

/** Headers of every answer about a task's money. */
export const jsonHeaders = (task: Pick<TaskRow, 'hold_id' | 'reserve_micro'>): Record<string, string> => ({
  'content-type': 'application/json; charset=utf-8',
  'cache-control': 'no-store',
  'x-call-id': String(task.hold_id),
  'x-credits-held-micro': String(task.reserve_micro),
})

/** The fields of a form as JSON: `name[]` and repeated names are lists, files become `data:` URLs. */
export async function formFields(
  form: FormData,
  read: {
    readonly lists: readonly string[]
    readonly numbers: readonly string[]
    readonly booleans: readonly string[]
  },
): Promise<JsonObject> {
  const fields: JsonObject = Object.create(null)
  for (const [given, value] of form.entries()) {
    const name = given.replace(/\[\]$/, '')
    const content = typeof value === 'string' ? textField(name, value, read) : await dataUrl(value)
    if (read.lists.includes(name)) fields[name] = [...((fields[name] as unknown[] | undefined) ?? []), content]
    else fields[name] = content
  }
  return { ...fields }
}

function textField(
  name: string,
  value: string,
  read: { readonly numbers: readonly string[]; readonly booleans: readonly string[] },
): unknown {
  if (read.numbers.includes(name) && /^-?\d{1,15}(\.\d+)?$/.test(value)) return Number(value)
  if (read.booleans.includes(name) && (value === 'true' || value === 'false')) return value === 'true'
  return value
}

const dataUrl = async (file: File): Promise<string> =>
  `data:${file.type || 'application/octet-stream'};base64,${Buffer.from(await file.arrayBuffer()).toString('base64')}`
