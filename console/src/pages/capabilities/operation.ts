import type { Reply } from '../../api/types.ts'

/** A capability as the list shows it. */
export type Capability = Reply<'/v1/capabilities', 'get'>['data'][number]
/** One thing that a capability can do. */
export type Operation = Capability['operations'][number]
/** What a call of it is answered. */
export type Invoked = Reply<'/v1/capabilities/{slug}/operations/{operation}', 'post'>

/** What one call costs, in microcredits: exactly, or at most when it is counted in the answer or in what is not typed yet. */
export interface CallPrice {
  readonly micro: number
  readonly atMost: boolean
}

/** The price of a call with this input. Counts as the server does: a number rounded up, the characters of a text, the entries of a list. */
export function priceOf(
  { mode, unit_price_micro, units_from, units_at, max_hold_micro }: Operation['pricing'],
  input: Readonly<Record<string, unknown>> | undefined,
): CallPrice {
  if (mode === 'fixed') return { micro: unit_price_micro, atMost: false }
  const counted = units_from === 'input' && input ? unitsAt(input, units_at ?? '') : undefined
  return counted === undefined
    ? { micro: max_hold_micro, atMost: true }
    : { micro: counted * unit_price_micro, atMost: false }
}

function unitsAt(input: unknown, pointer: string): number | undefined {
  let found = input
  for (const step of pointer.split('/').slice(1)) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name)) return undefined
    found = (found as Readonly<Record<string, unknown>>)[name]
  }
  if (typeof found === 'string') return [...found].length
  if (Array.isArray(found)) return found.length
  return typeof found === 'number' && found >= 0 ? Math.ceil(found) : undefined
}
