import * as leases from './lease/store.ts'
import { chainRound, type RoundOptions } from './round.ts'
import type { ChainStatus } from './status.ts'
import type { WatchedChain } from './watched.ts'

/** What `startWatcher` needs. */
export interface WatcherOptions extends RoundOptions {
  readonly chains: readonly WatchedChain[]
  /** Milliseconds between rounds while somebody waits for a payment, and otherwise. */
  readonly busyMs: number
  readonly idleMs: number
}

/** A watcher that runs. */
export interface Watcher {
  /** Look at this chain at once: a payment may be on its way. Never blocks, never throws. */
  wake(chainId: bigint): void
  status(): readonly ChainStatus[]
  /** Ends after the rounds that run. */
  stop(): Promise<void>
}

/** A round is over within this, or another process may begin one as well. */
const ROUND_MS = 15_000
/** How long a process may be late for its next round before another one takes over. */
const LATE_MS = 5_000

/**
 * Watches chains for payments until it is stopped. Any number of processes may do so: one of them reads a chain, the
 * others follow what it finds, and one of those takes over when it is gone. That saves nodes from being asked twice
 * and guards nothing: two that read at once are held apart by the rows they lock.
 */
export function startWatcher(options: WatcherOptions): Watcher {
  const holder = options.random.uuid()
  const rooms = options.chains.map((watched) => watchChain(options, watched, holder))
  return {
    wake: (chainId) => rooms.find((room) => room.status().chainId === chainId)?.wake(),
    status: () => rooms.map((room) => room.status()),
    async stop() {
      await Promise.all(rooms.map((room) => room.stop()))
    },
  }
}

interface Room {
  wake(): void
  status(): ChainStatus
  stop(): Promise<void>
}

function watchChain(options: WatcherOptions, watched: WatchedChain, holder: string): Room {
  const turns = chainTurns(options, watched, holder)
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> | undefined
  let wokenMeanwhile = false
  let stopped = false
  const run = async (woken: boolean) => {
    const waitMs = await turns.take(woken)
    if (stopped) return
    if (wokenMeanwhile) timer = setTimeout(() => start(true), 0)
    else timer = setTimeout(() => start(false), waitMs)
    wokenMeanwhile = false
  }
  const start = (woken: boolean) => {
    clearTimeout(timer)
    running = run(woken).finally(() => {
      running = undefined
    })
  }
  start(false)
  return {
    wake() {
      if (stopped) return
      if (running) wokenMeanwhile = true
      else start(true)
    },
    status: turns.status,
    async stop() {
      stopped = true
      clearTimeout(timer)
      await running
      await leases.release(options.db, BigInt(watched.chain.chainId), holder).catch(() => undefined)
    },
  }
}

/** The turns of one process at one chain: a round when it is its to read, else a look at what the reader found. */
function chainTurns(
  { db, busyMs, idleMs, onTrouble, ...options }: WatcherOptions,
  watched: WatchedChain,
  holder: string,
): { take(woken: boolean): Promise<number>; status(): ChainStatus } {
  const chainId = BigInt(watched.chain.chainId)
  const round = chainRound({ ...options, db, onTrouble }, watched)
  let status = round.status()
  const follow = async () => {
    const reader = await leases.lease(db, chainId)
    if (!reader) return
    status = {
      ...round.status(),
      healthy: reader.healthy && reader.stopped === null,
      stopped: reader.stopped !== null,
      trouble: reader.stopped ?? reader.trouble ?? undefined,
      behind: reader.behind,
      headAt: reader.head_at ?? undefined,
      lastReadAt: reader.read_at ?? undefined,
    }
  }
  return {
    status: () => status,
    /** Gives how long to wait for the next turn. Whoever is woken reads at once, and goes on reading: its payer waits. */
    async take(woken) {
      const mayRead = await leases.take(db, chainId, { holder, ms: ROUND_MS, anyway: woken }).catch(() => true)
      if (!mayRead) {
        await follow().catch((error: unknown) => onTrouble('what is found on a chain cannot be followed', error))
        return busyMs
      }
      const isBusy = await round.once()
      status = { ...round.status(), reading: true }
      const waitMs = isBusy ? busyMs : idleMs
      // without the lease it goes on as well: the rows decide, not the lease
      await leases.keep(db, status, { holder, ms: waitMs + LATE_MS }).catch(() => undefined)
      return waitMs
    },
  }
}
