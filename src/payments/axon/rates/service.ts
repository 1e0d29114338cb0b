import type { Database } from '../../../db/database.ts'
import type { Clock } from '../../../kernel/clock.ts'
import { Fault } from '../../../kernel/errors.ts'
import { CLOCK_SKEW_MS } from '../settings.ts'
import type { RateSource } from './source.ts'
import * as store from './store.ts'

/** What a coin is worth, now and before. Every rate that is used is a stored sample. */
export interface Rates {
  /** The rate in force. Refuses with `rate_unavailable` when none is fresh. */
  current(): Promise<store.Sample>
  /** The rate when a block was made; undefined when none was sampled about then. */
  at(blockAt: Date): Promise<store.Sample | undefined>
  /** The newest sample there is, however old. */
  newest(): Promise<store.Sample | undefined>
  /** Takes a sample unless there is one that is young enough, and forgets those that nobody needs any more. */
  refresh(): Promise<void>
}

/** Samples that no quote was made with are kept for so long. */
const KEPT_MS = 30 * 24 * 3_600_000
const RETRY_MS = 10_000

/** Opens the rates of one source. A sample is taken anew at half its greatest age, by one request at a time. */
export function openRates({ db, clock, source }: { db: Database; clock: Clock; source: RateSource }): Rates {
  let reading: Promise<store.Sample> | undefined
  const age = (at: Date): number => clock.now().getTime() - at.getTime()
  const newest = () => store.newest(db, source.kind, clock.now())
  const read = () => {
    reading ??= source
      .read()
      .then((read) => {
        // a source's clock may be ahead of ours by a little, not by more
        if (age(read.observedAt) > source.maxAgeMs || age(read.observedAt) < -CLOCK_SKEW_MS)
          throw new Error('the rate that could be read is too old')
        return store.insert(db, source.kind, read, clock.now())
      })
      .finally(() => {
        reading = undefined
      })
    return reading
  }
  const youngEnough = async (): Promise<store.Sample | undefined> => {
    // what the operator says holds from the start that read it
    if (source.kind === 'fixed') {
      const [kept, { rate }] = await Promise.all([newest(), source.read()])
      return kept?.rate === rate && age(kept.sampledAt) < source.maxAgeMs / 2 ? kept : undefined
    }
    const kept = await newest()
    return kept && age(kept.sampledAt) < source.maxAgeMs / 2 && age(kept.observedAt) < source.maxAgeMs
      ? kept
      : undefined
  }
  return {
    newest,
    async current() {
      const young = await youngEnough()
      if (young) return young
      try {
        return await read()
      } catch (cause) {
        const kept = source.kind === 'fixed' ? undefined : await newest()
        if (kept && age(kept.observedAt) < source.maxAgeMs) return kept
        throw new Fault('rate_unavailable', { cause, retryAfterMs: RETRY_MS })
      }
    },
    async at(blockAt) {
      const sample = await store.newest(db, source.kind, new Date(blockAt.getTime() + CLOCK_SKEW_MS))
      return sample && blockAt.getTime() - sample.observedAt.getTime() <= source.maxAgeMs ? sample : undefined
    },
    async refresh() {
      if (await youngEnough()) return
      await read()
      await store.forgetBefore(db, new Date(clock.now().getTime() - KEPT_MS))
    },
  }
}
