import { errorOf, FareboxError, UNKNOWN_ANSWER, UnavailableError } from './errors.ts'
import { dataOf } from './event-stream.ts'

/** One request, before it has a credential. */
export interface ApiRequest {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Below the base URL, with its query. */
  readonly path: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** Makes a repeat harmless: the server answers it with what it answered first. */
  readonly idempotencyKey?: string | undefined
  /** True of a write that may be repeated without a key, since doing it twice is doing it once. Reads always may. */
  readonly repeatable?: boolean
  readonly signal?: AbortSignal | undefined
}

/** An answer, read to its end. */
export interface ApiAnswer {
  readonly status: number
  readonly headers: Headers
  /** Empty when the answer was not a JSON object. */
  readonly body: Readonly<Record<string, unknown>>
}

/** What the SDK stands on. All but `baseUrl` has a default. */
export interface TransportOptions {
  /** Such as `https://api.example.com`, without a path. */
  readonly baseUrl: string
  /** For one try, and between two pieces of a stream; 60 s unless given. */
  readonly timeoutMs?: number
  /** Tries of what may be repeated; 3 unless given. */
  readonly tries?: number
  readonly fetch?: typeof fetch
  /** Waits, and rejects with the signal's reason once it is aborted. */
  readonly sleep?: (ms: number, signal?: AbortSignal) => Promise<void>
  /** Milliseconds since 1970. */
  readonly now?: () => number
}

/** Sends requests and reads JSON. */
export interface Transport {
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>
  readonly now: () => number
  /** The answer as it is, 2xx or not, by one try. Rejects with UnavailableError when no whole answer came. */
  once(request: ApiRequest, token?: string): Promise<ApiAnswer>
  /** The JSON of a 2xx. Repeats only what may be repeated, as often and as late as the server asks. Rejects with a FareboxError. */
  json<T>(request: ApiRequest, token?: string): Promise<T>
  /** The `data:` payloads of a 2xx that is a stream; only its opening is ever repeated. */
  events(request: ApiRequest, token?: string): Promise<AsyncGenerator<string>>
}

const TIMEOUT_MS = 60_000
const TRIES = 3
const FIRST_WAIT_MS = 300
/** A server that lets ask again at once is not asked without a pause. */
const LEAST_WAIT_MS = 50
/** Who is asked to wait longer than this hears of it instead. */
const LONGEST_WAIT_MS = 60_000

/** Opens the way to a server. */
export function createTransport(options: TransportOptions): Transport {
  const baseUrl = options.baseUrl.replace(/\/+$/, '')
  const { sleep = sleepFor, timeoutMs = TIMEOUT_MS, tries = TRIES, now = Date.now } = options

  async function opened(request: ApiRequest, token: string | undefined, deadline: Deadline): Promise<Response> {
    const send = options.fetch ?? fetch
    return answered(request, () => send(baseUrl + request.path, initOf(request, token, deadline.signal)))
  }

  async function once(request: ApiRequest, token?: string): Promise<ApiAnswer> {
    const deadline = deadlineOf(timeoutMs, request.signal)
    try {
      const response = await opened(request, token, deadline)
      const text = await answered(request, () => response.text())
      return { status: response.status, headers: response.headers, body: objectOf(text) }
    } finally {
      deadline.end()
    }
  }

  async function repeated<T>(request: ApiRequest, work: () => Promise<T>): Promise<T> {
    const { method = 'GET', idempotencyKey, repeatable = method === 'GET' || idempotencyKey !== undefined } = request
    let waitedMs = 0
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await work()
      } catch (error) {
        if (!repeatable || !(error instanceof FareboxError)) throw error
        const waitMs = Math.max(error.retryAfterMs ?? FIRST_WAIT_MS * 2 ** (attempt - 1), LEAST_WAIT_MS)
        // an earlier try of the same call is still at work: its answer is the one to wait for
        const isRunning = error.code === 'request_in_progress' && waitedMs < timeoutMs
        if (!(isRunning || (attempt < tries && mayPass(error))) || waitMs > LONGEST_WAIT_MS) throw error
        waitedMs += waitMs
        await sleep(waitMs, request.signal)
      }
    }
  }

  return {
    sleep,
    now,
    once,
    json: <T>(request: ApiRequest, token?: string) =>
      repeated(request, async () => bodyOf<T>(await once(request, token))),
    events: (request, token) =>
      repeated(request, async () => {
        const deadline = deadlineOf(timeoutMs, request.signal)
        try {
          const response = await opened(request, token, deadline)
          if (response.ok && response.body) return await dataOf(response.body, deadline, request.signal)
          const body = objectOf(await answered(request, () => response.text()))
          throw errorOf(response.status, body, retryAfterMs(response.headers))
        } catch (error) {
          deadline.end()
          throw error
        }
      }),
  }
}

/** The body of a 2xx. Rejects with the error that any other answer is. */
export function bodyOf<T>({ status, headers, body }: ApiAnswer): T {
  if (status >= 200 && status < 300) return body as T
  throw errorOf(status, body, retryAfterMs(headers))
}

/** How long the server asks to wait; undefined when it does not ask. */
export function retryAfterMs(headers: Headers): number | undefined {
  const [ms, seconds] = [headers.get('retry-after-ms'), headers.get('retry-after')]
  const asked = ms === null ? Number(seconds ?? Number.NaN) * 1000 : Number(ms)
  return Number.isFinite(asked) && asked >= 0 ? asked : undefined
}

/** A time limit that can be stopped and set anew. */
export interface Deadline {
  readonly signal: AbortSignal
  extend(): void
  end(): void
}

function deadlineOf(ms: number, signal: AbortSignal | undefined): Deadline {
  const controller = new AbortController()
  const begin = () => setTimeout(() => controller.abort(new Error(`No answer within ${ms} ms.`)), ms)
  let timer = begin()
  return {
    signal: signal === undefined ? controller.signal : AbortSignal.any([signal, controller.signal]),
    extend() {
      clearTimeout(timer)
      timer = begin()
    },
    end: () => clearTimeout(timer),
  }
}

function initOf(request: ApiRequest, token: string | undefined, signal: AbortSignal): RequestInit {
  const { method = 'GET', body, headers, idempotencyKey } = request
  return {
    method,
    // a credential never follows a redirect; workers know no mode that refuses one by itself
    redirect: 'manual',
    headers: {
      accept: 'application/json',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal,
  }
}

/** What `fetch` gives; UnavailableError when it fails, unless the caller wanted no more. */
async function answered<T>({ signal }: ApiRequest, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (signal?.aborted) throw error
    throw new UnavailableError(0, {}, undefined, { cause: error })
  }
}

function objectOf(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

/** Our own 504 says that a provider was asked and what it did is unknown: its repeat is the same answer. A proxy's says nothing. */
const mayPass = ({ status, code }: FareboxError): boolean =>
  status === 0 || status === 429 || (status >= 500 && (status !== 504 || code === UNKNOWN_ANSWER))

function sleepFor(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const aborted = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', aborted)
      resolve()
    }, ms)
    signal?.addEventListener('abort', aborted, { once: true })
  })
}
