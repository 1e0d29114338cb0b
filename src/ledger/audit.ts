import { sql } from 'kysely'
import type { Database } from '../db/database.ts'

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
