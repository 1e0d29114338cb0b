import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import pg from 'pg'
import { APPLICATION_ROLE } from './database.ts'

/** One file of db/migrations or db/functions. */
export interface SqlFile {
  readonly name: string
  readonly text: string
  readonly checksum: string
}

/** What a run did. */
export interface Migrated {
  readonly applied: readonly string[]
  /** Functions that were written again because their text changed. */
  readonly functions: readonly string[]
}

/** Why the schema could not be brought to this program's version. Carries what to do. */
export class MigrationFault extends Error {
  override name = 'MigrationFault'
}

const folder = new URL('../../db/', import.meta.url)
/** One migrator at a time, across processes and hosts: any constant will do. */
const MIGRATION_LOCK = 4_207_001

/** The SQL files of one folder below db/, in the order of their names. */
export async function sqlFiles(kind: 'migrations' | 'functions'): Promise<SqlFile[]> {
  const names = (await readdir(new URL(`${kind}/`, folder))).filter((name) => name.endsWith('.sql')).sort()
  return Promise.all(
    names.map(async (name) => {
      const text = await readFile(new URL(`${kind}/${name}`, folder), 'utf8')
      return { name, text, checksum: createHash('sha256').update(text).digest('hex') }
    }),
  )
}

/**
 * Brings the database to this program's schema: forward only, each migration in its own transaction, then the
 * functions whose text changed, all under one lock. `url` must belong to a role that may create tables and
 * roles; it owns everything, the application role only uses it.
 * Refuses a schema that is newer than this program, or a migration whose text changed after it was applied.
 */
export async function migrate(url: string): Promise<Migrated> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'farebox migrate',
    connectionTimeoutMillis: 5000,
  })
  await client.connect()
  try {
    await client.query('select pg_advisory_lock($1)', [MIGRATION_LOCK])
    await client.query(`create table if not exists schema_migrations (
      name text primary key, kind text not null, checksum text not null, applied_at timestamptz not null default now())`)
    await ensureApplicationRole(client)
    const applied = await applyMigrations(client)
    const functions = await applyFunctions(client)
    await client.query(grants)
    return { applied, functions }
  } finally {
    await client.end()
  }
}

/** The names of migrations that `migrate` would apply; empty when the schema is this program's. Throws MigrationFault on a newer schema. */
export async function pendingMigrations(
  query: (text: string) => Promise<{ rows: Array<{ name: string; kind: string; checksum: string }> }>,
): Promise<string[]> {
  const files = [...(await sqlFiles('migrations')), ...(await sqlFiles('functions'))]
  const { rows } = await query('select name, kind, checksum from schema_migrations')
  refuseNewer(
    rows.filter(({ kind }) => kind === 'migration').map(({ name }) => name),
    files,
  )
  const known = new Map(rows.map((row) => [row.name, row.checksum]))
  return files.filter((file) => known.get(file.name) !== file.checksum).map((file) => file.name)
}

function refuseNewer(applied: readonly string[], files: readonly SqlFile[]): void {
  const unknown = applied.filter((name) => !files.some((file) => file.name === name))
  if (unknown.length === 0) return
  throw new MigrationFault(
    `the database has migrations that this program does not know (${unknown.join(', ')}): run the newer farebox, never an older one`,
  )
}

async function applyMigrations(client: pg.Client): Promise<string[]> {
  const files = await sqlFiles('migrations')
  const { rows } = await client.query<{ name: string; checksum: string }>(
    `select name, checksum from schema_migrations where kind = 'migration'`,
  )
  const done = new Map(rows.map((row) => [row.name, row.checksum]))
  refuseNewer(
    rows.map(({ name }) => name),
    files,
  )
  const applied: string[] = []
  for (const file of files) {
    const checksum = done.get(file.name)
    if (checksum === file.checksum) continue
    if (checksum !== undefined) {
      throw new MigrationFault(
        `${file.name} was changed after it was applied: restore it and write a new migration instead`,
      )
    }
    await inTransaction(client, async () => {
      await client.query(file.text)
      await client.query(`insert into schema_migrations (name, kind, checksum) values ($1, 'migration', $2)`, [
        file.name,
        file.checksum,
      ])
    })
    applied.push(file.name)
  }
  return applied
}

/** Functions are written again together, in one transaction, when any of them changed: they refer to each other. */
async function applyFunctions(client: pg.Client): Promise<string[]> {
  const files = await sqlFiles('functions')
  const { rows } = await client.query<{ name: string; checksum: string }>(
    `select name, checksum from schema_migrations where kind = 'function'`,
  )
  const done = new Map(rows.map((row) => [row.name, row.checksum]))
  const changed = files.filter((file) => done.get(file.name) !== file.checksum)
  if (changed.length === 0) return []
  await inTransaction(client, async () => {
    for (const file of files) {
      await client.query(file.text)
      await client.query(
        `insert into schema_migrations (name, kind, checksum) values ($1, 'function', $2)
         on conflict (name) do update set checksum = excluded.checksum, applied_at = now()`,
        [file.name, file.checksum],
      )
    }
  })
  return changed.map((file) => file.name)
}

async function ensureApplicationRole(client: pg.Client): Promise<void> {
  try {
    const { rowCount } = await client.query('select from pg_roles where rolname = $1', [APPLICATION_ROLE])
    if (rowCount === 0) await client.query(`create role ${APPLICATION_ROLE} nologin`)
    await client.query(`grant ${APPLICATION_ROLE} to current_user`)
  } catch (cause) {
    // two databases of one cluster may be migrated at once, and both create the role
    const code = (cause as { code?: unknown }).code
    if (code === '42710' || code === '23505' || code === 'XX000') return ensureApplicationRole(client)
    throw new MigrationFault(
      `cannot create the role ${APPLICATION_ROLE}: connect as a role with CREATEROLE, or run "create role ${APPLICATION_ROLE} nologin; grant ${APPLICATION_ROLE} to <your role>" once as a superuser`,
      { cause },
    )
  }
}

async function inTransaction(client: pg.Client, work: () => Promise<void>): Promise<void> {
  await client.query('begin')
  try {
    await work()
    await client.query('commit')
  } catch (error) {
    await client.query('rollback')
    throw error
  }
}

/** The application role reads everything; what it may write is granted by each migration; balances it reaches only through functions. */
const grants = `
  grant usage on schema public to ${APPLICATION_ROLE};
  grant select on all tables in schema public to ${APPLICATION_ROLE};
  grant usage on all sequences in schema public to ${APPLICATION_ROLE};
  revoke execute on all functions in schema public from public;
  grant execute on all functions in schema public to ${APPLICATION_ROLE};
`
