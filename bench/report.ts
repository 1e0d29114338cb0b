import type { Machine } from './machine.ts'
import type { Findings, Settings } from './measure.ts'
import type { Goal, Scenario } from './scenario.ts'
import { type Spread, spread } from './statistics.ts'

/** A whole run: what the JSON file holds and the Markdown file shows. */
export interface Report {
  readonly date: string
  readonly commit: string
  /** Files differed from the commit. */
  readonly changed: boolean
  readonly machine: Machine
  readonly loadTool: string
  readonly settings: Settings
  readonly scenarios: readonly ScenarioReport[]
}

/** One scenario with its judgement. */
export interface ScenarioReport extends Findings {
  readonly name: string
  readonly title: string
  readonly columns: readonly string[]
  readonly goals: readonly GoalReport[]
}

/** A figure and whether it is what it should be; `met` is undefined when it could not be measured. */
export interface GoalReport {
  readonly what: string
  readonly unit: string
  readonly goal: string
  readonly judgedBy: Goal['judgedBy']
  readonly measured: Spread | undefined
  readonly met: boolean | undefined
}

/** Judges the rounds of a scenario: each figure is computed inside a round, so that noise of the hour falls out. */
export function judge(scenario: Scenario, findings: Findings): ScenarioReport {
  const goals = scenario.goals.map((goal): GoalReport => {
    const { what, unit, bound, judgedBy } = goal
    const values = findings.rounds
      .map(goal.value)
      .filter((value) => value !== undefined && !Number.isNaN(value)) as number[]
    const measured = spread(values)
    const text = 'atLeast' in bound ? `≥ ${bound.atLeast}` : `≤ ${bound.atMost}`
    return { what, unit, goal: text, judgedBy, measured, met: measured && isMet(goal, measured) }
  })
  const { name, title, columns } = scenario
  return { name, title, columns, goals, ...findings }
}

function isMet({ bound, judgedBy }: Goal, measured: Spread): boolean {
  if ('atLeast' in bound) return (judgedBy === 'median' ? measured.median : measured.min) >= bound.atLeast
  return (judgedBy === 'median' ? measured.median : measured.max) <= bound.atMost
}

/** The report for people. */
export function markdown(report: Report): string {
  const { settings } = report
  const title = `# Benchmark of ${report.date}, commit ${report.commit}${report.changed ? ' with changes' : ''}`
  const facts = {
    ...report.machine,
    load: report.loadTool,
    rounds: `${settings.rounds} of ${settings.seconds} s, after ${settings.warmUpSeconds} s to warm up`,
    'calls in the full database': String(settings.rows),
  }
  return [
    title,
    'Load, provider, PostgreSQL and the server share this one machine. The sides are measured in turn, round by round; every figure is min / median / max of the rounds, and ratios are taken inside a round. Only ratios inside one report mean anything. `npm run bench` makes this file; the JSON file beside it has every measurement.',
    table(['', ''], Object.entries(facts)),
    '## Goals',
    table(
      ['scenario', 'figure', 'goal', 'min / median / max', 'met'],
      report.scenarios.flatMap(({ name, goals }) =>
        goals.map((goal) => [
          name,
          goal.what,
          `${goal.goal} ${goal.unit}`.trim(),
          spreadText(goal.measured),
          metText(goal),
        ]),
      ),
    ),
    '"direct" is the mock provider without anything before it, "bare" an unbilled proxy of Node\'s http and undici, "farebox" the server with a durable hold and capture for each call, "portkey" Portkey\'s gateway without billing. Goals are judged by the median of the rounds; lost frames and memory by the worst. Time to the first token, streams at once and calls one after another are measured by the benchmark\'s own client, everything else by the load tool.',
    '## Were the charges right?',
    'Each call that the provider received must be charged once, at its price; each 200 must be among them; the audit of the ledger must be empty. Calls that were under way when a load ended are charged, though their clients saw no answer.',
    table(
      [
        'scenario',
        'server',
        'calls at the provider',
        'answered 200',
        'charged calls',
        'charged / expected microcredits',
        'open holds',
        'audit',
        'right',
      ],
      report.scenarios.flatMap(({ name, charges }) =>
        Object.entries(charges).map(([server, charge]) => [
          name,
          server,
          String(charge.received),
          String(charge.answered),
          String(charge.captured),
          `${charge.chargedMicro} / ${charge.expectedMicro}`,
          String(charge.open),
          charge.findings.length === 0 ? 'empty' : charge.findings.join('; '),
          charge.exact ? 'yes' : '**no**',
        ]),
      ),
    ),
    ...report.scenarios.flatMap(scenarioText),
  ].join('\n\n')
}

function scenarioText(scenario: ScenarioReport): string[] {
  const { rounds, columns, unavailable, notAnswered } = scenario
  const contenders = [...new Set(rounds.flatMap((round) => Object.keys(round)))]
  const rows = contenders.map((contender) => [
    contender,
    ...columns.map((column) => spreadText(spread(rounds.flatMap((round) => round[contender]?.[column] ?? [])))),
    String(notAnswered[contender] ?? 0),
  ])
  const missing = Object.entries(unavailable).map(([name, reason]) => `${name} was not measured: ${reason}`)
  return [`## ${scenario.title}`, table([scenario.name, ...columns, 'not 200'], rows), ...missing]
}

/** One line for the terminal. */
export function goalLine(goal: GoalReport): string {
  return `  ${goal.what}: ${spreadText(goal.measured)} ${goal.unit} (goal ${goal.goal}, ${goal.met === undefined ? 'not measured' : goal.met ? 'met' : 'NOT met'})`
}

function metText({ met }: GoalReport): string {
  return met === undefined ? 'not measured' : met ? 'yes' : '**no**'
}

function spreadText(values: Spread | undefined): string {
  return values === undefined ? '-' : [values.min, values.median, values.max].map(figure).join(' / ')
}

/** Three digits, and thousands whole. */
function figure(value: number): string {
  if (Math.abs(value) >= 1000) return Math.round(value).toLocaleString('en')
  return Number.isInteger(value) ? String(value) : value.toPrecision(3)
}

function table(head: readonly string[], rows: ReadonlyArray<readonly string[]>): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}
