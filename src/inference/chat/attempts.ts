import type { ModelConfig, ModelRoute } from '../../config/models.ts'
import { Fault } from '../../kernel/errors.ts'
import { type ChatOutcome, type ChatProvider, isCallersFault, type JsonObject } from '../../providers/provider.ts'

/** The first attempt that was not refused, with the route that it took. */
export interface Attempted {
  readonly route: ModelRoute
  readonly outcome: Exclude<ChatOutcome, { kind: 'refused' }>
}

/** One attempt's end, for metrics. */
export type OnAttempt = (provider: string, kind: ChatOutcome['kind']) => void

/**
 * Asks the model's providers in order until one does not refuse: a refused attempt did no work, so the next one
 * cannot be billed twice. Throws `upstream_refused` when a provider finds the request itself wrong, and
 * `upstream_failed` when all of them failed; in both cases nothing is owed.
 */
export async function attemptInOrder(
  providers: Readonly<Record<string, ChatProvider>>,
  model: ModelConfig,
  attempt: { body: JsonObject; stream: boolean; requestId: string; signal: AbortSignal },
  onAttempt: OnAttempt,
): Promise<Attempted> {
  let retryAfterMs: number | undefined
  let last: string | undefined
  for (const route of model.providers) {
    const provider = providers[route.provider]
    if (!provider) continue
    const outcome = await provider.chat({ ...attempt, body: { ...attempt.body, model: route.model } })
    onAttempt(route.provider, outcome.kind)
    if (outcome.kind !== 'refused') return { route, outcome }
    if (isCallersFault(outcome.status)) {
      throw new Fault('upstream_refused', {
        message: `The provider refused the request: ${outcome.message}`,
        fields: { provider_status: String(outcome.status) },
      })
    }
    last = `${route.provider}: ${howRefused(outcome)}`
    retryAfterMs = outcome.retryAfterMs ?? retryAfterMs
    if (attempt.signal.aborted) break
  }
  throw new Fault('upstream_failed', {
    message: `No provider of ${model.id} could answer, so nothing was charged. Try again; if it lasts, choose another model.`,
    cause: new Error(last ?? 'no provider is configured'),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  })
}

/** For the log: the status, or the code of what kept us from the provider. Its own words could repeat the prompt. */
function howRefused({ status, message }: Extract<ChatOutcome, { kind: 'refused' }>): string {
  if (status !== undefined) return `answered ${status}`
  return /\(([A-Z][A-Z0-9_]{2,40})\)\.$/.exec(message)?.[1] ?? 'refused without a status'
}
