import type { FastifyReply } from 'fastify'
import { type Claimed, claimKey, type StoredAnswer } from '../billing/idempotency/service.ts'
import type { Call } from '../http/route.ts'
import { errorBody, Fault } from '../kernel/errors.ts'
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

/** Runs the request at most once for its Idempotency-Key, or replays what it was answered (decisions 0). */
export async function once(
  deps: TaskDeps,
  call: TaskCall,
  path: string,
  run: (claimed: Claimed | undefined) => Promise<unknown>,
): Promise<unknown> {
  const key = call.request.headers['idempotency-key']
  if (key === undefined) return run(undefined)
  const claimed = await claimKey(deps, {
    accountId: call.caller.accountId,
    route: path,
    key: String(key),
    body: call.body,
    requestId: call.requestId,
  })
  if (claimed.kind === 'replay') {
    await call.confirmCredential()
    return sendStored(call.reply.header('idempotent-replayed', 'true'), claimed.answer)
  }
  try {
    return await run(claimed)
  } catch (error) {
    // a Fault before the task was made has charged nothing; what comes after is kept by whoever sends it
    if (error instanceof Fault && !error.fields.task_id) await claimed.forget()
    else await claimed.complete(refusalAnswer(error instanceof Fault ? error : new Fault('internal_error'), call))
    throw error
  }
}

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

/** Sends an answer as it is kept. */
export function sendStored(reply: FastifyReply, answer: StoredAnswer): FastifyReply {
  return reply
    .code(answer.status)
    .headers({ ...answer.headers })
    .serializer((body: unknown) => body as string)
    .send(answer.body)
}

const refusalAnswer = (fault: Fault, call: TaskCall): StoredAnswer => ({
  status: fault.refusal.status,
  headers: { ...fault.headers, 'content-type': 'application/json; charset=utf-8' },
  body: JSON.stringify(errorBody(fault, call.requestId)),
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
