import type { AcceptedAsset } from './assets.ts'
import { askAll, type Chain, type ChainNode } from './chain.ts'

/** What start-up found about one asset: an empty list means that it may be served. */
export interface AssetProblems {
  readonly assetId: string
  readonly problems: readonly string[]
}

/** An upgraded plain account (EIP-7702) has this instead of code: its key still decides. */
const DELEGATION = /^0xef0100[0-9a-f]{40}$/

/**
 * Whether an asset is what its row says, asked from every node: chain id, code, decimals and symbol of the token, and
 * a recipient that is a plain account. A difference is listed; a node that does not answer throws NodeUnavailable,
 * since nothing is known then.
 */
export async function checkAsset(chain: Chain, asset: AcceptedAsset): Promise<AssetProblems> {
  const problems = await askAll(chain, (node) => problemsOn(node, asset))
  return { assetId: asset.assetId, problems: problems.flat() }
}

async function problemsOn(node: ChainNode, asset: AcceptedAsset): Promise<string[]> {
  const chainId = await node.chainId()
  // everything else would be about another chain
  if (chainId !== asset.chainId) return [`${node.name} is on chain ${chainId}, not ${asset.chainId}`]
  if ((await node.code(asset.tokenAddress)) === '0x') return [`${node.name} knows no contract at ${asset.tokenAddress}`]
  const [token, recipientCode] = await Promise.all([node.token(asset.tokenAddress), node.code(asset.recipientAddress)])
  const problems: string[] = []
  if (token.decimals !== asset.decimals)
    problems.push(
      `${node.name} says that the token has ${token.decimals} decimals, not ${asset.decimals}: amounts are micro units, which are exact with six alone`,
    )
  if (token.symbol !== asset.symbol)
    problems.push(`${node.name} says that the token is called ${JSON.stringify(token.symbol)}, not ${asset.symbol}`)
  if (!isPlainAccount(recipientCode))
    problems.push(`the recipient ${asset.recipientAddress} is a contract: use a plain account`)
  return problems
}

/** Whether code at an address means a plain account, upgraded or not. */
export function isPlainAccount(code: string): boolean {
  return code === '0x' || DELEGATION.test(code)
}
