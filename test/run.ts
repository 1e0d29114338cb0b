import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** `npm test`: format and lint, types, then every test. Runs all three whatever the first ones say. */

/** What a step found. */
interface Tally {
  readonly passed: number
  readonly failed: number
}

/** The parts of vitest's JSON report that are counted. */
interface Report {
  readonly success: boolean
  readonly numPassedTests: number
  readonly numFailedTests: number
  readonly numPendingTests: number
  readonly numTodoTests: number
  readonly testResults: ReadonlyArray<{
    readonly status: string
    readonly assertionResults: ReadonlyArray<{ readonly status: string }>
  }>
}

const STEP_TIMEOUT_MS = 30 * 60_000
const project = fileURLToPath(new URL('..', import.meta.url))
const programs = join(project, 'node_modules', '.bin')

const tallies = [
  await check('format and lint', 'biome', ['check', '.']),
  await check('types', 'tsc', ['--noEmit']),
  await check('types of the console', 'tsc', ['--noEmit', '-p', 'console']),
  await tests(),
]
const sum = (member: keyof Tally): number => tallies.reduce((total, tally) => total + tally[member], 0)
console.log(`${sum('passed')} passed, ${sum('failed')} failed`)
process.exitCode = sum('failed') > 0 ? 1 : 0

async function check(title: string, program: string, args: readonly string[]): Promise<Tally> {
  const ok = await step(title, program, args)
  return { passed: ok ? 1 : 0, failed: ok ? 0 : 1 }
}

async function tests(): Promise<Tally> {
  const folder = await mkdtemp(join(tmpdir(), 'farebox-report-'))
  const file = join(folder, 'report.json')
  try {
    const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`]
    const ok = await step('tests', 'vitest', ['run', ...reporters, ...process.argv.slice(2)])
    const text = await readFile(file, 'utf8').catch(() => undefined)
    return text === undefined ? { passed: 0, failed: 1 } : tallyOf(JSON.parse(text) as Report, ok)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** A file that could not be loaded fails without a test of its own, and a skipped test proves nothing: both count as failed. */
function tallyOf(report: Report, ok: boolean): Tally {
  const unloaded = report.testResults.filter(
    (file) => file.status === 'failed' && !file.assertionResults.some((one) => one.status === 'failed'),
  )
  const skipped = report.numPendingTests + report.numTodoTests
  const failed = report.numFailedTests + unloaded.length + skipped
  return { passed: report.numPassedTests, failed: ok ? failed : Math.max(failed, 1) }
}

/** Runs a program of node_modules with its output shown as it comes. False when it failed, could not start or took too long. */
async function step(title: string, program: string, args: readonly string[]): Promise<boolean> {
  console.log(`\n== ${title}: ${program} ${args[0]}`)
  const started = performance.now()
  const child = spawn(join(programs, program), args, {
    cwd: project,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, PATH: `${programs}${delimiter}${process.env.PATH ?? ''}` },
    timeout: STEP_TIMEOUT_MS,
  })
  const ok = await new Promise<boolean>((resolve) => {
    child.once('error', (error) => {
      console.error(error.message)
      resolve(false)
    })
    child.once('exit', (code) => resolve(code === 0))
  })
  const seconds = ((performance.now() - started) / 1000).toFixed(1)
  console.log(`== ${title}: ${ok ? 'passed' : 'FAILED'} in ${seconds} s`)
  return ok
}
