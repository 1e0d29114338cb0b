/** A JSON object as it travels: parsed, never trusted. */
export type JsonObject = { [key: string]: unknown }

/** Tokens as the provider itself reported them. Unknown usage is `undefined`, never zeros (decisions 5). */
export interface Usage {
  readonly inputTokens: number
  readonly outputTokens: number
  /** The part of inputTokens that the provider served from its cache. */
  readonly cachedInputTokens: number
}

/** One attempt at one provider. */
export interface ChatAttempt {
  /** The body to send, already with the provider's own model name, output bound and stream options. */
  readonly body: JsonObject
  readonly stream: boolean
  /** Our request id, for the provider's logs. */
  readonly requestId: string
  /** Aborts the attempt: only the drain limit does so, never a client that left. */
  readonly signal?: AbortSignal
}

/**
 * How an attempt ended, by what it means for money:
 * `refused`  the provider did no work (connection refused, 4xx or 5xx before any output): nothing is owed;
 * `lost`     the request was sent and its outcome cannot be known: what is owed is unknown;
 * `answer`   a whole answer; `usage` is undefined when the provider reported none;
 * `stream`   an answer that is still coming, as batches of SSE data payloads in the order they arrived. A provider may
 *            send one where a whole answer was asked for: it is read or its iteration is ended all the same, since it
 *            keeps its socket until then.
 */
export type ChatOutcome =
  | {
      readonly kind: 'refused'
      readonly status: number | undefined
      readonly message: string
      readonly retryable: boolean
      readonly retryAfterMs?: number
    }
  | { readonly kind: 'lost'; readonly message: string }
  | {
      readonly kind: 'answer'
      readonly body: JsonObject
      readonly usage: Usage | undefined
      readonly providerRequestId: string | undefined
    }
  | {
      readonly kind: 'stream'
      readonly batches: AsyncIterable<readonly string[]>
      readonly providerRequestId: string | undefined
    }

/** A place that answers chat calls. Adapters know neither database nor HTTP server. */
export interface ChatProvider {
  /**
   * Never rejects: every ending is a ChatOutcome. A stream's iterator ends after `[DONE]` or a clean end of
   * body, and throws ProviderLost when the connection breaks. `[DONE]` itself is not yielded.
   */
  chat(attempt: ChatAttempt): Promise<ChatOutcome>
  /** Frees sockets and workers. */
  close(): Promise<void>
}

/** A stream that broke off: what it cost is unknown unless a usage frame came before. */
export class ProviderLost extends Error {
  override name = 'ProviderLost'
}

/** Reads OpenAI's `usage` object; undefined unless both token counts are non-negative safe integers. */
export function usageFrom(value: unknown): Usage | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const usage = value as {
    prompt_tokens?: unknown
    completion_tokens?: unknown
    prompt_tokens_details?: { cached_tokens?: unknown } | null
  }
  const input = usage.prompt_tokens
  const output = usage.completion_tokens
  if (!isCount(input) || !isCount(output)) return undefined
  const cached = usage.prompt_tokens_details?.cached_tokens
  const cachedInputTokens = isCount(cached) && cached <= input ? cached : 0
  return { inputTokens: input, outputTokens: output, cachedInputTokens }
}

const isCount = (value: unknown): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0

/** Whether a refusing status is about the request: 401 to 404 are the operator's key, bill or name; 408 and 429 are load. */
export const isCallersFault = (status: number | undefined): boolean =>
  status !== undefined && status >= 400 && status < 500 && ![401, 402, 403, 404, 408, 409, 425, 429].includes(status)
