import { residentMb } from './child.ts'
import { measureFirstToken, measureLatency, measureStreams } from './clients.ts'
import { measurePolls } from './polls.ts'
import { reading } from './reading.ts'
import type { Contender, Goal, Measured, Scenario, SideName, Tools } from './scenario.ts'

const CONNECTIONS = 64
const STREAMS = 256

const side = (name: SideName): Contender => ({ name, side: name, accounts: 1, history: false })
const allSides = (['direct', 'bare', 'farebox', 'portkey'] as const).map(side)
const processorColumns = ['server µs/call', 'PostgreSQL µs/call']
const loadColumns = ['calls/s', 'p50 ms', 'p99 ms', ...processorColumns]

/** `what` of one contender over that of another. */
const ratio =
  (what: string, over: string, under: string): Goal['value'] =>
  (round) =>
    divided(round[over]?.[what], round[under]?.[what])
/** `what` of one contender above that of the direct side. */
const added =
  (what: string): Goal['value'] =>
  ({ farebox, direct }) =>
    difference(farebox?.[what], direct?.[what])
const metric =
  (what: string): Goal['value'] =>
  ({ farebox }) =>
    farebox?.[what]

/** Everything that is measured, in this order. */
export const scenarios: readonly Scenario[] = [
  {
    name: 'plain-20ms',
    title: `Plain calls, ${CONNECTIONS} connections, a provider that takes 20 ms`,
    profile: 'mock-20ms',
    stream: false,
    contenders: allSides,
    columns: loadColumns,
    measure: underLoad,
    goals: [
      {
        what: 'billed / direct',
        value: ratio('calls/s', 'farebox', 'direct'),
        bound: { atLeast: 0.85 },
        judgedBy: 'median',
        unit: '',
      },
    ],
  },
  {
    name: 'plain-0ms',
    title: `Plain calls, ${CONNECTIONS} connections, a provider that answers at once`,
    profile: 'mock-0ms',
    stream: false,
    contenders: allSides,
    columns: loadColumns,
    measure: underLoad,
    goals: [
      {
        what: 'billed / bare unbilled proxy',
        value: ratio('calls/s', 'farebox', 'bare'),
        bound: { atLeast: 0.3 },
        judgedBy: 'median',
        unit: '',
      },
      {
        what: 'billed / Portkey unbilled',
        value: ratio('calls/s', 'farebox', 'portkey'),
        bound: { atLeast: 3 },
        judgedBy: 'median',
        unit: '',
      },
      {
        what: 'billed calls',
        value: metric('calls/s'),
        bound: { atLeast: 3000 },
        judgedBy: 'median',
        unit: 'calls/s',
      },
    ],
  },
  {
    name: 'streams',
    title: `Whole streams, ${CONNECTIONS} connections, a provider that streams at once`,
    profile: 'mock-0ms',
    stream: true,
    contenders: allSides,
    columns: loadColumns,
    measure: underLoad,
    goals: [],
  },
  ...(['mock-20ms', 'mock-0ms'] as const).map(
    (profile): Scenario => ({
      name: `latency-${profile.slice(5)}`,
      title: `Plain calls one after another, ${profile === 'mock-0ms' ? 'a provider that answers at once' : 'a provider that takes 20 ms'}`,
      profile,
      stream: false,
      contenders: allSides,
      columns: ['p50 ms', 'p99 ms', ...processorColumns],
      measure: oneByOne(measureLatency),
      goals: [
        {
          what: 'added p99',
          value: added('p99 ms'),
          bound: { atMost: 4 },
          judgedBy: 'median',
          unit: 'ms',
        },
      ],
    }),
  ),
  {
    name: 'first-token',
    title: 'Time to the first token, streams one after another',
    profile: 'mock-stream',
    stream: true,
    contenders: allSides,
    columns: ['p50 ms', 'p99 ms', ...processorColumns],
    measure: oneByOne(measureFirstToken),
    goals: [
      {
        what: 'added time to first token (p50)',
        value: added('p50 ms'),
        bound: { atMost: 3 },
        judgedBy: 'median',
        unit: 'ms',
      },
    ],
  },
  {
    name: 'streams-256',
    title: `${STREAMS} streams at once, a chunk every 50 ms`,
    profile: 'mock-slow-stream',
    stream: true,
    contenders: allSides,
    columns: ['broken streams', 'p50 ms', 'p99 ms', 'longest ms', 'RSS MB'],
    measure: streamsAtOnce,
    goals: [
      {
        what: 'streams with a lost or changed frame',
        value: metric('broken streams'),
        bound: { atMost: 0 },
        judgedBy: 'worst',
        unit: 'streams',
      },
      {
        what: 'memory of the server, highest',
        value: metric('RSS MB'),
        bound: { atMost: 250 },
        judgedBy: 'worst',
        unit: 'MB',
      },
    ],
  },
  {
    name: 'polls',
    title: `Polls of a task that has not changed, ${CONNECTIONS} connections`,
    profile: 'mock-0ms',
    stream: false,
    contenders: [side('farebox')],
    columns: ['polls/s', 'p50 ms', 'p99 ms'],
    measure: measurePolls,
    goals: [
      {
        what: 'polls answered 304',
        value: metric('polls/s'),
        bound: { atLeast: 2000 },
        judgedBy: 'median',
        unit: 'polls/s',
      },
    ],
  },
  {
    name: 'accounts',
    title: `Plain calls, ${CONNECTIONS} connections: all from one account, or from 1,000 in turn`,
    profile: 'mock-0ms',
    stream: false,
    contenders: [
      { name: 'one account', side: 'farebox', accounts: 1, history: false },
      { name: '1,000 accounts', side: 'farebox', accounts: 1000, history: false },
    ],
    columns: loadColumns,
    measure: underLoad,
    goals: [
      {
        what: 'one hot account / 1,000 accounts',
        value: ratio('calls/s', 'one account', '1,000 accounts'),
        bound: { atLeast: 0.9 },
        judgedBy: 'median',
        unit: '',
      },
    ],
  },
  {
    name: 'rows',
    title: `Plain calls, ${CONNECTIONS} connections: an empty database, or one full of finished calls`,
    profile: 'mock-0ms',
    stream: false,
    contenders: [
      { name: 'empty', side: 'farebox', accounts: 1, history: false },
      { name: 'full', side: 'farebox', accounts: 1, history: true },
    ],
    columns: loadColumns,
    measure: underLoad,
    goals: [
      {
        what: 'full database / empty',
        value: ratio('calls/s', 'full', 'empty'),
        bound: { atLeast: 0.9 },
        judgedBy: 'median',
        unit: '',
      },
    ],
  },
  reading,
  {
    name: 'watcher',
    title: `Plain calls, ${CONNECTIONS} connections: nobody pays, or a payment a second is watched for and credited`,
    profile: 'mock-0ms',
    stream: false,
    contenders: [
      { name: 'at rest', side: 'farebox', accounts: 1, history: false },
      { name: 'watching', side: 'farebox', accounts: 1, history: false, payments: true },
    ],
    columns: [...loadColumns, 'payments'],
    measure: underLoad,
    goals: [
      {
        what: 'calls while payments are watched / without',
        value: ratio('calls/s', 'watching', 'at rest'),
        bound: { atLeast: 0.95 },
        judgedBy: 'median',
        unit: '',
      },
    ],
  },
]

async function underLoad({ load, target, seconds }: Tools): Promise<Measured> {
  const result = await load.run(target, { connections: CONNECTIONS, seconds })
  return {
    metrics: {
      'calls/s': result.answered / result.seconds,
      'p50 ms': result.p50Ms,
      'p99 ms': result.p99Ms,
    },
    answered: result.answered,
    notAnswered: result.refused + result.failed,
    cutOff: CONNECTIONS,
  }
}

function oneByOne(measure: typeof measureLatency): Scenario['measure'] {
  return async ({ target, seconds }) => {
    const { answered, refused, p50Ms, p99Ms } = await measure(target, seconds)
    return {
      metrics: { 'p50 ms': p50Ms, 'p99 ms': p99Ms },
      answered,
      notAnswered: refused,
      cutOff: 0,
    }
  }
}

async function streamsAtOnce({ target, serverPid }: Tools): Promise<Measured> {
  const { answered, broken, p50Ms, p99Ms, longestMs } = await measureStreams(target, STREAMS)
  const memory = serverPid === undefined ? undefined : await residentMb(serverPid)
  return {
    metrics: {
      'broken streams': broken,
      'p50 ms': p50Ms,
      'p99 ms': p99Ms,
      'longest ms': longestMs,
      ...(memory && { 'RSS MB': memory.highest }),
    },
    answered,
    notAnswered: broken,
    cutOff: 0,
  }
}

function divided(over: number | undefined, under: number | undefined): number | undefined {
  return over === undefined || under === undefined || under === 0 ? undefined : over / under
}

function difference(value: number | undefined, base: number | undefined): number | undefined {
  return value === undefined || base === undefined ? undefined : value - base
}
