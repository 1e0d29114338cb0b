import { defineConfig } from 'vitest/config'

/** The tests that stand beside the money code and those of its lane: what a fault in `src/ledger` or `src/billing` has to be noticed by. */
// biome-ignore lint/style/noDefaultExport: the runner looks for the default export
export default defineConfig({
  test: {
    include: ['src/ledger/*.test.ts', 'src/billing/**/*.test.ts', 'test/races/lane.test.ts'],
    globalSetup: ['test/database-cluster.ts'],
    pool: 'forks',
    maxWorkers: 1,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
})
