import { askAll, type ChainNode } from '../../chains/chain.ts'
import { isPlainAccount } from '../../chains/start-check.ts'
import type { Coin } from './settings.ts'

/**
 * What is wrong with the chain of the coin or with its recipient, asked from every node; nothing is as it should be.
 * Throws NodeUnavailable while one does not answer: nothing is known then.
 */
export async function checkCoin({ chain, config }: Coin): Promise<string[]> {
  const problemsOn = async (node: ChainNode): Promise<string[]> => {
    const chainId = await node.chainId()
    // everything else would be about another chain
    if (chainId !== config.chainId) return [`${node.name} is on chain ${chainId}, not ${config.chainId}`]
    if (isPlainAccount(await node.code(config.payToAddress))) return []
    return [`${node.name} says that ${config.payToAddress} is a contract: use a plain account`]
  }
  return (await askAll(chain, problemsOn)).flat()
}
