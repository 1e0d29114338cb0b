import type { IncomingHttpHeaders } from 'node:http'
import { type Dispatcher, Pool } from 'undici'
import { fixedHeaders, parsedBaseUrl, poolOptions, type TransportOptions } from './transport.ts'

/** One request to a provider. */
export interface WireRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Behind the base address, with a leading slash and perhaps a query; a path of the origin when `fromRoot`. */
  readonly path: string
  readonly fromRoot?: boolean
  /** Names in lower case. */
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
  readonly signal?: AbortSignal | undefined
}

/**
 * How a request ended:
 * `unsent`  the provider saw nothing of it;
 * `lost`    it was written, and what it did cannot be known;
 * `answer`  whatever the status; of an error the beginning of the body at least.
 */
export type WireAnswer =
  | { readonly kind: 'unsent'; readonly message: string; readonly aborted: boolean }
  | { readonly kind: 'lost'; readonly message: string }
  | {
      readonly kind: 'answer'
      readonly status: number
      readonly headers: IncomingHttpHeaders
      readonly text: string
    }

/** Sends requests to one provider over kept-alive sockets. Nothing is retried, no redirect is followed. */
export interface Wire {
  /** Never rejects. */
  send(request: WireRequest): Promise<WireAnswer>
  /** The path, with its query, of a URL below the provider's origin; undefined for one of another origin. */
  pathOf(url: unknown): string | undefined
  /** Whatever still runs ends as lost. */
  close(): Promise<void>
}

/** Opens one. Throws TypeError when the options cannot be meant so. */
export function openWire(options: TransportOptions): Wire {
  const base = parsedBaseUrl(options)
  const root = base.pathname.replace(/\/+$/, '')
  const fixed = fixedHeaders(options, 'application/json')
  const pool = new Pool(base.origin, poolOptions(options))
  const waitingMax = options.connections * (1 + WAITING_PER_CONNECTION)
  let open = 0
  return {
    async send(request) {
      const { name } = options
      if (request.signal?.aborted) return { kind: 'unsent', message: `${name} was not asked.`, aborted: true }
      if (open >= waitingMax)
        return { kind: 'unsent', message: `${name} has ${open} requests in flight.`, aborted: false }
      open += 1
      const letter = new Letter(name, request.signal)
      letter.startWithin(options.connectTimeoutMs)
      const path = request.fromRoot ? request.path : root + request.path
      pool.dispatch(
        {
          path,
          method: request.method,
          headers: withHeaders(fixed, request.headers ?? {}),
          body: request.body ?? null,
        },
        letter,
      )
      const answer = await letter.answer
      open -= 1
      return answer
    },
    pathOf(url) {
      if (typeof url !== 'string' || !URL.canParse(url, base.origin)) return undefined
      const parsed = new URL(url, base.origin)
      return parsed.origin === base.origin && parsed.username === '' ? parsed.pathname + parsed.search : undefined
    },
    close: () => pool.destroy(),
  }
}

/** How many requests may wait for each socket. */
const WAITING_PER_CONNECTION = 8

function withHeaders(fixed: readonly string[], more: Readonly<Record<string, string>>): string[] {
  const kept = fixed.flatMap((name, index) =>
    index % 2 === 0 && !Object.hasOwn(more, name) ? [name, fixed[index + 1] ?? ''] : [],
  )
  return [...kept, ...Object.entries(more).flat()]
}

/**
 * One request as undici reports it. undici calls `onRequestStart` right before it writes the first byte: an error
 * before that means that the provider saw nothing, an error after it that the outcome cannot be known.
 */
class Letter implements Dispatcher.DispatchHandler {
  readonly answer: Promise<WireAnswer>
  readonly #settle: (answer: WireAnswer) => void
  readonly #name: string
  readonly #signal: AbortSignal | undefined
  #controller: Dispatcher.DispatchController | undefined
  #timer: NodeJS.Timeout | undefined
  #ended = false
  #status = 0
  #headers: IncomingHttpHeaders = {}
  #pieces: Buffer[] = []

  constructor(name: string, signal: AbortSignal | undefined) {
    const { promise, resolve } = Promise.withResolvers<WireAnswer>()
    this.answer = promise
    this.#settle = resolve
    this.#name = name
    this.#signal = signal
    signal?.addEventListener('abort', this.#abort)
  }

  startWithin(limitMs: number): void {
    this.#timer = setTimeout(() => this.#unsent('no connection in time'), limitMs)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // Given up while it waited, or offered to a second socket: aborting here keeps the bytes from being written.
    if (this.#ended || this.#controller) {
      controller.abort(new Error('not to be sent'))
      return
    }
    this.#controller = controller
    clearTimeout(this.#timer)
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return
    this.#status = status
    this.#headers = headers
  }

  onResponseData(_controller: Dispatcher.DispatchController, piece: Buffer): void {
    this.#pieces.push(piece)
  }

  onResponseEnd(): void {
    this.#answered()
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: Error): void {
    if (this.#controller === undefined) this.#unsent(codeOf(error))
    // an error's status says what it means, whether its text came whole or not
    else if (this.#status >= 300) this.#answered()
    else
      this.#end({
        kind: 'lost',
        message: `${this.#name} did not answer (${codeOf(error)}), so what it did is unknown.`,
      })
  }

  readonly #abort = (): void => {
    if (this.#controller === undefined) this.#unsent('aborted')
    else this.#controller.abort(Object.assign(new Error('aborted'), { code: 'aborted' }))
  }

  #answered(): void {
    const text = Buffer.concat(this.#pieces).toString()
    this.#end({ kind: 'answer', status: this.#status, headers: this.#headers, text })
  }

  #unsent(why: string): void {
    const aborted = this.#signal?.aborted ?? false
    this.#end({ kind: 'unsent', message: `${this.#name} could not be reached (${why}).`, aborted })
  }

  #end(answer: WireAnswer): void {
    if (this.#ended) return
    this.#ended = true
    clearTimeout(this.#timer)
    this.#signal?.removeEventListener('abort', this.#abort)
    this.#settle(answer)
  }
}

/** The error's code or class only: its message can carry addresses. */
function codeOf(error: Error & { code?: unknown }): string {
  return typeof error.code === 'string' ? error.code : error.name
}
