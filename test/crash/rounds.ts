import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { vi } from 'vitest'
import { exactTypes } from '../../src/db/database.ts'
import type { DevelopmentFile } from '../../src/development/economy.ts'
import { type RunningPostgres, startPostgres } from '../../src/embedded/postgres.ts'
import { databaseProcesses } from '../../src/embedded/processes.ts'
import { type Load, startLoad } from './load.ts'
import { type RunningServer, startServer } from './server.ts'

/** What one round kills. */
export type Victim = 'server' | 'database' | 'both'

/** A round: who is killed, and after how many more acknowledged calls. */
export interface Round {
  readonly victim: Victim
  readonly afterCalls: number
}

/** What all rounds together came to. */
export interface Outcome {
  readonly acknowledged: number
  readonly sent: number
  /** Acknowledged calls that the database does not have as captured with that amount, each once. */
  readonly lost: string[]
  /** Calls that were charged more than they cost, and captures beyond the requests that were sent. */
  readonly doubled: string[]
  /** Holds that a dead server left and that became usage_unknown. */
  readonly leftBehind: number
  readonly findings: unknown[]
  /** What the balances fell by, and what the calls were charged. */
  readonly fall: bigint
  readonly charged: bigint
}

const CLIENTS = 24
/** Calls that the surviving or restarted server answers before the next round may begin, and after the last. */
const ALIVE_CALLS = 20
/** The reaper looks every ten seconds. */
const REAPED_WITHIN_MS = 60_000

const configuration = `
providers:
  demo: { kind: demo, first_token_ms: 40, token_ms: 4 }
models:
${['chat', 'slow']
  .map(
    (name) => `
  - id: demo-${name}
    name: Demo ${name}
    owned_by: farebox
    context_length: 32768
    max_output_tokens: 4096
    default_output_tokens: 1024
    minimum_output_tokens: 16
    capabilities: { streaming: true }
    providers: [{ provider: demo, model: ${name} }]
    prices: [{ version: 1, effective_from: 2026-01-01T00:00:00Z, input_micro_per_m: 150000, output_micro_per_m: 600000 }]
`,
  )
  .join('')}`

/**
 * Runs a server and a database under load and kills them round by round. `durable: false` takes
 * synchronous_commit away behind the server's back, which must not go unnoticed.
 */
export async function runRounds(rounds: readonly Round[], { durable }: { durable: boolean }): Promise<Outcome> {
  const folder = await mkdtemp(join(tmpdir(), 'farebox-crash-'))
  const dataFolder = join(folder, 'data')
  const configFile = join(folder, 'farebox.yaml')
  await mkdir(dataFolder)
  await writeFile(configFile, configuration)
  const startDatabase = () =>
    startPostgres({ dataFolder: join(folder, 'pg'), log: () => undefined, environment: process.env })
  let postgres = await startDatabase()
  let server: RunningServer | undefined
  let load: Load | undefined

  const query = async <Row extends pg.QueryResultRow>(
    text: string,
    values: unknown[] = [],
    database = 'farebox',
  ): Promise<Row[]> => {
    const client = new pg.Client({ connectionString: postgres.url(database, postgres.superuser), types: exactTypes })
    await client.connect()
    try {
      return (await client.query<Row>(text, values)).rows
    } finally {
      await client.end()
    }
  }
  // a setting of the role wins over the command line of our PostgreSQL, for sessions that begin after it
  const setSynchronousCommit = async (how: 'set synchronous_commit = off' | 'reset synchronous_commit') => {
    await query(`alter role farebox ${how}`)
    await query(`select pg_terminate_backend(pid) from pg_stat_activity where usename = 'farebox'`)
  }
  const serve = async (): Promise<RunningServer> => {
    if (!durable) await setSynchronousCommit('reset synchronous_commit')
    const started = await startServer({ dataFolder, databaseUrl: postgres.url('farebox', 'farebox'), configFile })
    if (!durable) await setSynchronousCommit('set synchronous_commit = off')
    return started
  }
  const answered = (count: number) =>
    vi.waitFor(
      () => {
        if ((load?.acknowledged.size ?? 0) < count)
          throw new Error(
            `only ${load?.acknowledged.size} of ${count} calls are answered; the last failure: ${load?.lastFailure}\n${server?.lastWords()}`,
          )
      },
      { timeout: 60_000, interval: 1 },
    )

  try {
    await query('create role farebox login createrole', [], 'postgres')
    await query('create database farebox owner farebox', [], 'postgres')
    server = await serve()
    const people = JSON.parse(await readFile(join(dataFolder, 'dev.json'), 'utf8')) as DevelopmentFile
    load = startLoad({ baseUrl: server.baseUrl, keys: [people.owner.api_key, people.agent.api_key], clients: CLIENTS })
    const lost: string[] = []
    for (const { victim, afterCalls } of rounds) {
      await answered(load.acknowledged.size + ALIVE_CALLS + afterCalls)
      await Promise.all([
        victim === 'database' ? undefined : server.kill(),
        victim === 'server' ? undefined : killDatabase(postgres, join(folder, 'pg', 'cluster')),
      ])
      const known = new Map(load.acknowledged)
      if (victim !== 'server') postgres = await startDatabase()
      lost.push(...(await notCharged(query, known)))
      if (victim !== 'database') server = await serve()
      load.baseUrl = server.baseUrl
    }
    await answered(load.acknowledged.size + ALIVE_CALLS)
    await load.stop()
    // a lost end leaves a hold that its living server believes to be over: nobody flags that
    const leftBehind = durable ? await reaped(query) : 0
    const { acknowledged, sent } = load
    lost.push(...(await notCharged(query, acknowledged)))
    return {
      acknowledged: acknowledged.size,
      sent,
      lost: [...new Set(lost)],
      leftBehind,
      ...(await account(query, sent)),
    }
  } finally {
    const ended = load?.stop()
    await server?.kill()
    await ended
    await postgres.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

/** Kills every process of the database at once, and returns when all are gone. */
async function killDatabase(postgres: RunningPostgres, cluster: string): Promise<void> {
  for (const { pid } of await databaseProcesses(cluster)) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // ended by itself, since its leader was killed
    }
  }
  await vi.waitFor(
    async () => {
      if ((await databaseProcesses(cluster)).length > 0) throw new Error('database processes are left')
    },
    { timeout: 30_000, interval: 5 },
  )
  await postgres.stop()
}

/** Asks the database as the tests of killed and of relieved servers do. */
export type Query = <Row extends pg.QueryResultRow>(text: string, values?: unknown[]) => Promise<Row[]>

/** Acknowledged calls that are not there as captured with their amount. */
export async function notCharged(query: Query, acknowledged: ReadonlyMap<bigint, number>): Promise<string[]> {
  const rows = await query<{ hold_id: bigint; actual_micro: bigint; moved: string }>(
    `select r.hold_id, r.actual_micro, coalesce(t.moved, 0) as moved
     from unnest($1::bigint[]) asked (id) join hold_resolutions r on r.hold_id = asked.id and r.kind = 'captured'
     left join (select hold_id, sum(amount_micro) as moved from transfers where kind = 'capture' group by hold_id) t on t.hold_id = r.hold_id`,
    [[...acknowledged.keys()]],
  )
  const there = new Map(rows.map((row) => [row.hold_id, `${row.actual_micro} ${row.moved}`]))
  return [...acknowledged]
    .filter(([callId, cost]) => there.get(callId) !== `${cost} ${cost}`)
    .map(([callId]) => String(callId))
}

/** Waits until no hold is open without a reason, and gives how many wait with their usage unknown. */
async function reaped(query: Query): Promise<number> {
  return vi.waitFor(
    async () => {
      const [row] = await query<{ open: number; flagged: number }>(
        `select count(*) filter (where f.hold_id is null)::int as open, count(f.hold_id)::int as flagged
       from holds h left join hold_flags f on f.hold_id = h.id where not exists (select from hold_resolutions r where r.hold_id = h.id)`,
      )
      if (!row || row.open > 0) throw new Error(`${row?.open} holds are open without a reason`)
      return row.flagged
    },
    { timeout: REAPED_WITHIN_MS, interval: 50 },
  )
}

/** What the whole ledger adds up to after `sent` requests. */
export async function account(
  query: Query,
  sent: number,
): Promise<Pick<Outcome, 'doubled' | 'findings' | 'fall' | 'charged'>> {
  const findings = await query('select * from ledger_audit()')
  const twice = await query<{ hold_id: bigint }>(
    `select t.hold_id from transfers t join hold_resolutions r on r.hold_id = t.hold_id where t.kind = 'capture'
     group by t.hold_id, r.actual_micro having sum(t.amount_micro) > r.actual_micro`,
  )
  const [sums] = await query<{ fall: string; charged: string; captures: number }>(
    `select (select sum(amount_micro) from credit_grants) - (select sum(posted_micro) from buckets) as fall,
            (select coalesce(sum(actual_micro), 0) from hold_resolutions) as charged,
            (select count(*)::int from hold_resolutions where kind = 'captured') as captures`,
  )
  if (!sums) throw new Error('no sums')
  const doubled = twice.map(({ hold_id }) => `call ${hold_id}`)
  if (sums.captures > sent) doubled.push(`${sums.captures} captures for ${sent} requests`)
  return { findings, doubled, fall: BigInt(sums.fall), charged: BigInt(sums.charged) }
}
