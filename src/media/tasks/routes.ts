import { Type } from 'typebox'
import { Closed, Empty } from '../../http/fields.ts'
import { type Call, type Route, route } from '../../http/route.ts'
import { Fault } from '../../kernel/errors.ts'
import type { TaskDeps, WebhookDelivery } from './deps.ts'
import { taskIdOf } from './ids.ts'
import { Task, taskStates } from './schema.ts'
import { cancelTask, glanceAt, listTasks, readTask } from './service.ts'
import { isFinal } from './states.ts'
import { glances, type TaskGlance } from './store.ts'
import { together } from './together.ts'
import { billingView, pollIntervalMs } from './view.ts'
import { receive } from './working/receive.ts'

/** The longest that one request waits for a task, in seconds. */
const WAIT_SECONDS_MAX = 60
const CALLBACK_BODY_BYTES = 4 * 1024 * 1024

const TaskParameter = Closed({ id: Type.String({ description: 'The task_id' }) })

const extension = { tag: 'Tasks', access: 'any', extension: true } as const

/** Reading, listing and cancelling tasks (spec 2.10, 5.3, decisions 6), and where providers report their ends. */
export function taskRoutes(deps: TaskDeps): Route[] {
  const glance = together<TaskGlance>(
    (ids) => glances(deps.db, ids),
    ({ id }) => id,
  )
  return [
    route({
      ...extension,
      method: 'GET',
      path: '/v1/tasks/:id',
      summary: 'Show a task: its state, its result and what it cost.',
      description:
        'With `wait` the answer comes when the task has ended, or, with `If-None-Match`, when it has changed; after that many seconds at the latest.',
      params: TaskParameter,
      query: Type.Object({
        wait: Type.Optional(Type.Integer({ minimum: 0, maximum: WAIT_SECONDS_MAX, description: 'Seconds' })),
      }),
      replies: { 200: Task, 304: { description: 'Not modified', contentType: '' } },
      refuses: ['task_not_found', 'not_original_account'],
      handle: (call) => sendTask(deps, glance, call, call.query.wait ?? 0),
    }),
    listRoute(deps),
    route({
      ...extension,
      method: 'POST',
      path: '/v1/tasks/:id/cancel',
      summary: 'Cancel a task. The same again changes nothing, nor does one after its end.',
      params: TaskParameter,
      body: Empty,
      replies: { 200: Task },
      refuses: ['task_not_found', 'not_original_account'],
      handle: async ({ caller, params, reply }) => {
        reply.header('cache-control', 'no-store')
        return readTask(deps, await cancelTask(deps, caller, params.id))
      },
    }),
    callbackRoute(deps),
  ]
}

function listRoute(deps: TaskDeps): Route {
  return route({
    ...extension,
    method: 'GET',
    path: '/v1/tasks',
    summary: "List this account's tasks, newest first.",
    query: Type.Object({
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 20 })),
      cursor: Type.Optional(Type.String({ maxLength: 64, description: 'next_cursor of the page before' })),
      type: Type.Optional(Type.String({ maxLength: 64 })),
      state: Type.Optional(Type.Enum(taskStates)),
    }),
    replies: {
      200: Closed({ data: Type.Array(Task), next_cursor: Type.String({ description: 'Empty at the end' }) }),
    },
    refuses: [],
    handle: async ({ caller, query, reply }) => {
      const { cursor, type, state, limit = 20 } = query
      const { tasks, more } = await listTasks(deps, { accountId: caller.accountId, cursor, type, state, limit })
      reply.header('cache-control', 'no-store')
      return { data: tasks, next_cursor: more ? (tasks.at(-1)?.task_id ?? '') : '' }
    },
  })
}

function callbackRoute(deps: TaskDeps): Route {
  return route({
    method: 'POST',
    path: '/v1/callbacks/:token',
    summary: 'Where providers report the end of their work. The address is made for one attempt and cannot be guessed.',
    tag: 'Tasks',
    access: 'public',
    // a guess costs no query, and a provider that reports hundreds at once must not be refused
    limit: 'unlimited',
    extension: true,
    keepsText: true,
    params: Closed({ token: Type.String() }),
    body: Type.Object({}, { additionalProperties: true }),
    bodyLimit: CALLBACK_BODY_BYTES,
    replies: { 200: Closed({ ok: Type.Literal(true) }) },
    refuses: ['not_found'],
    handle: async ({ params, request }) => {
      const attemptId = deps.callbacks.attemptOf(params.token)
      const headers = request.headers as Record<string, string | undefined>
      const body = Buffer.from(request.bodyText ?? '')
      if (attemptId === undefined || !(await receive(deps, attemptId, { headers, body }))) throw new Fault('not_found')
      return { ok: true }
    },
  })
}

/** Weak, since the same version may advise another pause. Says nothing that a reader could not see in the body. */
function tagOf(glance: TaskGlance, delivery?: WebhookDelivery): string {
  const { status, actual_amount_micro } = billingView({ ...glance, reserve_micro: 0n })
  const told = delivery ? `-${delivery.status}-${delivery.attempts}` : ''
  return `W/"${glance.version}-${status}-${actual_amount_micro ?? ''}${told}"`
}

/** How the delivery to the task's own URL stands, once there can be one. */
async function deliveryOf(deps: TaskDeps, glance: TaskGlance): Promise<WebhookDelivery | undefined> {
  if (!glance.has_webhook || !isFinal(glance.state)) return undefined
  const taskId = taskIdOf(glance.id)
  return (await deps.webhookDeliveries([taskId])).get(taskId)
}

async function sendTask(
  deps: TaskDeps,
  glanceOf: (uuid: string) => Promise<TaskGlance | undefined>,
  { caller, params, request, reply }: Call<{ id: string }, unknown, unknown>,
  waitSeconds: number,
): Promise<unknown> {
  let glance = await glanceAt(glanceOf, caller, params.id)
  const known = request.headers['if-none-match']
  const isNews = (seen: TaskGlance): boolean => (known === undefined ? isFinal(seen.state) : tagOf(seen) !== known)
  if (waitSeconds > 0 && !isNews(glance) && !isFinal(glance.state))
    glance = (await deps.waiting.until(glance.id, isNews, waitSeconds * 1000)) ?? glance
  const tag = tagOf(glance, await deliveryOf(deps, glance))
  reply.headers({ etag: tag, 'cache-control': 'no-store' })
  if (!isFinal(glance.state)) {
    const pauseMs = pollIntervalMs(glance.created_at, deps.clock.now())
    reply.headers({ 'retry-after': String(Math.ceil(pauseMs / 1000)), 'retry-after-ms': String(pauseMs) })
  }
  if (known === tag) return reply.code(304).send()
  return readTask(deps, glance.id)
}
