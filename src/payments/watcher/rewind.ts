import { askAgreed } from '../../chains/chain.ts'
import type { Tx } from '../../db/database.ts'
import * as lifecycle from '../orders/lifecycle.ts'
import * as orders from '../orders/store.ts'
import * as backfill from './backfill/store.ts'
import * as store from './store.ts'
import type { WatchedChain, WatcherDeps } from './watched.ts'

/** The chain was reorganised deeper than the watcher remembers. It is read no more until an operator has rewound it: `message` says how. */
export class BeyondMemory extends Error {
  override name = 'BeyondMemory'
}

/** As many remembered blocks are compared at once. */
const COMPARED_AT_ONCE = 64

/**
 * Goes back to the highest remembered block that every node still has: transfers above it are orphaned, orders that
 * waited for them wait for another, orders that were credited for them need an operator. The scan then reads the new branch.
 */
export async function rewind(
  deps: WatcherDeps,
  watched: WatchedChain,
  from: store.KnownBlock,
  head: store.ReadHead,
): Promise<void> {
  const fork = await forkPoint(deps, watched, from.number - 1n)
  const chainId = BigInt(watched.chain.chainId)
  await deps.db.transaction().execute(async (tx) => {
    if (!(await store.moveCursor(tx, from, fork, chainId, head))) return
    await orphanAbove(deps, tx, chainId, fork.number)
  })
}

/**
 * Takes back everything above a height that the chain no longer has, or that is to be read again: transfers there are
 * orphaned, and blocks and transfers are read anew. The cursor is moved by the caller. Gives how many transfers.
 */
export async function orphanAbove(
  deps: Pick<WatcherDeps, 'clock'>,
  tx: Tx,
  chainId: bigint,
  height: bigint,
): Promise<number> {
  await store.forgetBlocksAbove(tx, chainId, height)
  await backfill.goBack(tx, chainId, height)
  const transfers = await store.lockTransfersAbove(tx, chainId, height)
  for (const transfer of transfers) await orphan(deps, tx, transfer)
  return transfers.length
}

async function forkPoint(deps: WatcherDeps, watched: WatchedChain, below: bigint): Promise<store.KnownBlock> {
  const { chain } = watched
  let upTo = below
  for (;;) {
    const known = await store.knownBlocks(deps.db, BigInt(chain.chainId), upTo, COMPARED_AT_ONCE)
    const lowest = known.at(-1)
    if (!lowest)
      throw new BeyondMemory(
        `${chain.networkName} was reorganised below block ${upTo + 1n}, further back than is remembered. No payment is credited on it until it is rewound: see \`farebox chain show ${chain.chainId}\`.`,
      )
    const hashes = await askAgreed(chain, 'where the chain was reorganised', async (node) =>
      (await node.headers(known.map((block) => block.number))).map((header) => header?.hash),
    )
    const fork = known.find((block, index) => hashes[index] === block.hash)
    if (fork) return fork
    upTo = lowest.number - 1n
  }
}

async function orphan(deps: Pick<WatcherDeps, 'clock'>, tx: Tx, transfer: store.Transfer): Promise<void> {
  await store.mark(tx, transfer, { state: 'orphaned' })
  const order = transfer.order_id === null ? undefined : await orders.lock(tx, transfer.order_id)
  if (order?.tx_hash !== transfer.tx_hash) return
  const now = deps.clock.now()
  await (order.status === 'completed' ? lifecycle.undo(tx, order, now) : lifecycle.orphan(tx, order, now))
}
