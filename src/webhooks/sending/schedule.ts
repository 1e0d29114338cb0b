import type { Random } from '../../kernel/random.ts'

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

/** Milliseconds between attempts: short for a restart, long for a day of trouble; some 24 hours in all. */
const delaysMs = [
  5 * SECOND,
  30 * SECOND,
  2 * MINUTE,
  10 * MINUTE,
  30 * MINUTE,
  HOUR,
  2 * HOUR,
  4 * HOUR,
  6 * HOUR,
  10 * HOUR,
]

/** So much of a delay is left to chance, so that what failed together does not come back together. */
const JITTER = 0.1
const RETRY_AFTER_MAX_MS = HOUR

/**
 * Milliseconds until the next attempt after `tries` of them; undefined when that was the last. Never longer than the
 * schedule says, and at most 10 % shorter. A receiver that says when to come back (Retry-After) is believed up to an hour.
 */
export function delayAfter(
  tries: number,
  { random, retryAfterMs = 0 }: { random: Random; retryAfterMs?: number | undefined },
): number | undefined {
  const delay = delaysMs[tries - 1]
  if (delay === undefined) return undefined
  const chance = random.bytes(4).readUInt32BE() / 2 ** 32
  return Math.max(Math.round(delay * (1 - JITTER * chance)), Math.min(retryAfterMs, RETRY_AFTER_MAX_MS))
}

/** What a Retry-After header asks for, in milliseconds: seconds or a date. */
export function retryAfterMs(header: string | undefined, now: Date): number | undefined {
  if (header === undefined) return undefined
  if (/^\d{1,9}$/.test(header)) return Number(header) * SECOND
  const at = new Date(header).getTime()
  return Number.isNaN(at) ? undefined : Math.max(0, at - now.getTime())
}
