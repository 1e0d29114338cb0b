import { type ChildProcess, fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Load, startLoad } from '../crash/load.ts'
import { account, notCharged, type Query } from '../crash/rounds.ts'
import { freshDatabase, type TestDatabase } from '../database.ts'
import { keyOfNewAccount } from '../server-process.ts'
import { until } from '../until.ts'
import type { Begin, Said } from './deploy-process.ts'
import { raceRepeats, repeatedRace } from './repeated.ts'

/** The long form: npm run test:races, 200 deploys. */
const REPEATS = raceRepeats(1)
const CLIENTS = 6
/** Calls that the new server answers before a deploy counts as done. */
const CALLS_AFTER = 6
/** One deploy in three has no time for the calls that run; the others wait for all of them. */
const DRAIN_MS = [25_000, 25_000, 0] as const

const configuration = `
allow_demo: true
# a fast machine deploys so often that two keys would meet their limit of a minute
limits: { requests_per_minute_per_credential: 1000000 }
providers: { demo: { kind: demo, first_token_ms: 150, token_ms: 25 } }
models:
${['chat', 'slow']
  .map(
    (name) => `
  - id: demo-${name}
    name: Demo ${name}
    context_length: 32768
    max_output_tokens: 4096
    default_output_tokens: 16
    capabilities: { streaming: true }
    providers: [{ provider: demo, model: ${name} }]
    prices: [{ version: 1, effective_from: 2026-01-01T00:00:00Z, input_micro_per_m: 150000, output_micro_per_m: 600000 }]
`,
  )
  .join('')}`

let database: TestDatabase
let folder: string
let environment: Record<string, string>
let keys: string[]
let hosts: [ChildProcess, ChildProcess]
let old: Deployed
beforeAll(async () => {
  ;[database, folder] = await Promise.all([freshDatabase(), mkdtemp(join(tmpdir(), 'farebox-deploy-'))])
  const configurationFile = join(folder, 'farebox.yaml')
  await writeFile(configurationFile, configuration)
  const pepper = randomBytes(32).toString('hex')
  environment = {
    PORT: '0',
    HOST: '127.0.0.1',
    DATABASE_URL: database.url,
    FAREBOX_KEY_PEPPER: pepper,
    FAREBOX_DATA: folder,
    FAREBOX_CONFIG: configurationFile,
  }
  keys = [await keyOfNewAccount(database, pepper, 10n ** 11n), await keyOfNewAccount(database, pepper, 10n ** 11n)]
  const host = () => fork(new URL('./deploy-process.ts', import.meta.url), { execArgv: [] })
  hosts = [host(), host()]
  old = await deploy(hosts[1], DRAIN_MS[0])
})
afterAll(async () => {
  for (const host of hosts) host.kill('SIGKILL')
  await Promise.all([database.drop(), rm(folder, { recursive: true, force: true })])
})

/** A server that listens, and what it will do when it is asked to end. */
interface Deployed {
  readonly host: ChildProcess
  readonly url: string
  readonly drainMs: number
}

/** The next thing of this kind that a process says. */
function hears(host: ChildProcess, what: 'listening' | 'stopping' | 'ended'): Promise<Record<string, unknown>> {
  return new Promise((resolve, reject) => {
    const exited = () => reject(new Error(`the process ended before it was ${what}`))
    const listen = (said: Said) => {
      if (!(what in said)) return
      host.off('message', listen).off('exit', exited)
      resolve(said)
    }
    host.on('message', listen).on('exit', exited)
  })
}

async function deploy(host: ChildProcess, drainMs: number): Promise<Deployed> {
  const listening = hears(host, 'listening')
  host.send({ environment: { ...environment, FAREBOX_DRAIN_MS: String(drainMs) } } satisfies Begin)
  return { host, drainMs, url: String((await listening).listening) }
}

const query: Query = async (text, values = []) => (await database.pool.query(text, values)).rows

/** The holds since a moment: how each ended, whether it is on a list, and whether anybody was answered for it. */
async function holdsSince(moment: Date, { acknowledged }: Load) {
  const rows = await query<{ id: bigint; kind: string | null; flag: string | null; lists: number }>(
    `select h.id, r.kind, f.flag, (select count(*)::int from settlements s join settlement_parties p on p.settlement_id = s.id where s.hold_id = h.id) as lists
     from holds h left join hold_resolutions r on r.hold_id = h.id left join hold_flags f on f.hold_id = h.id where h.created_at >= $1 order by h.id`,
    [moment],
  )
  return {
    open: rows.filter(({ kind, flag }) => kind === null && flag === null),
    unlisted: rows.filter(({ flag, lists }) => flag !== null && lists === 0),
    unknown: rows.filter(({ flag }) => flag !== null),
    chargedUnanswered: rows.filter((row) => row.kind === 'captured' && !acknowledged.has(row.id)),
  }
}

/**
 * The new server comes, and the old one goes: the clients go over before it is asked to end, or when it has been.
 * Gives how many calls ran there at that moment.
 */
async function relieve(load: Load, turn: number): Promise<number> {
  const leaving = old
  const free = hosts.find((host) => host !== leaving.host) as ChildProcess
  old = await deploy(free, DRAIN_MS[(turn + 1) % DRAIN_MS.length] ?? 0)
  if (turn % 2 === 0) load.baseUrl = old.url
  const [stopping, ended] = [hears(leaving.host, 'stopping'), hears(leaving.host, 'ended')]
  const [running] = await query<{ open: number }>(
    `select count(*)::int as open from holds h where not exists (select from hold_resolutions r where r.hold_id = h.id)
       and not exists (select from hold_flags f where f.hold_id = h.id) and process_id = (select min(id) from processes where ended_at is null)`,
  )
  leaving.host.kill('SIGTERM')
  await stopping
  load.baseUrl = old.url
  await ended
  return running?.open ?? 0
}

test('a server that ends while the next one starts beside it under load loses no call: what was answered is charged once, and every hold has an end or is on a list', {
  timeout: 60_000 + REPEATS * 15_000,
}, async () => {
  const ways = ['nothing was running', 'what ran was finished', 'what ran was cut off']
  let sent = 0
  await repeatedRace('deploy under load', REPEATS, ways, async (turn) => {
    const { drainMs } = old
    const [began] = await query<{ at: Date }>('select clock_timestamp() as at')
    const load = startLoad({ baseUrl: old.url, keys, clients: CLIENTS })
    let running = 0
    try {
      running = await relieve(load, turn)
      const answered = load.acknowledged.size
      await until(() => load.acknowledged.size >= answered + CALLS_AFTER, 'the new server answers')
    } finally {
      await load.stop()
    }
    sent += load.sent
    const holds = await holdsSince(began?.at ?? new Date(0), load)
    expect(await notCharged(query, load.acknowledged)).toEqual([])
    expect([holds.open, holds.unlisted]).toEqual([[], []])
    // with time enough nobody is cut off, and nobody pays for an answer that did not come
    if (drainMs > 0) expect([holds.unknown, holds.chargedUnanswered]).toEqual([[], []])
    if (holds.unknown.length > 0) return 'what ran was cut off'
    return running > 0 ? 'what ran was finished' : 'nothing was running'
  })
  const { fall, charged, ...wrong } = await account(query, sent)
  expect(wrong).toEqual({ doubled: [], findings: [] })
  expect(fall).toBe(charged)
})
