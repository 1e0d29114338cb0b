import { askAgreed } from '../../../chains/chain.ts'
import type { Database } from '../../../db/database.ts'
import { recordAction } from '../../../identity/audit-log/service.ts'
import type { Clock } from '../../../kernel/clock.ts'
import { agreedBlocks, lowestHead } from '../agreed.ts'
import { orphanAbove } from '../rewind.ts'
import * as store from '../store.ts'
import type { WatchedChain } from '../watched.ts'
import * as repair from './store.ts'

/** The chain cannot be rewound so: `message` says why, and to where it can. Nothing was changed. */
export class RewindRefused extends Error {
  override name = 'RewindRefused'
}

/** What rewinding did. */
export interface Rewound {
  readonly from: bigint
  readonly to: bigint
  /** Transfers that are no longer believed: those that the chain has are found again. */
  readonly transfers: number
}

/** As many blocks with transfers, the newest at or below the target, are compared with what the nodes have. */
const COMPARED_MAX = 500
const COMPARED_AT_ONCE = 50

/**
 * Goes back to a block that every node has, so that everything above it is read again: for a chain that was
 * reorganised deeper than is remembered, or that was begun anew. Transfers above are orphaned: orders that waited for
 * them wait on, orders that were credited for them are reviewed and their Credits held, until the transfer is found
 * again. Refuses a block that was not read yet, and one below which a believed transfer is not on the chain.
 */
export async function rewindTo(
  deps: { readonly db: Database; readonly clock: Clock },
  watched: WatchedChain,
  wanted: { readonly to: bigint; readonly operator: string; readonly reason: string },
): Promise<Rewound> {
  const { chain } = watched
  const chainId = BigInt(chain.chainId)
  refuseForward(watched, await store.cursor(deps.db, chainId), wanted.to)
  const head = await lowestHead(watched)
  if (wanted.to > head.latest)
    throw new RewindRefused(
      `The nodes of ${chain.networkName} end at block ${head.latest}: name that block or a lower one.`,
    )
  const [target] = await agreedBlocks(watched, [wanted.to])
  await refuseLostBelow(deps.db, watched, wanted.to)
  return deps.db.transaction().execute(async (tx) => {
    const cursor = refuseForward(watched, await repair.lockCursor(tx, chainId), wanted.to)
    await repair.resetCursor(tx, chainId, target, head)
    const orphaned = await orphanAbove(deps, tx, chainId, target.number)
    await repair.forgetAllBlocks(tx, chainId)
    await store.rememberBlock(tx, chainId, target)
    await recordAction(tx, {
      actor: { kind: 'operator', name: wanted.operator },
      action: 'rewind.chain',
      targetId: String(chainId),
      before: { block: String(cursor.block), hash: cursor.hash, stopped: cursor.stopped },
      after: { block: String(target.number), hash: target.hash, transfers: orphaned },
      reason: wanted.reason,
    })
    return { from: cursor.block, to: target.number, transfers: orphaned }
  })
}

function refuseForward({ chain }: WatchedChain, cursor: store.Cursor | undefined, to: bigint): store.Cursor {
  if (!cursor) throw new RewindRefused(`${chain.networkName} was never read, so there is nothing to go back from.`)
  if (to <= cursor.block) return cursor
  throw new RewindRefused(
    `${chain.networkName} was read to block ${cursor.block} only: going forward would skip payments. Name that block or a lower one.`,
  )
}

/** A transfer at or below the target stays believed, so the chain must have its block. */
async function refuseLostBelow(db: Database, { chain }: WatchedChain, to: bigint): Promise<void> {
  const blocks = await repair.blocksWithTransfers(db, BigInt(chain.chainId), to, COMPARED_MAX)
  const lost: bigint[] = []
  for (let at = 0; at < blocks.length; at += COMPARED_AT_ONCE) {
    const some = blocks.slice(at, at + COMPARED_AT_ONCE)
    const hashes = await askAgreed(chain, 'blocks with transfers', async (node) =>
      (await node.headers(some.map(({ number }) => number))).map((header) => header?.hash),
    )
    lost.push(...some.filter(({ hash }, index) => hashes[index] !== hash).map(({ number }) => number))
  }
  const lowest = lost.reduce<bigint | undefined>(
    (low, each) => (low === undefined || each < low ? each : low),
    undefined,
  )
  if (lowest !== undefined)
    throw new RewindRefused(
      `Block ${lowest}, in which a payment was found, is not on the chain any more. Go back further: --to ${lowest - 1n} or lower.`,
    )
}
