import type { CapabilityConfig, OperationPrice } from '../../config/capabilities.ts'
import type { MediaModelConfig, MediaPrice } from '../../config/media-models.ts'
import { mediaPriceInForce } from '../../config/media-models.ts'
import { type ModelConfig, type Price, priceInForce } from '../../config/models.ts'
import { marginOf, marginOfUnit } from './margin.ts'

/** Every price version of the chat models, in microcredits per million tokens. */
export const chatPriceRows = (models: readonly ModelConfig[], now: Date) =>
  models.flatMap((model) =>
    model.prices.map((price: Price) => ({
      model: model.id,
      enabled: model.enabled,
      version: price.version,
      effective_from: price.effectiveFrom,
      state: stateOf(price, priceInForce(model, now), now),
      input_micro_per_m: price.inputMicroPerM,
      cached_input_micro_per_m: price.cachedInputMicroPerM,
      output_micro_per_m: price.outputMicroPerM,
      cost:
        price.cost === undefined
          ? null
          : { input_micro_per_m: price.cost.inputMicroPerM, output_micro_per_m: price.cost.outputMicroPerM },
      margin: marginOf(price),
    })),
  )

/** Every price version of the models of pictures and films, in microcredits for one unit: a row for each tier, the plain price last. */
export const mediaPriceRows = (models: readonly MediaModelConfig[], now: Date) =>
  models.flatMap((model) =>
    model.prices.flatMap((price) =>
      // in the order in which they are looked at: the plain price is what fits when no tier does
      [...price.tiers, price].map((priced) => ({
        model: model.id,
        enabled: model.enabled,
        type: model.type,
        version: price.version,
        effective_from: price.effectiveFrom,
        state: stateOf(price, mediaPriceInForce(model, now), now),
        unit: price.unit,
        tier: 'tiers' in priced ? null : tierOf(priced),
        unit_price_micro: priced.unitMicro,
        unit_cost_micro: priced.unitCostMicro ?? null,
        margin: marginOfUnit(priced),
      })),
    ),
  )

/** Every operation of every version of the capabilities, in microcredits for one call or one unit. */
export const capabilityPriceRows = (capabilities: readonly CapabilityConfig[]) =>
  capabilities.flatMap((capability) =>
    capability.versions.flatMap(({ version, operations }) =>
      operations.map(({ slug, price }) => ({
        capability: capability.slug,
        enabled: capability.enabled,
        version,
        is_default: version === capability.defaultVersion,
        operation: slug,
        ...unitOf(price),
      })),
    ),
  )

function stateOf<P extends { readonly effectiveFrom: Date }>(
  price: P,
  inForce: P | undefined,
  now: Date,
): 'in force' | 'to come' | 'past' {
  if (price === inForce) return 'in force'
  return price.effectiveFrom > now ? 'to come' : 'past'
}

const tierOf = ({ size, resolution, quality }: MediaPrice['tiers'][number]) => ({
  ...(size === undefined ? {} : { size }),
  ...(resolution === undefined ? {} : { resolution }),
  ...(quality === undefined ? {} : { quality }),
})

const unitOf = (price: OperationPrice) =>
  price.kind === 'fixed'
    ? ({ unit: 'call', unit_price_micro: price.micro, counted_in: null, units_max: null } as const)
    : {
        unit: price.unit,
        unit_price_micro: price.micro,
        counted_in: price.kind === 'input_units' ? ('input' as const) : ('output' as const),
        units_max: price.unitsMax,
      }
