/** The most digits before the point that are read. */
const WHOLE_DIGITS_MAX = 20

/**
 * Reads a plain decimal such as "12.5" as a whole number of its last place: exactly, without a float.
 * undefined for signs, exponents and more places than `places`.
 */
export function parseDecimal(text: string, places: number): bigint | undefined {
  const match = new RegExp(`^(\\d{1,${WHOLE_DIGITS_MAX}})(?:\\.(\\d{1,${places}}))?$`).exec(text)
  if (!match) return undefined
  return BigInt(match[1] ?? '0') * 10n ** BigInt(places) + BigInt((match[2] ?? '').padEnd(places, '0'))
}

/** Writes it back, without zeros at the end: 12500000n with 6 places is "12.5". */
export function formatDecimal(value: bigint, places: number): string {
  const digits = value.toString().padStart(places + 1, '0')
  const fraction = digits.slice(-places).replace(/0+$/, '')
  return `${digits.slice(0, -places)}${fraction ? `.${fraction}` : ''}`
}
