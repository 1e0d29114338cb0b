import type { AcceptedAsset } from '../../chains/assets.ts'
import type { Chain } from '../../chains/chain.ts'
import { type RequiredDepth, requiredDepth } from '../../chains/depth.ts'
import type { Database } from '../../db/database.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Random } from '../../kernel/random.ts'

/** A chain that is watched, with what is accepted on it. */
export interface WatchedChain {
  readonly chain: Chain
  /** Paused ones too. At least one. */
  readonly assets: readonly AcceptedAsset[]
}

/** What every step of the watcher needs. */
export interface WatcherDeps {
  readonly db: Database
  readonly clock: Clock
  readonly random: Random
}

const tokensOfAsset = (asset: AcceptedAsset): string[] => [asset.tokenAddress, ...asset.mistakenFor]
const recipientsOfAsset = (asset: AcceptedAsset): string[] => [asset.recipientAddress, ...asset.retiredRecipients]

/** Every token whose transfers are looked for: the accepted ones, and those that people mistake for them. */
export function tokensOf(watched: WatchedChain): string[] {
  return [...new Set(watched.assets.flatMap(tokensOfAsset))].sort()
}

/** Every address that is or was ours. */
export function recipientsOf(watched: WatchedChain): string[] {
  return [...new Set(watched.assets.flatMap(recipientsOfAsset))].sort()
}

/** A token and a recipient that the chain is read for. */
export interface Watched {
  readonly token: string
  readonly recipient: string
  /** The first block to read for it, where the operator names one. */
  readonly firstBlock: bigint | undefined
}

/** Every token with every recipient: what the chain is read for. */
export function watchables(watched: WatchedChain): Watched[] {
  const first = (token: string, recipient: string): bigint | undefined =>
    watched.assets
      .filter((asset) => tokensOfAsset(asset).includes(token) || recipientsOfAsset(asset).includes(recipient))
      .map((asset) => asset.firstBlock)
      .filter((block) => block !== undefined)
      .reduce<bigint | undefined>((low, block) => (low === undefined || block < low ? block : low), undefined)
  return tokensOf(watched).flatMap((token) =>
    recipientsOf(watched).map((recipient) => ({ token, recipient, firstBlock: first(token, recipient) })),
  )
}

/** The depth that a transfer needs before anything is decided about it. A token that is not accepted is treated like the strictest that is. */
export function depthFor(watched: WatchedChain, token: string, amount: bigint): RequiredDepth {
  const nodeCount = watched.chain.nodes.length
  const asset = watched.assets.find((candidate) => candidate.tokenAddress === token) ?? watched.assets[0]
  return asset ? requiredDepth(asset, amount, nodeCount) : { rule: 'finalized', blocks: 0 }
}
