/** The time, passed in so that tests move it by hand. Money decisions use the database's clock instead. */
export interface Clock {
  now(): Date
  /** Milliseconds that never run backwards, for measuring. */
  monotonicMs(): number
}

/** The machine's clock. The only place besides main.ts that may read ambient time. */
export const systemClock: Clock = {
  now: () => new Date(),
  monotonicMs: () => performance.now(),
}
