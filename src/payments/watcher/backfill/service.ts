import { agreedBlocks, agreedTransfers, sameBranch } from '../agreed.ts'
import * as store from '../store.ts'
import { type Watched, type WatchedChain, type WatcherDeps, watchables } from '../watched.ts'
import * as backfill from './store.ts'

/** How far back a token or recipient is looked for that is new here, where its row says no first block. */
const LOOK_BACK_BLOCKS = 10_000n

/**
 * Begins to read the chain for what is watched and was not before: a new token, a new recipient, a former one. Each is
 * read from the first block that the operator names for it, else from so many blocks back.
 */
export async function beginNew(deps: WatcherDeps, watched: WatchedChain, cursor: store.Cursor): Promise<void> {
  const chainId = BigInt(watched.chain.chainId)
  const known = new Set((await backfill.reads(deps.db, chainId)).map(nameOf))
  const begun = watchables(watched)
    .filter((each) => !known.has(nameOf(each)))
    .map((each) => ({ ...each, readTo: startOf(each, cursor.block) }))
  await backfill.begin(deps.db, chainId, begun)
}

/**
 * Reads up, by at most `range` blocks, what is furthest behind the chain's cursor: then the scan takes it along. Gives
 * the blocks that are left, 0 when everything was read to the cursor. Writes nothing when the cursor moves meanwhile.
 */
export async function backfillStep(deps: WatcherDeps, watched: WatchedChain, range: bigint): Promise<bigint> {
  const chainId = BigInt(watched.chain.chainId)
  const cursor = await store.cursor(deps.db, chainId)
  if (!cursor) return 0n
  const ours = new Set(watchables(watched).map(nameOf))
  const behind = (await backfill.reads(deps.db, chainId)).filter(
    (read) => ours.has(nameOf(read)) && read.readTo < cursor.block,
  )
  const heights = [...new Set(behind.map(({ readTo }) => readTo))].sort((a, b) => (a < b ? -1 : 1))
  const from = heights[0]
  if (from === undefined) return 0n
  // up to where the next ones are, then on together
  const end = heights[1] ?? cursor.block
  const to = from + range < end ? from + range : end
  const these = behind.filter(({ readTo }) => readTo === from)
  const [last, here] = await agreedBlocks(watched, [to, cursor.block])
  // the scan goes back first
  if (here.hash !== cursor.hash) return cursor.block - from
  const found = await agreedTransfers(watched, {
    tokens: distinct(these.map(({ token }) => token)),
    parties: distinct(these.map(({ recipient }) => recipient)),
    fromBlock: from + 1n,
    toBlock: to,
  })
  const times = await sameBranch(watched, { ends: [last, here], after: from, upTo: to }, found)
  const moved = await deps.db.transaction().execute(async (tx) => {
    if (!(await backfill.cursorStays(tx, chainId, cursor))) return false
    if ((await backfill.advance(tx, chainId, these, { from, to })) < these.length) return false
    await store.writeTransfers(tx, chainId, found, times)
    return true
  })
  return cursor.block - (moved ? to : from)
}

function startOf({ firstBlock }: Watched, cursor: bigint): bigint {
  const start = firstBlock ?? cursor + 1n - LOOK_BACK_BLOCKS
  const before = start > 0n ? start - 1n : 0n
  return before < cursor ? before : cursor
}

const nameOf = ({ token, recipient }: backfill.Watchable): string => `${token} ${recipient}`
const distinct = (texts: readonly string[]): string[] => [...new Set(texts)].sort()
