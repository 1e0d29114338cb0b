import type { Database, Tx } from '../db/database.ts'

/** How often a transaction is begun; each time it finds the families as they are then. */
const ATTEMPTS_MAX = 5

/** One transaction, begun anew when a link changed while it waited for a family, or it met another one crosswise. */
export async function ledgerTransaction<T>(db: Database, work: (tx: Tx) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await db.transaction().execute(work)
    } catch (error) {
      const code = (error as { code?: unknown } | null)?.code
      if (attempt === ATTEMPTS_MAX || (code !== '40001' && code !== '40P01')) throw error
    }
  }
}
