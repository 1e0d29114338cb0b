import type { Database } from '../../../db/database.ts'
import { sqlState } from '../../../kernel/sql-state.ts'
import * as store from './store.ts'

const HOUR_MS = 3_600_000
/** What a roll-up may take: it reads whole hours of all accounts, and nobody waits for it. */
const STATEMENT_TIMEOUT_MS = 600_000

/** The last whole hour that is closed: nothing can be stamped before it any more. */
export async function closedHour(db: Database): Promise<Date> {
  const closed = await store.closeTime(db)
  return new Date(Math.floor(closed.getTime() / HOUR_MS) * HOUR_MS)
}

/**
 * Sums the usage before `until`, which must be closed, so that reading it costs hours and not calls: a day in each
 * transaction. Exact: a moment is rolled up once, when nothing can be stamped in it any more, and what is read later adds
 * only what no roll-up has (`usage`). Any number of processes may run it. Gives how many hours it was behind.
 */
export async function rollUpUsage(db: Database, until: Date): Promise<number> {
  for (let hours = 0; ; ) {
    const rolled = await rollUpOnce(db, until)
    if (rolled === undefined) return hours
    hours += rolled
  }
}

/** One transaction; gives the hours of its span, undefined when there is no more to do or another process is at it. */
async function rollUpOnce(db: Database, until: Date): Promise<number | undefined> {
  try {
    return await db
      .transaction()
      .setIsolationLevel('repeatable read')
      .execute(async (tx) => {
        await store.allowTime(tx, STATEMENT_TIMEOUT_MS)
        const span = await store.nextSpan(tx, until)
        await store.markRolled(tx, span?.until)
        await store.addLateEnds(tx)
        if (!span) return undefined
        await store.addCalls(tx, span)
        await store.addCharges(tx, span)
        return (span.until.getTime() - span.since.getTime()) / HOUR_MS
      })
  } catch (error) {
    if (sqlState(error) === '40001') return undefined
    throw error
  }
}
