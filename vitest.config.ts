import { defineConfig } from 'vitest/config'

/** Slow files first would be nicer, but two workers on two cores keep both busy all the same. */
// biome-ignore lint/style/noDefaultExport: the runner looks for the default export
export default defineConfig({
  test: {
    include: [
      'src/**/*.test.ts',
      'console/src/**/*.test.ts',
      'sdk/src/**/*.test.ts',
      'test/**/*.test.ts',
      'bench/**/*.test.ts',
    ],
    globalSetup: ['test/database-cluster.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    reporters: process.env.CI ? ['default'] : ['default'],
  },
})
