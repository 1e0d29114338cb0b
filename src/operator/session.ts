import type { ProgramSurroundings } from '../app/surroundings.ts'
import { type Database, openDatabase } from '../db/database.ts'
import { type Operator, operatorName } from '../identity/audit-log/service.ts'
import { withProgress } from '../terminal/progress.ts'
import { readWiring, requireDatabaseUrl, type Wiring } from './settings.ts'

/** What a command works with while it runs. */
export interface Session {
  readonly db: Database
  readonly databaseUrl: string
  readonly wiring: Wiring
  /** Who is at the terminal. */
  readonly operator: Operator
  /** The same as it is recorded: `operator:<user name>`. */
  readonly actor: string
}

const STATEMENT_TIMEOUT_MS = 15_000

/** Runs a command on the database, as the application role, whether a server runs or not. `what` is shown when it takes long. */
export async function withDatabase<T>(
  around: ProgramSurroundings,
  what: string,
  work: (session: Session) => Promise<T>,
): Promise<T> {
  const wiring = readWiring(around)
  const databaseUrl = requireDatabaseUrl(wiring)
  const operator: Operator = { kind: 'operator', name: around.userName }
  const { db, pool } = openDatabase({
    url: databaseUrl,
    connections: 2,
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    onIdleError: () => undefined,
  })
  try {
    return await withProgress(around, what, () =>
      work({ db, databaseUrl, wiring, operator, actor: operatorName(operator) }),
    )
  } finally {
    await pool.end()
  }
}
