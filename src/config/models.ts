import { type Microcredits, microcredits } from '../kernel/money.ts'
import type { CheckedFile } from './file.ts'
import type { Problem } from './problem.ts'
import type { ConfigurationFile } from './schema.ts'
import { closestWord } from './suggestion.ts'

/** Prices of one version. All are microcredits per million tokens. */
export interface Price {
  readonly version: number
  readonly effectiveFrom: Date
  readonly inputMicroPerM: Microcredits
  readonly outputMicroPerM: Microcredits
  /** For input tokens that the provider served from its cache; the input price unless configured. */
  readonly cachedInputMicroPerM: Microcredits
  /** What the provider charges the operator, for the margin. */
  readonly cost: { readonly inputMicroPerM: Microcredits; readonly outputMicroPerM: Microcredits } | undefined
}

/** One way to have a model answered. */
export interface ModelRoute {
  /** A key of Config.providers. */
  readonly provider: string
  /** The model's name at the provider. */
  readonly model: string
  readonly priority: number
  /** What happens when the provider reports no usage (decisions 5). */
  readonly missingUsage: 'hold' | 'count'
}

/** A model that clients can call. Token counts are whole numbers. */
export interface ModelConfig {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly ownedBy: string
  /** Unix seconds. */
  readonly created: number
  readonly inputModalities: readonly ('text' | 'image')[]
  readonly contextLength: number
  readonly maxOutputTokens: number
  readonly defaultOutputTokens: number
  readonly minimumOutputTokens: number
  readonly tokensPerMessageOverhead: number
  /** Held for each image; undefined: images are refused. */
  readonly imageInputTokens: number | undefined
  readonly capabilities: { readonly streaming: boolean; readonly tools: boolean }
  readonly enabled: boolean
  /** In the order in which they are tried: by priority, then as in the file. Never empty. */
  readonly providers: readonly ModelRoute[]
  /** Oldest first. An enabled model has one in force at start-up. */
  readonly prices: readonly Price[]
}

type FileModel = ConfigurationFile['models'][number]
type FilePrice = FileModel['prices'][number]

/** The price of a model at a time: the last version whose effective_from has come; undefined before the first. */
export function priceInForce(model: Pick<ModelConfig, 'prices'>, at: Date): Price | undefined {
  return model.prices.findLast((price) => price.effectiveFrom.getTime() <= at.getTime())
}

/** The models of the file, and what of them breaks the rules that a schema cannot state. */
export function readModels(
  file: CheckedFile,
  now: Date,
): { models: readonly ModelConfig[]; problems: readonly Problem[] } {
  const problems: Problem[] = []
  const ids = new Set<string>()
  const models = file.content.models.map((model) => {
    const refuse = (object: object, key: string, problem: string, fix: string) =>
      problems.push({
        where: file.place(object, key),
        problem: `Model \`${model.id}\`: ${problem}`,
        fix,
      })
    if (ids.has(model.id)) refuse(model, 'id', 'the id is used twice.', 'Give each model its own id.')
    ids.add(model.id)
    checkTokens(model, refuse)
    checkProviders(file, model, refuse)
    checkChats(file, model, refuse)
    checkPriceVersions(model.prices, refuse)
    const resolved = resolveModel(model)
    if (model.enabled && priceInForce(resolved, now) === undefined) {
      refuse(
        model,
        'prices',
        'Unpriced model: no price is in force.',
        'Add a price whose `effective_from` has passed, or set `enabled: false`.',
      )
    }
    return resolved
  })
  return { models, problems }
}

/** Reports what is wrong with a key of an object of the file. */
export type Refuse = (object: object, key: string, problem: string, fix: string) => void

function checkTokens(model: FileModel, refuse: Refuse): void {
  const ascending = ['minimum_output_tokens', 'default_output_tokens', 'max_output_tokens', 'context_length'] as const
  for (const [index, larger] of ascending.entries()) {
    const smaller = ascending[index - 1]
    if (smaller === undefined || model[smaller] <= model[larger]) continue
    refuse(
      model,
      smaller,
      `${smaller} ${model[smaller]} is more than ${larger} ${model[larger]}.`,
      `Lower it to ${model[larger]} at most.`,
    )
  }
  const takesImages = model.input_modalities.includes('image')
  if (takesImages && model.image_input_tokens === undefined) {
    refuse(
      model,
      'input_modalities',
      'it takes images, but how many tokens an image holds is not set.',
      'Set `image_input_tokens`.',
    )
  }
  if (!takesImages && model.image_input_tokens !== undefined) {
    refuse(
      model,
      'image_input_tokens',
      'an image has tokens, but the input modalities do not list `image`.',
      'Add `image` to `input_modalities`.',
    )
  }
}

/** Refuses providers that are not there, and made-up answers under the name of a real model. */
export function checkProviders(
  file: CheckedFile,
  model: { readonly id: string; readonly providers: readonly { readonly provider: string }[] },
  refuse: Refuse,
): void {
  for (const route of model.providers) {
    if (!file.providerNames.includes(route.provider)) {
      const meant = closestWord(route.provider, file.providerNames)
      const fix = meant === undefined ? 'Add it under `providers`.' : `Did you mean \`${meant}\`?`
      refuse(route, 'provider', `there is no provider \`${route.provider}\`.`, fix)
    }
    // A made-up answer must never be sold under the name of a real model.
    const provider = Object.hasOwn(file.content.providers, route.provider)
      ? file.content.providers[route.provider]
      : undefined
    if (provider?.kind === 'demo' && !model.id.startsWith('demo')) {
      refuse(
        route,
        'provider',
        'it is served by a demo provider, but its id does not say so.',
        'Begin the id with `demo`.',
      )
    }
  }
}

/** Refuses providers that only take jobs for pictures and films. */
function checkChats(file: CheckedFile, model: FileModel, refuse: Refuse): void {
  for (const route of model.providers) {
    const { providers } = file.content
    const provider = Object.hasOwn(providers, route.provider) ? providers[route.provider] : undefined
    if (provider?.kind !== 'task-api') continue
    refuse(route, 'provider', 'it makes pictures and films, and cannot chat.', 'Name it under `media_models`.')
  }
}

/** Refuses versions that are used twice, that have no time, or that are not in the order of their times. */
export function checkPriceVersions(
  prices: readonly { readonly version: number; readonly effective_from: string }[],
  refuse: Refuse,
): void {
  const versions = new Set<number>()
  let before: Date | undefined
  for (const price of prices) {
    if (versions.has(price.version))
      refuse(price, 'version', `price version ${price.version} is used twice.`, 'Give each version its own number.')
    versions.add(price.version)
    const from = timeFrom(price.effective_from)
    if (from === undefined) {
      refuse(price, 'effective_from', 'there is no such time.', 'Write it like `2026-01-01T00:00:00Z`.')
    } else if (before !== undefined && from <= before) {
      refuse(price, 'effective_from', 'it is not later than that of the version before.', 'List prices oldest first.')
    }
    before = from ?? before
  }
}

function resolveModel(model: FileModel): ModelConfig {
  const prices = model.prices.map(resolvePrice)
  return {
    id: model.id,
    name: model.name,
    description: model.description,
    ownedBy: model.owned_by ?? model.providers[0]?.provider ?? model.id,
    created: model.created ?? Math.floor((prices[0]?.effectiveFrom.getTime() ?? 0) / 1000),
    inputModalities: model.input_modalities,
    contextLength: model.context_length,
    maxOutputTokens: model.max_output_tokens,
    defaultOutputTokens: model.default_output_tokens,
    minimumOutputTokens: model.minimum_output_tokens,
    tokensPerMessageOverhead: model.tokens_per_message_overhead,
    imageInputTokens: model.image_input_tokens,
    capabilities: model.capabilities,
    enabled: model.enabled,
    providers: model.providers
      .map((route) => ({
        provider: route.provider,
        model: route.model,
        priority: route.priority,
        missingUsage: route.missing_usage,
      }))
      .toSorted((left, right) => left.priority - right.priority),
    prices,
  }
}

function resolvePrice(price: FilePrice): Price {
  const input = microcredits(price.input_micro_per_m)
  return {
    version: price.version,
    // A time that does not exist has been reported; the configuration is refused before anyone reads this one.
    effectiveFrom: timeFrom(price.effective_from) ?? new Date(0),
    inputMicroPerM: input,
    outputMicroPerM: microcredits(price.output_micro_per_m),
    cachedInputMicroPerM:
      price.cached_input_micro_per_m === undefined ? input : microcredits(price.cached_input_micro_per_m),
    cost: price.cost && {
      inputMicroPerM: microcredits(price.cost.input_micro_per_m),
      outputMicroPerM: microcredits(price.cost.output_micro_per_m),
    },
  }
}

/** The time of an RFC 3339 text; undefined for one that does not exist, such as 30 February, which Date would move into March. */
export function timeFrom(text: string): Date | undefined {
  const [year = 0, month = 0, day = 0] = text.slice(0, 10).split('-').map(Number)
  const time = new Date(text)
  const daysInMonth = new Date(Date.UTC(year, month, 0)).getUTCDate()
  return Number.isNaN(time.getTime()) || day > daysInMonth ? undefined : time
}
