import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'
import { type ChatAttempt, type ChatOutcome, usageFrom } from '../provider.ts'
import { objectFrom, refusalByStatus, refusalInBody } from '../refusal.ts'
import type { Scrubber } from '../scrubber.ts'
import { PayloadStream } from './payload-stream.ts'

/** What one exchange needs to know. */
export interface ExchangeOptions {
  readonly name: string
  readonly scrubber: Scrubber
  readonly attempt: ChatAttempt
  /** Called once, when the exchange holds no socket and waits for none any more. */
  readonly ended: () => void
}

/**
 * One request and its response, as undici reports them, turned into one ChatOutcome.
 *
 * What is owed hangs on whether the request was written. undici calls `onRequestStart` right before it
 * writes the first byte and never earlier, so an error before that call means that the provider saw nothing
 * (refused), and an error after it, with no status line yet, that the outcome cannot be known (lost). That
 * holds for reused sockets as well: a reset there, before any byte of the response, is lost.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly outcome: Promise<ChatOutcome>
  readonly #options: ExchangeOptions
  readonly #settle: (outcome: ChatOutcome) => void
  #controller: Dispatcher.DispatchController | undefined
  #startTimer: NodeJS.Timeout | undefined
  #status = 0
  #headers: IncomingHttpHeaders = {}
  #chunks: Buffer[] = []
  #bytes = 0
  #stream: PayloadStream | undefined
  #ended = false

  constructor(options: ExchangeOptions) {
    this.#options = options
    const { promise, resolve } = Promise.withResolvers<ChatOutcome>()
    this.outcome = promise
    this.#settle = resolve
    options.attempt.signal?.addEventListener('abort', this.#abort)
  }

  /** Gives the attempt up as refused when its request has not been written after `limitMs`. */
  startWithin(limitMs: number): void {
    this.#startTimer = setTimeout(() => this.#notSent('timed out before the request was sent'), limitMs)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // Given up while it waited, or offered to a second socket: aborting here keeps the bytes from being written.
    if (this.#ended || this.#controller) {
      controller.abort(new Error('not to be sent'))
      return
    }
    this.#controller = controller
    clearTimeout(this.#startTimer)
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return
    this.#status = status
    this.#headers = headers
    if (status >= 300) return
    // also where none was asked for: whoever asked reads what it cost, or hangs up
    if (!/^text\/event-stream\b/i.test(headers['content-type'] ?? '')) return
    this.#stream = new PayloadStream(controller, this.#options.name)
    this.#settle({
      kind: 'stream',
      batches: this.#stream,
      providerRequestId: this.#providerRequestId(),
    })
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#stream) {
      this.#stream.push(chunk)
      return
    }
    // Of a refusal only the beginning is kept: it has to yield a message of 500 characters.
    if (this.#status >= 300 && this.#bytes >= REFUSAL_BYTES_MAX) return
    this.#chunks.push(chunk)
    this.#bytes += chunk.length
  }

  onResponseEnd(): void {
    if (this.#stream) this.#stream.end()
    else this.#settle(this.#status >= 300 ? this.#refusal() : this.#answer())
    this.#end()
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: Error): void {
    const code = codeOf(error)
    if (this.#stream) this.#stream.fail(code)
    else if (this.#controller === undefined) this.#notSent(`could not be reached (${code})`)
    else if (this.#status >= 300) this.#settle(this.#refusal())
    else this.#lost(`did not answer (${code}), so what it did is unknown`)
    this.#end()
  }

  readonly #abort = (): void => {
    if (this.#controller === undefined) this.#notSent('was not called: the attempt was aborted')
    else this.#controller.abort(Object.assign(new Error('aborted'), { code: 'aborted' }))
  }

  #answer(): ChatOutcome {
    const { name, scrubber } = this.#options
    const body = objectFrom(this.#text())
    if (body === undefined) return { kind: 'lost', message: `${name} answered ${this.#status} without a JSON object.` }
    return (
      refusalInBody(body, name, scrubber) ?? {
        kind: 'answer',
        body,
        usage: usageFrom(body.usage),
        providerRequestId: this.#providerRequestId(),
      }
    )
  }

  #refusal(): ChatOutcome {
    const { name, scrubber } = this.#options
    return refusalByStatus({
      name,
      scrubber,
      status: this.#status,
      headers: this.#headers,
      text: this.#text(),
    })
  }

  #text(): string {
    const [first] = this.#chunks
    return first && this.#chunks.length === 1 ? first.toString() : Buffer.concat(this.#chunks).toString()
  }

  #providerRequestId(): string | undefined {
    const id = this.#headers['x-request-id'] ?? this.#headers['request-id']
    return typeof id === 'string' ? id.slice(0, 200) : undefined
  }

  #notSent(what: string): void {
    this.#settle({
      kind: 'refused',
      status: undefined,
      message: `${this.#options.name} ${what}.`,
      retryable: !this.#options.attempt.signal?.aborted,
    })
    this.#end()
  }

  #lost(what: string): void {
    this.#settle({ kind: 'lost', message: `${this.#options.name} ${what}.` })
  }

  #end(): void {
    if (this.#ended) return
    this.#ended = true
    clearTimeout(this.#startTimer)
    this.#options.attempt.signal?.removeEventListener('abort', this.#abort)
    this.#options.ended()
  }
}

const REFUSAL_BYTES_MAX = 64 * 1024

/** The error's code or class only: its message can carry addresses. */
function codeOf(error: Error & { code?: unknown }): string {
  return typeof error.code === 'string' ? error.code : error.name
}
