import { createHash } from 'node:crypto'
import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import { once } from '../billing/idempotency/once.ts'
import type { IdempotencyDeps } from '../billing/idempotency/service.ts'
import { namedBy, sendStored } from '../http/repeats.ts'
import { type Call, type Method, type Route, route } from '../http/route.ts'
import { type ErrorCode, Fault } from '../kernel/errors.ts'
import type { JsonObject } from '../providers/provider.ts'
import type { ServedCapability, ServedVersion } from './catalogue.ts'
import { describeCapability, matches } from './descriptor.ts'
import { CapabilityAnswer, Descriptor, OperationInput, VersionQuery } from './schema.ts'
import { findOperation, type InvokeDeps, invoke } from './service.ts'

/** What the capability routes need from outside. */
export interface CapabilityRouteDeps extends InvokeDeps, IdempotencyDeps {}

const SlugParameter = Type.Object({ slug: Type.String({ maxLength: 64 }) })
const OperationParameters = Type.Object({
  slug: Type.String({ maxLength: 64 }),
  operation: Type.String({ maxLength: 64 }),
})
const tag = 'Capabilities'

const refuses: readonly ErrorCode[] = [
  'capability_not_found',
  'capability_version_not_found',
  'capability_version_drifted',
  'operation_not_found',
  'method_not_allowed',
  'missing_field',
  'unknown_field',
  'invalid_field',
  'invalid_body',
  'idempotency_key_required',
  'invalid_idempotency_key',
  'idempotency_conflict',
  'request_in_progress',
  'answer_not_kept',
  'funding_mode_not_allowed',
  'insufficient_credits',
  'budget_exceeded',
  'upstream_refused',
  'upstream_failed',
  'upstream_answer_invalid',
  'upstream_timeout',
  'upstream_interrupted',
  'overloaded',
  'shutting_down',
]

/** Endpoints of capabilities (spec 4.9). */
export function capabilityRoutes(deps: CapabilityRouteDeps): Route[] {
  return [...readingRoutes(deps), invokeRoute(deps), ...operationRoutes(deps)]
}

function readingRoutes({ capabilities }: CapabilityRouteDeps): Route[] {
  return [
    route({
      method: 'GET',
      path: '/v1/capabilities',
      summary: 'List the capabilities with their operations and prices.',
      tag,
      access: 'any',
      extension: true,
      query: Type.Object({
        q: Type.Optional(
          Type.String({ maxLength: 200, description: 'Part of a name, type, category, description, provider or tag' }),
        ),
        mode: Type.Optional(Type.Enum(['sync', 'async'])),
      }),
      replies: {
        200: Type.Object({
          object: Type.Literal('list'),
          count: Type.Integer(),
          data: Type.Array(Descriptor),
          request_id: Type.String(),
        }),
      },
      refuses: [],
      handle: ({ query: { q, mode }, requestId }) => {
        const data = [...capabilities().values()].flatMap((capability) => {
          const version = capability.versions.get(capability.config.defaultVersion)
          return version && matches(capability, version, { q, mode }) ? [describeCapability(capability, version)] : []
        })
        return { object: 'list', count: data.length, data, request_id: requestId }
      },
    }),
    route({
      method: 'GET',
      path: '/v1/capabilities/:slug',
      summary: 'Show one capability, in its default version or another.',
      tag,
      access: 'any',
      extension: true,
      params: SlugParameter,
      query: VersionQuery,
      replies: { 200: Descriptor, 304: { description: 'Not modified', contentType: '' } },
      refuses: ['capability_not_found', 'capability_version_not_found'],
      handle: ({ params, query, request, reply }) => {
        const [capability, version] = findVersion(capabilities().get(params.slug), query.version)
        const descriptor = describeCapability(capability, version)
        const etag = `"${createHash('sha256').update(JSON.stringify(descriptor)).digest('base64url').slice(0, 22)}"`
        reply.headers({ etag, 'cache-control': 'private, no-cache' })
        return request.headers['if-none-match'] === etag ? reply.code(304).send() : descriptor
      },
    }),
  ]
}

function findVersion(
  capability: ServedCapability | undefined,
  name: string | undefined,
): [ServedCapability, ServedVersion] {
  if (!capability) throw new Fault('capability_not_found')
  const version = capability.versions.get(name ?? capability.config.defaultVersion)
  if (!version) throw new Fault('capability_version_not_found')
  return [capability, version]
}

function invokeRoute(deps: CapabilityRouteDeps): Route {
  return route({
    method: 'POST',
    path: '/v1/capabilities/:slug/invoke',
    summary: 'Call the default operation of a capability.',
    tag,
    access: 'spending',
    params: SlugParameter,
    query: VersionQuery,
    body: OperationInput,
    example: { text: 'hello' },
    replies: { 200: CapabilityAnswer, 202: CapabilityAnswer },
    refuses,
    handle: (call) => answer(deps, call, { ...call.params, operation: undefined, method: undefined }),
  })
}

/** An operation takes the one method of its descriptor, which is only known once its name is: so all of them come here. */
function operationRoutes(deps: CapabilityRouteDeps): Route[] {
  const path = '/v1/capabilities/:slug/operations/:operation'
  const common = {
    path,
    tag,
    access: 'spending',
    params: OperationParameters,
    query: VersionQuery,
    replies: { 200: CapabilityAnswer, 202: CapabilityAnswer },
    refuses,
  } as const
  const withQuery = (method: 'GET' | 'DELETE', summary: string): Route =>
    route({
      ...common,
      method,
      summary,
      extension: true,
      handle: (call) => answer(deps, call, { ...call.params, method }),
    })
  const withBody = (method: 'POST' | 'PUT' | 'PATCH', summary: string): Route =>
    route({
      ...common,
      method,
      summary,
      ...(method === 'POST' ? {} : { extension: true }),
      body: OperationInput,
      handle: (call) => answer(deps, call, { ...call.params, method }),
    })
  return [
    withBody('POST', 'Call an operation that takes POST.'),
    withQuery('GET', 'Call an operation that takes GET: its input is in the query.'),
    withBody('PUT', 'Call an operation that takes PUT.'),
    withBody('PATCH', 'Call an operation that takes PATCH.'),
    withQuery('DELETE', 'Call an operation that takes DELETE: its input is in the query.'),
  ]
}

async function answer(
  deps: CapabilityRouteDeps,
  call: Call<unknown, { version?: string }, unknown>,
  wanted: { slug: string; operation: string | undefined; method: Method | undefined },
): Promise<FastifyReply> {
  const { caller, requestId, confirmCredential, request, reply } = call
  const named = namedBy(call, `${request.method} ${request.url.split('?')[0]}`)
  const query = { ...call.query } as JsonObject
  const body = call.body as JsonObject
  return once(
    deps,
    { ...named, body: { query, body } },
    {
      async run(claimed) {
        const served = findOperation(deps.capabilities(), { ...wanted, version: call.query.version })
        if (served.operation.idempotencyKeyRequired && !claimed) throw new Fault('idempotency_key_required')
        const inQuery = wanted.method === 'GET' || wanted.method === 'DELETE'
        const made = await invoke(deps, {
          caller,
          requestId,
          served,
          sent: inQuery ? query : body,
          inQuery,
          confirmCredential,
        })
        await claimed?.complete(made)
        return sendStored(reply, made)
      },
      replay: (stored) => sendStored(reply, stored),
    },
  )
}
