import type { Pool } from 'undici'

/** How a provider is reached over HTTP, whatever it speaks. */
export interface TransportOptions {
  /** Names the provider in messages. */
  readonly name: string
  /** http or https, with the path that all requests begin with. No credentials, query or fragment. */
  readonly baseUrl: string
  /** Sent in one header, and nowhere else. */
  readonly apiKey?: string
  /** Which header, and the word before the key, empty for none. Absent: `Authorization: Bearer`. */
  readonly auth?: { readonly header: string; readonly scheme: string }
  /** Extra request headers. Their values count as secrets in messages. */
  readonly headers?: Readonly<Record<string, string>>
  /** Sockets at most. A request holds one until its answer has ended. */
  readonly connections: number
  /** The longest a request waits until it is written: for a free socket and for connecting together. */
  readonly connectTimeoutMs: number
  /** From the written request to the response's headers. */
  readonly headersTimeoutMs: number
  /** The longest silence inside a response body. */
  readonly idleTimeoutMs: number
  /** The largest response body. */
  readonly maxResponseBytes: number
}

/**
 * A keep-alive socket that the server closes just as we write to it is ambiguous: the request may have been
 * read, so the attempt is lost and its hold stays. Servers close idle sockets after 5 s and more; closing
 * ours after 4 s, and 1 s before whatever the server announces, makes that race practically impossible.
 */
const KEEP_ALIVE_MS = 4000
const KEEP_ALIVE_MARGIN_MS = 1000

/** What a pool of sockets to a provider is made with. */
export function poolOptions(options: TransportOptions): Pool.Options {
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

/** The base address. Throws TypeError when it cannot be meant so, without repeating it. */
export function parsedBaseUrl({ name, baseUrl }: TransportOptions): URL {
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

/** The headers of every request, in pairs. Throws TypeError when HTTP does not allow one. */
export function fixedHeaders(
  { name, apiKey, auth, headers }: Pick<TransportOptions, 'name' | 'apiKey' | 'auth' | 'headers'>,
  accept: string,
): string[] {
  const all = new Headers()
  try {
    for (const [key, value] of Object.entries(headers ?? {})) all.set(key, value)
    const { header, scheme } = auth ?? { header: 'authorization', scheme: 'Bearer' }
    if (apiKey) all.set(header, `${scheme} ${apiKey}`.trim())
  } catch {
    throw new TypeError(`provider ${name}: apiKey or a header contains characters that HTTP does not allow`)
  }
  all.set('content-type', 'application/json')
  all.set('accept', accept)
  // Compressed answers would cost more processor time here than they save on the wire.
  all.set('accept-encoding', 'identity')
  return [...all].flat()
}
