import { type CallsDeps, type OpenCall, openCall, type Settled } from '../../billing/calls/lifecycle.ts'
import { type ModelConfig, type Price, priceInForce } from '../../config/models.ts'
import type { Caller } from '../../kernel/caller.ts'
import type { Clock } from '../../kernel/clock.ts'
import { Fault } from '../../kernel/errors.ts'
import { MICROCREDITS_MAX, type Microcredits } from '../../kernel/money.ts'
import type { ChatProvider, JsonObject, Usage } from '../../providers/provider.ts'
import { type Attempted, attemptInOrder } from './attempts.ts'
import { type Bounds, boundsOf, costOf, holdFor, outputTokensCovered, providerCostOf } from './bounds.ts'
import { countLocally, type LocalCount } from './local-count.ts'

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

/** A call with its model, the price in force and what they make it hold. */
export interface Priced {
  readonly model: ModelConfig
  readonly price: Price
  readonly bounds: Bounds
  readonly wantedMicro: Microcredits
  readonly minimumMicro: Microcredits
}

/** A call whose provider was asked: everything that its end needs. */
export interface Running extends Priced {
  readonly call: OpenCall
  readonly attempted: Attempted
  readonly abort: AbortController
  /** Where the operator chose to count what the provider does not report. */
  readonly count: LocalCount | undefined
  readonly release: () => void
}

/** The price of a call and what it makes the call hold; calls nobody. Refuses with `model_not_found` and what boundsOf says. */
export function price(deps: Pick<ChatDeps, 'models' | 'clock'>, body: JsonObject): Priced {
  const id = body.model as string
  const model = deps.models().get(id)
  const inForce = model?.enabled ? priceInForce(model, deps.clock.now()) : undefined
  if (!model || !inForce)
    throw new Fault('model_not_found', {
      message: `There is no model ${JSON.stringify(id.slice(0, 100))} here. GET /v1/models lists the models.`,
    })
  if (body.stream === true && !model.capabilities.streaming)
    throw new Fault('invalid_field', { message: `The model ${model.id} does not stream.`, fields: { field: 'stream' } })
  const bounds = boundsOf(body, model)
  return { model, price: inForce, bounds, ...holdFor(bounds, model, inForce) }
}

/** Holds the money, then asks the provider. A refusal of the provider gives the hold back. */
export async function begin(deps: ChatDeps, request: ChatCall, stream: boolean): Promise<Running> {
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
    const attempted = await attemptInOrder(
      deps.providers,
      model,
      { body, stream, requestId: request.requestId, signal: abort.signal },
      deps.onAttempt,
    )
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

/** Ends the call's money: by the reported usage where there is one, else as unknown. */
export async function settle(
  deps: ChatDeps,
  running: Running,
  usage: Usage | undefined,
  outcome: 'success' | 'failed',
  unknown: { readonly because: string; readonly responseId: unknown },
): Promise<Settled> {
  const actualMicro = usage && costOf(usage, running.price)
  const absurd = actualMicro !== undefined && actualMicro > MICROCREDITS_MAX
  const known = usage !== undefined && actualMicro !== undefined && !absurd
  const written = known
    ? running.call.capture({
        actualMicro,
        outcome,
        usage: {
          input_tokens: usage.inputTokens,
          output_tokens: usage.outputTokens,
          cached_input_tokens: usage.cachedInputTokens,
        },
      })
    : running.call.unknown(
        absurd ? 'the provider reported more usage than any amount can be' : unknown.because,
        evidenceOf(running.attempted, unknown.responseId),
      )
  const settled = await written.catch((cause: unknown) => {
    // the end is still on its way to the ledger: this is no refusal, after which the call could be made again
    throw new Fault('internal_error', {
      message: `The provider was called, but what it cost could not be written in time. Call ${running.call.callId} is charged later; do not repeat it.`,
      headers: { 'x-should-retry': 'false' },
      cause,
    })
  })
  report(
    deps,
    running,
    running.attempted.route.provider,
    settled,
    known ? providerCostOf(usage, running.price) : undefined,
  )
  return settled
}

const ID_LENGTH_MAX = 200

/** What the provider's own record of a call can be found by. Ids alone: other words of a provider may repeat the prompt. */
function evidenceOf({ route, outcome }: Attempted, responseId: unknown): Record<string, string | undefined> {
  return {
    provider: route.provider,
    model: route.model,
    response_id: typeof responseId === 'string' ? responseId.slice(0, ID_LENGTH_MAX) : undefined,
    provider_request_id: outcome.kind === 'lost' ? undefined : outcome.providerRequestId,
  }
}

function report(
  deps: ChatDeps,
  { model }: Priced,
  provider: string | undefined,
  settled: Settled,
  providerCostMicro: bigint | undefined,
): void {
  deps.onChat({
    model: model.id,
    provider,
    state: settled.state,
    chargedMicro: settled.chargedMicro,
    providerCostMicro,
  })
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
export function headersOf({ call, bounds, price: inForce, wantedMicro }: Running): Record<string, string> {
  const clamped = call.reserveMicro < wantedMicro
  return {
    'x-call-id': String(call.callId),
    'x-credits-held-micro': String(call.reserveMicro),
    'x-credits-available-micro': String(call.availableMicro),
    ...(clamped ? { 'x-max-tokens-clamped': String(outputTokensCovered(call.reserveMicro, bounds, inForce)) } : {}),
  }
}
