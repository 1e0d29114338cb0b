import { createHash } from 'node:crypto'
import { Type } from 'typebox'
import { type ModelConfig, priceInForce } from '../../config/models.ts'
import { Closed, integer, Micro } from '../../http/fields.ts'
import { type Route, route } from '../../http/route.ts'
import type { Clock } from '../../kernel/clock.ts'

/** Where the models come from. */
export interface ModelsDeps {
  readonly models: () => ReadonlyMap<string, ModelConfig>
  readonly clock: Clock
}

const Model = Closed({
  id: Type.String(),
  object: Type.Literal('model'),
  created: Type.Integer({ description: 'Unix seconds' }),
  owned_by: Type.String(),
  name: Type.String(),
  description: Type.String(),
  modalities: Type.Array(Type.String(), { description: 'What it makes' }),
  input_modalities: Type.Array(Type.String(), { description: 'What it takes' }),
  context_length: Type.Integer(),
  max_output_tokens: Type.Integer(),
  pricing: Closed({
    input_micro_per_m: Micro('Microcredits per million input tokens'),
    output_micro_per_m: Micro('Microcredits per million output tokens'),
    unit_price_micro: Type.Union([Micro(), Type.Null()]),
    unit: Type.String(),
  }),
  price_input_per_m: Type.Number({ description: 'Credits per million input tokens' }),
  price_output_per_m: Type.Number({ description: 'Credits per million output tokens' }),
  capabilities: Closed({
    streaming: Type.Boolean(),
    tools: Type.Boolean(),
    async_supported: Type.Boolean(),
    request_mode: Type.Array(Type.String()),
  }),
  enabled: Type.Boolean(),
})

/** GET /v1/models (spec 4.2): public, cacheable, the same for everyone. */
export function modelsRoutes({ models, clock }: ModelsDeps): Route[] {
  return [
    route({
      method: 'GET',
      path: '/v1/models',
      summary: 'List the models with their prices.',
      tag: 'Models',
      access: 'public',
      cors: true,
      replies: {
        200: Closed({ object: Type.Literal('list'), data: Type.Array(Model) }),
        304: { description: 'Not modified', contentType: '' },
      },
      refuses: [],
      handle: ({ request, reply }) => {
        const now = clock.now()
        const data = [...models().values()].flatMap((model) => view(model, now))
        const etag = `"${createHash('sha256').update(JSON.stringify(data)).digest('base64url').slice(0, 22)}"`
        reply.headers({ etag, 'cache-control': 'public, max-age=60', 'access-control-allow-origin': '*' })
        if (request.headers['if-none-match'] === etag) return reply.code(304).send()
        return { object: 'list', data }
      },
    }),
  ]
}

/** A model as clients see it; nothing while it has no price in force. */
function view(model: ModelConfig, now: Date): object[] {
  const price = priceInForce(model, now)
  if (!model.enabled || !price) return []
  return [
    {
      id: model.id,
      object: 'model',
      created: model.created,
      owned_by: model.ownedBy,
      name: model.name,
      description: model.description,
      modalities: ['text'],
      input_modalities: model.inputModalities,
      context_length: model.contextLength,
      max_output_tokens: model.maxOutputTokens,
      pricing: {
        input_micro_per_m: integer(price.inputMicroPerM),
        output_micro_per_m: integer(price.outputMicroPerM),
        unit_price_micro: null,
        unit: 'token',
      },
      price_input_per_m: integer(price.inputMicroPerM) / 1e6,
      price_output_per_m: integer(price.outputMicroPerM) / 1e6,
      capabilities: {
        streaming: model.capabilities.streaming,
        tools: model.capabilities.tools,
        async_supported: false,
        request_mode: ['sync'],
      },
      enabled: true,
    },
  ]
}
