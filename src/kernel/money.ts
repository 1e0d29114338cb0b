/** An integer amount in the unit `U`. The brand keeps two kinds of millionths from being mixed. */
type Amount<U extends string> = bigint & { readonly unit: U }

/** Millionths of one Credit: 1 Credit = 1_000_000n (spec 1). */
export type Microcredits = Amount<'microcredits'>

/** Microcredits in one Credit (spec 8). */
export const MICROCREDITS_PER_CREDIT = 1_000_000n

/** No amount that leaves the API may exceed what a JSON integer carries exactly (decisions 0); the database checks the same bound. */
export const MICROCREDITS_MAX = 9_000_000_000_000_000n as Microcredits

/** No Credits. */
export const ZERO = 0n as Microcredits

/** Takes an integer that is known to be an amount in microcredits. Refuses numbers that lost precision. */
export function microcredits(value: bigint | number | string): Microcredits {
  if (typeof value === 'number' && !Number.isSafeInteger(value)) {
    throw new RangeError(`not an exact integer amount: ${value}`)
  }
  return BigInt(value) as Microcredits
}

/** The exact quotient rounded up: what is charged is never less than what was used (decisions 5: up, once per call). */
export function dividedRoundingUp(numerator: bigint, denominator: bigint): bigint {
  return (numerator + denominator - 1n) / denominator
}

/** The exact quotient rounded down: what is granted is never more than what was paid. */
export function dividedRoundingDown(numerator: bigint, denominator: bigint): bigint {
  return numerator / denominator
}

/** A JSON integer for an amount. Every stored amount is bounded by MICROCREDITS_MAX, so this is exact. */
export function toJsonInteger(amount: bigint): number {
  const value = Number(amount)
  if (!Number.isSafeInteger(value)) throw new RangeError(`amount ${amount} exceeds a JSON integer`)
  return value
}

/** Credits with up to six decimals and no exponent, for people: 1500000n -> "1.5". */
export function inCredits(amount: bigint): string {
  const sign = amount < 0n ? '-' : ''
  const digits = (amount < 0n ? -amount : amount).toString().padStart(7, '0')
  const fraction = digits.slice(-6).replace(/0+$/, '')
  return `${sign}${digits.slice(0, -6)}${fraction ? `.${fraction}` : ''}`
}

/** Parses a person's amount of Credits ("12.5") exactly; undefined when it is not a plain decimal with at most six places. */
export function creditsFromText(text: string): Microcredits | undefined {
  const match = /^(\d{1,10})(?:\.(\d{1,6}))?$/.exec(text)
  if (!match) return undefined
  const micro = BigInt(match[1] ?? '0') * MICROCREDITS_PER_CREDIT + BigInt((match[2] ?? '').padEnd(6, '0'))
  return micro <= MICROCREDITS_MAX ? (micro as Microcredits) : undefined
}
