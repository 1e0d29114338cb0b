import { errorOf, UnavailableError } from './errors.ts'

/** One request, before it has a credential. */
export interface ApiRequest {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Below the base URL, with its query. */
  readonly path: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** Makes a repeat harmless: the server answers it with what it answered first. */
  readonly idempotencyKey?: string
  readonly signal?: AbortSignal | undefined
}

/** What the SDK stands on. `fetch` and `sleep` can be replaced. */
export interface TransportOptions {
  /** Such as `https://api.example.com`, without a path. */
  readonly baseUrl: string
  /** For one try; 60 s unless given. A call of a model may take longer: give more. */
  readonly timeoutMs?: number
  /** Tries of what may be repeated; 3 unless given. */
  readonly tries?: number
  readonly fetch?: typeof fetch
  readonly sleep?: (ms: number) => Promise<void>
}

/** Sends requests and reads JSON. */
export interface Transport {
  readonly baseUrl: string
  readonly sleep: (ms: number) => Promise<void>
  /** The answer as it is, 2xx or not; rejects with UnavailableError when none came. One try. */
  raw(request: ApiRequest, token?: string): Promise<Response>
  /** The JSON of a 2xx. Rejects with a FareboxError. Repeats only what may be repeated: reads, and writes with an idempotency key. */
  json<T>(request: ApiRequest, token?: string): Promise<T>
}

const TIMEOUT_MS = 60_000
const TRIES = 3
const FIRST_WAIT_MS = 300
const LONGEST_WAIT_MS = 20_000

/** Opens the way to a server. */
export function createTransport(options: TransportOptions): Transport {
  const baseUrl = options.baseUrl.replace(/\/+$/, '')
  const doFetch = options.fetch ?? fetch
  const sleep = options.sleep ?? ((ms) => new Promise((resolve) => setTimeout(resolve, ms)))
  const tries = options.tries ?? TRIES

  async function raw({ method = 'GET', path, body, headers, idempotencyKey, signal }: ApiRequest, token?: string) {
    const timeout = AbortSignal.timeout(options.timeoutMs ?? TIMEOUT_MS)
    try {
      return await doFetch(baseUrl + path, {
        method,
        redirect: 'error',
        headers: {
          accept: 'application/json',
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
      })
    } catch (error) {
      if (signal?.aborted) throw error
      throw new UnavailableError(0, {}, undefined, { cause: error })
    }
  }

  async function once<T>(request: ApiRequest, token: string | undefined): Promise<T> {
    const response = await raw(request, token)
    const body = await bodyOf(response)
    if (response.ok) return body as T
    throw errorOf(response.status, body, retryAfterMs(response))
  }

  return {
    baseUrl,
    sleep,
    raw,
    async json(request, token) {
      const repeatable = (request.method ?? 'GET') === 'GET' || request.idempotencyKey !== undefined
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await once(request, token)
        } catch (error) {
          const wait = waitBefore(error, attempt)
          if (!repeatable || wait === undefined || attempt >= tries) throw error
          await sleep(wait)
        }
      }
    },
  }
}

/** What the body says; an answer that is not JSON says nothing. */
export async function bodyOf(response: Response): Promise<Record<string, unknown>> {
  const text = await response.text()
  try {
    return text === '' ? {} : JSON.parse(text)
  } catch {
    return {}
  }
}

/** How long the server asks to wait; undefined when it does not ask. */
export function retryAfterMs(response: Response): number | undefined {
  const ms = Number(response.headers.get('retry-after-ms') ?? Number.NaN)
  if (Number.isFinite(ms)) return ms
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN)
  return Number.isFinite(seconds) ? seconds * 1000 : undefined
}

/** The wait before the next try; undefined: a repeat cannot help. */
function waitBefore(error: unknown, attempt: number): number | undefined {
  const { status, retryAfterMs: asked } = error as { status?: number; retryAfterMs?: number }
  if (status !== 0 && status !== 429 && !(typeof status === 'number' && status >= 500)) return undefined
  return Math.min(asked ?? FIRST_WAIT_MS * 2 ** (attempt - 1), LONGEST_WAIT_MS)
}
