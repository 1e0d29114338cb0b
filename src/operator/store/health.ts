import { sql } from 'kysely'
import type { Database } from '../../db/database.ts'

/** What `farebox doctor` asks of a database. */
export interface DatabaseFacts {
  readonly version: string
  readonly now: Date
  readonly size_bytes: bigint
  readonly login_role: string
  readonly login_is_superuser: boolean
}

/** The server's version, its time, and who is connected. */
export async function facts(db: Database): Promise<DatabaseFacts> {
  const { rows } = await sql<DatabaseFacts>`
    select current_setting('server_version') as version, clock_timestamp() as now, pg_database_size(current_database()) as size_bytes,
           session_user as login_role, (select rolsuper from pg_roles where rolname = session_user) as login_is_superuser`.execute(
    db,
  )
  return rows[0] as DatabaseFacts
}

/** Tables that the connected role owns, or balances that it could write: both must be none. */
export async function excessRights(db: Database): Promise<string[]> {
  const { rows } = await sql<{ problem: string }>`
    select 'it owns ' || tablename as problem from pg_tables where schemaname = 'public' and tableowner = current_user
    union all
    select 'it may write ' || t from unnest(array['buckets', 'transfers', 'holds', 'hold_resolutions']) t
    where has_table_privilege(current_user, t, 'insert, update, delete')`.execute(db)
  return rows.map(({ problem }) => problem)
}

/** Names and checksums of everything that migrate has applied. */
export async function schemaRows(
  db: Database,
): Promise<{ rows: Array<{ name: string; kind: string; checksum: string }> }> {
  return {
    rows: (
      await sql<{
        name: string
        kind: string
        checksum: string
      }>`select name, kind, checksum from schema_migrations`.execute(db)
    ).rows,
  }
}

/** How many differences the ledger audit finds; undefined when it would take longer than this. */
export async function auditWithin(db: Database, timeoutMs: number): Promise<bigint | undefined> {
  try {
    return await db
      .transaction()
      .setIsolationLevel('repeatable read')
      .setAccessMode('read only')
      .execute(async (tx) => {
        await sql`select set_config('statement_timeout', ${String(timeoutMs)}, true)`.execute(tx)
        const { rows } = await sql<{
          findings: bigint
        }>`select count(*) as findings from ledger_audit()`.execute(tx)
        return rows[0]?.findings ?? 0n
      })
  } catch (error) {
    if ((error as { code?: unknown }).code === '57014') return undefined
    throw error
  }
}
