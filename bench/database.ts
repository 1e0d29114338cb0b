import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import pg from 'pg'
import { type Database, openDatabase } from '../src/db/database.ts'
import { migrate } from '../src/db/migrate.ts'
import { type RunningPostgres, startPostgres } from '../src/embedded/postgres.ts'
import * as accounts from '../src/identity/accounts/store.ts'
import { createKey } from '../src/identity/keys/service.ts'
import { type Microcredits, microcredits } from '../src/kernel/money.ts'
import { systemRandom } from '../src/kernel/random.ts'
import { grantCredits } from '../src/ledger/grants.ts'

/** A migrated database of its own, with accounts that have Credits and a key each. */
export interface Economy {
  /** For the server: the role that owns the schema. */
  readonly url: string
  readonly db: Database
  /** The server's pepper as hexadecimal digits. */
  readonly pepper: string
  /** One for each account. */
  readonly accounts: ReadonlyArray<{ readonly id: bigint; readonly key: string }>
  close(): Promise<void>
}

/** What each account is given: enough for a thousand million calls. */
export const GRANT_MICRO: Microcredits = microcredits(100_000_000_000)

const OWNER = 'farebox'

/** Starts PostgreSQL on a new data folder below `folder`, with the settings that `npm start` has. */
export async function startCluster(folder: string): Promise<RunningPostgres> {
  const postgres = await startPostgres({
    dataFolder: join(folder, 'postgres'),
    log: () => undefined,
    environment: process.env,
  })
  await once(postgres.url('postgres', postgres.superuser), `create role ${OWNER} login createrole`)
  return postgres
}

/** Makes a database and fills it with accounts, through the modules that the server itself uses. */
export async function createEconomy(
  postgres: RunningPostgres,
  options: { name: string; accounts: number },
): Promise<Economy> {
  await once(postgres.url('postgres', postgres.superuser), `create database ${options.name} owner ${OWNER}`)
  const url = postgres.url(options.name, OWNER)
  await migrate(url)
  const { db, pool } = openDatabase({
    url,
    connections: 4,
    statementTimeoutMs: 600_000,
    onIdleError: () => undefined,
  })
  const pepper = randomBytes(32)
  const made = []
  for (let n = 0; n < options.accounts; n += 1) made.push(await createAccount(db, pepper, n))
  return { url, db, pepper: pepper.toString('hex'), accounts: made, close: () => pool.end() }
}

async function createAccount(db: Database, pepper: Buffer, n: number): Promise<{ id: bigint; key: string }> {
  const account = {
    accountType: 'owner',
    walletAddress: undefined,
    email: undefined,
    label: `bench ${n}`,
  } as const
  const id = await db.transaction().execute((tx) => accounts.insert(tx, account))
  await grantCredits(db, {
    source: 'operator',
    sourceId: `bench-${n}`,
    accountId: id,
    bucket: 'purchased',
    amountMicro: GRANT_MICRO,
    expiresAt: undefined,
    reason: 'benchmark',
    grantedBy: 'operator:bench',
  })
  const { secret } = await createKey({ db, random: systemRandom, pepper }, { accountId: id })
  return { id, key: secret }
}

/** Runs statements on a connection of their own. */
export async function once(url: string, ...statements: string[]): Promise<pg.QueryResult> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    let result = await client.query('select')
    for (const statement of statements) result = await client.query(statement)
    return result
  } finally {
    await client.end()
  }
}
