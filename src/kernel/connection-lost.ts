/** True for errors that mean that the database cannot be reached or is going away: answered as 503, never as 500. */
export function isConnectionLost(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = (error as { code?: unknown }).code
  if (typeof code === 'string' && /^(08|57P0)/.test(code)) return true
  if (typeof code === 'string' && codes.has(code)) return true
  return /Connection terminated|timeout expired|timeout exceeded when trying to connect|Client has encountered a connection error|Cannot use a pool after calling end/.test(
    error.message,
  )
}

const codes = new Set(['ECONNREFUSED', 'ECONNRESET', 'ENOENT', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN', '53300'])
