/** Throws when something that must hold does not: a fault of ours, never of the caller's input (those are refusals, see errors.ts). */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new AssertionFailed(message)
}

/** A broken invariant. Answered as 500 `internal_error`; never retried. */
export class AssertionFailed extends Error {
  override name = 'AssertionFailed'
}
