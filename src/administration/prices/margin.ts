import type { Price } from '../../config/models.ts'

/** What is left of a price after the provider's, in percent of the price; undefined where the price is 0 and the cost is too. */
export interface Margin {
  readonly input: number | undefined
  readonly output: number | undefined
}

/** The margin of a price version; undefined when what the provider takes is not configured. */
export function marginOf(price: Price): Margin | undefined {
  if (price.cost === undefined) return undefined
  return {
    input: inPercent(price.inputMicroPerM, price.cost.inputMicroPerM),
    output: inPercent(price.outputMicroPerM, price.cost.outputMicroPerM),
  }
}

/** What a unit of something is sold for, and what the provider takes for it: undefined where that is not configured. */
interface UnitPrice {
  readonly unitMicro: bigint
  readonly unitCostMicro: bigint | undefined
}

/** What is left of a unit's price, in percent of it; undefined where the cost is not configured, or both are 0. */
export const marginOfUnit = ({ unitMicro, unitCostMicro }: UnitPrice): number | undefined =>
  unitCostMicro === undefined ? undefined : inPercent(unitMicro, unitCostMicro)

/** True when a unit costs more than it brings. */
export const isUnitLoss = ({ unitMicro, unitCostMicro }: UnitPrice): boolean =>
  unitCostMicro !== undefined && unitCostMicro > unitMicro

/** True when a kind of token costs more than it brings. */
export function isLoss(price: Price): boolean {
  return (
    price.cost !== undefined &&
    (price.cost.inputMicroPerM > price.inputMicroPerM || price.cost.outputMicroPerM > price.outputMicroPerM)
  )
}

/** Tenths of a percent: a figure for people, never for money. What costs something and is given away loses all of it: -100. */
function inPercent(price: bigint, cost: bigint): number | undefined {
  if (price === 0n) return cost === 0n ? undefined : -100
  return Number(((price - cost) * 1000n) / price) / 10
}
