import type { CallsDeps, OpenCall, Settled } from '../../billing/calls/lifecycle.ts'
import { openCall } from '../../billing/calls/lifecycle.ts'
import type { ModelConfig, Price } from '../../config/models.ts'
import { priceInForce } from '../../config/models.ts'
import type { Caller } from '../../kernel/caller.ts'
import type { Clock } from '../../kernel/clock.ts'
import { Fault } from '../../kernel/errors.ts'
import { MICROCREDITS_MAX, type Microcredits } from '../../kernel/money.ts'
import type { ChatProvider, JsonObject, Usage } from '../../providers/provider.ts'
import { ProviderLost } from '../../providers/provider.ts'
import { type Attempted, attemptInOrder } from './attempts.ts'
import { type Bounds, boundsOf, costOf, holdFor, outputTokensCovered, providerCostOf } from './bounds.ts'
import { countLocally, type LocalCount } from './local-count.ts'
import { errorFrame, framesOf, rewriteBatch, type Sink, type StreamSeen, usageFrame } from './stream.ts'

/** What a finished chat call was, for metrics: never with its content. */
export interface ChatReport {
  readonly model: string
  readonly provider: string | undefined
  readonly state: Settled['state']
  readonly chargedMicro: bigint | undefined
  readonly providerCostMicro: bigint | undefined
}

/** What a billed chat call needs from outside. */
export interface ChatDeps extends CallsDeps {
  /** Models by id; a function, so that prices and models can change while calls run. */
  readonly models: () => ReadonlyMap<string, ModelConfig>
  readonly providers: Readonly<Record<string, ChatProvider>>
  readonly clock: Clock
  /** How long a provider's stream is read on after its client left. */
  readonly drainMs: number
  /** Aborted when the server must end: what still runs then becomes `usage_unknown`. */
  readonly ending: AbortSignal
  readonly onAttempt: (provider: string, kind: string) => void
  readonly onChat: (report: ChatReport) => void
}

/** A chat request as it came in, its shape already checked. */
export interface ChatCall {
  readonly caller: Caller
  readonly requestId: string
  readonly body: JsonObject
}

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

/** A call with its model, the price in force and what they make it hold. */
export interface Priced {
  readonly model: ModelConfig
  readonly price: Price
  readonly bounds: Bounds
  readonly wantedMicro: Microcredits
  readonly minimumMicro: Microcredits
}

/** A call whose provider was asked: everything that its end needs. */
interface Running extends Priced {
  readonly call: OpenCall
  readonly attempted: Attempted
  readonly abort: AbortController
  /** Where the operator chose to count what the provider does not report. */
  readonly count: LocalCount | undefined
  readonly release: () => void
}

/** What a call would hold, without making it (an extension: decisions, gateways' "estimate"). */
export function estimate(deps: Pick<ChatDeps, 'models' | 'clock'>, body: JsonObject): Priced {
  return price(deps, body)
}

/**
 * Answers a chat call whole. Money is held before the provider is asked and captured before the answer is given.
 * Refuses as openCall does, with `model_not_found`, and with what attemptInOrder says of providers.
 */
export async function answerChat(deps: ChatDeps, request: ChatCall): Promise<ChatAnswer> {
  const running = await begin(deps, request, false)
  const { outcome } = running.attempted
  try {
    if (outcome.kind === 'stream') throw new ProviderLost('a stream came where a whole answer was asked for')
    if (outcome.kind === 'lost') throw new ProviderLost(outcome.message)
    running.count?.see(outcome.body)
    const usage = outcome.usage ?? (await running.count?.usage().catch(() => undefined))
    const settled = await settle(deps, running, usage, 'success', 'the provider reported no usage')
    const body: JsonObject = { ...outcome.body, model: running.model.id }
    if (typeof body.usage === 'object' && body.usage !== null && settled.chargedMicro !== undefined) {
      body.usage = { ...body.usage, cost_micro: Number(settled.chargedMicro) }
    }
    return { headers: { ...headersOf(running), ...settledHeaders(settled) }, body }
  } catch (error) {
    if (!(error instanceof ProviderLost)) throw error
    await settle(deps, running, undefined, 'failed', `the provider was lost: ${error.message}`)
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

function price(deps: Pick<ChatDeps, 'models' | 'clock'>, body: JsonObject): Priced {
  const id = body.model as string
  const model = deps.models().get(id)
  const inForce = model?.enabled ? priceInForce(model, deps.clock.now()) : undefined
  if (!model || !inForce) throw new Fault('model_not_found', { message: `There is no model ${JSON.stringify(id.slice(0, 100))} here. GET /v1/models lists the models.` })
  if (body.stream === true && !model.capabilities.streaming) throw new Fault('invalid_field', { message: `The model ${model.id} does not stream.`, fields: { field: 'stream' } })
  const bounds = boundsOf(body, model)
  return { model, price: inForce, bounds, ...holdFor(bounds, model, inForce) }
}

/** Holds the money, then asks the provider. A refusal of the provider gives the hold back. */
async function begin(deps: ChatDeps, request: ChatCall, stream: boolean): Promise<Running> {
  const priced = price(deps, request.body)
  const { model } = priced
  const call = await openCall(deps, {
    caller: request.caller,
    requestId: request.requestId,
    category: 'chat',
    subject: model.id,
    wantedMicro: priced.wantedMicro,
    minimumMicro: priced.minimumMicro,
    detail: snapshot(priced),
  })
  const abort = new AbortController()
  const onEnding = () => abort.abort(new Error('the server is shutting down'))
  deps.ending.addEventListener('abort', onEnding)
  const release = () => deps.ending.removeEventListener('abort', onEnding)
  try {
    const body = bodyFor(request.body, priced, call.reserveMicro, stream)
    const attempted = await attemptInOrder(deps.providers, model, { body, stream, requestId: request.requestId, signal: abort.signal }, deps.onAttempt)
    const count = attempted.route.missingUsage === 'count' ? countLocally(body) : undefined
    return { ...priced, call, attempted, abort, count, release }
  } catch (error) {
    release()
    const settled = error instanceof Fault ? await call.release() : await call.unknown('the provider adapter failed')
    report(deps, priced, undefined, settled, undefined)
    throw error
  }
}

/** What is sent upstream: the client's own fields, the output bound that the hold covers, and usage always asked for. */
function bodyFor(body: JsonObject, priced: Priced, reserveMicro: Microcredits, stream: boolean): JsonObject {
  const perChoice = outputTokensCovered(reserveMicro, priced.bounds, priced.price)
  const bound: JsonObject = {}
  if (typeof body.max_completion_tokens === 'number') bound.max_completion_tokens = perChoice
  if (typeof body.max_tokens === 'number' || bound.max_completion_tokens === undefined) bound.max_tokens = perChoice
  const options = typeof body.stream_options === 'object' ? body.stream_options : {}
  return { ...body, ...bound, stream, ...(stream ? { stream_options: { ...options, include_usage: true } } : {}) }
}

async function pump(deps: ChatDeps, running: Running, to: { sink: Sink; includeUsage: boolean; requestId: string }): Promise<void> {
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
      if (sink.gone) drain ??= setTimeout(() => running.abort.abort(new Error('the drain limit was reached')), deps.drainMs)
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
    const settled = await settle(deps, running, usage, broken === undefined ? 'success' : 'failed', broken ?? 'the provider reported no usage')
    if (broken !== undefined) ending = errorFrame('upstream_interrupted', interruption(broken, settled), to.requestId)
    else ending = `${to.includeUsage ? usageFrame(seen, running.model.id, settled.chargedMicro) : ''}data: [DONE]\n\n`
  } catch (error) {
    ending = errorFrame('internal_error', error instanceof Fault ? error.message : undefined, to.requestId)
  }
  await sink.write(ending)
}

function see(count: LocalCount, frame: string): void {
  try {
    count.see(JSON.parse(frame) as JsonObject)
  } catch {
    // what is no JSON has no tokens
  }
}

function interruption(reason: string, settled: Settled): string {
  const money = settled.state === 'usage_unknown' ? 'Its usage is unknown: the hold stays until the operator resolves it.' : `${settled.chargedMicro ?? 0n} microcredits were charged for what the provider reported; a failed call can be refunded.`
  return `The provider's answer broke off (${reason}). ${money}`
}

/** Ends the call's money: by the reported usage where there is one, else as unknown. */
async function settle(deps: ChatDeps, running: Running, usage: Usage | undefined, outcome: 'success' | 'failed', unknownBecause: string): Promise<Settled> {
  const actualMicro = usage && costOf(usage, running.price)
  const absurd = actualMicro !== undefined && actualMicro > MICROCREDITS_MAX
  const known = usage !== undefined && actualMicro !== undefined && !absurd
  const written = known
    ? running.call.capture({
        actualMicro,
        outcome,
        usage: { input_tokens: usage.inputTokens, output_tokens: usage.outputTokens, cached_input_tokens: usage.cachedInputTokens },
      })
    : running.call.unknown(absurd ? 'the provider reported more usage than any amount can be' : unknownBecause)
  const settled = await written.catch((cause: unknown) => {
    // the end is still on its way to the ledger: this is no refusal, after which the call could be made again
    throw new Fault('internal_error', { message: `The provider was called, but what it cost could not be written in time. Call ${running.call.callId} is charged later; do not repeat it.`, headers: { 'x-should-retry': 'false' }, cause })
  })
  report(deps, running, running.attempted.route.provider, settled, known ? providerCostOf(usage, running.price) : undefined)
  return settled
}

function report(deps: ChatDeps, { model }: Priced, provider: string | undefined, settled: Settled, providerCostMicro: bigint | undefined): void {
  deps.onChat({ model: model.id, provider, state: settled.state, chargedMicro: settled.chargedMicro, providerCostMicro })
}

/** What is kept with the hold: enough to charge and explain the call years later, and nothing of its content. */
function snapshot({ price, bounds, model }: Priced): JsonObject {
  return {
    price: {
      version: price.version,
      input_micro_per_m: Number(price.inputMicroPerM),
      output_micro_per_m: Number(price.outputMicroPerM),
      cached_input_micro_per_m: Number(price.cachedInputMicroPerM),
    },
    bounds: { input_tokens: bounds.inputTokens, output_tokens: bounds.outputTokens, choices: bounds.choices },
    model: model.id,
  }
}

/** Headers that are known as soon as the money is held. */
function headersOf({ call, bounds, price: inForce, wantedMicro }: Running): Record<string, string> {
  const clamped = call.reserveMicro < wantedMicro
  return {
    'x-call-id': String(call.callId),
    'x-credits-held-micro': String(call.reserveMicro),
    'x-credits-available-micro': String(call.availableMicro),
    ...(clamped ? { 'x-max-tokens-clamped': String(outputTokensCovered(call.reserveMicro, bounds, inForce)) } : {}),
  }
}

function settledHeaders(settled: Settled): Record<string, string> {
  return {
    'x-credits-available-micro': String(settled.availableMicro),
    ...(settled.chargedMicro === undefined ? { 'x-billing-state': settled.state === 'shortfall' ? 'pending_settlement' : settled.state } : { 'x-credits-charged-micro': String(settled.chargedMicro) }),
  }
}
