import {
  askAgreed,
  askAll,
  type Header,
  NodesDisagree,
  type TransferLog,
  type TransferQuery,
} from '../../chains/chain.ts'
import type { ReadHead } from './store.ts'
import type { WatchedChain } from './watched.ts'

// What every node of a chain says alike, about one branch of it.

/** How deep the chain is as all nodes see it: the lowest of what each says. */
export async function lowestHead({ chain }: WatchedChain): Promise<ReadHead> {
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
export async function agreedBlocks<const N extends readonly bigint[]>(
  { chain }: WatchedChain,
  numbers: N,
): Promise<{ -readonly [K in keyof N]: Header }> {
  const headers = await askAgreed(chain, `blocks ${numbers.join(', ')}`, (node) => node.headers(numbers))
  if (headers.some((header, index) => header?.number !== numbers[index]))
    throw new NodesDisagree(`the nodes of ${chain.networkName} do not have the blocks ${numbers.join(', ')}`)
  // as many as were asked for, each checked above
  return headers as { -readonly [K in keyof N]: Header }
}

/** Transfers to us that all nodes find alike, in the order of the chain. */
export function agreedTransfers(
  { chain }: WatchedChain,
  query: Omit<TransferQuery, 'direction'>,
): Promise<TransferLog[]> {
  return askAgreed(chain, `transfers in blocks ${query.fromBlock} to ${query.toBlock}`, async (node) =>
    (await node.transfers({ ...query, direction: 'to' })).sort(byPlace),
  )
}

/**
 * Checks that transfers were found in the blocks after `after` up to `upTo`, and that they and the `ends`, seen before
 * they were asked for, belong to one branch. Gives the time of each block with a transfer.
 */
export async function sameBranch(
  watched: WatchedChain,
  read: { readonly ends: readonly [Header, ...Header[]]; readonly after: bigint; readonly upTo: bigint },
  found: readonly TransferLog[],
): Promise<(block: bigint) => Date> {
  const { networkName } = watched.chain
  const numbers = new Set([...found.map((transfer) => transfer.block), ...read.ends.map((end) => end.number)])
  // the ends come last: what changed while we read shows there
  const now = await agreedBlocks(watched, [...numbers])
  const headers = new Map(now.map((header) => [header.number, header]))
  const changed = read.ends.some((end) => headers.get(end.number)?.hash !== end.hash)
  if (changed || found.some((transfer) => headers.get(transfer.block)?.hash !== transfer.blockHash))
    throw new NodesDisagree(`${networkName} was reorganised while it was read`)
  if (found.some((transfer) => transfer.block <= read.after || transfer.block > read.upTo))
    throw new NodesDisagree(`a node of ${networkName} lists a transfer outside of the blocks that were asked for`)
  return (block) => headers.get(block)?.at ?? read.ends[0].at
}

function byPlace(a: TransferLog, b: TransferLog): number {
  if (a.block !== b.block) return a.block < b.block ? -1 : 1
  if (a.txHash !== b.txHash) return a.txHash < b.txHash ? -1 : 1
  return a.position - b.position
}
