import { inspect } from 'node:util'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { auditLedger } from '../../src/ledger/audit.ts'
import { type Lane, openLane } from '../../src/ledger/lane.ts'
import { freshDatabase, type TestDatabase } from '../database.ts'
import { anyStep, type Step } from './commands.ts'
import {
  answerOf,
  changeWorld,
  commandOf,
  databaseBalances,
  emptyDatabase,
  makeWorld,
  modelBalances,
  operationOf,
  remember,
  type World,
} from './world.ts'

/** The long form: FAREBOX_MODEL_SEEDS=200 FAREBOX_MODEL_OPERATIONS=300, and FAREBOX_MODEL_SEED to begin elsewhere. */
const SEEDS = Number(process.env.FAREBOX_MODEL_SEEDS ?? 30)
const OPERATIONS = Number(process.env.FAREBOX_MODEL_OPERATIONS ?? 100)
const SEED = Number(process.env.FAREBOX_MODEL_SEED ?? 1)
const AUDIT_EVERY = 25

const seen = new Map<string, number>()
let database: TestDatabase
let lane: Lane
beforeAll(async () => {
  database = await freshDatabase()
  lane = openLane({ url: database.url, processId: 1n, answerTimeoutMs: 20_000 })
})
afterAll(async () => {
  await lane.close()
  await database.drop()
})

/** What a run begins with: an owner that can fund its Agents for a while. */
const opening: readonly Step[] = [
  { step: 'grant', account: 0, kind: 'purchased', expires: null, amount: 20_000 },
  { step: 'grant', account: 1, kind: 'promo', expires: 3, amount: 500 },
  { step: 'grant', account: 3, kind: 'bonus', expires: null, amount: 5_000 },
]

/** Runs the steps in an empty database and in the model; fails at the first difference. */
async function run(steps: readonly Step[]): Promise<void> {
  await emptyDatabase(database)
  const world = await makeWorld(database)
  for (const step of opening) await changeWorld(world, step)
  for (const [index, step] of steps.entries()) {
    await take(world, step)
    const expected = modelBalances(world)
    expect(await databaseBalances(database), `balances after step ${index}: ${inspect(step)}`).toEqual(expected)
    if ((index + 1) % AUDIT_EVERY === 0 || index === steps.length - 1)
      expect(await audit(), `audit after step ${index}`).toEqual([])
  }
}

async function take(world: World, step: Step): Promise<void> {
  const command = commandOf(world, step)
  if (!command) return changeWorld(world, step)
  const expected = world.model.apply(command)
  const [applied] = await lane.apply([operationOf(command)])
  if (!applied) throw new Error('no answer')
  expect({ command, ...answerOf(applied) }).toEqual({ command, ...expected })
  remember(world, command)
  const mark = `${command.operation} ${expected.status}${expected.whose ? ` by ${expected.whose}` : ''}`
  seen.set(mark, (seen.get(mark) ?? 0) + 1)
}

/** The audit, without the check for live processes: the holds of this test have none. */
const audit = async () =>
  (await auditLedger(database.db)).filter((finding) => finding.check_name !== 'open_hold_without_process')

test(`the ledger answers and moves money as an independent model does, over ${SEEDS} random runs of about ${OPERATIONS} operations`, {
  timeout: 3_600_000,
}, async () => {
  let operations = 0
  // lengths are drawn evenly from nothing to twice the mean, so that a failing run can be shrunk
  const runs = fc.array(anyStep, { maxLength: OPERATIONS * 2, size: 'max' })
  await fc.assert(
    fc.asyncProperty(runs, async (steps) => {
      await run(steps)
      operations += steps.length
    }),
    { seed: SEED, numRuns: SEEDS, unbiased: true, endOnFailure: false },
  )
  process.stdout.write(
    `model: seed ${SEED}, ${SEEDS} runs, ${operations} operations, all equal\n${[...seen]
      .sort()
      .map(([mark, count]) => `  ${mark}: ${count}`)
      .join('\n')}\n`,
  )
  // a run that never came to one of these proves nothing about it
  const marks = [
    'reserve reserved',
    'reserve conflict',
    'reserve insufficient_credits',
    'reserve budget_exceeded by key',
    'reserve budget_exceeded by link',
    'reserve unauthorized',
    'reserve account_banned',
    'reserve account_deactivated',
    'capture captured',
    'capture shortfall',
    'capture already_resolved',
    'capture hold_not_found',
    'void voided',
    'void already_resolved',
    'unknown usage_unknown',
    'unknown already_resolved',
  ]
  expect(marks.filter((mark) => !seen.has(mark))).toEqual([])
})
