import type { Dispatcher } from 'undici'
import { ProviderLost } from '../provider.ts'
import { EventSplitter } from '../server-sent-events.ts'

/**
 * The payloads of one streamed answer, handed over in batches: everything that arrived since the last pull.
 * While the consumer is busy at most PENDING_LENGTH_MAX characters and one chunk are held; then
 * the socket is paused and the provider feels it. One consumer only; ending the iteration early closes the
 * connection.
 */
export class PayloadStream implements AsyncIterable<readonly string[]> {
  readonly #splitter = new EventSplitter()
  readonly #controller: Dispatcher.DispatchController
  readonly #name: string
  #pending: string[] = []
  #pendingLength = 0
  #wake: (() => void) | undefined
  /** `complete` after [DONE] or a clean end: what follows is read and dropped, so that the socket can be reused. */
  #state: 'open' | 'complete' | ProviderLost = 'open'
  #bytesAfterDone = 0

  constructor(controller: Dispatcher.DispatchController, name: string) {
    this.#controller = controller
    this.#name = name
  }

  /** Takes a chunk from the socket. */
  push(chunk: Buffer): void {
    if (this.#state === 'open') {
      this.#take(this.#splitter.push(chunk))
      if (this.#pendingLength > PENDING_LENGTH_MAX) this.#controller.pause()
      return
    }
    this.#bytesAfterDone += chunk.length
    if (this.#bytesAfterDone > BYTES_AFTER_DONE_MAX) this.#controller.abort(new Error('more after [DONE]'))
  }

  /** The body ended cleanly. */
  end(): void {
    if (this.#state !== 'open') return
    const last = this.#splitter.end()
    // A body that ends inside an event was cut, however clean the end looks.
    if (last.some((payload) => payload !== DONE && !isJson(payload))) {
      this.fail('cut inside an event')
    } else {
      this.#take(last)
      this.#finish('complete')
    }
  }

  /** The connection broke. What arrived before is still handed over. */
  fail(code: string): void {
    if (this.#state !== 'open') return
    this.#finish(new ProviderLost(`${this.#name}'s answer broke off (${code}).`))
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<readonly string[], void, undefined> {
    try {
      while (true) {
        if (this.#pending.length > 0) {
          const batch = this.#pending
          this.#pending = []
          this.#pendingLength = 0
          if (this.#controller.paused) this.#controller.resume()
          yield batch
        } else if (this.#state === 'open') {
          await new Promise<void>((resolve) => {
            this.#wake = resolve
          })
        } else if (this.#state === 'complete') {
          return
        } else {
          throw this.#state
        }
      }
    } finally {
      if (this.#state === 'open' || this.#controller.paused) {
        this.#controller.abort(new Error('no longer read'))
      }
    }
  }

  #take(payloads: string[]): void {
    for (const payload of payloads) {
      if (payload === DONE) {
        this.#finish('complete')
        return
      }
      this.#pending.push(payload)
      this.#pendingLength += payload.length
    }
    if (this.#pending.length > 0) this.#wake?.()
  }

  #finish(state: 'complete' | ProviderLost): void {
    this.#state = state
    this.#wake?.()
  }
}

const DONE = '[DONE]'

const PENDING_LENGTH_MAX = 64 * 1024

/** After [DONE] only the end of the body is due. */
const BYTES_AFTER_DONE_MAX = 64 * 1024

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
