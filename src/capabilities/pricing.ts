import type { OperationPrice } from '../config/capabilities.ts'
import { MICROCREDITS_MAX, type Microcredits } from '../kernel/money.ts'
import type { JsonObject } from '../providers/provider.ts'

/** What a call costs, as far as it is known. */
export interface Charge {
  readonly micro: Microcredits
  /** Undefined for a fixed price. */
  readonly units: number | undefined
}

/** Why the units of an input cannot be charged for: there are none at the place, or too many. */
export type Uncountable = 'no units' | 'too many units'

/** What is held for a call: what it costs, or for a price by output the most that it should. */
export function holdFor(price: OperationPrice, input: JsonObject): Charge | Uncountable {
  if (price.kind === 'fixed') return { micro: price.micro, units: undefined }
  if (price.kind === 'output_units') return times(price.micro, price.unitsMax)
  const units = unitsAt(input, price.at)
  if (units === undefined) return 'no units'
  return units > price.unitsMax ? 'too many units' : times(price.micro, units)
}

/** What a call costs that was answered with `data`; undefined when the answer does not say, or says nonsense. */
export function chargeFor(price: OperationPrice, hold: Charge, data: unknown): Charge | undefined {
  if (price.kind !== 'output_units') return hold
  const units = unitsAt(data, price.at)
  const charge = units === undefined ? undefined : times(price.micro, units)
  return charge !== undefined && charge.micro <= MICROCREDITS_MAX ? charge : undefined
}

const times = (micro: Microcredits, units: number): Charge => ({
  micro: (micro * BigInt(units)) as Microcredits,
  units,
})

/** The units at a JSON pointer: a number, rounded up, the characters of a text, or the entries of a list. */
function unitsAt(value: unknown, pointer: string): number | undefined {
  let found = value
  for (const token of pointer.split('/').slice(1)) {
    const name = token.replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name)) return undefined
    found = (found as JsonObject)[name]
  }
  if (typeof found === 'string') return [...found].length
  if (Array.isArray(found)) return found.length
  if (typeof found !== 'number' || !(found >= 0)) return undefined
  const whole = Math.ceil(found)
  return Number.isSafeInteger(whole) ? whole : undefined
}
