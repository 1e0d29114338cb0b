/** The five characters by which PostgreSQL says what an error is; undefined where an error has no code. */
export function sqlState(error: unknown): unknown {
  return error instanceof Error ? (error as { code?: unknown }).code : undefined
}

/** True for a transaction that lost to another one, or met it crosswise: begun anew it can succeed. */
export function isSerialization(error: unknown): boolean {
  const state = sqlState(error)
  return state === '40001' || state === '40P01'
}
