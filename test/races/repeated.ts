import { expect, type TestContext } from 'vitest'

/** How often each race is run: `short` times in `npm test`, 200 in the long form, `npm run test:races`. */
export const raceRepeats = (short: number): number => Number(process.env.FAREBOX_RACE_REPEATS ?? short)

/**
 * How many do one thing at once: `alone` in `npm test`, where a race of very many runs once, and `repeated` in each of
 * the 200 repetitions of the long form, where they would only wait for a connection to the database.
 */
export const atOnce = (alone: number, repeated: number): number =>
  process.env.FAREBOX_RACE_REPEATS === undefined ? alone : repeated

/**
 * Runs a race so often and prints how often it came out which way. Fails on an outcome that is not among `allowed`;
 * that each of them comes up is luck, and asked of nobody.
 * The race is told its turn, so that the two sides can take turns in beginning.
 */
export async function repeatedRace(
  title: string,
  repeats: number,
  allowed: readonly string[],
  race: (turn: number) => Promise<string>,
): Promise<void> {
  const outcomes = new Map<string, number>()
  for (let n = 0; n < repeats; n++) {
    const outcome = await race(n)
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
  }
  process.stdout.write(`race: ${title}, ${repeats} times: ${JSON.stringify(Object.fromEntries(outcomes))}\n`)
  expect([...outcomes.keys()].filter((outcome) => !allowed.includes(outcome))).toEqual([])
}

/** Begins both, the second one first in every other turn. */
export async function inTurns<A, B>(turn: number, one: () => Promise<A>, other: () => Promise<B>): Promise<[A, B]> {
  if (turn % 2 === 0) return Promise.all([one(), other()])
  const late = other()
  return Promise.all([one(), late])
}

/**
 * True after the last of the repetitions that the runner makes of a test. What looks through everything that was ever
 * written, as the audit does, is asked then: what went wrong in an earlier repetition is wrong there still.
 */
export const isLastRepetition = ({ task }: Pick<TestContext, 'task'>): boolean =>
  (task.result?.repeatCount ?? 0) >= (task.repeats ?? 0)
