import { ProviderLost } from '../../providers/provider.ts'
import { see } from './pump.ts'
import type { ChatDeps, Running } from './running.ts'
import { rewriteBatch, type StreamSeen } from './stream.ts'

/**
 * Reads a stream that nobody asked for to its end, for the usage in it: the provider did the work, whatever form its
 * answer has. What it said is dropped. After `drainMs` it is broken off. `lost`: it broke off, so what is not known by
 * then stays unknown.
 */
export async function readToItsEnd(
  { drainMs }: Pick<ChatDeps, 'drainMs'>,
  running: Pick<Running, 'model' | 'count' | 'abort'>,
  batches: AsyncIterable<readonly string[]>,
): Promise<{ readonly seen: StreamSeen; readonly lost: string | undefined }> {
  const seen: StreamSeen = { usage: undefined, rawUsage: undefined, lastFrame: undefined, error: undefined }
  const limit = setTimeout(() => running.abort.abort(new Error('the drain limit was reached')), drainMs)
  try {
    for await (const batch of batches) {
      if (running.count) for (const frame of batch) see(running.count, frame)
      rewriteBatch(batch, seen, { modelId: running.model.id, includeUsage: false })
    }
    return { seen, lost: seen.error?.message }
  } catch (error) {
    return { seen, lost: error instanceof ProviderLost ? error.message : 'the stream could not be read' }
  } finally {
    clearTimeout(limit)
  }
}
