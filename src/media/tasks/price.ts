import { dividedRoundingUp, MICROCREDITS_MAX, type Microcredits } from '../../kernel/money.ts'

/** The price of a task as it was when the task was made (decisions 5): what it costs is this times what was made. */
export interface TaskPrice {
  readonly version: number
  /** What is counted: `image`, `second`, `clip`, `call`. */
  readonly unit: string
  readonly unitMicro: Microcredits
  /** As many units as were asked for. Held before the work is begun, and charged when its place does not count. */
  readonly units: number
}

/** A count is exact to a thousandth: seconds of a film have fractions. */
const THOUSANDTHS = 1000

/** What this many units cost: exact, rounded up once. undefined when it is no count or more than any amount can be. */
export function costOf(price: TaskPrice, units: number): Microcredits | undefined {
  if (!Number.isFinite(units) || units < 0) return undefined
  const thousandths = Math.ceil(Number((units * THOUSANDTHS).toFixed(3)))
  if (!Number.isSafeInteger(thousandths)) return undefined
  const cost = dividedRoundingUp(price.unitMicro * BigInt(thousandths), BigInt(THOUSANDTHS))
  return cost > MICROCREDITS_MAX ? undefined : (cost as Microcredits)
}

/** What a task holds: never nothing, since a hold is what makes a call visible. */
export function holdOf(price: TaskPrice): Microcredits {
  const cost = costOf(price, price.units) ?? MICROCREDITS_MAX
  return cost > 0n ? cost : (1n as Microcredits)
}

/** The JSON that is kept with the task and with its hold. */
export const priceRow = (price: TaskPrice) => ({
  version: price.version,
  unit: price.unit,
  unit_micro: Number(price.unitMicro),
  units: price.units,
})

/** The price that `priceRow` wrote. */
export function readPrice(row: unknown): TaskPrice {
  const { version, unit, unit_micro, units } = row as ReturnType<typeof priceRow>
  return { version, unit, unitMicro: BigInt(unit_micro) as Microcredits, units }
}
