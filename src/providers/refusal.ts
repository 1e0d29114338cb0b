import type { IncomingHttpHeaders } from 'node:http'
import type { ChatOutcome, JsonObject } from './provider.ts'
import type { Scrubber } from './scrubber.ts'

type Refused = Extract<ChatOutcome, { kind: 'refused' }>

/** What a refusal is made from. */
export interface RefusalSource {
  /** The provider's configured name. */
  readonly name: string
  readonly scrubber: Scrubber
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** The body, or as much of it as arrived: the status decides, whatever the body says. */
  readonly text: string
}

/** The outcome of an answer with a status of 300 and more. */
export function refusalByStatus({ name, scrubber, status, headers, text }: RefusalSource): Refused {
  const said = messageOf(objectFrom(text)) ?? (looksLikeText(headers) ? text : '')
  const reason = scrubber.clean(said)
  return {
    kind: 'refused',
    status,
    message: reason === '' ? `${name} answered ${status}.` : reason,
    retryable: isRetryable(status),
    ...retryAfter(headers),
  }
}

/**
 * The outcome of a 2xx whose body is `{error: ...}` and holds no choices; undefined for every other body.
 * A numeric `code` is the status that was meant; without one the fault is taken to be passing.
 */
export function refusalInBody(body: JsonObject, name: string, scrubber: Scrubber): Refused | undefined {
  if (!body.error || Array.isArray(body.choices)) return undefined
  const code = (body.error as { code?: unknown }).code
  const status = typeof code === 'number' && code >= 400 && code <= 599 ? code : undefined
  return {
    kind: 'refused',
    status,
    message: scrubber.clean(messageOf(body) ?? '') || `${name} answered with an error.`,
    retryable: status === undefined || isRetryable(status),
  }
}

/** A JSON object, or undefined for everything else. */
export function objectFrom(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined
  } catch {
    return undefined
  }
}

/** Timeouts, conflicts and rate limits pass, and so may every fault of the server; other refusals stand. */
function isRetryable(status: number): boolean {
  return status === 408 || status === 409 || status === 429 || status >= 500
}

/** `{error: {message}}`, `{error: "..."}`, `{message}` or `{detail}`: the forms that servers of this kind use. */
function messageOf(body: JsonObject | undefined): string | undefined {
  const error = body?.error
  const nested = typeof error === 'object' && error !== null ? (error as JsonObject).message : error
  return [nested, body?.message, body?.detail].find((said) => typeof said === 'string')
}

/** An HTML page of some proxy in between says nothing that a caller could use. */
function looksLikeText(headers: IncomingHttpHeaders): boolean {
  return headers['content-type']?.startsWith('text/plain') ?? false
}

/** A date is read against the response's own Date header, so no clock of ours is involved. */
function retryAfter(headers: IncomingHttpHeaders): { retryAfterMs?: number } {
  const precise = one(headers['retry-after-ms'])
  const plain = one(headers['retry-after'])
  const ms =
    precise !== undefined && /^\d{1,12}(\.\d+)?$/.test(precise)
      ? Number(precise)
      : plain !== undefined && /^\d{1,9}(\.\d+)?$/.test(plain)
        ? Number(plain) * 1000
        : Date.parse(plain ?? '') - Date.parse(headers.date ?? '')
  return ms >= 0 ? { retryAfterMs: Math.min(Math.ceil(ms), RETRY_AFTER_MS_MAX) } : {}
}

const RETRY_AFTER_MS_MAX = 3_600_000

const one = (header: string | string[] | undefined) => (Array.isArray(header) ? header[0] : header)
