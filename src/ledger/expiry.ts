import { sql } from 'kysely'
import type { Database } from '../db/database.ts'
import { ledgerTransaction } from './transaction.ts'

/** Accounts that are looked for at once. */
const PAGE = 500

/**
 * Moves what expired Credits are left to the system account `expired`, account by account; gives how many accounts it
 * touched. Spending never waits for it: expired Credits are spent by nobody from their moment on.
 */
export async function expireCredits(db: Database, pageSize = PAGE): Promise<number> {
  let touched = 0
  for (let after: bigint | undefined = 0n; after !== undefined; ) {
    const due = await accountsWithExpired(db, after, pageSize)
    for (const accountId of due) {
      await ledgerTransaction(db, (tx) => sql`select ledger_expire(${accountId})`.execute(tx))
    }
    touched += due.length
    // of a page that is not full there is no last one, and no page after it
    after = due[pageSize - 1]
  }
  return touched
}

/** Accounts for which there is something to move or to close: what only holds keep is left alone until they end. */
async function accountsWithExpired(db: Database, after: bigint, limit: number): Promise<bigint[]> {
  const { rows } = await sql<{ account_id: bigint }>`
    select distinct account_id from buckets
    where expires_at <= now() and closed_at is null and (posted_micro > held_micro or held_micro = 0) and account_id > ${after}
    order by account_id limit ${limit}`.execute(db)
  return rows.map((row) => row.account_id)
}
