import type { Database, Tx } from '../db/database.ts'
import { isSerialization } from '../kernel/sql-state.ts'

/** How often a transaction is begun; each time it finds the families as they are then. */
const ATTEMPTS_MAX = 5

/** One transaction, begun anew when a link changed while it waited for a family, or it met another one crosswise. */
export async function ledgerTransaction<T>(db: Database, work: (tx: Tx) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await db.transaction().execute(work)
    } catch (error) {
      if (attempt === ATTEMPTS_MAX || !isSerialization(error)) throw error
    }
  }
}
