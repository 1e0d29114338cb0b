import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * `npm run test:races [words]`: the long form of every race of the money and of who may move it, 200 repetitions each.
 * With words, only files whose path contains one of them. The repetitions are FAREBOX_RACE_REPEATS, when it is set.
 */

/** Files whose races count their own repetitions, and say how often each came out which way. */
const COUNTED = [
  'test/races/settling.test.ts',
  'test/races/budgets.test.ts',
  'test/races/two-processes.test.ts',
  'test/races/reaper.test.ts',
  'test/races/deploy.test.ts',
  'src/billing/idempotency/idempotency.test.ts',
  'src/identity/sessions/races.test.ts',
  'src/payments/orders/races.test.ts',
  'src/payments/one-credit.test.ts',
  'src/payments/watcher/racing.test.ts',
]
/** Tests that are one race each, by file and a part of their title: the runner repeats them. */
const WHOLE: ReadonlyArray<readonly [file: string, title: string]> = [
  ['test/races/locks.test.ts', 'waits for its family, and two that waited together are one'],
  ['src/identity/links/races.test.ts', 'beside an unlink by the'],
  ['src/identity/links/races.test.ts', 'a budget cut under 200 parallel holds'],
  ['src/identity/links/races.test.ts', "no hold that begins after the kill switch's answer"],
  ['src/identity/links/races.test.ts', 'a wallet that is linked and signs in for the first time at once'],
  ['src/billing/idempotency/idempotency.test.ts', 'fifty times at once'],
  ['src/billing/refunds/refunds.test.ts', 'refunds of one failed call at once'],
  ['src/identity/sessions/sessions.test.ts', 'of 50 exchanges of one refresh token'],
  ['src/identity/agent-sign-in/agent-sign-in.test.ts', 'verifies of one challenge at once'],
  ['src/identity/wallets/binding.test.ts', 'of 50 binds with one delegation'],
  ['src/payments/orders/making/making.test.ts', 'makes one order of 50 requests'],
  ['src/payments/orders/attempts.test.ts', 'of 25 at once one is reserved'],
]

const project = fileURLToPath(new URL('../..', import.meta.url))
const repeats = Number(process.env.FAREBOX_RACE_REPEATS ?? 200)
const words = process.argv.slice(2)
const chosen = (file: string): boolean => words.length === 0 || words.some((word) => file.includes(word))

/** Runs vitest and shows what it says; true when everything passed. */
async function run(args: readonly string[]): Promise<boolean> {
  const child = spawn(join(project, 'node_modules', '.bin', 'vitest'), ['run', ...args], {
    cwd: project,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, FAREBOX_RACE_REPEATS: String(repeats) },
  })
  return (await new Promise<number | null>((resolve) => child.once('close', resolve))) === 0
}

const counted = COUNTED.filter(chosen)
let passed = counted.length === 0 || (await run(counted))
for (const file of new Set(WHOLE.map(([name]) => name).filter(chosen))) {
  const titles = WHOLE.filter(([name]) => name === file).map(([, title]) => title)
  passed = (await run([file, `--repeats=${repeats - 1}`, '--testTimeout=600000', '-t', titles.join('|')])) && passed
}
process.exitCode = passed ? 0 : 1
