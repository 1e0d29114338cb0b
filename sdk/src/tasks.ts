import { followed } from './following.ts'
import type { Answer, Requests } from './requests.ts'

/** A task as the server tells it (spec 2.10, with the fields of its end). */
export type Task = Omit<Answer<'/v1/tasks/{id}', 'get'>, 'result'> & {
  /** Null until there is one. Links end at `expires_at`: save what you want to keep. */
  readonly result?: TaskResult | null
}

/** What a task made. */
export interface TaskResult {
  /** Unix seconds. */
  readonly created: number
  readonly data: ReadonlyArray<{
    readonly url: string
    /** Unix seconds. */
    readonly expires_at: number
    readonly content_type: string
    readonly width: number | null
    readonly height: number | null
  }>
}

/** What to make: `model`, `prompt`, and whatever else the model takes. */
export interface MediaBody {
  readonly model: string
  readonly prompt: string
  readonly [field: string]: unknown
}

/** How a task is begun. */
export interface TaskOptions {
  /** The same key is the same task. Made up unless given; give one that outlives your process where it may crash. */
  readonly idempotencyKey?: string
  readonly signal?: AbortSignal
}

/** Pictures and films, and the tasks that make them. */
export interface Tasks {
  /** Begins a picture. */
  image(body: MediaBody, options?: TaskOptions): Promise<Pick<Task, 'task_id' | 'state'>>
  /** Begins a film. */
  video(body: MediaBody, options?: TaskOptions): Promise<Pick<Task, 'task_id' | 'state'>>
  read(taskId: string): Promise<Task>
  /** Waits for the end, asking as often as the server recommends, over its restarts, too. A task that failed is an answer, not an error. */
  wait(
    taskId: string,
    options?: { readonly signal?: AbortSignal; readonly onProgress?: (task: Task) => void },
  ): Promise<Task>
  /** Asks for an end; the answer says what the task is now. */
  cancel(taskId: string): Promise<Task>
}

const OVER = new Set<string>(['success', 'fail', 'canceled'])
const POLL_MS_LEAST = 200

/** The tasks of a client. */
export function createTasks({ json, transport }: Requests): Tasks {
  const path = (taskId: string): string => `/v1/tasks/${encodeURIComponent(taskId)}`
  const read = (taskId: string, signal?: AbortSignal) => json<Task>({ path: path(taskId), signal })
  const begin = (
    endpoint: string,
    body: MediaBody,
    { idempotencyKey = crypto.randomUUID(), signal }: TaskOptions = {},
  ) => json<Task>({ method: 'POST', path: endpoint, body, idempotencyKey, signal })
  return {
    // a picture as bytes is an answer of another form: `request` gives that one
    image: (body, options) => begin('/v1/images/generations', { ...body, response_format: 'url' }, options),
    video: (body, options) => begin('/v1/videos/generations', body, options),
    read: (taskId) => read(taskId),
    cancel: (taskId) => json<Task>({ method: 'POST', path: `${path(taskId)}/cancel`, body: {}, repeatable: true }),
    wait: (taskId, { signal, onProgress } = {}) =>
      followed(
        transport,
        {
          async read() {
            const task = await read(taskId, signal)
            onProgress?.(task)
            return task
          },
          isOver: ({ state }) => OVER.has(state),
          paceMs: (task) => Math.max(task.recommended_poll_interval_ms, POLL_MS_LEAST),
        },
        signal,
      ),
  }
}
