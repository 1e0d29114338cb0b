import { askAgreed, NodesDisagree } from '../../chains/chain.ts'
import { agreedBlocks, agreedTransfers, lowestHead, sameBranch } from './agreed.ts'
import * as backfill from './backfill/store.ts'
import { BeyondMemory, rewind } from './rewind.ts'
import * as store from './store.ts'
import { recipientsOf, tokensOf, type WatchedChain, type WatcherDeps, watchables } from './watched.ts'

/** What a scan step did. */
export interface Scanned {
  readonly outcome: 'started' | 'read' | 'nothing_new' | 'rewound' | 'overtaken'
  /** How deep the chain is as all nodes see it. */
  readonly head: store.ReadHead
  /** Blocks between the cursor and the head that are still to be read. */
  readonly behind: bigint
  readonly transfers: number
}

/** How many blocks of the past are remembered at least: a deeper reorganisation stops the watcher. */
const KNOWN_BLOCKS_MIN = 64

/**
 * Reads the next blocks of a chain, at most `range`. What is written down was said by every node alike, about one
 * branch of the chain: the hashes of its first and last block are the same before and after the transfers are asked for.
 * Throws NodeUnavailable, NodesDisagree or RangeRefused, and then nothing was written; BeyondMemory while the chain is stopped.
 */
export async function scanStep(deps: WatcherDeps, watched: WatchedChain, range: bigint): Promise<Scanned> {
  const chainId = BigInt(watched.chain.chainId)
  const cursor = await store.cursor(deps.db, chainId)
  if (cursor?.stopped != null) throw new BeyondMemory(cursor.stopped)
  const head = await lowestHead(watched)
  if (!cursor) {
    const [first] = await agreedBlocks(watched, [head.latest])
    await deps.db.transaction().execute((tx) => store.startCursor(tx, chainId, first, head))
    return { outcome: 'started', head, behind: 0n, transfers: 0 }
  }
  const from = { number: cursor.block, hash: cursor.hash }
  if (head.latest < cursor.block) {
    if (await onItsWay(deps, watched, head.latest)) return { outcome: 'nothing_new', head, behind: 0n, transfers: 0 }
    await rewind(deps, watched, from, head)
    return { outcome: 'rewound', head, behind: 0n, transfers: 0 }
  }
  const last = head.latest < cursor.block + range ? head.latest : cursor.block + range
  const [before, end] = await agreedBlocks(watched, [cursor.block, last])
  if (before.hash !== cursor.hash) {
    await rewind(deps, watched, from, head)
    return { outcome: 'rewound', head, behind: head.latest - cursor.block, transfers: 0 }
  }
  if (last === cursor.block) {
    await deps.db.transaction().execute((tx) => store.moveCursor(tx, from, from, chainId, head))
    return { outcome: 'nothing_new', head, behind: 0n, transfers: 0 }
  }
  const found = await agreedTransfers(watched, {
    tokens: tokensOf(watched),
    parties: recipientsOf(watched),
    fromBlock: cursor.block + 1n,
    toBlock: last,
  })
  const times = await sameBranch(watched, { ends: [end, before], after: cursor.block, upTo: last }, found)
  const moved = await deps.db.transaction().execute(async (tx) => {
    if (!(await store.moveCursor(tx, from, end, chainId, head))) return false
    await store.writeTransfers(tx, chainId, found, times)
    await backfill.advance(tx, chainId, watchables(watched), { from: from.number, to: end.number })
    await store.rememberBlock(tx, chainId, end)
    await store.forgetBlocks(tx, chainId, head.finalized, KNOWN_BLOCKS_MIN)
    return true
  })
  return {
    outcome: moved ? 'read' : 'overtaken',
    head,
    behind: head.latest - last,
    transfers: found.length,
  }
}

/**
 * Whether nodes that end below the cursor only lag: the newest block that is remembered of what they have is theirs,
 * too. False: they are on another branch. Throws when nothing of what they have is remembered.
 */
async function onItsWay(deps: WatcherDeps, watched: WatchedChain, latest: bigint): Promise<boolean> {
  const { chain } = watched
  const [known] = await store.knownBlocks(deps.db, BigInt(chain.chainId), latest, 1)
  if (!known)
    throw new NodesDisagree(
      `${chain.networkName} ends at block ${latest}, far below what was read of it. Its nodes are far behind; or the chain was begun anew, then see \`farebox chain show ${chain.chainId}\``,
    )
  const [header] = await askAgreed(chain, `block ${known.number}`, (node) => node.headers([known.number]))
  return header?.hash === known.hash
}
