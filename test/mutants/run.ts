import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { sqlFiles } from '../../src/db/migrate.ts'
import { startCluster } from '../database-cluster.ts'
import { afterMutants } from './after.ts'
import { lockMutants } from './locks.ts'
import { type Mutant, mutated } from './mutant.ts'
import { reserveMutants } from './reserve.ts'
import { resolveMutants } from './resolve.ts'

/**
 * `npm run test:mutants [words]`: puts each fault of the tables into the functions that every test copies, and runs the
 * money tests on it until one of them fails. With words, only faults whose file, text or reason contains them. Fails when a fault is noticed by no test.
 * A run that was broken off is taken up again: which faults were noticed is kept, for as long as no function of db/functions
 * changes. `--fresh` forgets it.
 */

/** The money tests in their short form; a fault's own `first` runs before them. */
const MONEY_TESTS = [
  'src/ledger',
  'test/races/locks.test.ts',
  'test/model/batches.test.ts',
  'test/model/model.test.ts',
  'src/billing/settlements',
  'src/billing/refunds',
  'src/billing/calls',
  'test/races/settling.test.ts',
  'test/races/budgets.test.ts',
  'test/model/concurrent.test.ts',
]
const RUN_TIMEOUT_MS = 10 * 60_000

/** The parts of vitest's JSON report that say who noticed. */
interface Report {
  readonly numTotalTests: number
  readonly testResults: ReadonlyArray<{
    readonly name: string
    readonly status: string
    readonly assertionResults: ReadonlyArray<{ readonly status: string; readonly title: string }>
  }>
}

const project = fileURLToPath(new URL('../..', import.meta.url))
const functions = await sqlFiles('functions')
const folder = await mkdtemp(join(tmpdir(), 'farebox-mutants-'))
const cluster = await startCluster()

/** Runs the tests on the functions as they are laid; gives the first that failed, or undefined when all passed. */
async function noticedBy(tests: readonly string[]): Promise<string | undefined> {
  const file = join(folder, 'report.json')
  await rm(file, { force: true })
  const args = ['run', '--bail', '1', '--reporter=json', `--outputFile.json=${file}`, ...tests]
  const child = spawn(join(project, 'node_modules', '.bin', 'vitest'), args, {
    cwd: project,
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, FAREBOX_TEST_CLUSTER: cluster.socketFolder, FAREBOX_MODEL_SHRINK: '0' },
    timeout: RUN_TIMEOUT_MS,
  })
  let errors = ''
  child.stderr.on('data', (chunk) => {
    errors = `${errors}${chunk}`.slice(-4000)
  })
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  if (code === 0) return undefined
  const text = await readFile(file, 'utf8').catch(() => undefined)
  const report = text === undefined ? undefined : (JSON.parse(text) as Report)
  const failed = report?.testResults.find((one) => one.status === 'failed')
  // functions that could not be loaded are a mistake in the table, and nothing that a test noticed
  if (!failed) throw new Error(`the tests did not run (exit ${code}): ${errors}`)
  const title = failed.assertionResults.find((one) => one.status === 'failed')?.title ?? 'what it prepares'
  return `${failed.name.replace(project, '')} "${title}"`
}

/** Writes all functions again, one of them with the fault. */
async function lay(mutant?: Mutant): Promise<void> {
  const client = new pg.Client({ connectionString: cluster.templateUrl })
  await client.connect()
  try {
    await client.query('begin')
    for (const { name, text } of functions) await client.query(mutant?.file === name ? mutated(text, mutant) : text)
    await client.query('commit')
  } finally {
    await client.end()
  }
}

/** What was noticed before by which test, by what identifies a fault in exactly these functions. */
interface Noticed {
  [fault: string]: string
}
const kept = join(project, '.data-mutants', 'noticed.json')
const identityOf = (mutant: Mutant): string =>
  createHash('sha256')
    .update(JSON.stringify([functions.map(({ checksum }) => checksum), mutant.file, mutant.text, mutant.replacement]))
    .digest('hex')
async function noticedBefore(): Promise<Noticed> {
  if (process.argv.includes('--fresh')) return {}
  return JSON.parse(await readFile(kept, 'utf8').catch(() => '{}')) as Noticed
}
async function keep(mutant: Mutant, by: string): Promise<void> {
  noticed[identityOf(mutant)] = by
  await mkdir(join(project, '.data-mutants'), { recursive: true })
  await writeFile(kept, JSON.stringify(noticed, null, 1))
}

async function judge(mutant: Mutant): Promise<'killed' | 'survived' | 'harmless'> {
  const before = noticed[identityOf(mutant)]
  if (before !== undefined) {
    console.log(`killed   ${mutant.file}: ${mutant.why}\n         by ${before}, in a run before`)
    return 'killed'
  }
  await lay(mutant)
  const started = performance.now()
  const by = (await noticedBy([mutant.first])) ?? (await noticedBy(MONEY_TESTS))
  const seconds = ((performance.now() - started) / 1000).toFixed(0)
  if (by !== undefined) await keep(mutant, by)
  const verdict = by === undefined ? (mutant.harmless === undefined ? 'survived' : 'harmless') : 'killed'
  const line = mutant.text.replaceAll(/\s+/g, ' ').slice(0, 90)
  console.log(`${verdict.padEnd(8)} ${mutant.file}: ${mutant.why}\n         ${line}`)
  console.log(`         ${by === undefined ? (mutant.harmless ?? 'no test failed') : `by ${by}`} (${seconds} s)`)
  return verdict
}

const words = process.argv.slice(2).filter((word) => word !== '--fresh')
const noticed = await noticedBefore()
const mutants = [...lockMutants, ...reserveMutants, ...resolveMutants, ...afterMutants].filter((one) =>
  words.every((word) => `${one.file} ${one.text} ${one.why}`.includes(word)),
)
try {
  const unbroken = await noticedBy([...new Set([...mutants.map(({ first }) => first), ...MONEY_TESTS])])
  if (unbroken !== undefined) throw new Error(`fails without any fault: ${unbroken}`)
  const count = { killed: 0, survived: 0, harmless: 0 }
  for (const mutant of mutants) count[await judge(mutant)] += 1
  console.log(
    `${mutants.length} faults: ${count.killed} killed, ${count.survived} survived, ${count.harmless} harmless`,
  )
  process.exitCode = count.survived > 0 ? 1 : 0
} finally {
  await cluster.stop()
  await rm(folder, { recursive: true, force: true })
}
