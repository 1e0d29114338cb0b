import type { Database } from '../../db/database.ts'
import type { Caller } from '../../kernel/caller.ts'
import type { Clock } from '../../kernel/clock.ts'
import { Fault } from '../../kernel/errors.ts'
import { AFTER_EVERY_ID, idsAtMoments } from '../calls/store.ts'
import type { TimeRange } from '../calls/time-range.ts'
import { type DaySpan, type Dimension, sums, type UsageRow } from './store.ts'

/** What reading usage needs. */
export interface UsageDeps {
  readonly db: Database
  readonly clock: Clock
}

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
  const starts = by.has('day') ? dayStarts(from, to) : [from]
  const groups = await deps.db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async (tx) => {
      const ids = await idsAtMoments(tx, caller.accountId, range.to ? [...starts, range.to] : starts)
      const days = starts.map(
        (start, index): DaySpan => ({
          day: start.toISOString().slice(0, 10),
          fromId: ids[index] ?? 0n,
          beforeId: ids[index + 1] ?? AFTER_EVERY_ID,
        }),
      )
      return sums(tx, caller.accountId, { days, from, to: range.to, by, groupsMax: GROUPS_MAX })
    })
  const total = (of: (row: UsageRow) => bigint) => groups.reduce((sum, row) => sum + of(row), 0n)
  return {
    from,
    to,
    groups,
    totals: {
      charged_micro: total((row) => row.charged_micro),
      owner_charged_micro: total((row) => row.owner_charged_micro),
      calls: total((row) => row.calls),
      errors: total((row) => row.errors),
      input_tokens: total((row) => row.input_tokens),
      output_tokens: total((row) => row.output_tokens),
    },
  }
}

/** The start of a range and every UTC midnight inside it. */
function dayStarts(from: Date, to: Date): Date[] {
  const starts = [from]
  for (let time = startOfDay(from.getTime()) + DAY_MS; time < to.getTime(); time += DAY_MS) starts.push(new Date(time))
  return starts
}

function startOfDay(time: number): number {
  return Math.floor(time / DAY_MS) * DAY_MS
}
