import { Kysely, PostgresDialect, type Transaction } from 'kysely'
import pg from 'pg'
import type { DB } from './schema.ts'

/** The typed query builder over the application pool. */
export type Database = Kysely<DB>
/** An open transaction: one for each verb, visible in service.ts. */
export type Tx = Transaction<DB>

/** The role that serves requests. It owns nothing: balances change only through the ledger's functions. */
export const APPLICATION_ROLE = 'farebox_app'

const INT8 = 20
const INT8_ARRAY = 1016

/** bigint columns arrive as bigint, exactly; everything else as node-postgres gives it. */
export const exactTypes: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') => {
    if (oid === INT8) return (text: string) => BigInt(text)
    if (oid === INT8_ARRAY) return (text: string) => text.slice(1, -1).split(',').filter(Boolean).map(BigInt)
    return pg.types.getTypeParser(oid, format as 'text')
  }) as typeof pg.types.getTypeParser,
}

/** How the connections of a pool behave. */
export interface PoolOptions {
  readonly url: string
  readonly connections: number
  /** Statements of the request path are cut off after this. */
  readonly statementTimeoutMs: number
  /** Called for errors of idle connections: the pool replaces them by itself. */
  readonly onIdleError: (error: Error) => void
}

/** Connection settings of the application role, for pools and for the ledger's own lane. */
export function applicationConnection(url: string): pg.ClientConfig {
  return {
    connectionString: url,
    types: exactTypes,
    application_name: 'farebox',
    options: `-c role=${APPLICATION_ROLE} -c idle_in_transaction_session_timeout=30000 -c TimeZone=UTC`,
    connectionTimeoutMillis: 5000,
    keepAlive: true,
  }
}

/** Opens the pool that every room above shares. Connects lazily; close it with `pool.end()`. */
export function openDatabase(options: PoolOptions): { db: Database; pool: pg.Pool } {
  const pool = new pg.Pool({
    ...applicationConnection(options.url),
    max: options.connections,
    statement_timeout: options.statementTimeoutMs,
    idleTimeoutMillis: 30_000,
  })
  pool.on('error', options.onIdleError)
  // a connection that dies while it is out reports that to its query: nobody else has to hear of it
  pool.on('connect', (client) => client.on('error', () => undefined))
  return { db: new Kysely<DB>({ dialect: new PostgresDialect({ pool }) }), pool }
}
