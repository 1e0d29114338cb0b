import { setTimeout as delay } from 'node:timers/promises'
import type { Clock } from '../../kernel/clock.ts'
import type { ChatAttempt, ChatOutcome, ChatProvider } from '../provider.ts'
import { usageFrom } from '../provider.ts'
import { completionFor } from './completion.ts'
import { instructionIn } from './failures.ts'
import { lastUserText } from './prompt.ts'
import { chunksOf, type Pace, paced } from './stream.ts'

/** What the demo provider depends on. Every delay has a default that suits a demonstration. */
export interface DemoOptions {
  /** Only for the `created` times of its answers. */
  readonly clock: Clock
  /** The pause of `slow` before its first token. Default 2000. */
  readonly firstTokenMs?: number
  /** The pause of `slow` between tokens. Default 100. */
  readonly tokenMs?: number
  /** How long `fail:timeout` keeps the caller waiting before it is lost. Default 10000. */
  readonly timeoutMs?: number
  /** Waits, and rejects when the signal aborts. Replaced in tests. */
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<void>
}

/**
 * The built-in provider that answers offline and for free, so that every path of the service can be shown
 * (decisions 5). Its answers depend on nothing but the request. Models, by the provider-side name:
 *
 * - `chat`       answers the last user message; tools, images, `n`, `response_format`, `logprobs`, limits;
 * - `slow`       the same with a pause before the first token and between tokens;
 * - `unmetered`  the same without ever reporting usage, so that calls end as `usage_unknown`;
 * - `failing`    fails as the last user message says: see failures.ts.
 *
 * The usage that it reports stays within the hold's bounds: see prompt.ts.
 */
export function createDemo(options: DemoOptions): ChatProvider {
  const { firstTokenMs = 2000, tokenMs = 100, timeoutMs = 10_000 } = options
  const wait = options.wait ?? ((ms, signal) => delay(ms, undefined, { signal }))
  const closing = new AbortController()
  const paces: Record<string, Omit<Pace, 'signal' | 'wait'>> = {
    chat: NO_PAUSES,
    slow: { firstTokenMs, tokenMs },
    unmetered: NO_PAUSES,
    failing: NO_PAUSES,
  }

  /** Rejects when the attempt is aborted or the provider is closed. */
  async function answer({ body, stream, requestId }: ChatAttempt, signal: AbortSignal): Promise<ChatOutcome> {
    const model = String(body.model)
    const pauses = paces[model]
    if (!pauses) return refused(404, `The demo provider has no model ${model}.`)
    const instruction = model === 'failing' ? instructionIn(lastUserText(body)) : undefined
    if (instruction?.outcome === 'timeout') {
      await wait(timeoutMs, signal)
      return { kind: 'lost', message: 'The demo provider did not answer in time, as asked.' }
    }
    if (instruction && instruction.outcome !== 'cut') return instruction.outcome
    const completion = completionFor({
      body,
      id: requestId.replace(/^req_/, ''),
      created: Math.floor(options.clock.now().getTime() / 1000),
      metered: model !== 'unmetered',
    })
    if (typeof completion === 'string') return refused(400, completion)
    const providerRequestId = `demo-${requestId}`
    const cut = instruction !== undefined
    if (stream) {
      const pace = { ...pauses, wait, signal }
      return {
        kind: 'stream',
        batches: paced(chunksOf(completion, body), pace, cut),
        providerRequestId,
      }
    }
    if (cut) return { kind: 'lost', message: 'The demo provider broke its answer off, as asked.' }
    if (pauses.firstTokenMs > 0) {
      await wait(pauses.firstTokenMs + pauses.tokenMs * completion.wordCount, signal)
    }
    return {
      kind: 'answer',
      body: completion.body,
      usage: usageFrom(completion.body.usage),
      providerRequestId,
    }
  }

  return {
    async chat(attempt) {
      const signal = attempt.signal ? AbortSignal.any([attempt.signal, closing.signal]) : closing.signal
      if (signal.aborted) return { ...refused(503, 'The demo provider was not called.'), status: undefined }
      try {
        return await answer(attempt, signal)
      } catch (error) {
        if (signal.aborted) return { kind: 'lost', message: 'The call to the demo provider was aborted.' }
        return refused(400, `The demo provider cannot read the request: ${(error as Error).name}.`)
      }
    },
    async close() {
      closing.abort()
    },
  }
}

const NO_PAUSES = { firstTokenMs: 0, tokenMs: 0 }

const refused = (status: number, message: string) =>
  ({ kind: 'refused', status, message, retryable: status >= 500 }) as const
