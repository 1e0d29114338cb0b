import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'
import type { OperationOutcome } from '../capability.ts'
import { refusalByStatus } from '../refusal.ts'
import type { Scrubber } from '../scrubber.ts'

/** What one exchange needs to know. */
export interface ExchangeOptions {
  /** The capability's slug, for messages. */
  readonly name: string
  readonly scrubber: Scrubber
  readonly signal: AbortSignal
  /** From the first byte of the request to the last of the answer. */
  readonly timeoutMs: number
  /** The longest wait until the request is written. */
  readonly startTimeoutMs: number
  /** Called once, when the exchange holds no socket and waits for none. */
  readonly ended: () => void
}

/**
 * One request to an upstream and its answer, turned into one OperationOutcome. undici calls `onRequestStart` right
 * before it writes the first byte: an error before it means that the upstream saw nothing (refused), an error
 * after it and before a refusing status that the outcome cannot be known (lost).
 */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly outcome: Promise<OperationOutcome>
  readonly #options: ExchangeOptions
  readonly #settle: (outcome: OperationOutcome) => void
  #controller: Dispatcher.DispatchController | undefined
  #timer: NodeJS.Timeout
  #status = 0
  #headers: IncomingHttpHeaders = {}
  #chunks: Buffer[] = []
  #ended = false

  constructor(options: ExchangeOptions) {
    this.#options = options
    const { promise, resolve } = Promise.withResolvers<OperationOutcome>()
    this.outcome = promise
    this.#settle = resolve
    this.#timer = setTimeout(() => this.#notSent('could not be reached in time'), options.startTimeoutMs)
    options.signal.addEventListener('abort', this.#abort)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // given up while it waited, or offered to a second socket: aborting here keeps the bytes from being written
    if (this.#ended || this.#controller) {
      controller.abort(new Error('not to be sent'))
      return
    }
    this.#controller = controller
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => controller.abort(codedError('timeout')), this.#options.timeoutMs)
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return
    this.#status = status
    this.#headers = headers
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#chunks.push(chunk)
  }

  onResponseEnd(): void {
    this.#settle(this.#status >= 300 ? this.#refusal() : { kind: 'answer', data: jsonFrom(this.#text()) })
    this.#end()
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: Error): void {
    if (this.#controller === undefined) this.#notSent(`could not be reached (${codeOf(error)})`)
    else if (this.#status >= 300) this.#settle(this.#refusal())
    else
      this.#settle({
        kind: 'lost',
        message: `${this.#options.name} did not answer (${codeOf(error)}), so what it did is unknown.`,
      })
    this.#end()
  }

  readonly #abort = (): void => {
    if (this.#controller === undefined) this.#notSent('was not called: the server is shutting down')
    else this.#controller.abort(codedError('aborted'))
  }

  #refusal(): OperationOutcome {
    const { name, scrubber } = this.#options
    const { message, status, retryAfterMs } = refusalByStatus({
      name,
      scrubber,
      status: this.#status,
      headers: this.#headers,
      text: this.#text(),
    })
    return { kind: 'refused', status, message, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) }
  }

  #text(): string {
    return Buffer.concat(this.#chunks).toString()
  }

  #notSent(what: string): void {
    this.#settle({ kind: 'refused', status: undefined, message: `${this.#options.name} ${what}.` })
    this.#end()
  }

  #end(): void {
    if (this.#ended) return
    this.#ended = true
    clearTimeout(this.#timer)
    this.#options.signal.removeEventListener('abort', this.#abort)
    this.#options.ended()
  }
}

/** The answer's JSON; null for an empty answer; undefined when it is no JSON. */
function jsonFrom(text: string): unknown {
  if (text === '') return null
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const codedError = (code: string): Error => Object.assign(new Error(code), { code })

/** The error's code or class only: its message can carry addresses. */
function codeOf(error: Error & { code?: unknown }): string {
  return typeof error.code === 'string' ? error.code : error.name
}
