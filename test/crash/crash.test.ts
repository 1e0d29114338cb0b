import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Outcome, type Round, runRounds, type Victim } from './rounds.ts'

/** The long form: FAREBOX_CRASH_ROUNDS=50, which also tries the test itself. FAREBOX_CRASH_SEED repeats a run. */
const ROUNDS = Number(process.env.FAREBOX_CRASH_ROUNDS ?? 3)
const SEED = Number(process.env.FAREBOX_CRASH_SEED ?? 1)
const LONG = ROUNDS > 3
/** Rounds without durability: enough for a window of some hundred milliseconds to be met. */
const POWER_ROUNDS = 4

const victims: readonly Victim[] = ['server', 'database', 'both']
/** Each kind in turn, at moments that the seed decides. */
const roundsOf = (count: number, kinds: readonly Victim[]): Round[] =>
  fc
    .sample(fc.integer({ min: 0, max: 200 }), { seed: SEED, numRuns: count })
    .map((afterCalls, index) => ({ victim: kinds[index % kinds.length] ?? 'both', afterCalls }))

function tell(rounds: readonly Round[], outcome: Outcome): void {
  process.stdout.write(
    `crash: seed ${SEED}, ${rounds.length} rounds, ${outcome.sent} requests, ${outcome.acknowledged} acknowledged, ${outcome.lost.length} lost, ${outcome.doubled.length} doubled, ` +
      `${outcome.leftBehind} left behind as usage_unknown, ${outcome.findings.length} audit findings, charged ${outcome.charged}\n`,
  )
}

test(`after kill -9 of server, database and both under load, ${ROUNDS} times, every acknowledged call is charged exactly once and nothing else is wrong`, {
  timeout: 60_000 + ROUNDS * 60_000,
}, async () => {
  const rounds = roundsOf(ROUNDS, victims)
  const outcome = await runRounds(rounds, { durable: true })
  tell(rounds, outcome)
  expect(outcome).toMatchObject({ lost: [], doubled: [], findings: [] })
  expect(outcome.fall).toBe(outcome.charged)
  expect(outcome.acknowledged).toBeGreaterThan(ROUNDS * 20)
  expect(outcome.leftBehind).toBeGreaterThan(0)
})

// Takes durability away from the same rounds: a test that then finds nothing would prove nothing.
if (LONG) {
  test('the same rounds find lost calls once the database does not wait for its log', {
    timeout: 600_000,
  }, async () => {
    const rounds = roundsOf(POWER_ROUNDS, ['both', 'database'])
    const outcome = await runRounds(rounds, { durable: false })
    tell(rounds, outcome)
    expect(outcome.lost.length).toBeGreaterThan(0)
  })
}
