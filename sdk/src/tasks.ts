import type { Requests } from './requests.ts'

/** A task as the server tells it (spec 2.10, with the fields of its end). */
export interface Task {
  readonly task_id: string
  readonly type: string
  readonly state: 'waiting' | 'queuing' | 'generating' | 'success' | 'fail' | 'canceled'
  readonly model: string
  readonly poll_url: string
  readonly recommended_poll_interval_ms: number
  readonly progress?: number | null
  readonly result?: {
    readonly created: number
    readonly data: ReadonlyArray<{ readonly url: string; readonly expires_at: string; readonly content_type: string }>
  } | null
  readonly error?: { readonly code: string; readonly message: string } | null
  readonly billing?: { readonly status: string; readonly actual_amount_micro: number | null }
}

/** Pictures and films, and the tasks that make them. */
export interface Tasks {
  /** Begins a picture. The fields are those of the API; the same key never makes a second task. */
  image(
    fields: { readonly model: string; readonly prompt: string; readonly [field: string]: unknown },
    idempotencyKey: string,
  ): Promise<Task>
  /** Begins a film. */
  video(
    fields: { readonly model: string; readonly prompt: string; readonly [field: string]: unknown },
    idempotencyKey: string,
  ): Promise<Task>
  read(taskId: string): Promise<Task>
  /** Waits for the end, asking as often as the server recommends. A task that failed is an answer, not an error. */
  wait(
    taskId: string,
    options?: { readonly signal?: AbortSignal; readonly onProgress?: (task: Task) => void },
  ): Promise<Task>
  cancel(taskId: string): Promise<Task>
}

const OVER = new Set<Task['state']>(['success', 'fail', 'canceled'])
const POLL_MS_LEAST = 200

/** The tasks of a client. */
export function createTasks({ json, transport }: Requests): Tasks {
  const path = (taskId: string): string => `/v1/tasks/${encodeURIComponent(taskId)}`
  const read = (taskId: string): Promise<Task> => json<Task>({ path: path(taskId) })
  const begin = (endpoint: string) => (body: unknown, idempotencyKey: string) =>
    json<Task>({ method: 'POST', path: endpoint, body, idempotencyKey })
  return {
    image: begin('/v1/images/generations'),
    video: begin('/v1/videos/generations'),
    read,
    cancel: (taskId) => json<Task>({ method: 'POST', path: `${path(taskId)}/cancel`, body: {} }),
    async wait(taskId, { signal, onProgress } = {}) {
      for (;;) {
        signal?.throwIfAborted()
        const task = await read(taskId)
        onProgress?.(task)
        if (OVER.has(task.state)) return task
        await transport.sleep(Math.max(task.recommended_poll_interval_ms, POLL_MS_LEAST))
      }
    },
  }
}
