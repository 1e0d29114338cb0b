import type { Reply } from '../../api/types.ts'

/** A model that makes pictures, with its prices. */
export type Model = Reply<'/v1/models', 'get'>['data'][number]
type Tier = Model['pricing']['tiers'][number]

/** One thing that can be chosen about a picture, and what one costs then, in microcredits. */
export interface Variant {
  readonly words: string
  /** What is sent for it. */
  readonly fields: Readonly<Partial<Record<'size' | 'resolution' | 'quality', string>>>
  readonly unitMicro: number
}

/** The ordinary picture, and one for each price of its own. */
export function variantsOf(model: Model): Variant[] {
  const ordinary = { words: 'Ordinary', fields: {}, unitMicro: model.pricing.unit_price_micro ?? 0 }
  return [ordinary, ...model.pricing.tiers.map(variantOf)]
}

function variantOf({ unit_price_micro, ...fields }: Tier): Variant {
  return { words: Object.values(fields).join(', '), fields, unitMicro: unit_price_micro }
}
