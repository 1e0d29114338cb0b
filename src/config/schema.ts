import { type Static, Type } from 'typebox'
import { Capabilities, Mcp } from './schema-capabilities.ts'
import {
  Bytes,
  ENVIRONMENT_NAME,
  Keys,
  NAME_PATTERN,
  Pause,
  PerMinute,
  Price,
  Timeout,
  Tokens,
} from './schema-fields.ts'
import { MediaModels } from './schema-media.ts'
import { Credits, UsageLookup } from './schema-money.ts'
import { type SchemaNode, withoutDefaultsRequired } from './schema-node.ts'
import { Oidc } from './schema-oidc.ts'
import { Payments } from './schema-payments.ts'
import { Outgoing, Results } from './schema-results.ts'
import { TaskApiProvider } from './schema-task-api.ts'

// A key with a `default` may be left out of the file; its type here is what the server sees afterwards.

/** The built-in provider that answers offline. */
export const DemoProvider = Keys(
  {
    kind: Type.Literal('demo', {
      description: 'The built-in provider: answers offline, with made-up text.',
    }),
    first_token_ms: Pause('How long the model `slow` waits before its first token, in milliseconds.', 2_000),
    token_ms: Pause('How long the model `slow` waits between tokens, in milliseconds.', 100),
    timeout_ms: Pause(
      'How long the message `fail:timeout` to the model `failing` waits before the call is lost, in milliseconds.',
      10_000,
    ),
    slow_media_ms: Pause('How long the models `image-slow` and `video-slow` take, in milliseconds.', 10_000),
  },
  { description: 'A provider of kind `demo`.' },
)

/** Any server that speaks OpenAI's chat API. */
export const OpenAiCompatibleProvider = Keys(
  {
    kind: Type.Literal('openai-compatible', {
      description:
        "Anything with OpenAI's chat API: OpenAI, the Anthropic and Gemini compatibility endpoints, vLLM, Ollama, llama.cpp.",
    }),
    base_url: Type.String({
      pattern: '^https?://[^\\s?#@]+$',
      maxLength: 2048,
      description: 'The http:// or https:// address up to and including `/v1`, without user, query or fragment.',
    }),
    api_key_env: Type.Optional(
      Type.String({
        pattern: ENVIRONMENT_NAME,
        description:
          'The name of the environment variable that holds the API key, never the key itself. `<NAME>_FILE` works too. Absent: no key is sent.',
      }),
    ),
    headers: Type.Record(
      Type.String({ pattern: '^[A-Za-z0-9-]{1,64}$' }),
      Type.String({ pattern: '^[ -~]{0,1024}$' }),
      {
        additionalProperties: false,
        default: {},
        description: 'Headers sent with each call. Not for secrets: those belong in `api_key_env`.',
      },
    ),
    connections: Type.Integer({
      minimum: 1,
      maximum: 10_000,
      default: 256,
      description: 'The most connections open at once.',
    }),
    connect_timeout_ms: Timeout('Milliseconds to open a connection. Nothing is charged when it fails.', 5_000),
    headers_timeout_ms: Timeout(
      'Milliseconds from the request to the first byte of the answer; for a plain call that is the whole answer.',
      300_000,
    ),
    idle_timeout_ms: Timeout('Milliseconds of silence inside an answer until it counts as broken.', 120_000),
    max_response_bytes: Bytes('The largest answer in bytes, plain or streamed.', 33_554_432),
    usage_lookup: Type.Optional(UsageLookup),
  },
  { description: 'A provider of kind `openai-compatible`.' },
)

const Cost = Keys(
  {
    input_micro_per_m: Price('Microcredits per million input tokens that the provider charges you.'),
    output_micro_per_m: Price('Microcredits per million output tokens that the provider charges you.'),
  },
  { description: 'What the provider charges you, for the margin in the metrics.' },
)

/** One version of a model's price. */
export const PriceVersion = Keys(
  {
    version: Type.Integer({
      minimum: 1,
      maximum: 2_147_483_647,
      description: 'Stored with every charge. Never change a version that was in force: add the next.',
    }),
    effective_from: Type.String({
      pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(\\.\\d{1,3})?(Z|[+-]\\d\\d:\\d\\d)$',
      description:
        'When it comes into force: an RFC 3339 time such as `2026-01-01T00:00:00Z`, later than that of the version before.',
    }),
    input_micro_per_m: Price('Microcredits per million input tokens.'),
    output_micro_per_m: Price('Microcredits per million output tokens.'),
    cached_input_micro_per_m: Type.Optional(
      Price('Microcredits per million input tokens that the provider served from its cache. Absent: the input price.'),
    ),
    cost: Type.Optional(Cost),
  },
  { description: 'One version of a price.' },
)

const ModelRoute = Keys(
  {
    provider: Type.String({ pattern: NAME_PATTERN, description: 'The name of a provider above.' }),
    model: Type.String({
      minLength: 1,
      maxLength: 256,
      description: 'The name of the model at that provider.',
    }),
    priority: Type.Integer({
      minimum: 0,
      maximum: 1000,
      default: 0,
      description: 'The lowest is tried first; equal ones in the order of the file.',
    }),
    missing_usage: Type.Enum(['hold', 'count'], {
      default: 'hold',
      description:
        'When the provider reports no usage: `hold` keeps the hold until you resolve it, `count` counts the tokens here.',
    }),
  },
  { description: 'A provider that serves the model.' },
)

/** One model that clients can call. */
export const Model = Keys(
  {
    id: Type.String({
      pattern: '^[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}$',
      description: 'What clients send as `model`. Unique.',
    }),
    name: Type.String({ minLength: 1, maxLength: 128, description: 'The name for people.' }),
    description: Type.String({
      maxLength: 2000,
      default: '',
      description: 'One or two sentences for people.',
    }),
    owned_by: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 128,
        description: 'Who made the model. Absent: the name of its first provider.',
      }),
    ),
    created: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 253_402_300_799,
        description: 'Unix seconds. Absent: when its first price came into force.',
      }),
    ),
    input_modalities: Type.Array(Type.Enum(['text', 'image']), {
      minItems: 1,
      maxItems: 2,
      default: ['text'],
      description: 'What it takes. With `image`, set `image_input_tokens`.',
    }),
    context_length: Tokens('Tokens of input and output together.', { minimum: 1 }),
    max_output_tokens: Tokens('The most output tokens of one answer.', { minimum: 1 }),
    default_output_tokens: Tokens(
      'The output bound when the client sets none: held before the call and also sent to the provider.',
      { minimum: 1 },
    ),
    minimum_output_tokens: Tokens('How low that bound may be clamped when funds cover less.', {
      minimum: 1,
      fallback: 1,
    }),
    tokens_per_message_overhead: Tokens('Input tokens held for each message besides its text.', {
      minimum: 0,
      fallback: 8,
    }),
    image_input_tokens: Type.Optional(
      Tokens('Input tokens held for each image. Absent: images are refused.', { minimum: 0 }),
    ),
    capabilities: Keys(
      {
        streaming: Type.Boolean({ default: true, description: 'Answers can be streamed.' }),
        tools: Type.Boolean({ default: false, description: 'The model can call tools.' }),
      },
      { default: {}, description: 'What `GET /v1/models` says the model can do.' },
    ),
    enabled: Type.Boolean({
      default: true,
      description: '`false` takes the model out of service and keeps its history.',
    }),
    providers: Type.Array(ModelRoute, {
      minItems: 1,
      maxItems: 16,
      description: 'Who serves it. Another is tried only before the first byte of an answer.',
    }),
    prices: Type.Array(PriceVersion, {
      maxItems: 1000,
      default: [],
      description: 'Its prices, oldest first. A model without a price in force is refused at start-up.',
    }),
  },
  { description: 'A model that clients can call.' },
)

/** What bounds the load one server takes. */
export const Limits = Keys(
  {
    requests_per_minute_per_credential: PerMinute(
      'Requests per minute of one API key or session. Absent: 600, in development 60000.',
    ),
    auth_requests_per_minute_per_address: PerMinute(
      'Sign-in requests per minute from one address. Absent: 60, in development 60000.',
    ),
    topup_requests_per_minute_per_address: PerMinute(
      'Top-up requests per minute from one address. Absent: 10, in development 60000.',
    ),
    concurrent_streams: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 1_000_000,
        description: 'The most streams at once in one process; over it 503. Absent: memory is the limit.',
      }),
    ),
    queue_operations_max: Type.Integer({
      minimum: 1,
      maximum: 1_000_000,
      default: 10_000,
      description: 'Money operations that may wait for the database in one process; over it 503.',
    }),
    body_bytes: Bytes('The largest request body.', 1_048_576),
    chat_body_bytes: Bytes('The largest body of a chat call.', 8_388_608),
    media_body_bytes: Bytes(
      'The largest body that asks for a picture or a film, its own pictures included.',
      31_457_280,
    ),
    concurrent_tasks: Type.Integer({
      minimum: 1,
      maximum: 1000,
      default: 64,
      description: 'Tasks that one process works on at once. Others wait; none is refused.',
    }),
  },
  { default: {}, description: 'Limits. Money limits are budgets of accounts and keys, not here.' },
)

/** The whole of farebox.yaml. */
export const ConfigurationFile = Keys(
  {
    allow_demo: Type.Boolean({
      default: false,
      description: 'Lets `farebox serve` offer demo providers. They charge real Credits for made-up answers.',
    }),
    providers: Type.Record(
      Type.String({ pattern: NAME_PATTERN }),
      Type.Union([DemoProvider, OpenAiCompatibleProvider, TaskApiProvider]),
      {
        additionalProperties: false,
        description: 'Where calls go: a name of your choice, and how to reach it.',
      },
    ),
    models: Type.Array(Model, {
      minItems: 1,
      maxItems: 1000,
      description: 'What clients can call, and what it costs.',
    }),
    media_models: MediaModels,
    capabilities: Capabilities,
    mcp: Mcp,
    payments: Payments,
    oidc: Oidc,
    credits: Credits,
    results: Results,
    outgoing: Outgoing,
    limits: Limits,
  },
  { description: 'The configuration of a Farebox server.' },
)

/** farebox.yaml after its defaults were filled in. */
export type ConfigurationFile = Static<typeof ConfigurationFile>

/** farebox.yaml as an editor checks it: like ConfigurationFile, but what has a default is not required. */
export function publishedSchema(): SchemaNode {
  return {
    ...({ $schema: 'https://json-schema.org/draft/2020-12/schema', title: 'farebox.yaml' } as SchemaNode),
    ...withoutDefaultsRequired(ConfigurationFile as SchemaNode),
  }
}
