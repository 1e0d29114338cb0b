import { askAgreed, askAll, type Header, NodesDisagree, type TransferLog } from '../../chains/chain.ts'
import { rewind } from './rewind.ts'
import * as store from './store.ts'
import { recipientsOf, tokensOf, type WatchedChain, type WatcherDeps } from './watched.ts'

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
 * Throws NodeUnavailable, NodesDisagree or RangeRefused, and then nothing was written.
 */
export async function scanStep(deps: WatcherDeps, watched: WatchedChain, range: bigint): Promise<Scanned> {
  const { chain } = watched
  const chainId = BigInt(chain.chainId)
  const head = await lowestHead(watched)
  const cursor = await store.cursor(deps.db, chainId)
  if (!cursor) {
    const [first] = await agreedBlocks(watched, [head.latest])
    await deps.db.transaction().execute((tx) => store.startCursor(tx, chainId, first, head))
    return { outcome: 'started', head, behind: 0n, transfers: 0 }
  }
  const from = { number: cursor.block, hash: cursor.hash }
  // a node that lags, or a chain that became shorter: its next blocks will tell
  if (head.latest < cursor.block) return { outcome: 'nothing_new', head, behind: 0n, transfers: 0 }
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
  const found = await agreedTransfers(watched, cursor.block + 1n, last)
  const times = await sameBranch(watched, [before, end], found)
  const moved = await deps.db.transaction().execute(async (tx) => {
    if (!(await store.moveCursor(tx, from, end, chainId, head))) return false
    await store.writeTransfers(tx, chainId, found, times)
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

async function lowestHead({ chain }: WatchedChain): Promise<store.ReadHead> {
  const heads = await askAll(chain, (node) => node.heads())
  const lowest = heads.reduce((low, each) => (each.latest.number < low.latest.number ? each : low))
  const least = (of: (each: (typeof heads)[number]) => bigint) =>
    heads.map(of).reduce((low, each) => (each < low ? each : low))
  return {
    latest: lowest.latest.number,
    at: lowest.latest.at,
    safe: least((each) => each.safe),
    finalized: least((each) => each.finalized),
  }
}

/** Blocks that all nodes have, with the same hash. */
async function agreedBlocks<const N extends readonly bigint[]>(
  { chain }: WatchedChain,
  numbers: N,
): Promise<{ -readonly [K in keyof N]: Header }> {
  const headers = await askAgreed(chain, `blocks ${numbers.join(', ')}`, (node) => node.headers(numbers))
  if (headers.some((header, index) => header?.number !== numbers[index]))
    throw new NodesDisagree(`the nodes of ${chain.networkName} do not have the blocks ${numbers.join(', ')}`)
  // as many as were asked for, each checked above
  return headers as { -readonly [K in keyof N]: Header }
}

function agreedTransfers(watched: WatchedChain, fromBlock: bigint, toBlock: bigint): Promise<TransferLog[]> {
  const query = {
    tokens: tokensOf(watched),
    parties: recipientsOf(watched),
    direction: 'to',
    fromBlock,
    toBlock,
  } as const
  return askAgreed(watched.chain, `transfers in blocks ${fromBlock} to ${toBlock}`, async (node) =>
    (await node.transfers(query)).sort(byPlace),
  )
}

/** Checks that ends and transfers belong to one branch, and gives the time of each block with a transfer. */
async function sameBranch(
  watched: WatchedChain,
  [before, end]: [Header, Header],
  found: readonly TransferLog[],
): Promise<(block: bigint) => Date> {
  const numbers = [...new Set([end.number, ...found.map((transfer) => transfer.block)])]
  // the first block comes last: what changed below it while we read shows there
  const after = await agreedBlocks(watched, [...numbers, before.number])
  const headers = new Map(after.map((header) => [header.number, header]))
  const changed = headers.get(before.number)?.hash !== before.hash || headers.get(end.number)?.hash !== end.hash
  if (changed || found.some((transfer) => headers.get(transfer.block)?.hash !== transfer.blockHash))
    throw new NodesDisagree(`${watched.chain.networkName} was reorganised while it was read`)
  const outside = found.find((transfer) => transfer.block <= before.number || transfer.block > end.number)
  if (outside)
    throw new NodesDisagree(
      `a node of ${watched.chain.networkName} lists a transfer outside of the blocks that were asked for`,
    )
  return (block) => headers.get(block)?.at ?? end.at
}

function byPlace(a: TransferLog, b: TransferLog): number {
  if (a.block !== b.block) return a.block < b.block ? -1 : 1
  if (a.txHash !== b.txHash) return a.txHash < b.txHash ? -1 : 1
  return a.position - b.position
}
