import { askAgreed } from '../../chains/chain.ts'
import type { Tx } from '../../db/database.ts'
import * as lifecycle from '../orders/lifecycle.ts'
import * as orders from '../orders/store.ts'
import * as store from './store.ts'
import type { WatchedChain, WatcherDeps } from './watched.ts'

/** The chain was reorganised deeper than the watcher remembers. It stops until an operator has looked: `message` says at what. */
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
    await store.forgetBlocksAbove(tx, chainId, fork.number)
    for (const transfer of await store.lockTransfersAbove(tx, chainId, fork.number)) await orphan(deps, tx, transfer)
  })
}

async function forkPoint(deps: WatcherDeps, watched: WatchedChain, below: bigint): Promise<store.KnownBlock> {
  const { chain } = watched
  let upTo = below
  for (;;) {
    const known = await store.knownBlocks(deps.db, BigInt(chain.chainId), upTo, COMPARED_AT_ONCE)
    const lowest = known.at(-1)
    if (!lowest)
      throw new BeyondMemory(
        `${chain.networkName} was reorganised below block ${upTo + 1n}, further back than is remembered. Compare its nodes with another source; no payment is credited on it until then.`,
      )
    const hashes = await askAgreed(chain, 'where the chain was reorganised', async (node) =>
      (await node.headers(known.map((block) => block.number))).map((header) => header?.hash),
    )
    const fork = known.find((block, index) => hashes[index] === block.hash)
    if (fork) return fork
    upTo = lowest.number - 1n
  }
}

async function orphan(deps: WatcherDeps, tx: Tx, transfer: store.Transfer): Promise<void> {
  await store.mark(tx, transfer, { state: 'orphaned' })
  const order = transfer.order_id === null ? undefined : await orders.lock(tx, transfer.order_id)
  if (order?.tx_hash !== transfer.tx_hash) return
  const now = deps.clock.now()
  await (order.status === 'completed' ? lifecycle.undo(tx, order, now) : lifecycle.orphan(tx, order, now))
}
