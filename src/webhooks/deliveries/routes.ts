import { type Static, Type } from 'typebox'
import {
  Closed,
  CursorQuery,
  Empty,
  IdParameter,
  Integer,
  integer,
  Nullable,
  readCursor,
  Time,
} from '../../http/fields.ts'
import { type Route, route } from '../../http/route.ts'
import { webhookId } from '../secret.ts'
import {
  type DeliveryDeps,
  listDeliveries,
  REPLAYED_MAX,
  readDelivery,
  replayDelivery,
  replaySince,
  sendTest,
} from './service.ts'
import type { Delivery } from './store.ts'

const State = Type.Enum(['pending', 'delivered', 'failed', 'canceled'], {
  description:
    'pending: an attempt is still to come; failed: given up after 24 hours, or it answered 410; canceled: its endpoint was disabled or had too much waiting',
})
const deliveryView = {
  id: Integer('Delivery id'),
  webhook_id: Type.String({ description: 'The webhook-id header: the same at every attempt and replay' }),
  endpoint_id: Nullable(Integer('null: it went to the webhook_url of a task')),
  url: Type.String(),
  event: Type.String(),
  object_id: Type.String({ description: 'What the event is about. Deliveries of one object arrive in order' }),
  state: State,
  attempts: Integer('Attempts so far'),
  next_attempt_at: Nullable(Time()),
  last_attempt_at: Nullable(Time()),
  last_outcome: Nullable(
    Type.String({
      description:
        'ok, status, redirect (never followed), gone, timeout, dns, connect, tls, broken, address or url (it may not be called), queue_full, endpoint_disabled',
    }),
  ),
  last_status: Nullable(Integer('The HTTP status of the last answer')),
  created_at: Time(),
  finished_at: Nullable(Time()),
}
const DeliveryView = Closed(deliveryView)
const Attempt = Closed({
  n: Integer(),
  at: Time(),
  duration_ms: Integer(),
  outcome: Type.String(),
  status: Nullable(Integer()),
  answer: Type.String({ description: 'The beginning of the answer' }),
})
const WholeDelivery = Closed({
  ...deliveryView,
  body: Type.Object(
    { type: Type.String(), timestamp: Time(), data: Type.Object({}, { additionalProperties: true }) },
    { description: 'What is sent' },
  ),
  attempt_log: Type.Array(Attempt),
})
const common = { tag: 'Webhooks', extension: true, access: 'any' } as const

/** The delivery log of webhooks, tests and replays (decisions 6). */
export function deliveryRoutes(deps: DeliveryDeps): Route[] {
  return [listRoute(deps), readRoute(deps), ...sendingRoutes(deps)]
}

function listRoute(deps: DeliveryDeps): Route {
  return route({
    ...common,
    method: 'GET',
    path: '/v1/me/webhooks/deliveries',
    summary: 'List the webhook deliveries of the last 30 days, newest first, those to URLs of tasks too.',
    query: Type.Object({
      endpoint_id: Type.Optional(IdParameter()),
      state: Type.Optional(State),
      event: Type.Optional(Type.String({ maxLength: 100 })),
      ...CursorQuery,
    }),
    replies: {
      200: Closed({ data: Type.Array(DeliveryView), next_cursor: Integer('0 when there are no more') }),
    },
    refuses: [],
    handle: async ({ caller, query }) => {
      const { endpoint_id, state, event } = query
      const { deliveries, next } = await listDeliveries(deps, {
        accountId: caller.accountId,
        endpointId: endpoint_id === undefined ? undefined : BigInt(endpoint_id),
        state,
        event,
        ...readCursor(query),
      })
      return { data: deliveries.map(view), next_cursor: integer(next) }
    },
  })
}

function readRoute(deps: DeliveryDeps): Route {
  return route({
    ...common,
    method: 'GET',
    path: '/v1/me/webhooks/deliveries/:id',
    summary: 'Show a webhook delivery with what is sent and every attempt.',
    params: Closed({ id: IdParameter() }),
    replies: { 200: Closed({ data: WholeDelivery }) },
    refuses: ['webhook_delivery_not_found'],
    handle: async ({ caller, params }) => {
      const which = { accountId: caller.accountId, id: BigInt(params.id) }
      const { delivery, body, attempts } = await readDelivery(deps, which)
      const attempt_log = attempts.map((attempt) => ({ ...attempt, at: attempt.at.toISOString() }))
      return { data: { ...view(delivery), body, attempt_log } }
    },
  })
}

function sendingRoutes(deps: DeliveryDeps): Route[] {
  return [
    route({
      ...common,
      method: 'POST',
      path: '/v1/me/webhooks/deliveries/:id/replay',
      summary: 'Send a webhook delivery once more, whatever became of it, with the same webhook-id.',
      params: Closed({ id: IdParameter() }),
      body: Empty,
      replies: { 200: Closed({ data: DeliveryView }) },
      refuses: ['webhook_delivery_not_found', 'webhook_disabled'],
      handle: async ({ caller, params, requestId }) => {
        const which = { accountId: caller.accountId, id: BigInt(params.id) }
        return { data: view(await replayDelivery(deps, which, by(caller.accountId, requestId))) }
      },
    }),
    route({
      ...common,
      method: 'POST',
      path: '/v1/me/webhooks/:id/replay',
      summary: 'Send a webhook endpoint what it missed since a time.',
      description: `What failed, was canceled, or happened while the endpoint did not listen, oldest first and at most ${REPLAYED_MAX} at a time; with "include_delivered" also what it got. The events of the last 30 days are there.`,
      params: Closed({ id: IdParameter() }),
      body: Closed({ since: Time(), include_delivered: Type.Optional(Type.Boolean({ default: false })) }),
      replies: { 200: Closed({ data: Closed({ replayed: Integer('How many deliveries are sent again') }) }) },
      refuses: ['webhook_not_found', 'webhook_disabled'],
      handle: async ({ caller, params, body, requestId }) => {
        const which = { accountId: caller.accountId, endpointId: BigInt(params.id) }
        const wanted = { since: new Date(body.since), all: body.include_delivered ?? false }
        return { data: { replayed: await replaySince(deps, which, wanted, by(caller.accountId, requestId)) } }
      },
    }),
    route({
      ...common,
      method: 'POST',
      path: '/v1/me/webhooks/:id/test',
      summary: 'Send a webhook endpoint a webhook.test event.',
      params: Closed({ id: IdParameter() }),
      body: Empty,
      replies: { 200: Closed({ data: DeliveryView }) },
      refuses: ['webhook_not_found', 'webhook_disabled'],
      handle: async ({ caller, params }) => {
        const which = { accountId: caller.accountId, endpointId: BigInt(params.id) }
        return { data: view(await sendTest(deps, which)) }
      },
    }),
  ]
}

const by = (accountId: bigint, requestId: string) => ({ actor: { kind: 'account' as const, id: accountId }, requestId })

function view(row: Delivery): Static<typeof DeliveryView> {
  const time = (value: Date | null): string | null => value?.toISOString() ?? null
  return {
    id: integer(row.id),
    webhook_id: webhookId(row.event_id),
    endpoint_id: row.kind === 'task_host' ? null : integer(row.endpoint_id),
    url: row.url,
    event: row.event,
    object_id: row.object_id,
    state: row.state,
    attempts: row.attempts,
    next_attempt_at: row.state === 'pending' ? time(row.next_attempt_at) : null,
    last_attempt_at: time(row.last_attempt_at),
    last_outcome: row.last_outcome,
    last_status: row.last_status,
    created_at: row.created_at.toISOString(),
    finished_at: time(row.finished_at),
  }
}
