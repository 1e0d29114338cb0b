import { Pool } from 'undici'
import type { ChatAttempt, ChatOutcome, ChatProvider } from '../provider.ts'
import { Exchange } from './exchange.ts'
import { Scrubber } from './scrubber.ts'

/** How to reach one OpenAI-compatible server. */
export interface OpenAiCompatibleOptions {
  /** Shown in messages, for example `openai`. */
  readonly name: string
  /** http or https, with the path up to the version: `https://api.openai.com/v1`. No credentials, query or fragment. */
  readonly baseUrl: string
  /** Sent as `Authorization: Bearer`, and nowhere else. */
  readonly apiKey?: string
  /** Extra request headers. Their values count as secrets in messages. */
  readonly headers?: Readonly<Record<string, string>>
  /** Sockets at most. An attempt holds one until its answer has ended. */
  readonly connections: number
  /** The longest an attempt waits until its request is written: for a free socket and for connecting together. */
  readonly connectTimeoutMs: number
  /** From the written request to the response's headers. Plain answers take as long as the model thinks. */
  readonly headersTimeoutMs: number
  /** The longest silence inside a response body while we are reading it. */
  readonly idleTimeoutMs: number
  /** The largest response body, plain or streamed. */
  readonly maxResponseBytes: number
}

/**
 * A provider that speaks OpenAI's `POST {baseUrl}/chat/completions` (decisions 5). Nothing is retried here.
 * Throws TypeError when the options cannot be meant so, without repeating a secret.
 */
export function createOpenAiCompatible(options: OpenAiCompatibleOptions): ChatProvider {
  const base = parsedBaseUrl(options)
  const path = `${base.pathname.replace(/\/+$/, '')}/chat/completions`
  const headers = fixedHeaders(options)
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

/**
 * A keep-alive socket that the server closes just as we write to it is ambiguous: the request may have been
 * read, so the attempt is lost and its hold stays. Servers close idle sockets after 5 s and more; closing
 * ours after 4 s, and 1 s before whatever the server announces, makes that race practically impossible.
 */
const KEEP_ALIVE_MS = 4000
const KEEP_ALIVE_MARGIN_MS = 1000

function poolOptions(options: OpenAiCompatibleOptions): Pool.Options {
  return {
    connections: options.connections,
    connect: { timeout: options.connectTimeoutMs },
    headersTimeout: options.headersTimeoutMs,
    bodyTimeout: options.idleTimeoutMs,
    maxResponseSize: options.maxResponseBytes,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MS,
    keepAliveTimeoutThreshold: KEEP_ALIVE_MARGIN_MS,
    // One request per socket at a time: with pipelining a reset would make several outcomes unknown.
    pipelining: 1,
    allowH2: false,
  }
}

function parsedBaseUrl({ name, baseUrl }: OpenAiCompatibleOptions): URL {
  // The address may hold a secret in the wrong place, so no message repeats it.
  if (!URL.canParse(baseUrl)) throw new TypeError(`provider ${name}: baseUrl is not a URL`)
  const url = new URL(baseUrl)
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new TypeError(`provider ${name}: baseUrl must start with http:// or https://`)
  }
  if (url.username !== '' || url.password !== '') {
    throw new TypeError(`provider ${name}: baseUrl must not contain credentials; use apiKey`)
  }
  if (url.search !== '' || url.hash !== '' || /[?#]/.test(baseUrl)) {
    throw new TypeError(`provider ${name}: baseUrl must not contain a query or fragment; use apiKey or headers`)
  }
  return url
}

function fixedHeaders({ name, apiKey, headers }: OpenAiCompatibleOptions): string[] {
  const all = new Headers()
  try {
    for (const [key, value] of Object.entries(headers ?? {})) all.set(key, value)
    if (apiKey) all.set('authorization', `Bearer ${apiKey}`)
  } catch {
    throw new TypeError(`provider ${name}: apiKey or a header contains characters that HTTP does not allow`)
  }
  all.set('content-type', 'application/json')
  all.set('accept', 'application/json, text/event-stream')
  // Compressed answers would cost more processor time here than they save on the wire.
  all.set('accept-encoding', 'identity')
  return [...all].flat()
}

const refused = (message: string) => ({ kind: 'refused', status: undefined, message, retryable: true }) as const
