import { relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Files that take longest, and are not the largest: what is begun last should be short, or one processor waits for the other. */
const LONG_FIRST: readonly string[] = [
  'src/payments/x402/crash.test.ts',
  'test/crash/crash.test.ts',
  'test/races/lane.test.ts',
  'test/contract.test.ts',
  'test/readme.test.ts',
  'test/model/model.test.ts',
  'test/relayer-secret.test.ts',
]

/**
 * The order of test files: the long ones, while the world of the browser tests starts; then those, the longest of all
 * first; then the rest by their size.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId, project }: TestSpecification): number => {
      const place = LONG_FIRST.indexOf(relative(project.config.root, moduleId).replaceAll('\\', '/'))
      if (place >= 0) return place
      return project.name === 'browser' ? LONG_FIRST.length : LONG_FIRST.length + 1
    }
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b))
  }
}
