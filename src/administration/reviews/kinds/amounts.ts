import { type Asset, assets } from '../../../chains/assets.ts'
import { inCredits } from '../../../kernel/money.ts'
import type { Amount } from './review.ts'

const ofToken = (chainId: bigint, token: string): Asset | undefined =>
  assets.find((asset) => BigInt(asset.chainId) === chainId && asset.tokenAddress === token)

/** An amount of a token in micro units. A token that is none of ours is named by its address. */
export const tokenAmount = (micro: bigint, chainId: bigint, token: string): Amount => ({
  amount: inCredits(micro),
  symbol: ofToken(chainId, token)?.symbol ?? `of token ${token}`,
})

/** Where a chain and its transactions can be looked at; without an explorer, only its name. */
export function networkOf(chainId: bigint): { readonly name: string; readonly explorerUrl: string } {
  const asset = assets.find((candidate) => BigInt(candidate.chainId) === chainId)
  return { name: asset?.networkName ?? `chain ${chainId}`, explorerUrl: asset?.explorerUrl ?? '' }
}
