/** Microcredits or micro units of a token as people read them: at most six decimals, no trailing zeros, never an exponent. */
export function fromMicro(micro: bigint | number | string, decimals = 6): string {
  const amount = BigInt(micro)
  const sign = amount < 0n ? '-' : ''
  const digits = (amount < 0n ? -amount : amount).toString().padStart(decimals + 1, '0')
  const whole = digits.slice(0, -decimals).replace(/\B(?=(\d{3})+$)/g, ',')
  const part = digits.slice(-decimals).slice(0, 6).replace(/0+$/, '')
  return `${sign}${whole}${part ? `.${part}` : ''}`
}

/** What people type as an amount, in micro units; undefined when it is not one. Never goes through a float. */
export function toMicro(text: string): bigint | undefined {
  const match = /^\s*(\d{1,12})(?:\.(\d{1,6}))?\s*$/.exec(text.replaceAll(',', ''))
  if (!match) return undefined
  return BigInt(match[1] ?? '0') * 1_000_000n + BigInt((match[2] ?? '').padEnd(6, '0'))
}

/** An address that can be compared by eye: its first and last characters. */
export const shortAddress = (address: string): string =>
  address.length > 14 ? `${address.slice(0, 8)}…${address.slice(-6)}` : address

const clock = { hour: 'numeric', minute: '2-digit' } as const
const thisYear = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric', ...clock })
const otherYear = new Intl.DateTimeFormat(undefined, { year: 'numeric', month: 'short', day: 'numeric', ...clock })
/** A time in the reader's zone; the year only where it is another than now. */
export function localTime(iso: string, now = new Date()): string {
  const at = new Date(iso)
  return (at.getFullYear() === now.getFullYear() ? thisYear : otherYear).format(at)
}

const relative = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' })
const steps = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const
/** How long ago or ahead, roughly. */
export function ago(iso: string, now = Date.now()): string {
  const seconds = (new Date(iso).getTime() - now) / 1000
  for (const [unit, size] of steps)
    if (Math.abs(seconds) >= size) return relative.format(Math.round(seconds / size), unit)
  return relative.format(Math.round(seconds), 'second')
}

const buckets: Readonly<Record<string, string>> = {
  purchased: 'Purchased',
  bonus: 'Bonus',
  promo: 'Promotional',
  refunded: 'Refunded',
  owner: 'From your owner',
}
/** The kind of Credits that a bucket holds. */
export const bucketName = (kind: string): string => buckets[kind] ?? kind

/** 1,234 */
export const count = (value: number): string => value.toLocaleString('en-US')
