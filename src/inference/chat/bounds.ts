import type { ModelConfig, Price } from '../../config/models.ts'
import { Fault } from '../../kernel/errors.ts'
import { dividedRoundingDown, dividedRoundingUp, type Microcredits } from '../../kernel/money.ts'
import type { JsonObject, Usage } from '../../providers/provider.ts'

/** The most that a call can cost, by what is known before it is made (decisions 5). */
export interface Bounds {
  readonly inputTokens: number
  /** Of all choices together. */
  readonly outputTokens: number
  readonly choices: number
  /** True when the client itself set the output bound: then it is never clamped. */
  readonly explicit: boolean
}

const PER_MILLION = 1_000_000n
/** No tokenizer in use makes more than one token of three bytes, on average over a text. */
const BYTES_PER_TOKEN = 3

/**
 * Bounds a chat body: input by UTF-8 bytes / 3 plus a fixed overhead for each message and the model's figure for
 * each image, output by the client's own bound times `n`, or the model's default.
 * Refuses images for a model that takes none, and `n` or bounds that are out of range.
 */
export function boundsOf(body: JsonObject, model: ModelConfig): Bounds {
  const messages = body.messages as readonly JsonObject[]
  let bytes = 0
  let images = 0
  for (const message of messages) {
    const { content, ...rest } = message
    if (Array.isArray(content)) {
      for (const part of content as JsonObject[]) {
        if (part !== null && typeof part === 'object' && part.type === 'image_url') images += 1
        else bytes += bytesOf(part)
      }
    } else bytes += bytesOf(content)
    bytes += bytesOf(rest)
  }
  if (images > 0 && model.imageInputTokens === undefined) {
    throw new Fault('invalid_field', {
      message: `The model ${model.id} takes no images. GET /v1/models says which do.`,
      fields: { field: 'messages' },
    })
  }
  // whatever else becomes part of the prompt: tool and function definitions, schemas of the answer
  for (const field of ['tools', 'functions', 'response_format', 'prediction'])
    if (body[field] !== undefined) bytes += bytesOf(body[field])
  const inputTokens =
    Math.ceil(bytes / BYTES_PER_TOKEN) +
    messages.length * model.tokensPerMessageOverhead +
    images * (model.imageInputTokens ?? 0)

  const choices = typeof body.n === 'number' ? body.n : 1
  const asked = [body.max_completion_tokens, body.max_tokens].filter(
    (value): value is number => typeof value === 'number',
  )
  const perChoice = asked.length > 0 ? Math.min(Math.max(...asked), model.maxOutputTokens) : model.defaultOutputTokens
  return { inputTokens, outputTokens: perChoice * choices, choices, explicit: asked.length > 0 }
}

/** What to hold: the whole worst case, and the least that the call makes sense with. Never zero: a hold is what makes a call visible. */
export function holdFor(
  bounds: Bounds,
  model: ModelConfig,
  price: Price,
): { wantedMicro: Microcredits; minimumMicro: Microcredits } {
  const wantedMicro = atLeastOne(cost(bounds.inputTokens, 0, bounds.outputTokens, price))
  if (bounds.explicit) return { wantedMicro, minimumMicro: wantedMicro }
  const least = Math.min(model.minimumOutputTokens * bounds.choices, bounds.outputTokens)
  return { wantedMicro, minimumMicro: atLeastOne(cost(bounds.inputTokens, 0, least, price)) }
}

/** The output tokens of each choice that a hold covers. */
export function outputTokensCovered(reserveMicro: Microcredits, bounds: Bounds, price: Price): number {
  if (price.outputMicroPerM === 0n) return bounds.outputTokens / bounds.choices
  const left = reserveMicro * PER_MILLION - BigInt(bounds.inputTokens) * price.inputMicroPerM
  const tokens = Number(dividedRoundingDown(left, price.outputMicroPerM))
  return Math.floor(Math.min(tokens, bounds.outputTokens) / bounds.choices)
}

/** What the reported usage costs: exact, and rounded up once for the whole call. */
export function costOf(usage: Usage, price: TokenPrices): Microcredits {
  return cost(usage.inputTokens - usage.cachedInputTokens, usage.cachedInputTokens, usage.outputTokens, price)
}

/** What the provider charges the operator for the same usage, or undefined where the configuration does not say. */
export function providerCostOf(usage: Usage, price: Price): bigint | undefined {
  if (!price.cost) return undefined
  return dividedRoundingUp(
    BigInt(usage.inputTokens) * price.cost.inputMicroPerM + BigInt(usage.outputTokens) * price.cost.outputMicroPerM,
    PER_MILLION,
  )
}

/** What of a price a cost depends on. */
type TokenPrices = Pick<Price, 'inputMicroPerM' | 'outputMicroPerM' | 'cachedInputMicroPerM'>

function cost(input: number, cached: number, output: number, price: TokenPrices): Microcredits {
  const total =
    BigInt(input) * price.inputMicroPerM +
    BigInt(cached) * price.cachedInputMicroPerM +
    BigInt(output) * price.outputMicroPerM
  return dividedRoundingUp(total, PER_MILLION) as Microcredits
}

const atLeastOne = (amount: Microcredits): Microcredits => (amount > 0n ? amount : (1n as Microcredits))

/** UTF-8 bytes of a value as it reaches the prompt: text as it is, anything else as JSON. */
function bytesOf(value: unknown): number {
  if (value === undefined || value === null) return 0
  return Buffer.byteLength(typeof value === 'string' ? value : JSON.stringify(value))
}
