import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { wireForm } from '../../src/ledger/operations.ts'
import { BALANCES_AND_HOLDS } from './balances.ts'
import { type Bench, openBench } from './bench.ts'
import { anyStep, endStep, repeatStep, reserveStep } from './commands.ts'
import type { LedgerCommand } from './model.ts'
import { operationOf } from './statements.ts'
import { commandOf, makeWorld, remember, take, type World } from './world.ts'

/** The long form: FAREBOX_BATCH_RUNS=1000. */
const RUNS = Number(process.env.FAREBOX_BATCH_RUNS ?? 60)
const SEED = Number(process.env.FAREBOX_MODEL_SEED ?? 1)
/** Whether a failing run is made smaller; who only asks whether one fails does not wait for that. */
const SHRINK = process.env.FAREBOX_MODEL_SHRINK !== '0'

let bench: Bench
beforeAll(async () => {
  bench = await openBench()
})
afterAll(() => bench.close())

/** Applies the commands in flushes that end at `cuts`, looks at everything, and takes it back. */
async function outcome(commands: readonly LedgerCommand[], cuts: readonly number[]): Promise<Record<string, unknown>> {
  const { client } = bench
  await client.query('savepoint before')
  try {
    const answers: unknown[] = []
    const edges = [0, ...cuts, commands.length]
    for (let n = 1; n < edges.length; n += 1) {
      const flush = commands.slice(edges[n - 1], edges[n])
      if (flush.length === 0) continue
      const { rows } = await client.query('select status, amount_micro, detail from ledger_apply($1)', [
        JSON.stringify(flush.map((command) => wireForm(operationOf(command), 1n))),
      ])
      answers.push(...rows.map((row, index) => ({ ...flush[index], ...row })))
    }
    const { rows: balances } = await client.query(BALANCES_AND_HOLDS)
    const { rows: flags } = await client.query(`select hold_id, flag, actual_micro from hold_flags order by 1, 2`)
    const { rows: moved } = await client.query(
      `select hold_id, debit_id, sum(amount_micro) as amount from transfers where kind = 'capture' group by 1, 2 order by 1, 2`,
    )
    const { rows: findings } = await client.query(
      `select * from ledger_audit() where check_name <> 'open_hold_without_process'`,
    )
    return { answers, balances, flags, moved, findings }
  } finally {
    await client.query('rollback to savepoint before')
  }
}

/** Brings the database and the model to some state, by the steps of the model test. */
async function prepare(world: World, steps: readonly Parameters<typeof take>[1][]): Promise<void> {
  await bench.run(steps.flatMap((step) => take(world, step)?.sql ?? []))
}

/** So much for everybody that whole families fit, over several buckets. */
const wealth = [0, 1, 2, 3].flatMap((account) =>
  [null, 1, 2].map((expires) => ({ step: 'grant' as const, account, kind: 'promo' as const, expires, amount: 7_000 })),
)

test(`one flush of many operations, the same in several flushes, and one by one give equal answers, balances and a clean audit, over ${RUNS} random states`, {
  timeout: 3_600_000,
}, async () => {
  let operations = 0
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        before: fc.array(anyStep, { maxLength: 60, size: 'max' }),
        ends: fc.array(endStep, { maxLength: 20, size: 'max' }),
        reserves: fc.array(fc.oneof({ weight: 5, arbitrary: reserveStep }, { weight: 1, arbitrary: repeatStep }), {
          maxLength: 30,
          size: 'max',
        }),
        rich: fc.boolean(),
        cuts: fc.array(fc.nat({ max: 49 }), { maxLength: 5 }),
      }),
      async ({ before, ends, reserves, rich, cuts }) => {
        const world = makeWorld()
        await bench.client.query('begin')
        try {
          await prepare(world, rich ? [...wealth, ...before] : before)
          // the order of one flush: ends of holds, then holds
          const commands: LedgerCommand[] = []
          for (const step of [...ends, ...reserves]) {
            const command = commandOf(world, step)
            // what is repeated may be an end, which would not stand at its place
            if (!command || (reserves.includes(step as never) && command.operation !== 'reserve')) continue
            commands.push(command)
            if (command.operation === 'reserve') remember(world, command)
          }
          const singly = await outcome(
            commands,
            commands.map((_, index) => index + 1),
          )
          expect(singly.findings).toEqual([])
          expect(await outcome(commands, []), 'as one flush').toEqual(singly)
          const somewhere = cuts.map((cut) => cut % (commands.length + 1)).sort((a, b) => a - b)
          expect(await outcome(commands, somewhere), `in flushes cut at ${somewhere}`).toEqual(singly)
          operations += commands.length
        } finally {
          await bench.client.query('rollback')
        }
      },
    ),
    { seed: SEED, numRuns: RUNS, unbiased: true, endOnFailure: !SHRINK },
  )
  process.stdout.write(
    `batches: seed ${SEED}, ${RUNS} states, ${operations} operations each applied three ways, all equal\n`,
  )
  expect(operations).toBeGreaterThan(RUNS * 10)
})
