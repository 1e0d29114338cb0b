import { Fault } from '../../kernel/errors.ts'
import type { JsonObject } from '../../providers/provider.ts'
import { filesOf } from '../kept-result.ts'
import type { ResultKeeper } from '../results-port.ts'
import type { TaskDeps } from '../tasks/deps.ts'
import { taskIdOf } from '../tasks/ids.ts'
import { presented } from '../tasks/result.ts'
import { isFinal } from '../tasks/states.ts'
import { type ReadTask, read } from '../tasks/store.ts'
import { billingView, pollUrlOf } from '../tasks/view.ts'

/** Waits for a task to end and gives it; undefined when it runs still. */
export async function ended(deps: TaskDeps, uuid: string, forMs: number): Promise<ReadTask | undefined> {
  await deps.waiting.until(uuid, ({ state }) => isFinal(state), forMs)
  const task = await read(deps.db, uuid)
  return task && isFinal(task.state) ? task : undefined
}

/**
 * OpenAI's answer with the pictures of a task that has ended (decisions 6). A task that did not succeed is refused as
 * a call that failed is: `upstream_refused` and `upstream_failed` have cost nothing, `upstream_interrupted` may have.
 */
export async function imagesMade(
  deps: TaskDeps & { readonly results: Pick<ResultKeeper, 'read'> },
  task: ReadTask,
): Promise<JsonObject> {
  const task_id = taskIdOf(task.id)
  if (task.state !== 'success') throw failure(task)
  const result = await presented(deps, task)
  const inBytes = (task.request as JsonObject).response_format === 'b64_json'
  const data = inBytes ? await inBase64(deps.results, task) : linksOf(result)
  return { created: Number(result.created), data, task_id, request_id: task.request_id, billing: billingView(task) }
}

const linksOf = (result: JsonObject): JsonObject[] =>
  (Array.isArray(result.data) ? (result.data as JsonObject[]) : []).map(({ url }) => ({ url }))

async function inBase64(results: Pick<ResultKeeper, 'read'>, task: ReadTask): Promise<JsonObject[]> {
  return Promise.all(
    filesOf(task.result as JsonObject).map(async (file) => {
      const bytes = await results.read(file)
      if (!bytes)
        throw new Fault('internal_error', { message: 'The picture was made and cannot be read.', fields: place(task) })
      return { b64_json: Buffer.from(bytes).toString('base64') }
    }),
  )
}

function failure(task: ReadTask): Fault {
  const fields = place(task)
  const message = task.error_message ?? undefined
  if (task.state === 'canceled') return new Fault('task_canceled', { fields })
  const isFree = billingView(task).status === 'released'
  const code = isFree
    ? task.error_code === 'upstream_refused'
      ? 'upstream_refused'
      : 'upstream_failed'
    : 'upstream_interrupted'
  return new Fault(code, { ...(message ? { message } : {}), fields })
}

/** The refusal of a task that takes longer than its client could wait: it goes on. */
export const stillRunning = (uuid: string): Fault =>
  new Fault('task_running', {
    message: `The task ${taskIdOf(uuid)} is not finished yet and goes on. Poll ${pollUrlOf(uuid)} for its result.`,
    fields: { task_id: taskIdOf(uuid), poll_url: pollUrlOf(uuid) },
  })

const place = (task: ReadTask) => ({ task_id: taskIdOf(task.id), poll_url: pollUrlOf(task.id) })
