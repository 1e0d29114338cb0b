import { sql } from 'kysely'
import type { Database } from '../db/database.ts'
import { sqlState } from '../kernel/sql-state.ts'

/** One difference between a balance and the rows it derives from. */
export interface Finding {
  readonly check_name: string
  readonly subject: string
  readonly expected: string
  readonly found: string
}

/** Derives all balances again in one snapshot. Healthy is an empty list. */
export async function auditLedger(db: Database): Promise<Finding[]> {
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async (tx) => {
      // an audit reads everything: the limits of request-sized statements do not apply
      await sql`set local statement_timeout = 0`.execute(tx)
      const { rows } = await sql<Finding>`select * from ledger_audit()`.execute(tx)
      return rows
    })
}

/**
 * Audits what was written since the last time, up to a moment that is closed: costs the new rows, whatever the size of
 * the ledger. Any number of processes may run it; one of them does the work. Healthy is an empty list.
 */
export async function auditRecent(db: Database): Promise<Finding[]> {
  await sql`select ledger_close_time()`.execute(db)
  await sql`select ledger_summarize_times()`.execute(db)
  try {
    return await db
      .transaction()
      .setIsolationLevel('repeatable read')
      .execute(async (tx) => {
        await sql`set local statement_timeout = 0`.execute(tx)
        return (await sql<Finding>`select * from ledger_audit_recent()`.execute(tx)).rows
      })
  } catch (error) {
    // another process audited the same while this one began
    if (sqlState(error) === '40001') return []
    throw error
  }
}
