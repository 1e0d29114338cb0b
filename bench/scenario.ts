import type { Economy } from './database.ts'
import type { LoadTool, Target } from './load.ts'
import type { ProfileName } from './workload.ts'

/** Who is measured. `farebox` has billing on, with a durable hold and capture for each call. */
export type SideName = 'direct' | 'bare' | 'farebox' | 'portkey'

/** One row of a scenario's table. */
export interface Contender {
  readonly name: string
  readonly side: SideName
  /** Accounts whose keys the calls take in turn. */
  readonly accounts: number
  /** Whether the database has the calls of `--rows` in it, or this many; only for farebox. */
  readonly history: boolean | number
  /** Whether the server watches a chain on which somebody pays all the time; only for farebox. */
  readonly payments?: true
}

/** What one measurement of a contender found, by the column of the table. */
export type Metrics = Readonly<Record<string, number>>

/** A measurement with what the checks of charges need. */
export interface Measured {
  readonly metrics: Metrics
  readonly answered: number
  /** Anything but a whole answer with 200. */
  readonly notAnswered: number
  /** Calls that may have been under way when the load ended, and are charged without an answer seen. */
  readonly cutOff: number
}

/** What a measurement has at hand. */
export interface Tools {
  readonly load: LoadTool
  readonly seconds: number
  readonly target: Target
  /** undefined for the direct side: the mock is no server under test. */
  readonly serverPid: number | undefined
  /** The database of the side, for what is measured without a server between. */
  readonly economy: Economy | undefined
}

/** A figure of a round, and what it should be. */
export interface Goal {
  readonly what: string
  /** undefined when a side that it needs is missing. */
  readonly value: (round: Readonly<Record<string, Metrics | undefined>>) => number | undefined
  readonly bound: { readonly atLeast: number } | { readonly atMost: number }
  /** Noise is judged by the median of the rounds; what must never happen by the worst of them. */
  readonly judgedBy: 'median' | 'worst'
  readonly unit: '' | 'ms' | 'MB' | 'calls/s' | 'polls/s' | 'streams'
}

/** Something that is measured for several contenders in turn. */
export interface Scenario {
  readonly name: string
  readonly title: string
  readonly profile: ProfileName
  readonly stream: boolean
  /** What a database needs beside its history, when it is read without a server: then nothing is charged. */
  readonly prepare?: (economy: Economy) => Promise<void>
  readonly contenders: readonly Contender[]
  readonly columns: readonly string[]
  readonly measure: (tools: Tools) => Promise<Measured>
  readonly goals: readonly Goal[]
}
