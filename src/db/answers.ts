import { sql } from 'kysely'
import type { Database } from './database.ts'

/** True when the database answers a query now. Never rejects. */
export async function databaseAnswers(db: Database): Promise<boolean> {
  try {
    await sql`select 1`.execute(db)
    return true
  } catch {
    return false
  }
}
