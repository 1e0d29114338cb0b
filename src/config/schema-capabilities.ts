import { type Static, Type } from 'typebox'
import { Bytes, ENVIRONMENT_NAME, Keys, Price, Timeout } from './schema-fields.ts'

const SLUG_PATTERN = '^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$'
const OPERATION_PATTERN = '^[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?$'
const VERSION_PATTERN = '^[A-Za-z0-9._-]{1,32}$'

/** JSON as it is written: any keys and values. */
const Free = (description: string, fallback: object) =>
  Type.Unsafe<Readonly<Record<string, unknown>>>({
    type: 'object',
    additionalProperties: true,
    description,
    default: fallback,
  })

const Words = (description: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength: 200 }), { maxItems: 32, default: [], description })

const Text = (description: string) => Type.String({ maxLength: 2000, default: '', description })

const HeaderName = '^[A-Za-z0-9-]{1,64}$'

const DemoUpstream = Keys(
  { kind: Type.Literal('demo', { description: 'Built in: answers offline. The slug must begin with `demo`.' }) },
  { description: 'A built-in demo.' },
)

const HttpUpstream = Keys(
  {
    kind: Type.Literal('http', { description: 'A service of your own that speaks JSON over HTTP.' }),
    base_url: Type.String({
      pattern: '^https?://[^\\s?#@]+$',
      maxLength: 2048,
      description: 'Its http:// or https:// address, to which the path of each operation is added.',
    }),
    headers: Type.Record(Type.String({ pattern: HeaderName }), Type.String({ pattern: '^[ -~]{0,1024}$' }), {
      additionalProperties: false,
      default: {},
      description: 'Headers sent with each call. Not for secrets: those belong in `headers_env`.',
    }),
    headers_env: Type.Record(Type.String({ pattern: HeaderName }), Type.String({ pattern: ENVIRONMENT_NAME }), {
      additionalProperties: false,
      default: {},
      description:
        'Headers whose values are secrets: the name of the environment variable that holds the whole value, such as `Bearer …`. `<NAME>_FILE` works too.',
    }),
    connections: Type.Integer({
      minimum: 1,
      maximum: 10_000,
      default: 64,
      description: 'The most connections open at once.',
    }),
    connect_timeout_ms: Timeout('Milliseconds to open a connection. Nothing is charged when it fails.', 5_000),
    timeout_ms: Timeout(
      'Milliseconds from the request to the end of the answer. After it the cost is unknown and the hold stays.',
      60_000,
    ),
    max_response_bytes: Bytes('The largest answer in bytes.', 4_194_304),
  },
  { description: 'A service of your own.' },
)

const At = (from: string) =>
  Type.String({
    pattern: '^(/([^/~]|~[01])*)*$',
    maxLength: 256,
    description: `A JSON pointer into the ${from}: a number there is the units (a fraction counts as a whole), a text its characters, a list its entries.`,
  })

const unitFields = {
  unit: Type.String({ pattern: '^[a-z][a-z0-9_-]{0,31}$', description: 'What one unit is called, such as `word`.' }),
  micro: Price('Microcredits for one unit.'),
}

const UnitsMax = (description: string) => Type.Integer({ minimum: 1, maximum: 1_000_000_000, description })

const PriceKinds = Type.Union(
  [
    Keys(
      {
        kind: Type.Literal('fixed', { description: 'The same for each call.' }),
        micro: Price('Microcredits for one call; 0 is free.'),
      },
      { description: 'A fixed price.' },
    ),
    Keys(
      {
        kind: Type.Literal('input_units', { description: 'By what the caller sends; known before the call.' }),
        ...unitFields,
        at: At('input'),
        units_max: UnitsMax('The most units of one call; more is refused with 400.'),
      },
      { description: 'A price by what is sent.' },
    ),
    Keys(
      {
        kind: Type.Literal('output_units', { description: 'By what the operation answers.' }),
        ...unitFields,
        at: At('answer'),
        units_max: UnitsMax('Held before the call: the most units that one answer should have.'),
      },
      { description: 'A price by what is answered.' },
    ),
  ],
  { description: 'What a call costs.' },
)

const Operation = Keys(
  {
    slug: Type.String({ pattern: OPERATION_PATTERN, description: 'Its name in paths and tools.' }),
    name: Type.String({ minLength: 1, maxLength: 128, description: 'The name for people.' }),
    summary: Text('One sentence for people and models: what it does.'),
    method: Type.Enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE'], {
      default: 'POST',
      description:
        'The one method that it takes, here and at the upstream. `GET` and `DELETE` take query parameters, the others a JSON body.',
    }),
    path: Type.String({
      pattern: '^/[A-Za-z0-9._~/-]{0,255}$',
      description: 'Where it is at the upstream, after `base_url`; of a demo, which one.',
    }),
    read_only: Type.Boolean({ default: false, description: 'It changes nothing: calling it again does no harm.' }),
    modes: Type.Array(Type.Enum(['sync', 'async']), {
      minItems: 1,
      maxItems: 2,
      default: ['sync'],
      description: '`sync` answers in the same request, `async` gives a task. The first is the default.',
    }),
    idempotency_key_required: Type.Boolean({
      default: false,
      description: 'Calls without an `Idempotency-Key` are refused with 400.',
    }),
    flow_step: Type.Integer({
      minimum: 0,
      maximum: 1000,
      default: 0,
      description: 'Its place in a sequence of operations; 0 is none.',
    }),
    eta_seconds: Type.Integer({
      minimum: 1,
      maximum: 86_400,
      default: 5,
      description: 'How long an asynchronous call usually takes.',
    }),
    price: PriceKinds,
    input_schema: Free('JSON Schema 2020-12 of the input, an object; it is checked before money is held.', {
      type: 'object',
    }),
    output_schema: Free('JSON Schema 2020-12 of the answer; an answer that breaks it is not charged.', {}),
    output_highlights: Words('What the answer is good for, in a few words each.'),
    trust_signals: Words('Why the answer can be trusted, in a few words each.'),
  },
  { description: 'One operation of a version.' },
)

/** One version of a capability: what is frozen when it is first served. */
export const CapabilityVersion = Keys(
  {
    version: Type.String({
      pattern: VERSION_PATTERN,
      description: 'Never change a version that was served: add the next. Changed content blocks its calls.',
    }),
    default_operation: Type.String({
      pattern: '^([a-z0-9-]{1,22})?$',
      default: '',
      description: 'What `/invoke` runs. Empty: the first.',
    }),
    operations: Type.Array(Operation, { minItems: 1, maxItems: 64, description: 'What it can do.' }),
  },
  { description: 'One version of a capability.' },
)

const Capability = Keys(
  {
    slug: Type.String({ pattern: SLUG_PATTERN, description: 'What clients call it by. Unique.' }),
    name: Type.String({ minLength: 1, maxLength: 128, description: 'The name for people.' }),
    category: Type.String({ pattern: '^[a-z0-9-]{1,64}$', default: 'general', description: 'What it belongs to.' }),
    short_description: Text('One or two sentences for people.'),
    provider_name: Type.String({ maxLength: 128, default: '', description: 'Who provides it.' }),
    tags: Words('Words to find it by.'),
    agent_doc_what: Text('For Agents: when to use it.'),
    agent_doc_how: Text('For Agents: the safe sequence of calls.'),
    output_highlights: Words('What its answers are good for, in a few words each.'),
    trust_signals: Words('Why it can be trusted, in a few words each.'),
    funding_modes: Type.Array(Type.Enum(['self_only', 'self_then_owner', 'owner_only']), {
      minItems: 1,
      maxItems: 3,
      default: ['self_only', 'self_then_owner', 'owner_only'],
      description: 'The billing modes of Agents that may call it.',
    }),
    enabled: Type.Boolean({ default: true, description: '`false` takes it out of service and keeps its history.' }),
    upstream: Type.Union([DemoUpstream, HttpUpstream], { description: 'What does the work.' }),
    default_version: Type.String({
      pattern: '^[A-Za-z0-9._-]{0,32}$',
      default: '',
      description: 'What is served to callers that name no version. Empty: the last of the list.',
    }),
    withdrawn_versions: Type.Array(Type.String({ pattern: VERSION_PATTERN }), {
      maxItems: 1000,
      default: [],
      description: 'Versions that are served no more. Others are, also when they are no longer listed below.',
    }),
    versions: Type.Array(CapabilityVersion, { minItems: 1, maxItems: 100, description: 'Its versions, oldest first.' }),
  },
  { description: 'A capability that clients can call.' },
)

/** What clients can call besides models. */
export const Capabilities = Type.Array(Capability, {
  maxItems: 200,
  default: [],
  description: 'Named operations that clients can call, and what each costs.',
})

/** How Agents reach the tools at /mcp. */
export const Mcp = Keys(
  {
    allowed_hosts: Type.Array(Type.String({ pattern: '^[A-Za-z0-9.-]{1,253}$|^\\[[0-9a-fA-F:]+\\]$' }), {
      maxItems: 100,
      default: [],
      description: 'Host names under which /mcp answers, besides those of loopback and of FAREBOX_PUBLIC_URL.',
    }),
    allowed_origins: Type.Array(Type.String({ pattern: '^https?://[^\\s/?#@]+$' }), {
      maxItems: 100,
      default: [],
      description: 'Web pages that may call /mcp, as the browser names them, besides those of the same hosts.',
    }),
  },
  { default: {}, description: 'The tools at /mcp.' },
)

/** A capability as the file has it, defaults filled in. */
export type FileCapability = Static<typeof Capability>
/** A version as the file has it, defaults filled in. */
export type FileVersion = Static<typeof CapabilityVersion>
