import type { Lane } from './lane/lane.ts'
import type { Payment } from './model.ts'
import { type SettlementDeps, settle } from './settlement.ts'
import * as store from './store.ts'

/** What the worker needs. */
export interface WorkerOptions extends SettlementDeps {
  /** undefined where a facilitator sends. */
  readonly lane: Pick<Lane, 'tend'> | undefined
  /** Milliseconds between looks at a young payment, at an old or credited one, and while nothing is open. */
  readonly soonMs: number
  readonly laterMs: number
  readonly idleMs: number
  readonly onTrouble: (message: string, error: unknown) => void
}

/** A worker that runs. */
export interface Worker {
  /** Look for due payments now. Never blocks, never throws. */
  wake(): void
  /** Looks at one payment now, whoever else may be at it. */
  look(payment: Payment): Promise<void>
  stop(): Promise<void>
}

const AT_ONCE = 50
/** How often the relayer's unsent and stuck transactions are looked after. */
const TEND_MS = 2_000

/** Moves payments on until it is stopped: also those that another process, or this one before a crash, began. */
export function startWorker(options: WorkerOptions): Worker {
  const { db, clock, lane, onTrouble } = options
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> | undefined
  let stopped = false
  let woken = false
  let tendedAtMs = Number.NEGATIVE_INFINITY
  const look = (payment: Payment): Promise<void> =>
    settle(options, payment).catch((error: unknown) =>
      onTrouble(`x402 payment ${payment.id} cannot be looked at; it is tried again`, error),
    )
  const round = async (): Promise<boolean> => {
    const due = await store.takeDue(db, { ...options, now: clock.now(), limit: AT_ONCE })
    await Promise.all(due.map(look))
    if (lane && clock.monotonicMs() - tendedAtMs >= TEND_MS) {
      tendedAtMs = clock.monotonicMs()
      await lane.tend()
    }
    return due.length === AT_ONCE || (await store.anyOpen(db))
  }
  const run = async (): Promise<void> => {
    let busy = false
    try {
      busy = await round()
    } catch (error) {
      onTrouble('x402 payments cannot be looked at; they are tried again', error)
    }
    if (stopped) return
    timer = setTimeout(start, busy || woken ? options.soonMs : options.idleMs)
    woken = false
  }
  const start = (): void => {
    clearTimeout(timer)
    running = run().finally(() => {
      running = undefined
    })
  }
  start()
  return {
    wake() {
      if (stopped || woken) return
      woken = true
      if (running) return
      clearTimeout(timer)
      timer = setTimeout(start, 0)
    },
    look,
    async stop() {
      stopped = true
      clearTimeout(timer)
      await running
    },
  }
}
