import { STATUS_CODES } from 'node:http'
import { assert } from '../kernel/assert.ts'
import { catalogue, type ErrorCode, refusalOf } from '../kernel/errors.ts'
import { tagDescriptions } from './openapi-tags.ts'
import { type WebhookDescription, webhookItems } from './openapi-webhooks.ts'
import { type Access, impliedRefusals, type Route } from './route.ts'

type Json = { [member: string]: unknown }

/** What the document says about the program itself. */
export interface OpenApiInfo {
  readonly version: string
  /** What the service sends by itself. */
  readonly webhooks?: readonly WebhookDescription[]
}

const description = `Agents call AI models and capabilities and pay with prepaid Credits: 1 Credit = 1000000 microcredits.

Every answer carries \`x-request-id\`. Every refusal has the body of the schema \`Error\`, its \`code\` one of those listed
with the operation; each has a page at \`/errors/<code>\`. \`X-Error-Format: openai\` asks for the nested form that OpenAI's
clients read. Repeat after 429 and 503 as \`Retry-After\` says; do not repeat 402 and 409 unchanged.
Guides are at [/docs/guides](docs/guides), all that an Agent needs at [/skill.md](skill.md).
Operations marked \`x-extension\` go beyond the published contract.`

/**
 * The OpenAPI 3.1 document of these routes. Pure: same routes, same document. Schemas with an \`$id\` become
 * components of that name. Throws AssertionFailed when two operations or two different schemas would share a name.
 */
export function openApi(routes: readonly Route[], info: OpenApiInfo): Json {
  const schemas = new Map<string, unknown>([['Error', errorSchema]])
  const paths: Record<string, Json> = {}
  const operationIds = new Set<string>()
  for (const route of routes) {
    const id = operationId(route)
    assert(!operationIds.has(id), `two routes would be the operation ${id}`)
    operationIds.add(id)
    const path = route.path.replaceAll(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(route, id, schemas) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Farebox',
      version: info.version,
      description,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    tags: [...new Set(routes.map(({ tag }) => tag))].map((name) => ({
      name,
      ...(tagDescriptions[name] ? { description: tagDescriptions[name] } : {}),
    })),
    paths,
    ...(info.webhooks ? { webhooks: webhookItems(info.webhooks, (body) => component(body, schemas)) } : {}),
    components: {
      securitySchemes,
      headers,
      schemas: Object.fromEntries([...schemas].sort(([a], [b]) => (a < b ? -1 : 1))),
    },
  }
}

/** `GET /v1/calls/:id` is `getCallsById`: what generated clients call their methods. */
function operationId({ method, path }: Pick<Route, 'method' | 'path'>): string {
  const words = path
    .replace(/^\/v1(?=\/)/, '')
    .replaceAll(/\/:(\w+)/g, '/by/$1')
    .split(/[^A-Za-z0-9]+/)
    .filter(Boolean)
  return method.toLowerCase() + words.map((word) => word[0]?.toUpperCase() + word.slice(1)).join('')
}

function operation(route: Route, id: string, schemas: Map<string, unknown>): Json {
  const parameters = [...parametersOf(route, schemas), ...headerParameters(route)]
  return {
    operationId: id,
    summary: route.summary,
    ...(route.description ? { description: route.description } : {}),
    tags: [route.tag],
    ...(route.extension ? { 'x-extension': true } : {}),
    ...route.openApi,
    security: security[route.access],
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(route.body && route.method !== 'GET' ? { requestBody: requestBody(route, schemas) } : {}),
    responses: responses(route, schemas),
  }
}

function parametersOf(route: Route, schemas: Map<string, unknown>): Json[] {
  const declared = (schema: unknown, place: 'path' | 'query'): Json[] => {
    const { properties = {}, required = [] } = (schema ?? {}) as {
      properties?: Record<string, unknown>
      required?: string[]
    }
    return Object.entries(properties).map(([name, property]) => {
      const plain = component(property, schemas) as Json
      return {
        name,
        in: place,
        required: place === 'path' || required.includes(name),
        ...(plain.description ? { description: plain.description } : {}),
        schema: plain,
      }
    })
  }
  const inPath = declared(route.params, 'path')
  const untyped = [...route.path.matchAll(/:(\w+)/g)]
    .map(([, name]) => name as string)
    .filter((name) => !inPath.some((parameter) => parameter.name === name))
    .map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } }))
  return [...inPath, ...untyped, ...declared(route.query, 'query')]
}

/** A route that can refuse a repeat takes the key that names one, unless its body already does. */
function headerParameters(route: Route): Json[] {
  const own = Object.entries(route.requestHeaders ?? {}).map(([name, text]) => ({
    name,
    in: 'header',
    required: false,
    description: text,
    schema: { type: 'string' },
  }))
  const inBody = Object.hasOwn((route.body as { properties?: object })?.properties ?? {}, 'idempotency_key')
  if (inBody || !route.refuses.includes('idempotency_conflict')) return own
  return [
    ...own,
    {
      name: 'Idempotency-Key',
      in: 'header',
      required: false,
      description:
        'Names one paid intent. The same key with the same body replays the stored answer, with Idempotent-Replayed: true.',
      schema: { type: 'string', minLength: 1, maxLength: 128 },
    },
  ]
}

function requestBody({ body, fromForm, example }: Route, schemas: Map<string, unknown>): Json {
  const { required = [] } = body as { required?: string[] }
  const schema = component(body, schemas)
  return {
    required: required.length > 0,
    content: {
      'application/json': { schema, ...(example ? { example } : {}) },
      ...(fromForm ? { 'multipart/form-data': { schema } } : {}),
    },
  }
}

function responses(route: Route, schemas: Map<string, unknown>): Json {
  const answers: Record<string, Json> = {}
  for (const [status, reply] of Object.entries(route.replies)) {
    answers[status] = {
      description: (reply as { description?: string }).description ?? STATUS_CODES[status] ?? '',
      headers: { 'x-request-id': { $ref: '#/components/headers/x-request-id' } },
      ...(withoutBody.has(status) ? {} : { content: contentOf(reply, schemas) }),
    }
  }
  for (const [status, codes] of refusalsByStatus(route)) {
    answers[status] = withRefusals(answers[status], status, codes)
  }
  return answers
}

function contentOf(reply: Route['replies'][number], schemas: Map<string, unknown>): Json {
  return 'contentType' in reply
    ? { [String(reply.contentType)]: { schema: { type: 'string' } } }
    : { 'application/json': { schema: component(reply, schemas) } }
}

/** Every code a route can answer with, in the catalogue's order. */
function refusalsByStatus(route: Route): Map<string, ErrorCode[]> {
  const possible = new Set<ErrorCode>([...route.refuses, ...impliedRefusals(route)])
  const byStatus = new Map<string, ErrorCode[]>()
  for (const code of Object.keys(catalogue) as ErrorCode[]) {
    if (!possible.has(code)) continue
    const status = String(refusalOf(code, { signedIn: route.access !== 'public' }).status)
    byStatus.set(status, [...(byStatus.get(status) ?? []), code])
  }
  return byStatus
}

/** An error answer; beside a declared answer of the same status (a 402 that carries terms of payment), either may come. */
function withRefusals(declared: Json | undefined, status: string, codes: readonly ErrorCode[]): Json {
  const error = { $ref: '#/components/schemas/Error' }
  const content = (declared?.content ?? {}) as Record<string, { schema: unknown }>
  const beside = content['application/json']?.schema
  const names = ['x-request-id', ...(statusHeaders[status] ?? [])]
  return {
    description: codes.map((code) => `\`${code}\`: ${catalogue[code].phrase}`).join('\n\n'),
    headers: Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }])),
    content: {
      ...content,
      'application/json': { schema: beside ? { anyOf: [beside, error] } : error },
    },
    'x-error-codes': codes,
  }
}

/** The schema as plain JSON. One with an \`$id\` moves to the components and leaves a reference, however deep it stands. */
function component(schema: unknown, schemas: Map<string, unknown>): unknown {
  return named(JSON.parse(JSON.stringify(schema)), schemas)
}

function named(value: unknown, schemas: Map<string, unknown>): unknown {
  if (Array.isArray(value)) return value.map((item) => named(item, schemas))
  if (typeof value !== 'object' || value === null) return value
  const { $id, ...members } = value as Json
  const plain = Object.fromEntries(Object.entries(members).map(([name, member]) => [name, named(member, schemas)]))
  if (typeof $id !== 'string') return plain
  const known = schemas.get($id)
  const same = known === undefined || JSON.stringify(known) === JSON.stringify(plain)
  assert(same, `two different schemas have the $id ${$id}`)
  schemas.set($id, plain)
  return { $ref: `#/components/schemas/${$id}` }
}

const withoutBody = new Set(['204', '304'])

const security: Readonly<Record<Access, readonly Json[]>> = {
  public: [],
  any: [{ apiKey: [] }, { accessToken: [] }],
  spending: [{ apiKey: [] }, { accessToken: [] }],
  session: [{ accessToken: [] }],
  admin: [{ accessToken: [] }],
}

const securitySchemes = {
  apiKey: { type: 'http', scheme: 'bearer', description: 'An API key: `fbx_...`' },
  accessToken: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description: 'The access token of a login session.',
  },
}

const statusHeaders: Readonly<Record<string, readonly string[]>> = {
  401: ['www-authenticate'],
  402: ['x-should-retry'],
  405: ['allow'],
  409: ['x-should-retry'],
  429: ['retry-after', 'retry-after-ms'],
  503: ['retry-after', 'retry-after-ms'],
}

const header = (text: string, type: 'string' | 'integer' = 'string'): Json => ({
  description: text,
  schema: { type },
})

const headers = {
  'x-request-id': header('The id of this request: give it to the operator.'),
  'www-authenticate': header('Which credential is asked for.'),
  'x-should-retry': header('`false`: the same request will be refused again.'),
  allow: header('The methods that this path takes.'),
  'retry-after': header('Seconds to wait.', 'integer'),
  'retry-after-ms': header('Milliseconds to wait.', 'integer'),
}

const errorSchema = {
  type: 'object',
  description: 'The body of every refusal: strings. Further members carry the numbers of this one.',
  required: ['error', 'message', 'type', 'code', 'request_id'],
  properties: {
    error: {
      type: 'string',
      description: '`bad_request` for a malformed request, else the same as `code`.',
    },
    message: { type: 'string', description: 'What happened, with numbers, and what to do next.' },
    type: {
      type: 'string',
      enum: [...new Set(Object.values(catalogue).map(({ type }) => type))].sort(),
    },
    code: { type: 'string', enum: Object.keys(catalogue) },
    request_id: { type: 'string' },
    payment: {
      type: 'object',
      description:
        'Of `insufficient_credits`, while an asset can be paid with: what the missing Credits cost. The one member that is no string; its own are. Pay with an order (`POST /v1/payments/orders`): it is no x402 offer, and a bare transfer waits for the operator.',
      required: ['network', 'currency', 'pay_to_address', 'amount'],
      properties: {
        network: { type: 'string' },
        currency: { type: 'string' },
        pay_to_address: { type: 'string' },
        amount: { type: 'string', description: 'Micro units of the currency, rounded up' },
      },
    },
  },
}
