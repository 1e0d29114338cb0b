import { type Microcredits, microcredits } from '../kernel/money.ts'
import type { CheckedFile } from './file.ts'
import { checkPriceVersions, checkProviders, timeFrom } from './models.ts'
import type { Problem } from './problem.ts'
import type { ConfigurationFile } from './schema.ts'

/** What a unit costs that asks for these fields. */
export interface MediaPriceTier {
  readonly size: string | undefined
  readonly resolution: string | undefined
  readonly quality: string | undefined
  readonly unitMicro: Microcredits
  readonly unitCostMicro: Microcredits | undefined
}

/** Prices of one version, in microcredits for each unit. */
export interface MediaPrice {
  readonly version: number
  readonly effectiveFrom: Date
  readonly unit: 'image' | 'second' | 'clip'
  readonly unitMicro: Microcredits
  /** What the provider charges the operator, for the margin. */
  readonly unitCostMicro: Microcredits | undefined
  /** The first whose fields all fit counts. */
  readonly tiers: readonly MediaPriceTier[]
}

/** One way to have a picture or film made. */
export interface MediaModelRoute {
  /** A key of Config.providers. */
  readonly provider: string
  /** The model's name at the provider. */
  readonly model: string
}

/** A model that makes pictures or films. */
export interface MediaModelConfig {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly ownedBy: string
  /** Unix seconds. */
  readonly created: number
  readonly type: 'image' | 'video'
  readonly imagesPerCallMax: number
  readonly inputImagesMax: number
  readonly defaultSeconds: number
  readonly secondsMax: number
  readonly timeoutMs: number
  readonly etaSeconds: number
  readonly enabled: boolean
  /** In the order in which they are tried. Never empty. */
  readonly providers: readonly MediaModelRoute[]
  /** Oldest first. An enabled model has one in force at start-up. */
  readonly prices: readonly MediaPrice[]
}

type FileModel = ConfigurationFile['media_models'][number]

/** The price of a model at a time; undefined before the first. */
export function mediaPriceInForce(model: Pick<MediaModelConfig, 'prices'>, at: Date): MediaPrice | undefined {
  return model.prices.findLast((price) => price.effectiveFrom.getTime() <= at.getTime())
}

/** The models of the file that make pictures and films, and what of them breaks the rules that a schema cannot state. */
export function readMediaModels(
  file: CheckedFile,
  now: Date,
): { mediaModels: readonly MediaModelConfig[]; problems: readonly Problem[] } {
  const problems: Problem[] = []
  const ids = new Set(file.content.models.map(({ id }) => id))
  const mediaModels = file.content.media_models.map((model) => {
    const refuse = (object: object, key: string, problem: string, fix: string) =>
      problems.push({ where: file.place(object, key), problem: `Model \`${model.id}\`: ${problem}`, fix })
    if (ids.has(model.id)) refuse(model, 'id', 'the id is used twice.', 'Give each model its own id.')
    ids.add(model.id)
    if (model.default_seconds > model.seconds_max)
      refuse(
        model,
        'default_seconds',
        `default_seconds ${model.default_seconds} is more than seconds_max ${model.seconds_max}.`,
        `Lower it to ${model.seconds_max} at most.`,
      )
    checkProviders(file, model, refuse)
    checkPriceVersions(model.prices, refuse)
    for (const price of model.prices)
      if ((price.unit === 'image') !== (model.type === 'image'))
        refuse(
          price,
          'unit',
          `a model of type ${model.type} is not sold by the ${price.unit}.`,
          model.type === 'image' ? 'Its unit is `image`.' : 'Its unit is `second` or `clip`.',
        )
    const resolved = resolveModel(model)
    if (model.enabled && mediaPriceInForce(resolved, now) === undefined)
      refuse(
        model,
        'prices',
        'Unpriced model: no price is in force.',
        'Add a price whose `effective_from` has passed, or set `enabled: false`.',
      )
    return resolved
  })
  return { mediaModels, problems }
}

function resolveModel(model: FileModel): MediaModelConfig {
  const prices = model.prices.map(resolvePrice)
  return {
    id: model.id,
    name: model.name,
    description: model.description,
    ownedBy: model.owned_by ?? model.providers[0]?.provider ?? model.id,
    created: model.created ?? Math.floor((prices[0]?.effectiveFrom.getTime() ?? 0) / 1000),
    type: model.type,
    imagesPerCallMax: model.images_per_call_max,
    inputImagesMax: model.input_images_max,
    defaultSeconds: model.default_seconds,
    secondsMax: model.seconds_max,
    timeoutMs: model.timeout_ms,
    etaSeconds: model.eta_seconds,
    enabled: model.enabled,
    providers: model.providers
      .toSorted((left, right) => left.priority - right.priority)
      .map(({ provider, model: name }) => ({ provider, model: name })),
    prices,
  }
}

function resolvePrice(price: FileModel['prices'][number]): MediaPrice {
  const amount = (value: number | undefined): Microcredits | undefined =>
    value === undefined ? undefined : microcredits(value)
  return {
    version: price.version,
    // a time that does not exist has been reported; the configuration is refused before anyone reads this one
    effectiveFrom: timeFrom(price.effective_from) ?? new Date(0),
    unit: price.unit,
    unitMicro: microcredits(price.unit_price_micro),
    unitCostMicro: amount(price.unit_cost_micro),
    tiers: price.tiers.map((tier) => ({
      size: tier.size,
      resolution: tier.resolution,
      quality: tier.quality,
      unitMicro: microcredits(tier.unit_price_micro),
      unitCostMicro: amount(tier.unit_cost_micro),
    })),
  }
}
