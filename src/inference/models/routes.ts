import { createHash } from 'node:crypto'
import { Type } from 'typebox'
import { type MediaModelConfig, mediaPriceInForce } from '../../config/media-models.ts'
import { type ModelConfig, priceInForce } from '../../config/models.ts'
import { Closed, integer, Micro, Nullable } from '../../http/fields.ts'
import { type Route, route } from '../../http/route.ts'
import type { Clock } from '../../kernel/clock.ts'

/** Where the models come from. */
export interface ModelsDeps {
  readonly models: () => ReadonlyMap<string, ModelConfig>
  readonly mediaModels: () => ReadonlyMap<string, MediaModelConfig>
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
    unit_price_micro: Nullable(Micro('Microcredits for one unit; null where tokens are counted')),
    unit: Type.String({ description: 'token, image, second or clip' }),
    tiers: Type.Array(
      Closed({
        size: Type.Optional(Type.String()),
        resolution: Type.Optional(Type.String()),
        quality: Type.Optional(Type.String()),
        unit_price_micro: Micro(),
      }),
      { description: 'Other unit prices; the first whose fields a request has counts' },
    ),
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
export function modelsRoutes({ models, mediaModels, clock }: ModelsDeps): Route[] {
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
        const data = [
          ...[...models().values()].flatMap((model) => view(model, now)),
          ...[...mediaModels().values()].flatMap((model) => mediaView(model, now)),
        ]
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
        tiers: [],
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

/** A model that makes images or videos, as clients see it: its price is for a unit of what it makes. */
function mediaView(model: MediaModelConfig, now: Date): object[] {
  const price = mediaPriceInForce(model, now)
  if (!model.enabled || !price) return []
  return [
    {
      id: model.id,
      object: 'model',
      created: model.created,
      owned_by: model.ownedBy,
      name: model.name,
      description: model.description,
      modalities: [model.type],
      input_modalities: model.inputImagesMax > 0 ? ['text', 'image'] : ['text'],
      context_length: 0,
      max_output_tokens: 0,
      pricing: {
        input_micro_per_m: 0,
        output_micro_per_m: 0,
        unit_price_micro: integer(price.unitMicro),
        unit: price.unit,
        tiers: price.tiers.map(({ size, resolution, quality, unitMicro }) => ({
          ...(size === undefined ? {} : { size }),
          ...(resolution === undefined ? {} : { resolution }),
          ...(quality === undefined ? {} : { quality }),
          unit_price_micro: integer(unitMicro),
        })),
      },
      price_input_per_m: 0,
      price_output_per_m: 0,
      capabilities: {
        streaming: false,
        tools: false,
        async_supported: true,
        request_mode: model.type === 'image' ? ['task', 'sync'] : ['task'],
      },
      enabled: true,
    },
  ]
}
