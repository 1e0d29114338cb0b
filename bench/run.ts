import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { once, startCluster } from './database.ts'
import { chooseLoadTool } from './load.ts'
import { describeCommit, describeMachine } from './machine.ts'
import { measureScenario, type Run, type Settings } from './measure.ts'
import { goalLine, judge, markdown, type Report } from './report.ts'
import type { Scenario } from './scenario.ts'
import { scenarios } from './scenarios.ts'

const help = `npm run bench -- [options]

  --quick              short runs, to see that everything works; the report goes to the data folder
  --only <scenario>    one scenario; may be repeated. ${scenarios.map(({ name }) => name).join(', ')}
  --rounds <n>         how often each side is measured (5)
  --seconds <n>        how long each measurement takes (8)
  --rows <n>           finished calls in the full database (5000000)
  --data <folder>      where PostgreSQL and the peers are put (.data-bench); on the disk that is to be measured
  --out <folder>       where the report goes (docs/benchmarks)
  --date <yyyy-mm-dd>  the date of the report (today)
`

const root = fileURLToPath(new URL('../', import.meta.url))

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true, default: [] },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    rows: { type: 'string' },
    data: { type: 'string', default: join(root, '.data-bench') },
    out: { type: 'string' },
    date: { type: 'string', default: new Date().toISOString().slice(0, 10) },
    help: { type: 'boolean', default: false },
  },
})

if (options.help) process.stdout.write(help)
else await main()

async function main(): Promise<void> {
  const settings: Settings = options.quick
    ? {
        rounds: count('rounds', 2),
        seconds: count('seconds', 2),
        warmUpSeconds: 1,
        rows: count('rows', 20_000),
      }
    : {
        rounds: count('rounds', 5),
        seconds: count('seconds', 8),
        warmUpSeconds: 3,
        rows: count('rows', 5_000_000),
      }
  const chosen = chosenScenarios()
  const data = resolve(options.data)
  await mkdir(data, { recursive: true })
  const { report, failed } = await measureAll(settings, chosen, data)
  const out = resolve(options.out ?? (options.quick ? join(data, 'reports') : join(root, 'docs/benchmarks')))
  await mkdir(out, { recursive: true })
  const path = join(out, `${report.date}-${report.commit}${report.changed ? '-changed' : ''}`)
  await writeFile(`${path}.md`, `${markdown(report)}\n`)
  await writeFile(`${path}.json`, `${JSON.stringify(report, null, 1)}\n`)
  say(`\n${path}.md`)
  // a missed goal is a finding, but a wrong bill or a scenario that broke is a failure
  if (failed) process.exitCode = 1
}

/** Runs the scenarios on one PostgreSQL. One that breaks is told and left out, so that hours are not lost. */
async function measureAll(
  settings: Settings,
  chosen: readonly Scenario[],
  data: string,
): Promise<{ report: Report; failed: boolean }> {
  await using resources = new AsyncDisposableStack()
  const folder = await mkdtemp(join(data, 'run-'))
  resources.defer(() => rm(folder, { recursive: true, force: true }))
  const load = await chooseLoadTool(folder)
  const postgres = await startCluster(folder)
  resources.defer(postgres.stop)
  stopOnSignals(() => resources.disposeAsync())
  const { rows } = await once(postgres.url('postgres', postgres.superuser), 'show server_version')
  const machine = await describeMachine(String(rows[0]?.server_version))
  const run: Run = { settings, load, postgres, folder, cache: data, say }
  let failed = false
  const reports = []
  for (const scenario of chosen) {
    say(`\n${scenario.name}: ${scenario.title} (${load.name})`)
    try {
      const judged = judge(scenario, await measureScenario(run, scenario))
      for (const goal of judged.goals) say(goalLine(goal))
      for (const [server, charge] of Object.entries(judged.charges)) {
        say(`  charges of ${server}: ${charge.exact ? 'right' : `WRONG ${JSON.stringify(charge)}`}`)
        failed ||= !charge.exact
      }
      reports.push(judged)
    } catch (error) {
      failed = true
      say(`  ${scenario.name} broke: ${(error as Error).stack}`)
    }
  }
  const report = {
    date: options.date,
    ...(await describeCommit()),
    machine,
    loadTool: load.name,
    settings,
    scenarios: reports,
  }
  return { report, failed }
}

/** Ctrl-C ends the database and leaves no folder behind; the servers end with this process. */
function stopOnSignals(stop: () => Promise<void>): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      say('stopping')
      void stop().finally(() => process.exit(130))
    })
  }
}

function chosenScenarios(): readonly Scenario[] {
  const unknown = options.only.filter((name) => !scenarios.some((scenario) => scenario.name === name))
  if (unknown.length > 0) throw new Error(`there is no scenario ${unknown.join(', ')}\n${help}`)
  return options.only.length === 0 ? scenarios : scenarios.filter(({ name }) => options.only.includes(name))
}

function count(name: 'rounds' | 'seconds' | 'rows', fallback: number): number {
  const value = Number(options[name] ?? fallback)
  if (!Number.isSafeInteger(value) || value < 1) throw new Error(`--${name} takes a whole number from 1`)
  return value
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
