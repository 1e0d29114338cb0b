import type { Settled } from '../../billing/calls/lifecycle.ts'
import { Fault } from '../../kernel/errors.ts'
import { type JsonObject, ProviderLost } from '../../providers/provider.ts'
import type { LocalCount } from './local-count.ts'
import { type ChatDeps, type Running, settle } from './running.ts'
import { errorFrame, framesOf, responseIdOf, rewriteBatch, type Sink, type StreamSeen, usageFrame } from './stream.ts'

/** Forwards all frames of a running call, settles it and writes the end. Never rejects: what goes wrong becomes a frame. */
export async function pump(
  deps: ChatDeps,
  running: Running,
  to: { sink: Sink; includeUsage: boolean; requestId: string },
): Promise<void> {
  const { outcome } = running.attempted
  const { sink } = to
  const seen: StreamSeen = { usage: undefined, rawUsage: undefined, lastFrame: undefined, error: undefined }
  let lost: string | undefined
  let drain: NodeJS.Timeout | undefined
  try {
    if (outcome.kind === 'lost') throw new ProviderLost(outcome.message)
    for await (const batch of outcome.kind === 'answer' ? framesOf(outcome.body) : outcome.batches) {
      if (running.count) for (const frame of batch) see(running.count, frame)
      const text = rewriteBatch(batch, seen, { modelId: running.model.id, includeUsage: to.includeUsage })
      // the client may be gone: what the provider does is paid for all the same, so it is read to its end
      if (sink.gone)
        drain ??= setTimeout(() => running.abort.abort(new Error('the drain limit was reached')), deps.drainMs)
      if (text.length > 0) await sink.write(text)
    }
  } catch (error) {
    lost = error instanceof ProviderLost ? error.message : 'the stream could not be read'
  } finally {
    clearTimeout(drain)
  }
  const broken = lost ?? seen.error?.message
  let ending = ''
  try {
    // a count of what was seen says nothing of what a broken stream still did
    const usage = seen.usage ?? (broken === undefined ? await running.count?.usage().catch(() => undefined) : undefined)
    const settled = await settle(deps, running, usage, broken === undefined ? 'success' : 'failed', {
      because: broken ?? 'the provider reported no usage',
      responseId: responseIdOf(seen),
    })
    if (broken !== undefined) ending = errorFrame('upstream_interrupted', interruption(broken, settled), to.requestId)
    else ending = `${to.includeUsage ? usageFrame(seen, running.model.id, settled.chargedMicro) : ''}data: [DONE]\n\n`
  } catch (error) {
    ending = errorFrame('internal_error', error instanceof Fault ? error.message : undefined, to.requestId)
  }
  await sink.write(ending)
}

/** Counts what a frame says. */
export function see(count: LocalCount, frame: string): void {
  try {
    count.see(JSON.parse(frame) as JsonObject)
  } catch {
    // what is no JSON has no tokens
  }
}

const interruption = (reason: string, settled: Settled): string =>
  `The provider's answer broke off (${reason}). ${moneyOf(settled)}`

/** What became of the money of a call that failed after its provider was asked, for people. */
export const moneyOf = (settled: Settled): string =>
  settled.state === 'usage_unknown'
    ? 'Its usage is unknown: the hold stays until the operator resolves it.'
    : `${settled.chargedMicro ?? 0n} microcredits were charged for what the provider reported; a failed call can be refunded.`
