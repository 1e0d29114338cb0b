import { type Command, InvalidArgumentError } from 'commander'
import type { Clock } from '../kernel/clock.ts'
import { creditsFromText, MICROCREDITS_MAX, type Microcredits, microcredits } from '../kernel/money.ts'

const ID_MAX = BigInt(Number.MAX_SAFE_INTEGER)
const TEXT_MAX = 500

/** `--json`, for every command that prints data. */
export const withJson = (command: Command): Command => command.option('--json', 'print JSON, amounts in microcredits')

/** `--reason`, required wherever money or access changes. */
export const withReason = (command: Command): Command =>
  command.requiredOption('--reason <text>', 'why, for the record', parseText)

/** A text a person wrote: 1 to 500 characters, not blank. */
export function parseText(text: string): string {
  const trimmed = text.trim()
  if (trimmed === '' || trimmed.length > TEXT_MAX)
    throw new InvalidArgumentError(`It takes 1 to ${TEXT_MAX} characters.`)
  return trimmed
}

/** The id of an account, key or hold. */
export function parseId(text: string): bigint {
  const id = /^\d{1,16}$/.test(text) ? BigInt(text) : 0n
  if (id < 1n || id > ID_MAX) throw new InvalidArgumentError('It takes an id: a whole number above 0.')
  return id
}

/** Credits as a person writes them: `12.5`. */
export function parseCredits(text: string): Microcredits {
  const credits = creditsFromText(text)
  if (credits === undefined)
    throw new InvalidArgumentError('It takes Credits as a plain decimal with at most six places, such as 12.5.')
  return credits
}

/** Whole microcredits. */
export function parseMicro(text: string): Microcredits {
  const micro = /^\d{1,16}$/.test(text) ? microcredits(text) : undefined
  if (micro === undefined || micro > MICROCREDITS_MAX)
    throw new InvalidArgumentError('It takes whole microcredits (1 Credit = 1000000), in digits.')
  return micro
}

/** How many rows to show. */
export function parseLimit(text: string): number {
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0
  if (limit < 1 || limit > 1000) throw new InvalidArgumentError('It takes a whole number from 1 to 1000.')
  return limit
}

/** Reads a time that is still to come: `90d`, `12h`, `2027-01-31` (its first moment in UTC) or an RFC 3339 time. */
export function parseExpiry(clock: Clock): (text: string) => Date {
  return (text) => {
    const span = /^(\d{1,5})([dh])$/.exec(text)
    const now = clock.now().getTime()
    const hours = span ? Number(span[1]) * (span[2] === 'd' ? 24 : 1) : 0
    const at = span ? new Date(now + hours * 3_600_000) : timeFrom(text)
    if (at === undefined) throw new InvalidArgumentError('It takes 90d, 12h, 2027-01-31 or 2027-01-31T12:00:00Z.')
    if (at.getTime() <= now) throw new InvalidArgumentError('That time has passed.')
    return at
  }
}

/** Reads a moment: `2027-01-31` (its first in UTC) or an RFC 3339 time. */
export function parseMoment(text: string): Date {
  const at = timeFrom(text)
  if (at === undefined) throw new InvalidArgumentError('It takes 2027-01-31 or 2027-01-31T12:00:00Z.')
  return at
}

/** undefined for what is no time, and for dates that do not exist, which Date would move into the next month. */
function timeFrom(text: string): Date | undefined {
  if (!/^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2}))?$/.test(text)) return undefined
  const day = new Date(`${text.slice(0, 10)}T00:00:00Z`)
  const at = new Date(text)
  const exists = !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text.slice(0, 10))
  return exists && !Number.isNaN(at.getTime()) ? at : undefined
}
