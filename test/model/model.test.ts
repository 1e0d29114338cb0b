import { inspect } from 'node:util'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { modelBalances } from './balances.ts'
import { type Bench, openBench } from './bench.ts'
import { anyStep, type Step } from './commands.ts'
import { makeWorld, take } from './world.ts'

/** The long form: npm run test:model; FAREBOX_MODEL_SEED begins elsewhere, FAREBOX_MODEL_FROM takes a broken-off one up after so many runs. */
const SEEDS = Number(process.env.FAREBOX_MODEL_SEEDS ?? 100)
const OPERATIONS = Number(process.env.FAREBOX_MODEL_OPERATIONS ?? 200)
const SEED = Number(process.env.FAREBOX_MODEL_SEED ?? 1)
const FROM = Number(process.env.FAREBOX_MODEL_FROM ?? 0)
/** The long form takes an hour: it says how far it is. */
const PROGRESS_EVERY = 50
/** Whether a failing run is made smaller; who only asks whether one fails does not wait for that. */
const SHRINK = process.env.FAREBOX_MODEL_SHRINK !== '0'
/** Every answer is compared; a wrong balance stays wrong, so that looking now and then finds it, and shrinking its step. */
const EVERY = { balances: 5, holds: 50, audit: 100 }

const seen = new Map<string, number>()
let bench: Bench
beforeAll(async () => {
  bench = await openBench()
})
afterAll(() => bench.close())

/** What a run begins with: owners that can fund their Agents for a while. */
const opening: readonly Step[] = [
  { step: 'grant', account: 0, kind: 'purchased', expires: null, amount: 20_000 },
  { step: 'grant', account: 1, kind: 'promo', expires: 3, amount: 500 },
  { step: 'grant', account: 3, kind: 'bonus', expires: null, amount: 5_000 },
  { step: 'grant', account: 4, kind: 'purchased', expires: null, amount: 3_000 },
]

/** Runs the steps in the model, then in the database; fails at the first difference. Gives how many did something. */
async function run(steps: readonly Step[]): Promise<number> {
  const world = makeWorld()
  let count = 0
  const deeds = [...opening, ...steps].flatMap((step) => {
    const deed = take(world, step)
    if (!deed) return []
    count += 1
    return [{ step, ...deed, balances: modelBalances(world, count % EVERY.holds === 0) }]
  })
  const last = deeds.at(-1)
  if (last) last.balances = modelBalances(world, true)
  const observed = await bench.observe(
    deeds.map((deed) => deed.sql),
    EVERY,
  )
  for (const [index, { step, mark, expected, balances }] of deeds.entries()) {
    const real = observed[index]
    const where = `step ${index}: ${inspect(step)}`
    expect({ step, answer: real?.answer }, where).toEqual({ step, answer: expected })
    if (real?.balances) expect(real.balances, `balances after ${where}`).toEqual(balances)
    expect(real?.findings, `audit after ${where}`).toEqual([])
    seen.set(mark, (seen.get(mark) ?? 0) + 1)
  }
  return deeds.length
}

test(`the ledger answers and moves money as an independent model does, over ${SEEDS} random runs of about ${OPERATIONS} operations`, {
  timeout: 36_000_000,
}, async () => {
  let operations = 0
  let drawn = 0
  // lengths are drawn evenly from nothing to twice the mean, so that a failing run can be shrunk
  const runs = fc.array(anyStep, { maxLength: OPERATIONS * 2, size: 'max' })
  await fc.assert(
    fc.asyncProperty(runs, async (steps) => {
      // drawn all the same, so that the others are what they are in a whole run
      drawn += 1
      if (drawn > FROM) operations += await run(steps)
      if (drawn % PROGRESS_EVERY === 0) process.stdout.write(`model: run ${drawn} of ${SEEDS}\n`)
    }),
    { seed: SEED, numRuns: SEEDS, unbiased: true, endOnFailure: !SHRINK },
  )
  process.stdout.write(
    `model: seed ${SEED}, runs ${FROM + 1} to ${SEEDS}, ${operations} operations, all equal\n${[...seen]
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
    'authorize authorized',
    'authorize insufficient',
    'authorize settled',
    'authorize usage_unknown',
    'authorize running',
    'refund refunded',
    'refund repeated',
    'refund call_successful',
    'refund nothing_charged',
    'refund not_original_account',
    'refund usage_unknown',
    'refund pending_settlement',
    'refund call_running',
    'sweep some',
    'link',
    'unlink',
  ]
  expect(marks.filter((mark) => !seen.has(mark))).toEqual([])
})
