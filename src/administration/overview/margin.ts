import { type ModelConfig, type Price, priceInForce } from '../../config/models.ts'

const HOUR_MS = 3_600_000
const PER_MILLION = 1_000_000n

/** What was used of a model between two of the bounds. Amounts are microcredits. */
export interface UsedInPeriod {
  readonly model: string
  /** Which period: 1 is the one that begins at the first bound. */
  readonly period: number
  readonly charged: bigint
  readonly refunded: bigint
  readonly calls: bigint
  readonly errors: bigint
  readonly input: bigint
  readonly output: bigint
}

/** What a model brought in, and what of it the configured cost of its provider took. */
export interface ModelMargin {
  readonly model: string
  readonly calls: bigint
  readonly errors: bigint
  /** Charged less what was given back. */
  readonly netMicro: bigint
  /** What the provider takes for the calls whose cost is known; undefined where none is. */
  readonly costMicro: bigint | undefined
  /** Of `netMicro`, the part that stands against `costMicro`. */
  readonly netKnownMicro: bigint
  /** True where the cost was known all the time. */
  readonly complete: boolean
}

/** The beginnings of periods in which no price changes, by whole hours: an hour in which one does is a period of its own. */
export function periodBounds(models: readonly Pick<ModelConfig, 'prices'>[], from: Date, to: Date): Date[] {
  const bounds = new Set([from.getTime()])
  for (const { effectiveFrom } of models.flatMap(({ prices }) => prices)) {
    const hour = Math.floor(effectiveFrom.getTime() / HOUR_MS) * HOUR_MS
    for (const at of hour === effectiveFrom.getTime() ? [hour] : [hour, hour + HOUR_MS])
      if (at > from.getTime() && at < to.getTime()) bounds.add(at)
  }
  return [...bounds].sort((one, other) => one - other).map((at) => new Date(at))
}

/**
 * Charges against the configured cost, model by model, what brought in most first. Only where the cost is known: never
 * guessed, and never carried over from another version of the price.
 */
export function marginsOf(
  used: readonly UsedInPeriod[],
  models: readonly Pick<ModelConfig, 'id' | 'prices'>[],
  bounds: readonly Date[],
  to: Date,
): ModelMargin[] {
  const configured = new Map(models.map((model) => [model.id, model]))
  const margins = [...Map.groupBy(used, ({ model }) => model)].map(([model, periods]) => {
    let [calls, errors, netMicro, cost, netKnownMicro, unknown] = [0n, 0n, 0n, 0n, 0n, 0]
    for (const period of periods) {
      const net = period.charged - period.refunded
      calls += period.calls
      errors += period.errors
      netMicro += net
      const end = bounds[period.period] ?? to
      const known = costIn(configured.get(model), bounds[period.period - 1] ?? end, end)
      if (known === undefined) unknown++
      else {
        cost += period.input * known.inputMicroPerM + period.output * known.outputMicroPerM
        netKnownMicro += net
      }
    }
    const costMicro = unknown === periods.length ? undefined : (cost + PER_MILLION - 1n) / PER_MILLION
    return { model, calls, errors, netMicro, costMicro, netKnownMicro, complete: unknown === 0 }
  })
  return margins.sort((one, other) => (other.netMicro > one.netMicro ? 1 : other.netMicro < one.netMicro ? -1 : 0))
}

/** The cost that was in force from the first moment to the last; undefined where it is not known, or changed. */
function costIn(model: Pick<ModelConfig, 'prices'> | undefined, from: Date, to: Date): Price['cost'] {
  const first = model && priceInForce(model, from)
  const last = model && priceInForce(model, new Date(to.getTime() - 1))
  return first === last ? first?.cost : undefined
}
