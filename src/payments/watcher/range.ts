import { RangeRefused } from '../../chains/chain.ts'

/** How many blocks are asked for at once, adapted to what nodes give. */
export interface AdaptiveRange {
  /** Does a step with as many blocks as nodes give: halves them when a node wants less, and grows again after a while. */
  step<T>(work: (blocks: bigint) => Promise<T>): Promise<T>
}

const RANGE_MAX = 2_000n
const RANGE_START = 500n
const SUCCESSES_TO_GROW = 20

/** One for each chain: all its nodes must give what is asked for. */
export function adaptiveRange(): AdaptiveRange {
  let range = RANGE_START
  let successes = 0
  return {
    async step(work) {
      for (;;) {
        try {
          const done = await work(range)
          successes += 1
          if (successes % SUCCESSES_TO_GROW === 0) range = range * 2n > RANGE_MAX ? RANGE_MAX : range * 2n
          return done
        } catch (error) {
          // a node that refuses a single block is not helped by asking for less
          if (!(error instanceof RangeRefused) || range === 1n) throw error
          successes = 0
          range /= 2n
        }
      }
    },
  }
}
