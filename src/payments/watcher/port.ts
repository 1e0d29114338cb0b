import type { AcceptedAsset } from '../../chains/assets.ts'
import { askAgreed } from '../../chains/chain.ts'
import { requiredDepth } from '../../chains/depth.ts'
import { openEvmChain } from '../../chains/evm.ts'
import { type AssetProblems, checkAsset } from '../../chains/start-check.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Asset, Chains } from '../orders/chain-port.ts'
import type { WatchedChain } from './watched.ts'
import type { Watcher } from './worker.ts'

/** Groups accepted assets by chain and opens each chain's nodes. `rpcUrls` are by asset id. Asks nothing yet. */
export function openWatchedChains(
  assets: readonly AcceptedAsset[],
  rpcUrls: Readonly<Record<string, readonly string[]>>,
  clock: Clock,
): WatchedChain[] {
  return [...Map.groupBy(assets, (asset) => asset.chainId)].map(([chainId, onChain]) => {
    const urls = [...new Set(onChain.flatMap((asset) => rpcUrls[asset.assetId] ?? []))]
    const [first] = onChain as [AcceptedAsset]
    const { networkName, safeBlocks, finalizedBlocks, rpcTimeoutMs } = first
    return {
      chain: openEvmChain({ chainId, networkName, rpcUrls: urls, safeBlocks, finalizedBlocks, rpcTimeoutMs }, clock),
      assets: onChain,
    }
  })
}

/** Checks every asset on every node, chain by chain. Throws NodeUnavailable while nodes do not answer. */
function checkAssets(chains: readonly WatchedChain[]): Promise<AssetProblems[]> {
  return Promise.all(chains.flatMap(({ chain, assets }) => assets.map((asset) => checkAsset(chain, asset))))
}

/** What orders ask about chains, answered by what is watched. */
export interface PaymentChains extends Chains {
  /** Looks again whether each asset is what its row says: at start, and every hour. Says what is wrong. */
  check(): Promise<readonly AssetProblems[]>
}

/** A health older than this is none. */
const HEALTHY_FOR_MS = 90_000

/** Joins the watched chains and their watcher into what orders need. An asset takes no orders before its check has passed. */
export function paymentChains({
  chains,
  watcher,
  clock,
}: {
  chains: readonly WatchedChain[]
  watcher: Pick<Watcher, 'wake' | 'status'>
  clock: Clock
}): PaymentChains {
  const passed = new Set<string>()
  const all = chains.flatMap(({ assets }) => assets)
  const chainOf = (chainId: bigint): WatchedChain | undefined =>
    chains.find(({ chain }) => BigInt(chain.chainId) === chainId)
  return {
    assets: () => all.map((asset) => shown(asset, asset.enabled && passed.has(asset.assetId))),
    requiredDepth(asset, amountMicro) {
      const accepted = all.find((candidate) => candidate.assetId === asset.asset_id)
      if (!accepted) return { confirmations: 0, tag: 'finalized' }
      const { rule, blocks } = requiredDepth(accepted, amountMicro, chainOf(asset.chain_id)?.chain.nodes.length ?? 0)
      return { confirmations: blocks, tag: rule }
    },
    isHealthy(chainId) {
      const status = watcher.status().find((each) => each.chainId === chainId)
      return (
        status?.healthy === true &&
        status.lastReadAt !== undefined &&
        clock.now().getTime() - status.lastReadAt.getTime() < HEALTHY_FOR_MS
      )
    },
    async codeAt(chainId, address) {
      const watched = chainOf(chainId)
      if (!watched) throw new Error(`chain ${chainId} is not watched`)
      return askAgreed(watched.chain, 'the code of a payer', (node) => node.code(address))
    },
    wake: (chainId) => watcher.wake(chainId),
    async check() {
      const results = await checkAssets(chains)
      for (const { assetId, problems } of results) {
        if (problems.length === 0) passed.add(assetId)
        else passed.delete(assetId)
      }
      return results.filter(({ problems }) => problems.length > 0)
    },
  }
}

function shown(asset: AcceptedAsset, enabled: boolean): Asset {
  return {
    asset_id: asset.assetId,
    symbol: asset.symbol,
    chain_id: BigInt(asset.chainId),
    network_name: asset.networkName,
    token_address: asset.tokenAddress,
    recipient_address: asset.recipientAddress,
    decimals: asset.decimals,
    rate_ppm: asset.ratePpm,
    min_amount_micro: asset.minAmountMicro,
    max_amount_micro: asset.maxAmountMicro,
    explorer_url: asset.explorerUrl,
    enabled,
  }
}
