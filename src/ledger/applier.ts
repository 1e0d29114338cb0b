import { assert } from '../kernel/assert.ts'
import type { Clock } from '../kernel/clock.ts'
import { Fault } from '../kernel/errors.ts'
import { isSerialization } from '../kernel/sql-state.ts'
import { type Lane, LaneLost } from './lane.ts'
import type { Applied, Operation } from './operations.ts'

/** What a flush was like, for metrics. */
export interface FlushReport {
  readonly size: number
  readonly durationMs: number
}

/** What the applier stands on, and its limits. */
export interface ApplierOptions {
  readonly lane: Lane
  readonly clock: Clock
  /** Operations of one flush at most: bounds the time that the last of them waits. */
  readonly batchMax: number
  /** Operations waiting at most; more are refused with 503. */
  readonly queueMax: number
  /** How long a caller waits for a durable answer before it is told 503. The operation itself goes on. */
  readonly patienceMs: number
  readonly onFlush?: (report: FlushReport) => void
  /** A poisoned operation or a lost lane, for the log. */
  readonly onTrouble?: (message: string, error: unknown) => void
}

/** Collects what concurrent callers want from the ledger and applies it in as few transactions as it can. */
export interface Applier {
  /** Resolves once the operation is durable. Rejects with Fault `overloaded` or `unavailable`, or the operation's own error. */
  submit(operation: Operation): Promise<Applied>
  /** Operations that have no answer yet. */
  readonly depth: number
  /** Holds that an operation works on whose caller was told 503 and which has no answer yet. */
  readonly abandoned: ReadonlySet<bigint>
  /** True while the database does not answer. */
  readonly failing: boolean
  /** Waits until everything submitted has its answer, at most this long; gives false when time ran out. */
  drained(withinMs: number): Promise<boolean>
  close(): Promise<void>
}

interface Pending {
  readonly operation: Operation
  readonly submittedMs: number
  settle: ((applied: Applied) => void) | undefined
  refuse: ((error: unknown) => void) | undefined
}

const RETRY_MIN_MS = 20
const RETRY_MAX_MS = 1000

/**
 * No timer delays a flush: while one runs, operations collect, and the next begins as soon as it returns. So a
 * quiet server answers at once and a busy one shares each commit among many callers.
 */
export function createApplier(options: ApplierOptions): Applier {
  return new FlushingApplier(options)
}

class FlushingApplier implements Applier {
  readonly abandoned = new Set<bigint>()
  readonly #options: ApplierOptions
  readonly #idle: Array<() => void> = []
  #queue: Pending[] = []
  #inFlight = 0
  #failing = false
  #running = false
  #closed = false

  constructor(options: ApplierOptions) {
    this.#options = options
  }

  get depth(): number {
    return this.#queue.length + this.#inFlight
  }

  get failing(): boolean {
    return this.#failing
  }

  submit(operation: Operation): Promise<Applied> {
    // the end of a hold is never refused: what the call cost is known now and nowhere else
    if (operation.operation === 'reserve') {
      if (this.#closed) return Promise.reject(new Fault('shutting_down', { retryAfterMs: 1000 }))
      if (this.#failing) return Promise.reject(new Fault('unavailable', { retryAfterMs: 1000 }))
      if (this.#queue.length >= this.#options.queueMax)
        return Promise.reject(new Fault('overloaded', { retryAfterMs: 1000 }))
    }
    return new Promise<Applied>((settle, refuse) => {
      this.#queue.push({ operation, submittedMs: this.#options.clock.monotonicMs(), settle, refuse })
      if (this.#running) return
      this.#running = true
      // after this turn of the event loop, so that requests read together are flushed together
      setImmediate(() => void this.#run())
    })
  }

  async drained(withinMs: number): Promise<boolean> {
    if (!this.#running) return true
    return await new Promise<boolean>((resolve) => {
      const timer = setTimeout(() => resolve(false), withinMs)
      this.#idle.push(() => {
        clearTimeout(timer)
        resolve(true)
      })
    })
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#options.lane.close()
  }

  async #run(): Promise<void> {
    while (this.#queue.length > 0) {
      const batch = this.#queue.splice(0, this.#options.batchMax)
      this.#inFlight = batch.length
      await this.#flush(batch)
      this.#inFlight = 0
    }
    this.#running = false
    for (const wake of this.#idle.splice(0)) wake()
  }

  /** Applies a batch until it has an answer. A poisoned operation is found by halving and refused alone. */
  async #flush(batch: readonly Pending[]): Promise<void> {
    for (let delayMs = RETRY_MIN_MS; ; delayMs = Math.min(delayMs * 2, RETRY_MAX_MS)) {
      try {
        return await this.#apply(batch)
      } catch (error) {
        if (error instanceof LaneLost) {
          this.#lost(batch, error)
          await pause(delayMs)
        } else {
          // whatever it says, the lane answers: without this no reserve would be let through to find out
          this.#failing = false
          if (!isSerialization(error)) return this.#divide(batch, error)
        }
      }
    }
  }

  async #apply(batch: readonly Pending[]): Promise<void> {
    const { lane, clock, onFlush } = this.#options
    const startedMs = clock.monotonicMs()
    const answers = await lane.apply(batch.map((pending) => pending.operation))
    assert(answers.length === batch.length, 'the ledger answered another number of operations')
    this.#failing = false
    onFlush?.({ size: batch.length, durationMs: clock.monotonicMs() - startedMs })
    batch.forEach((pending, index) => {
      const applied = answers[index] as Applied
      if (!pending.settle) this.#undo(pending, applied)
      else pending.settle(applied)
    })
  }

  #lost(batch: readonly Pending[], error: LaneLost): void {
    if (!this.#failing) this.#options.onTrouble?.('the ledger lane is lost; the same flush is sent again', error)
    this.#failing = true
    this.#loseImpatient(batch)
    this.#loseImpatient(this.#queue)
    // a reserve that was never sent and that nobody waits for any more is not made at all
    this.#queue = this.#queue.filter((pending) => !this.#forget(pending))
  }

  async #divide(batch: readonly Pending[], error: unknown): Promise<void> {
    const [first] = batch
    if (first && batch.length === 1) {
      this.#options.onTrouble?.(
        `the ledger refused ${first.operation.operation} of hold ${first.operation.holdId}`,
        error,
      )
      this.abandoned.delete(first.operation.holdId)
      first.refuse?.(error)
      return
    }
    const middle = Math.ceil(batch.length / 2)
    await this.#flush(batch.slice(0, middle))
    await this.#flush(batch.slice(middle))
  }

  /** Nobody waits for this answer any more. A reserve's work was never begun: the money goes back. */
  #undo({ operation }: Pending, applied: Applied): void {
    const { holdId } = operation
    if (applied.status !== 'reserved') {
      this.abandoned.delete(holdId)
      return
    }
    this.submit({
      operation: 'void',
      holdId,
      outcome: 'failed',
      reason: 'the caller was answered 503 before the hold was known',
    }).then(
      () => this.abandoned.delete(holdId),
      (error: unknown) => this.#options.onTrouble?.('an abandoned hold is not released yet', error),
    )
  }

  /** True when a reserve could be dropped without a trace; an end never is. */
  #forget({ operation }: Pending): boolean {
    return operation.operation === 'reserve' && this.abandoned.delete(operation.holdId)
  }

  #loseImpatient(waiting: readonly Pending[]): void {
    const now = this.#options.clock.monotonicMs()
    for (const pending of waiting) {
      if (!pending.refuse) continue
      // a reserve is told at once: nothing was begun, and the client may try elsewhere
      if (pending.operation.operation !== 'reserve' && now - pending.submittedMs < this.#options.patienceMs) continue
      this.abandoned.add(pending.operation.holdId)
      pending.refuse(new Fault('unavailable', { retryAfterMs: 1000 }))
      pending.refuse = undefined
      pending.settle = undefined
    }
  }
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
