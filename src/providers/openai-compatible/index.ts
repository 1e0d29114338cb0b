import { Pool } from 'undici'
import type { ChatAttempt, ChatOutcome, ChatProvider } from '../provider.ts'
import { Scrubber } from '../scrubber.ts'
import { fixedHeaders, parsedBaseUrl, poolOptions, type TransportOptions } from '../transport.ts'
import { Exchange } from './exchange.ts'

/** How to reach one OpenAI-compatible server; the base address reaches up to the version: `https://api.openai.com/v1`. */
export type OpenAiCompatibleOptions = TransportOptions

/**
 * A provider that speaks OpenAI's `POST {baseUrl}/chat/completions` (decisions 5). Nothing is retried here.
 * Throws TypeError when the options cannot be meant so, without repeating a secret.
 */
export function createOpenAiCompatible(options: OpenAiCompatibleOptions): ChatProvider {
  const base = parsedBaseUrl(options)
  const path = `${base.pathname.replace(/\/+$/, '')}/chat/completions`
  const headers = fixedHeaders(options, 'application/json, text/event-stream')
  const scrubber = new Scrubber([options.apiKey, ...Object.values(options.headers ?? {})])
  const pool = new Pool(base.origin, poolOptions(options))
  const attemptsMax = options.connections * (1 + WAITING_PER_CONNECTION)
  let attempts = 0
  const ended = () => {
    attempts -= 1
  }

  return {
    async chat(attempt: ChatAttempt): Promise<ChatOutcome> {
      if (attempts >= attemptsMax) {
        return {
          ...refused(`${options.name} has ${attempts} calls in flight already.`),
          retryAfterMs: 1000,
        }
      }
      if (attempt.signal?.aborted) return refused(`The call to ${options.name} was aborted before it was sent.`)
      let body: string
      try {
        body = JSON.stringify(attempt.body)
      } catch {
        return { ...refused('The request cannot be written as JSON.'), retryable: false }
      }
      attempts += 1
      const exchange = new Exchange({ name: options.name, scrubber, attempt, ended })
      exchange.startWithin(options.connectTimeoutMs)
      pool.dispatch(
        {
          path,
          method: 'POST',
          headers: [...headers, 'x-request-id', attempt.requestId],
          body,
        },
        exchange,
      )
      return exchange.outcome
    },
    // Whatever still runs ends as lost: the app drains its calls before it closes the providers.
    close: () => pool.destroy(),
  }
}

/** How many attempts may wait for each socket: enough for a burst, bounded since each holds its body. */
const WAITING_PER_CONNECTION = 8

const refused = (message: string) => ({ kind: 'refused', status: undefined, message, retryable: true }) as const
