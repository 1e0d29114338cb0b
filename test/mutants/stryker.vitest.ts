import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Files that take seconds, the longest last: they are asked when all others have missed a fault. */
const SLOW = ['audit', 'refunds', 'idempotency', 'credits', 'roll-up', 'statement', 'races/lane']
const slowness = ({ moduleId }: TestSpecification): number =>
  SLOW.findIndex((name) => moduleId.endsWith(`${name}.test.ts`))

class QuickFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return files.toSorted((a, b) => slowness(a) - slowness(b))
  }
}

/** The tests that stand beside the money code and those of its lane: what a fault in `src/ledger` or `src/billing` has to be noticed by. */
// biome-ignore lint/style/noDefaultExport: the runner looks for the default export
export default defineConfig({
  test: {
    include: ['src/ledger/*.test.ts', 'src/billing/**/*.test.ts', 'test/races/lane.test.ts'],
    globalSetup: ['test/database-cluster.ts'],
    pool: 'forks',
    maxWorkers: 1,
    // the files of one fault share what they load
    isolate: false,
    sequence: { sequencer: QuickFirst },
    // the random tests short enough to be run a thousand times, and the same each time
    env: { FAREBOX_STATEMENT_HISTORIES: '3', FAREBOX_STATEMENT_SEED: '1', FAREBOX_PROXY_ROUNDS: '4' },
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
})
