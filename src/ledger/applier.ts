import { assert } from '../kernel/assert.ts'
import type { Clock } from '../kernel/clock.ts'
import { Fault } from '../kernel/errors.ts'
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
  const { lane, clock } = options
  const abandoned = new Set<bigint>()
  let queue: Pending[] = []
  let inFlight = 0
  let failing = false
  let running = false
  let closed = false
  const idle: Array<() => void> = []

  function submit(operation: Operation): Promise<Applied> {
    const busy = closed ? 'shutting_down' : failing ? 'unavailable' : queue.length >= options.queueMax ? 'overloaded' : undefined
    // the end of a hold is never refused: what the call cost is known now and nowhere else
    if (busy && operation.operation === 'reserve') return Promise.reject(new Fault(busy, { retryAfterMs: 1000 }))
    return new Promise<Applied>((settle, refuse) => {
      queue.push({ operation, submittedMs: clock.monotonicMs(), settle, refuse })
      if (!running) {
        running = true
        // after this turn of the event loop, so that requests read together are flushed together
        setImmediate(() => void run())
      }
    })
  }

  async function run(): Promise<void> {
    while (queue.length > 0) {
      const batch = queue.splice(0, options.batchMax)
      inFlight = batch.length
      await flush(batch)
      inFlight = 0
    }
    running = false
    for (const wake of idle.splice(0)) wake()
  }

  /** Applies a batch until it has an answer. A poisoned operation is found by halving and refused alone. */
  async function flush(batch: readonly Pending[]): Promise<void> {
    for (let delayMs = RETRY_MIN_MS; ; delayMs = Math.min(delayMs * 2, RETRY_MAX_MS)) {
      const startedMs = clock.monotonicMs()
      try {
        const answers = await lane.apply(batch.map((pending) => pending.operation))
        assert(answers.length === batch.length, 'the ledger answered another number of operations')
        failing = false
        options.onFlush?.({ size: batch.length, durationMs: clock.monotonicMs() - startedMs })
        batch.forEach((pending, index) => {
          const applied = answers[index]
          assert(applied, 'an operation has no answer')
          if (!pending.settle) undo(pending, applied)
          else pending.settle(applied)
        })
        return
      } catch (error) {
        if (error instanceof LaneLost) {
          if (!failing) options.onTrouble?.('the ledger lane is lost; the same flush is sent again', error)
          failing = true
          const limits = { abandoned, nowMs: clock.monotonicMs(), patienceMs: options.patienceMs }
          loseImpatient(batch, limits)
          loseImpatient(queue, limits)
          // a reserve that was never sent and that nobody waits for any more is not made at all
          queue = queue.filter(({ operation, settle }) => settle !== undefined || operation.operation !== 'reserve' || !abandoned.delete(operation.holdId))
          await pause(delayMs)
        } else {
          // whatever it says, the lane answers: without this no reserve would be let through to find out
          failing = false
          if (!isSerialization(error)) return divide(batch, error)
        }
      }
    }
  }

  async function divide(batch: readonly Pending[], error: unknown): Promise<void> {
    const [first] = batch
    if (first && batch.length === 1) {
      options.onTrouble?.(`the ledger refused ${first.operation.operation} of hold ${first.operation.holdId}`, error)
      abandoned.delete(first.operation.holdId)
      first.refuse?.(error)
      return
    }
    const middle = Math.ceil(batch.length / 2)
    await flush(batch.slice(0, middle))
    await flush(batch.slice(middle))
  }

  /** Nobody waits for this answer any more. A reserve's work was never begun: the money goes back. */
  function undo(pending: Pending, applied: Applied): void {
    const { operation } = pending
    const { holdId } = operation
    if (operation.operation !== 'reserve' || applied.status !== 'reserved') {
      abandoned.delete(holdId)
      return
    }
    submit({ operation: 'void', holdId, outcome: 'failed', reason: 'the caller was answered 503 before the hold was known' }).then(
      () => abandoned.delete(holdId),
      (error: unknown) => options.onTrouble?.('an abandoned hold is not released yet', error),
    )
  }

  return {
    submit,
    abandoned,
    get depth() {
      return queue.length + inFlight
    },
    get failing() {
      return failing
    },
    async drained(withinMs) {
      if (!running) return true
      return await new Promise<boolean>((resolve) => {
        const timer = setTimeout(() => resolve(false), withinMs)
        idle.push(() => {
          clearTimeout(timer)
          resolve(true)
        })
      })
    },
    async close() {
      closed = true
      await lane.close()
    },
  }
}

/** Tells 503 to those who need not wait for a lane that is lost; what they wanted goes on without them. */
function loseImpatient(waiting: readonly Pending[], limits: { abandoned: Set<bigint>; nowMs: number; patienceMs: number }): void {
  for (const pending of waiting) {
    if (!pending.refuse) continue
    // a reserve is told at once: nothing was begun, and the client may try elsewhere
    if (pending.operation.operation !== 'reserve' && limits.nowMs - pending.submittedMs < limits.patienceMs) continue
    limits.abandoned.add(pending.operation.holdId)
    pending.refuse(new Fault('unavailable', { retryAfterMs: 1000 }))
    pending.refuse = undefined
    pending.settle = undefined
  }
}

const isSerialization = (error: unknown): boolean => {
  const code = (error as { code?: unknown } | null)?.code
  return code === '40001' || code === '40P01'
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
