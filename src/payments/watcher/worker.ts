import { NodesDisagree, RangeRefused } from '../../chains/chain.ts'
import { someoneWaits } from '../orders/store.ts'
import { candidateRound } from './candidates.ts'
import { giveUpLost } from './deadlines.ts'
import { joinTransfers } from './join.ts'
import { reconcile } from './reconciliation/service.ts'
import { BeyondMemory } from './rewind.ts'
import { type Scanned, scanStep } from './scan.ts'
import { settleTransfers } from './settle.ts'
import * as store from './store.ts'
import type { WatchedChain, WatcherDeps } from './watched.ts'

/** How one chain is doing, for /readyz, metrics and the question whether orders may be made on it. */
export interface ChainStatus {
  readonly chainId: bigint
  /** False while its nodes fail or disagree, and before the first round. */
  readonly healthy: boolean
  /** When a round last succeeded. */
  readonly lastReadAt: Date | undefined
  /** The time of the chain's head, as last seen: old when the chain stands still. */
  readonly headAt: Date | undefined
  /** Blocks that are still to be read. */
  readonly behind: bigint
  /** Why it is not healthy. Names no address. */
  readonly trouble: string | undefined
  /** Set for ever once the chain was reorganised deeper than is remembered. */
  readonly stopped: boolean
  /** Since start. */
  readonly disagreements: number
  readonly reorganisations: number
  readonly credited: number
}

/** What `startWatcher` needs. */
export interface WatcherOptions extends WatcherDeps {
  readonly chains: readonly WatchedChain[]
  /** Milliseconds between rounds while somebody waits for a payment, and otherwise. */
  readonly busyMs: number
  readonly idleMs: number
  /** Milliseconds between comparisons of what was received with what was credited. */
  readonly reconcileMs: number
  readonly onTrouble: (message: string, error: unknown) => void
}

/** A watcher that runs. */
export interface Watcher {
  /** Look at this chain at once: a payment may be on its way. Never blocks, never throws. */
  wake(chainId: bigint): void
  status(): readonly ChainStatus[]
  /** Ends after the rounds that run. */
  stop(): Promise<void>
}

/** Blocks of one step: adapted to what nodes give. */
const RANGE_MAX = 2_000n
const RANGE_START = 500n
const SUCCESSES_TO_GROW = 20
/** Steps of one round, so that settling is never starved by a long way to catch up. */
const STEPS_MAX = 100

/**
 * Watches chains for payments until it is stopped. Any number of processes may do so at once: what they write
 * is decided by the rows they lock, so the fastest wins and the others find it done.
 */
export function startWatcher(options: WatcherOptions): Watcher {
  const rooms = options.chains.map((watched) => watchChain(options, watched))
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

function watchChain(options: WatcherOptions, watched: WatchedChain): Room {
  const round = chainRound(options, watched)
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> | undefined
  let wokenMeanwhile = false
  let stopped = false
  const run = async () => {
    const busy = await round.once()
    if (stopped) return
    const wait = wokenMeanwhile ? 0 : busy ? options.busyMs : options.idleMs
    wokenMeanwhile = false
    timer = setTimeout(start, wait)
  }
  const start = () => {
    clearTimeout(timer)
    running = run().finally(() => {
      running = undefined
    })
  }
  start()
  return {
    wake() {
      if (stopped) return
      if (running) wokenMeanwhile = true
      else start()
    },
    status: round.status,
    async stop() {
      stopped = true
      clearTimeout(timer)
      await running
    },
  }
}

/** The rounds of one chain. `once` never throws and says whether to come back soon. */
export function chainRound(
  options: Omit<WatcherOptions, 'chains' | 'busyMs' | 'idleMs'>,
  watched: WatchedChain,
): { once(): Promise<boolean>; status(): ChainStatus } {
  const chainId = BigInt(watched.chain.chainId)
  const candidates = candidateRound(options, watched)
  const range = adaptiveRange()
  const compare = comparison(options, watched)
  let status = unread(chainId)
  const onTrouble = (error: unknown) => {
    const message = error instanceof Error ? error.message : 'unknown'
    status = {
      ...status,
      trouble: message,
      disagreements: status.disagreements + (error instanceof NodesDisagree ? 1 : 0),
    }
    options.onTrouble(`the chain ${watched.chain.networkName} could not be read; it is tried again`, error)
  }
  const read = async () => {
    const scanned = await catchUp(options, watched, range, () => {
      status = { ...status, reorganisations: status.reorganisations + 1 }
    })
    await joinTransfers(options, watched, scanned.head)
    const credited = await settleTransfers(options, watched, scanned.head, onTrouble)
    await candidates(scanned.head, onTrouble)
    // whoever is behind has not yet seen what may have been paid in time
    if (scanned.behind === 0n) await giveUpLost(options, watched, scanned.head)
    await store.finish(options.db, chainId, scanned.head.finalized)
    await compare(scanned).catch(onTrouble)
    status = {
      ...status,
      healthy: true,
      trouble: undefined,
      lastReadAt: options.clock.now(),
      headAt: scanned.head.at,
      behind: scanned.behind,
      credited: status.credited + credited,
    }
    return scanned.behind > 0n
  }
  return {
    status: () => status,
    async once() {
      if (status.stopped) return false
      try {
        if (await read()) return true
        return (await someoneWaits(options.db, chainId)) || (await store.transfersWait(options.db, chainId))
      } catch (error) {
        onTrouble(error)
        status = { ...status, healthy: false, stopped: error instanceof BeyondMemory }
        return true
      }
    },
  }
}

/**
 * Compares what was received with what is recorded, when it is time again and the chain was read to its head. A node
 * that lacks the balances of that block takes no payments down: the comparison goes stale, which is said.
 */
function comparison(
  options: Pick<WatcherOptions, 'db' | 'clock' | 'reconcileMs'>,
  watched: WatchedChain,
): (scanned: Scanned) => Promise<void> {
  let comparedAtMs: number | undefined
  return async ({ outcome, behind, head }) => {
    const nowMs = options.clock.monotonicMs()
    const isTime = comparedAtMs === undefined || nowMs - comparedAtMs >= options.reconcileMs
    if (!isTime || outcome === 'overtaken' || behind > 0n) return
    const cursor = await store.cursor(options.db, BigInt(watched.chain.chainId))
    if (!cursor) return
    // a comparison that fails waits for its next time like one that succeeds
    comparedAtMs = nowMs
    const at = { block: cursor.block, finalized: head.finalized }
    for (const asset of watched.assets) await reconcile(options.db, watched.chain, asset, at)
  }
}

function unread(chainId: bigint): ChainStatus {
  return {
    chainId,
    healthy: false,
    lastReadAt: undefined,
    headAt: undefined,
    behind: 0n,
    trouble: 'not read yet',
    stopped: false,
    disagreements: 0,
    reorganisations: 0,
    credited: 0,
  }
}

interface AdaptiveRange {
  readonly now: bigint
  refused(): boolean
  succeeded(): void
}

/** Halves when a node wants less, and grows again after a while. `refused` is false when there is nothing left to halve. */
function adaptiveRange(): AdaptiveRange {
  let range = RANGE_START
  let successes = 0
  return {
    get now() {
      return range
    },
    refused() {
      successes = 0
      if (range === 1n) return false
      range /= 2n
      return true
    },
    succeeded() {
      successes += 1
      if (successes % SUCCESSES_TO_GROW === 0) range = range * 2n > RANGE_MAX ? RANGE_MAX : range * 2n
    },
  }
}

async function catchUp(
  deps: WatcherDeps,
  watched: WatchedChain,
  range: AdaptiveRange,
  onRewind: () => void,
): Promise<Scanned> {
  for (let step = 1; ; step += 1) {
    try {
      const scanned = await scanStep(deps, watched, range.now)
      range.succeeded()
      if (scanned.outcome === 'rewound') onRewind()
      const goesOn = scanned.behind > 0n || scanned.outcome === 'rewound' || scanned.outcome === 'overtaken'
      if (!goesOn || step >= STEPS_MAX) return scanned
    } catch (error) {
      if (!(error instanceof RangeRefused) || !range.refused()) throw error
    }
  }
}
