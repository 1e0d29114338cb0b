import { RateLimitError, UnavailableError } from './errors.ts'
import type { Transport } from './transport.ts'

/** A server that does not answer for longer than this, tries and all, is not waited for any more. */
const AWAY_MS = 120_000
const AGAIN_MS = 2_000

/** What is followed, and until when. */
export interface Followed<T> {
  read(): Promise<T>
  isOver(seen: T): boolean
  /** How long to wait before the next look. */
  paceMs(seen: T): number
}

/** Looks until it is over. A server that restarts meanwhile, or is busy, is asked again. */
export async function followed<T>(
  transport: Transport,
  { read, isOver, paceMs }: Followed<T>,
  signal: AbortSignal | undefined,
): Promise<T> {
  let answeredAt = transport.now()
  // waits count by themselves, since tries that fail at once take no time
  for (let awayMs = 0, waitMs: number; ; awayMs += waitMs) {
    try {
      const seen = await read()
      if (isOver(seen)) return seen
      answeredAt = transport.now()
      waitMs = paceMs(seen)
      awayMs = -waitMs
    } catch (error) {
      const mayPass = error instanceof UnavailableError || error instanceof RateLimitError
      const silentMs = Math.max(awayMs, transport.now() - answeredAt)
      if (!mayPass || signal?.aborted || silentMs >= AWAY_MS) throw error
      waitMs = Math.max(error.retryAfterMs ?? 0, AGAIN_MS)
    }
    await transport.sleep(waitMs, signal)
  }
}
