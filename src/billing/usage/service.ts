import type { Database, Tx } from '../../db/database.ts'
import type { Caller } from '../../kernel/caller.ts'
import type { Clock } from '../../kernel/clock.ts'
import { Fault } from '../../kernel/errors.ts'
import { AFTER_EVERY_ID, idsAtMoments } from '../calls/store.ts'
import type { TimeRange } from '../calls/time-range.ts'
import { type Dimension, rolledUntil, type Sources, sums, type TimeSpan, type UsageRow } from './store.ts'

/** What reading usage needs. */
export interface UsageDeps {
  readonly db: Database
  readonly clock: Clock
}

const HOUR_MS = 3_600_000
const DAY_MS = 86_400_000
const DAYS_DEFAULT = 30
/** The longest range, in days. */
export const DAYS_MAX = 366
/** As many groups as one answer lists; what is beyond them is summed in one row. */
export const GROUPS_MAX = 1000

/** Sums by group and over all groups. */
export interface Usage {
  readonly from: Date
  readonly to: Date
  readonly groups: readonly UsageRow[]
  readonly totals: Omit<UsageRow, Dimension | 'other'>
}

/**
 * What an account's calls used and what it paid, over the last 30 UTC days unless told otherwise. The charges
 * equal the captures of its statement over the same range. Both are read in one snapshot. Refuses ranges over
 * 366 days.
 */
export async function usage(
  deps: UsageDeps,
  caller: Caller,
  range: TimeRange,
  by: ReadonlySet<Dimension>,
): Promise<Usage> {
  const to = range.to ?? deps.clock.now()
  const from = range.from ?? new Date(startOfDay(to.getTime() - 1) - (DAYS_DEFAULT - 1) * DAY_MS)
  if (from >= to)
    throw new Fault('invalid_parameter', { message: 'The parameter from must be earlier than to, or now.' })
  if (to.getTime() - from.getTime() > DAYS_MAX * DAY_MS) {
    throw new Fault('invalid_parameter', {
      message: `The range from ${from.toISOString()} to ${to.toISOString()} is longer than ${DAYS_MAX} days.`,
    })
  }
  const groups = await deps.db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async (tx) => {
      const sources = await sourcesOf(tx, caller.accountId, { from, to: range.to }, to)
      return sums(tx, caller.accountId, { ...sources, by, groupsMax: GROUPS_MAX })
    })
  const total = (of: (row: UsageRow) => bigint) => groups.reduce((sum, row) => sum + of(row), 0n)
  return {
    from,
    to,
    groups,
    totals: {
      charged_micro: total((row) => row.charged_micro),
      refunded_micro: total((row) => row.refunded_micro),
      owner_charged_micro: total((row) => row.owner_charged_micro),
      calls: total((row) => row.calls),
      errors: total((row) => row.errors),
      input_tokens: total((row) => row.input_tokens),
      output_tokens: total((row) => row.output_tokens),
    },
  }
}

/**
 * Where each part of a range is read from, in the snapshot of `tx`: whole hours that are rolled up, the rest live.
 * The last day of a range without an end begins before `now`.
 */
async function sourcesOf(tx: Tx, accountId: bigint, range: TimeSpan, now: Date): Promise<Sources> {
  const end = await rolledUntil(tx)
  const first = new Date(Math.ceil(range.from.getTime() / HOUR_MS) * HOUR_MS)
  // an hour that the range ends in is read live; one that the roll-up ends in is rolled up as far as it goes
  const last = range.to && range.to < end ? new Date(Math.floor(range.to.getTime() / HOUR_MS) * HOUR_MS) : end
  const rolled = first < last ? { from: first, to: last } : undefined
  const live = (
    rolled
      ? [
          { from: range.from, to: first },
          { ...range, from: last },
        ]
      : [range]
  ).filter(({ from, to }) => to === undefined || from < to)
  const days = []
  for (const span of live) {
    const starts = dayStarts(span.from, span.to ?? now)
    const ids = await idsAtMoments(tx, accountId, [...starts, span.to])
    for (const [index, start] of starts.entries()) {
      const day = start.toISOString().slice(0, 10)
      days.push({ day, fromId: ids[index] ?? 0n, beforeId: ids[index + 1] ?? AFTER_EVERY_ID })
    }
  }
  return { rolled, live, days }
}

/** The start of a span and every UTC midnight inside it. */
function dayStarts(from: Date, to: Date): Date[] {
  const starts = [from]
  for (let time = startOfDay(from.getTime()) + DAY_MS; time < to.getTime(); time += DAY_MS) starts.push(new Date(time))
  return starts
}

function startOfDay(time: number): number {
  return Math.floor(time / DAY_MS) * DAY_MS
}
