import { defineConfig } from 'vitest/config'
import { LongestFirst } from './test/order.ts'

/** Two kinds of tests: those that stand on one PostgreSQL, and those that look at one running server with one browser. */
// biome-ignore lint/style/noDefaultExport: the runner looks for the default export
export default defineConfig({
  test: {
    pool: 'forks',
    maxWorkers: 2,
    sequence: { sequencer: LongestFirst },
    testTimeout: 60_000,
    hookTimeout: 60_000,
    reporters: ['default'],
    projects: [
      {
        extends: true,
        test: {
          name: 'house',
          // modules are loaded once for each worker, not for each file: half of a file's time was theirs
          isolate: false,
          include: [
            'src/**/*.test.ts',
            'console/src/**/*.test.ts',
            'sdk/src/**/*.test.ts',
            'test/**/*.test.ts',
            'bench/**/*.test.ts',
          ],
          exclude: ['test/browser/**'],
          globalSetup: ['test/database-cluster.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'browser',
          include: ['test/browser/**/*.test.ts'],
          globalSetup: ['test/browser/shared-world.ts'],
          // a browser, a server, a chain and the operator's commands share what cores there are
          testTimeout: 240_000,
          hookTimeout: 240_000,
        },
      },
    ],
  },
})
