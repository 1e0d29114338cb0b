import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { RunningPostgres } from '../src/embedded/postgres.ts'
import { type Charges, checkCharges, newestHold } from './charges.ts'
import { type Child, forkServer, Unavailable } from './child.ts'
import { createEconomy, type Economy } from './database.ts'
import { startFarebox } from './farebox.ts'
import { writeHistory } from './history.ts'
import type { LoadTool, Target } from './load.ts'
import { startPortkey } from './portkey.ts'
import { familyMicroseconds, processorMicroseconds } from './processor.ts'
import type { Contender, Measured, Metrics, Scenario } from './scenario.ts'
import { startWatchedChain, type WatchedChain } from './watched-chain.ts'
import { mockPath, requestBody } from './workload.ts'

/** How much is measured. */
export interface Settings {
  readonly rounds: number
  readonly seconds: number
  readonly warmUpSeconds: number
  /** Finished calls in the full database. */
  readonly rows: number
}

/** What all scenarios of a run share. */
export interface Run {
  readonly settings: Settings
  readonly load: LoadTool
  readonly postgres: RunningPostgres
  /** For files of this run; gone with it. */
  readonly folder: string
  /** For what is worth keeping between runs. */
  readonly cache: string
  readonly say: (line: string) => void
}

/** What a scenario found. */
export interface Findings {
  readonly rounds: ReadonlyArray<Readonly<Record<string, Metrics>>>
  /** Why a contender is not in the rounds, by its name. */
  readonly unavailable: Readonly<Record<string, string>>
  /** Calls that were not answered with a whole 200, by contender. */
  readonly notAnswered: Readonly<Record<string, number>>
  /** By Farebox server, what was charged against what happened. */
  readonly charges: Readonly<Record<string, Charges>>
}

/** A server that runs for one scenario, with the database behind it when it bills. */
interface Opened {
  readonly label: string
  readonly child: Child
  readonly economy: Economy | undefined
  readonly newestHold: bigint
  /** What it watches for payments. */
  readonly chain?: WatchedChain
}

interface Entrant {
  readonly contender: Contender
  readonly opened: Opened
  readonly target: Target
  answered: number
  notAnswered: number
  cutOff: number
}

/** Measures the contenders of a scenario in turn, round by round, each server fresh and warmed up. */
export async function measureScenario(run: Run, scenario: Scenario): Promise<Findings> {
  await using resources = new AsyncDisposableStack()
  const mock = await forkServer('mock.ts', [])
  resources.defer(mock.stop)
  const { entrants, unavailable } = await enter(run, scenario, { mock, resources })
  const { seconds, warmUpSeconds, rounds: count } = run.settings
  for (const entrant of entrants) await measureOnce(run, scenario, entrant, warmUpSeconds)
  const rounds = []
  for (let n = 1; n <= count; n += 1) {
    const round: Record<string, Metrics> = {}
    for (const entrant of entrants) {
      const { metrics } = await measureOnce(run, scenario, entrant, seconds)
      round[entrant.contender.name] = metrics
      run.say(`  round ${n} of ${count}, ${entrant.contender.name}: ${said(metrics)}`)
    }
    rounds.push(round)
  }
  const received = async (label: string) => {
    const counts = await (await fetch(`http://127.0.0.1:${mock.port}/counts`)).json()
    return (counts as Record<string, number>)[label] ?? 0
  }
  return {
    rounds,
    unavailable,
    notAnswered: Object.fromEntries(entrants.map(({ contender, notAnswered }) => [contender.name, notAnswered])),
    charges: scenario.prepare ? {} : await chargesOf(run, entrants, received),
  }
}

async function measureOnce(
  { load, postgres }: Run,
  scenario: Scenario,
  entrant: Entrant,
  seconds: number,
): Promise<Measured> {
  const { target, opened, contender } = entrant
  const serverPid = contender.side === 'direct' ? undefined : opened.child.pid
  const databasePid = opened.economy && postgres.pid
  const before = await processorTimes(serverPid, databasePid)
  const measured = await whilePaid(opened, () =>
    scenario.measure({ load, seconds, target, serverPid, economy: opened.economy }),
  )
  const after = await processorTimes(serverPid, databasePid)
  entrant.answered += measured.answered
  entrant.notAnswered += measured.notAnswered
  entrant.cutOff += measured.cutOff
  const times: Record<string, number> = {}
  for (const [name, time] of Object.entries(after)) {
    const used = time - (before[name] ?? Number.NaN)
    if (measured.answered > 0 && !Number.isNaN(used)) times[name] = used / measured.answered
  }
  return { ...measured, metrics: { ...measured.metrics, ...times } }
}

/** Measures while payments come in, where the server watches a chain: how many it credited is a metric, too. */
async function whilePaid({ chain, economy, child }: Opened, measure: () => Promise<Measured>): Promise<Measured> {
  if (!chain || !economy) return measure()
  const { result, credited } = await chain.during({ url: `http://127.0.0.1:${child.port}`, economy }, measure)
  return { ...result, metrics: { ...result.metrics, payments: credited } }
}

/** Microseconds of processor time so far, by the column that shows them for each call. */
async function processorTimes(
  serverPid: number | undefined,
  databasePid: number | undefined,
): Promise<Record<string, number>> {
  const server = serverPid === undefined ? undefined : await processorMicroseconds(serverPid)
  const database = databasePid === undefined ? undefined : await familyMicroseconds(databasePid)
  return {
    ...(server !== undefined && { 'server µs/call': server }),
    ...(database !== undefined && { 'PostgreSQL µs/call': database }),
  }
}

/** Starts what the contenders need, each server once. A side that cannot be started is left out, with its reason. */
async function enter(
  run: Run,
  scenario: Scenario,
  { mock, resources }: { mock: Child; resources: AsyncDisposableStack },
): Promise<{ entrants: Entrant[]; unavailable: Record<string, string> }> {
  const servers = new Map<string, Opened>()
  const entrants: Entrant[] = []
  const unavailable: Record<string, string> = {}
  for (const contender of scenario.contenders) {
    const label = labelOf(contender)
    try {
      const opened = servers.get(label) ?? (await open(run, scenario, { contender, label, mock, resources }))
      servers.set(label, opened)
      const target = targetOf(scenario, contender, { opened, mock })
      entrants.push({ contender, opened, target, answered: 0, notAnswered: 0, cutOff: 0 })
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error
      unavailable[contender.name] = error.message
      run.say(`  ${contender.name} is left out: ${error.message}`)
    }
  }
  return { entrants, unavailable }
}

/** Each history is a database of its own. */
function labelOf({ side, history, payments }: Contender): string {
  const filled = history === false ? '' : history === true ? '-full' : `-${history}`
  return `${side}${filled}${payments ? '-watching' : ''}`
}

async function open(
  run: Run,
  scenario: Scenario,
  {
    contender,
    label,
    mock,
    resources,
  }: { contender: Contender; label: string; mock: Child; resources: AsyncDisposableStack },
): Promise<Opened> {
  const folder = join(run.folder, scenario.name)
  await mkdir(folder, { recursive: true })
  const unbilled = (child: Child) => {
    resources.defer(child.stop)
    return { label, child, economy: undefined, newestHold: 0n }
  }
  switch (contender.side) {
    case 'direct':
      return { label, child: mock, economy: undefined, newestHold: 0n }
    case 'bare':
      return unbilled(await forkServer('bare-proxy.ts', [`http://127.0.0.1:${mock.port}`]))
    case 'portkey':
      return unbilled(await startPortkey(run.cache, join(folder, 'portkey.log')))
    case 'farebox': {
      const economy = await createEconomy(run.postgres, {
        name: `${scenario.name}_${label}`.replaceAll('-', '_'),
        accounts: contender.history === true ? 1000 : Math.max(...scenario.contenders.map(({ accounts }) => accounts)),
      })
      resources.defer(economy.close)
      if (contender.history !== false) await fill(run, economy, contender.history)
      if (scenario.prepare) {
        // read without a server, whose own audits would be in the way
        await scenario.prepare(economy)
        return { label, child: mock, economy, newestHold: 0n }
      }
      const before = await newestHold(economy)
      const chain = contender.payments && (await startWatchedChain(folder))
      if (chain) resources.defer(chain.stop)
      const child = await startFarebox({ economy, mockPort: mock.port, label, folder, ...(chain && { chain }) })
      resources.defer(child.stop)
      return { label, child, economy, newestHold: before, ...(chain && { chain }) }
    }
  }
}

async function fill(run: Run, economy: Economy, history: true | number): Promise<void> {
  const rows = history === true ? run.settings.rows : history
  run.say(`  writing ${rows} finished calls`)
  await writeHistory(economy, rows, (written) => {
    if (written % 1_000_000 === 0 || written === rows) run.say(`  ${written} of ${rows} written`)
  })
}

function targetOf(scenario: Scenario, contender: Contender, { opened, mock }: { opened: Opened; mock: Child }): Target {
  const { profile, stream } = scenario
  const upstream = mockPath(opened.label, profile)
  const url = (path: string) => `http://127.0.0.1:${opened.child.port}${path}/chat/completions`
  const plain = { headers: {}, tokens: [], body: requestBody('mock', stream) }
  switch (contender.side) {
    case 'direct':
    case 'bare':
      return { ...plain, url: url(upstream) }
    case 'portkey': {
      const headers = {
        'x-portkey-provider': 'openai',
        'x-portkey-custom-host': `http://127.0.0.1:${mock.port}${upstream}`,
      }
      return { ...plain, url: url('/v1'), headers, tokens: ['sk-bench'] }
    }
    case 'farebox': {
      const tokens = (opened.economy?.accounts ?? []).slice(0, contender.accounts).map(({ key }) => key)
      return { url: url('/v1'), headers: {}, tokens, body: requestBody(profile, stream) }
    }
  }
}

async function chargesOf(
  run: Run,
  entrants: readonly Entrant[],
  received: (label: string) => Promise<number>,
): Promise<Record<string, Charges>> {
  const charges: Record<string, Charges> = {}
  for (const opened of new Set(entrants.map((entrant) => entrant.opened))) {
    if (!opened.economy) continue
    const own = entrants.filter((entrant) => entrant.opened === opened)
    const total = (key: 'answered' | 'cutOff') => own.reduce((sum, entrant) => sum + entrant[key], 0)
    run.say(`  checking the charges of ${opened.label}`)
    charges[opened.label] = await checkCharges(opened.economy, {
      after: opened.newestHold,
      received: () => received(opened.label),
      answered: total('answered'),
      cutOff: total('cutOff'),
    })
  }
  return charges
}

function said(metrics: Metrics): string {
  return Object.entries(metrics)
    .map(([name, value]) => `${name} ${value >= 100 ? Math.round(value) : Number(value.toFixed(2))}`)
    .join(', ')
}
