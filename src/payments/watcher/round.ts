import { NodesDisagree } from '../../chains/chain.ts'
import { someoneWaits } from '../orders/store.ts'
import { backfillStep, beginNew } from './backfill/service.ts'
import { candidateRound } from './candidates.ts'
import { giveUpLost } from './deadlines.ts'
import { joinTransfers } from './join.ts'
import { type AdaptiveRange, adaptiveRange } from './range.ts'
import { reconcile } from './reconciliation/service.ts'
import { BeyondMemory } from './rewind.ts'
import { type Scanned, scanStep } from './scan.ts'
import { settleTransfers } from './settle.ts'
import { type ChainStatus, unread } from './status.ts'
import * as store from './store.ts'
import type { WatchedChain, WatcherDeps } from './watched.ts'

/** What the rounds of one chain need. */
export interface RoundOptions extends WatcherDeps {
  /** Milliseconds between comparisons of what was received with what was credited. */
  readonly reconcileMs: number
  readonly onTrouble: (message: string, error: unknown) => void
}

/** The rounds of one chain. */
export interface ChainRound {
  /** Reads, joins, settles and gives up, once. Never throws; says whether to come back soon. */
  once(): Promise<boolean>
  status(): ChainStatus
}

/** Steps of one round, so that settling is never starved by a long way to catch up. */
const STEPS_MAX = 100

/** Opens the rounds of one chain. Any number of processes may run them at once: what they write is decided by the rows they lock. */
export function chainRound(options: RoundOptions, watched: WatchedChain): ChainRound {
  const chainId = BigInt(watched.chain.chainId)
  const read = reader(options, watched)
  let status = unread(chainId)
  const onTrouble = (error: unknown) => {
    const message = error instanceof Error ? error.message : 'unknown'
    // a chain that is stopped says so once, and on /readyz for as long as it is
    const isNews = !(error instanceof BeyondMemory && status.stopped)
    status = {
      ...status,
      trouble: message,
      disagreements: status.disagreements + (error instanceof NodesDisagree ? 1 : 0),
    }
    if (isNews) options.onTrouble(`the chain ${watched.chain.networkName} could not be read; it is tried again`, error)
  }
  const onRewind = () => {
    status = { ...status, reorganisations: status.reorganisations + 1 }
  }
  return {
    status: () => status,
    async once() {
      try {
        const { head, behind, credited } = await read(onRewind, onTrouble)
        status = {
          ...status,
          healthy: true,
          stopped: false,
          trouble: undefined,
          lastReadAt: options.clock.now(),
          headAt: head.at,
          behind,
          credited: status.credited + credited,
        }
        if (behind > 0n) return true
        return (await someoneWaits(options.db, chainId)) || (await store.transfersWait(options.db, chainId))
      } catch (error) {
        onTrouble(error)
        const stopped = error instanceof BeyondMemory
        status = { ...status, healthy: false, stopped }
        if (stopped) await store.stopAt(options.db, chainId, error.message).catch(onTrouble)
        return !stopped
      }
    },
  }
}

type Reader = (
  onRewind: () => void,
  onTrouble: (error: unknown) => void,
) => Promise<{ readonly head: store.ReadHead; readonly behind: bigint; readonly credited: number }>

function reader(options: RoundOptions, watched: WatchedChain): Reader {
  const chainId = BigInt(watched.chain.chainId)
  const candidates = candidateRound(options, watched)
  const range = adaptiveRange()
  const compare = comparison(options, watched)
  return async (onRewind, onTrouble) => {
    const scanned = await catchUp(options, watched, range, onRewind)
    const missing = await readUp(options, watched, range)
    await joinTransfers(options, watched, scanned.head, onTrouble)
    const credited = await settleTransfers(options, watched, scanned.head, onTrouble)
    await candidates(scanned.head, onTrouble)
    const behind = scanned.behind > missing ? scanned.behind : missing
    // whoever is behind has not yet seen what may have been paid in time
    if (behind === 0n) await giveUpLost(options, watched, scanned.head)
    await store.finish(options.db, chainId, scanned.head.finalized)
    await compare({ ...scanned, behind }).catch(onTrouble)
    return { head: scanned.head, behind, credited }
  }
}

/** Reads on to the head, or as many steps as a round may take. */
async function catchUp(
  deps: WatcherDeps,
  watched: WatchedChain,
  range: AdaptiveRange,
  onRewind: () => void,
): Promise<Scanned> {
  for (let step = 1; ; step += 1) {
    const scanned = await range.step((blocks) => scanStep(deps, watched, blocks))
    if (scanned.outcome === 'rewound') onRewind()
    const goesOn = scanned.behind > 0n || scanned.outcome === 'rewound' || scanned.outcome === 'overtaken'
    if (!goesOn || step >= STEPS_MAX) return scanned
  }
}

/** Reads up what is new here, or was left out, to where the scan is. Gives the blocks that are left for later rounds. */
async function readUp(deps: WatcherDeps, watched: WatchedChain, range: AdaptiveRange): Promise<bigint> {
  const cursor = await store.cursor(deps.db, BigInt(watched.chain.chainId))
  if (!cursor) return 0n
  await beginNew(deps, watched, cursor)
  let left = 0n
  for (let step = 1; step <= STEPS_MAX; step += 1) {
    left = await range.step((blocks) => backfillStep(deps, watched, blocks))
    if (left === 0n) break
  }
  return left
}

/**
 * Compares what was received with what is recorded, when it is time again and the chain was read to its head. A node
 * that lacks the balances of that block takes no payments down: the comparison goes stale, which is said.
 */
function comparison(
  options: Pick<RoundOptions, 'db' | 'clock' | 'reconcileMs'>,
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
