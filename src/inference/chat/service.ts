import type { Settled } from '../../billing/calls/lifecycle.ts'
import { Fault } from '../../kernel/errors.ts'
import { type JsonObject, ProviderLost } from '../../providers/provider.ts'
import { readToItsEnd } from './drained.ts'
import { moneyOf, pump } from './pump.ts'
import { begin, type ChatCall, type ChatDeps, headersOf, type Running, settle } from './running.ts'
import { responseIdOf, type Sink } from './stream.ts'

/** A whole answer, ready to send. */
export interface ChatAnswer {
  readonly headers: Record<string, string>
  readonly body: JsonObject
}

/** A stream that may begin: send the headers, then `pump`. */
export interface ChatStream {
  readonly headers: Record<string, string>
  /** Forwards all frames, settles the call and writes the end. Never rejects: what goes wrong becomes a frame. */
  pump(sink: Sink): Promise<void>
}

/**
 * Answers a chat call whole. Money is held before the provider is asked and captured before the answer is given.
 * Refuses as openCall does, with `model_not_found`, and with what attemptInOrder says of providers.
 */
export async function answerChat(deps: ChatDeps, request: ChatCall): Promise<ChatAnswer> {
  const running = await begin(deps, request, false)
  const { outcome } = running.attempted
  try {
    if (outcome.kind === 'stream') throw await streamedInstead(deps, running, outcome.batches)
    if (outcome.kind === 'lost') throw new ProviderLost(outcome.message)
    running.count?.see(outcome.body)
    const usage = outcome.usage ?? (await running.count?.usage().catch(() => undefined))
    const settled = await settle(deps, running, usage, 'success', {
      because: 'the provider reported no usage',
      responseId: outcome.body.id,
    })
    const body: JsonObject = { ...outcome.body, model: running.model.id }
    if (typeof body.usage === 'object' && body.usage !== null && settled.chargedMicro !== undefined) {
      body.usage = { ...body.usage, cost_micro: Number(settled.chargedMicro) }
    }
    return { headers: { ...headersOf(running), ...settledHeaders(settled) }, body }
  } catch (error) {
    if (!(error instanceof ProviderLost)) throw error
    await settle(deps, running, undefined, 'failed', {
      because: `the provider was lost: ${error.message}`,
      responseId: undefined,
    })
    throw new Fault('upstream_timeout', {
      message: `The provider was lost before its answer came. Its usage is unknown, so ${Number(running.call.reserveMicro)} microcredits stay held until the operator resolves call ${running.call.callId}.`,
      headers: headersOf(running),
      fields: { call_id: String(running.call.callId) },
      cause: error,
    })
  } finally {
    running.release()
  }
}

/** The refusal of a call whose provider streamed although a whole answer was asked for, its money settled by the stream. */
async function streamedInstead(
  deps: ChatDeps,
  running: Running,
  batches: AsyncIterable<readonly string[]>,
): Promise<Fault> {
  const { seen, lost } = await readToItsEnd(deps, running, batches)
  // a count of what was seen says nothing of what a broken stream still did
  const usage = seen.usage ?? (lost === undefined ? await running.count?.usage().catch(() => undefined) : undefined)
  const settled = await settle(deps, running, usage, 'failed', {
    because: lost ?? 'the provider reported no usage',
    responseId: responseIdOf(seen),
  })
  return new Fault('upstream_interrupted', {
    message: `The provider answered with a stream where a whole answer was asked for, which cannot be given on. ${moneyOf(settled)}`,
    // a client that repeats it by itself pays again, and fares no better
    headers: { ...headersOf(running), ...settledHeaders(settled), 'x-should-retry': 'false' },
    fields: { call_id: String(running.call.callId) },
  })
}

/** Opens a streamed chat call. Refuses like answerChat; once this resolves, everything else is said inside the stream. */
export async function streamChat(deps: ChatDeps, request: ChatCall): Promise<ChatStream> {
  const running = await begin(deps, request, true)
  const options = request.body.stream_options as { include_usage?: unknown } | null | undefined
  const includeUsage = options?.include_usage === true
  return {
    headers: headersOf(running),
    pump: (sink) => pump(deps, running, { sink, includeUsage, requestId: request.requestId }).finally(running.release),
  }
}

function settledHeaders(settled: Settled): Record<string, string> {
  return {
    'x-credits-available-micro': String(settled.availableMicro),
    ...(settled.chargedMicro === undefined
      ? { 'x-billing-state': settled.state === 'shortfall' ? 'pending_settlement' : settled.state }
      : { 'x-credits-charged-micro': String(settled.chargedMicro) }),
  }
}
