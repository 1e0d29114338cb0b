import { type Static, Type } from 'typebox'
import { Closed, IdParameter, Integer, integer, Nullable, Time } from '../../http/fields.ts'
import { type Route, route } from '../../http/route.ts'
import { Fault } from '../../kernel/errors.ts'
import { eventTypes, subscribable } from '../event-types.ts'
import {
  changeEndpoint,
  createEndpoint,
  ENDPOINTS_MAX,
  type EndpointDeps,
  removeEndpoint,
  rotateSecret,
  rotateTaskSecret,
} from './service.ts'
import * as store from './store.ts'

const DESCRIPTION_LENGTH_MAX = 200
const OVERLAP_SECONDS = 86_400
const OVERLAP_SECONDS_MAX = 7 * 86_400

const Url = Type.String({ description: 'An https:// URL on the public internet, without user and password' })
const Events = Type.Array(Type.Enum([...subscribable]), {
  maxItems: 50,
  description: 'Types of events; none is all of them, also those to come',
})
const Description = Type.String({ maxLength: DESCRIPTION_LENGTH_MAX, pattern: '^\\P{C}*$' })
const Overlap = Closed({
  overlap_seconds: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: OVERLAP_SECONDS_MAX,
      default: OVERLAP_SECONDS,
      description: 'How long the secret before signs too',
    }),
  ),
})

const endpointView = {
  id: Integer('Endpoint id'),
  url: Type.String(),
  events: Type.Array(Type.String()),
  description: Type.String(),
  enabled: Type.Boolean(),
  disabled_at: Nullable(Time()),
  disabled_reason: Nullable(
    Type.Enum(['account', 'gone', 'failing'], {
      description: 'account: you turned it off; gone: it answered 410; failing: no success for 5 days',
    }),
  ),
  failing_since: Nullable(Time('The first failure since the last success')),
  previous_secret_signs_until: Nullable(Time('While two secrets sign')),
  created_at: Time(),
  updated_at: Time(),
}
const Endpoint = Closed(endpointView)
const secret = Type.String({ description: 'whsec_...: it is in this answer and nowhere else, ever' })
const WithSecret = Closed({ ...endpointView, secret })
const TaskSecret = {
  created_at: Time(),
  previous_secret_signs_until: Nullable(Time('While two secrets sign')),
}
const Done = Closed({ ok: Type.Literal(true), request_id: Type.String() })
const common = { tag: 'Webhooks', extension: true } as const

/** Endpoints of webhooks: where events of an account go, and what they are signed with (decisions 6). */
export function endpointRoutes(deps: EndpointDeps): Route[] {
  return [...readingRoutes(deps), createRoute(deps), ...changingRoutes(deps), ...secretRoutes(deps)]
}

function readingRoutes(deps: EndpointDeps): Route[] {
  return [
    route({
      ...common,
      method: 'GET',
      path: '/v1/me/webhooks',
      summary: `List the webhook endpoints of the account, oldest first: at most ${ENDPOINTS_MAX}.`,
      access: 'any',
      replies: { 200: Closed({ data: Type.Array(Endpoint) }) },
      refuses: [],
      handle: async ({ caller }) => ({ data: (await store.list(deps.db, caller.accountId)).map(view) }),
    }),
    route({
      ...common,
      method: 'GET',
      path: '/v1/me/webhooks/event-types',
      summary: 'List the types of events that an endpoint can ask for.',
      access: 'any',
      replies: { 200: Closed({ data: Type.Array(Closed({ type: Type.String(), description: Type.String() })) }) },
      refuses: [],
      handle: () => ({ data: subscribable.map((type) => ({ type, description: eventTypes[type].description })) }),
    }),
    route({
      ...common,
      method: 'GET',
      path: '/v1/me/webhooks/:id',
      summary: 'Show a webhook endpoint. Its secret is never shown again.',
      access: 'any',
      params: Closed({ id: IdParameter() }),
      replies: { 200: Closed({ data: Endpoint }) },
      refuses: ['webhook_not_found'],
      handle: async ({ caller, params }) => {
        const found = await store.find(deps.db, { accountId: caller.accountId, id: BigInt(params.id) })
        if (!found) throw new Fault('webhook_not_found')
        return { data: view(found) }
      },
    }),
  ]
}

function createRoute(deps: EndpointDeps): Route {
  return route({
    ...common,
    method: 'POST',
    path: '/v1/me/webhooks',
    summary: 'Make a webhook endpoint. Its signing secret is in this answer only.',
    description:
      'Deliveries follow Standard Webhooks: webhook-id, webhook-timestamp and webhook-signature. Answer 2xx within 15 seconds; anything else is tried again for 24 hours, 410 disables the endpoint.',
    access: 'session',
    body: Closed({ url: Url, events: Type.Optional(Events), description: Type.Optional(Description) }),
    example: { url: 'https://example.com/hooks', events: ['order.completed', 'task.finished'] },
    replies: { 200: Closed({ data: WithSecret }) },
    refuses: ['too_many_webhooks'],
    handle: async ({ caller, body, reply, requestId }) => {
      const made = await createEndpoint(deps, {
        accountId: caller.accountId,
        url: body.url,
        events: body.events ?? [],
        description: body.description ?? '',
        requestId,
      })
      reply.header('cache-control', 'no-store')
      return { data: { ...view(made.endpoint), secret: made.secret } }
    },
  })
}

function changingRoutes(deps: EndpointDeps): Route[] {
  return [
    route({
      ...common,
      method: 'PATCH',
      path: '/v1/me/webhooks/:id',
      summary: 'Change a webhook endpoint, or turn it off and on.',
      description:
        'What is not sent stays. Turned off it hears of nothing, and what waits for it is canceled; replay it after turning it on.',
      access: 'session',
      params: Closed({ id: IdParameter() }),
      body: Closed({
        url: Type.Optional(Url),
        events: Type.Optional(Events),
        description: Type.Optional(Description),
        enabled: Type.Optional(Type.Boolean()),
      }),
      replies: { 200: Closed({ data: Endpoint }) },
      refuses: ['webhook_not_found'],
      handle: async ({ caller, params, body, requestId }) => {
        const which = { accountId: caller.accountId, id: BigInt(params.id), requestId }
        return { data: view(await changeEndpoint(deps, which, body)) }
      },
    }),
    route({
      ...common,
      method: 'DELETE',
      path: '/v1/me/webhooks/:id',
      summary: 'Remove a webhook endpoint with its delivery log.',
      access: 'session',
      params: Closed({ id: IdParameter() }),
      replies: { 200: Done },
      refuses: ['webhook_not_found'],
      handle: async ({ caller, params, requestId }) => {
        await removeEndpoint(deps, { accountId: caller.accountId, id: BigInt(params.id), requestId })
        return { ok: true, request_id: requestId }
      },
    }),
  ]
}

function secretRoutes(deps: EndpointDeps): Route[] {
  return [
    route({
      ...common,
      method: 'POST',
      path: '/v1/me/webhooks/:id/rotate-secret',
      summary: 'Give a webhook endpoint a new secret. For a while both sign, so that no delivery is lost.',
      access: 'session',
      params: Closed({ id: IdParameter() }),
      body: Overlap,
      replies: { 200: Closed({ data: WithSecret }) },
      refuses: ['webhook_not_found'],
      handle: async ({ caller, params, body, reply, requestId }) => {
        const which = { accountId: caller.accountId, id: BigInt(params.id), requestId }
        const rotated = await rotateSecret(deps, which, body.overlap_seconds ?? OVERLAP_SECONDS)
        reply.header('cache-control', 'no-store')
        return { data: { ...view(rotated.endpoint), secret: rotated.secret } }
      },
    }),
    route({
      ...common,
      method: 'GET',
      path: '/v1/me/webhooks/task-secret',
      summary:
        'Show whether the account has a secret for the webhook_url of its tasks. The secret is never shown again.',
      access: 'any',
      replies: { 200: Closed({ data: Nullable(Closed(TaskSecret)) }) },
      refuses: [],
      handle: async ({ caller }) => {
        const row = await store.taskSecret(deps.db, caller.accountId)
        return { data: row ? taskSecretView(row) : null }
      },
    }),
    route({
      ...common,
      method: 'POST',
      path: '/v1/me/webhooks/task-secret',
      summary: 'Make a new secret for the webhook_url of tasks. The one before signs too for a while.',
      access: 'session',
      body: Overlap,
      replies: { 200: Closed({ data: Closed({ ...TaskSecret, secret }) }) },
      refuses: [],
      handle: async ({ caller, body, reply, requestId }) => {
        const who = { accountId: caller.accountId, requestId }
        const rotated = await rotateTaskSecret(deps, who, body.overlap_seconds ?? OVERLAP_SECONDS)
        reply.header('cache-control', 'no-store')
        return { data: { ...taskSecretView(rotated.row), secret: rotated.secret } }
      },
    }),
  ]
}

function view(row: store.Endpoint): Static<typeof Endpoint> {
  const time = (value: Date | null): string | null => value?.toISOString() ?? null
  return {
    id: integer(row.id),
    url: row.url,
    events: row.events,
    description: row.description,
    enabled: row.disabled_at === null,
    disabled_at: time(row.disabled_at),
    disabled_reason: row.disabled_reason,
    failing_since: time(row.failing_since),
    previous_secret_signs_until: time(row.previous_signs_until),
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  }
}

const taskSecretView = (row: store.TaskSecret) => ({
  created_at: row.created_at.toISOString(),
  previous_secret_signs_until: row.previous_signs_until?.toISOString() ?? null,
})
