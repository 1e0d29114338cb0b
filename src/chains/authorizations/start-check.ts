import type { Asset } from '../assets.ts'
import { isPlainAccount } from '../start-check.ts'
import { domainSeparator } from './authorization.ts'
import type { AuthorizationNode } from './node.ts'

/**
 * What keeps signed authorizations of an asset from being taken, asked from every node: another chain, no token, a
 * signing domain (name, version, separator) that is not the token's own, or a recipient that is a contract. Empty: nothing.
 * Throws NodeUnavailable while a node does not answer.
 */
export async function authorizationProblems(
  nodes: readonly AuthorizationNode[],
  asset: Pick<Asset, 'chainId' | 'tokenAddress' | 'signingDomain' | 'symbol'>,
  recipient: string,
): Promise<string[]> {
  const problems = await Promise.all(nodes.map((node) => problemsOn(node, asset, recipient)))
  return [...new Set(problems.flat())]
}

async function problemsOn(
  node: AuthorizationNode,
  asset: Pick<Asset, 'chainId' | 'tokenAddress' | 'signingDomain' | 'symbol'>,
  recipient: string,
): Promise<string[]> {
  const chainId = await node.chainId()
  // everything else would be about another chain
  if (chainId !== asset.chainId) return [`${node.name} is on chain ${chainId}, not ${asset.chainId}`]
  if ((await node.code(asset.tokenAddress)) === '0x') return [`${node.name} knows no contract at ${asset.tokenAddress}`]
  const [said, code] = await Promise.all([node.signingDomain(asset.tokenAddress), node.code(recipient)])
  const { name, version } = asset.signingDomain
  const expected = domainSeparator({ name, version, chainId, token: asset.tokenAddress })
  const problems: string[] = []
  if (said.name !== name) problems.push(`the token signs as ${JSON.stringify(said.name)}, not ${JSON.stringify(name)}`)
  if (said.version !== version)
    problems.push(`the token signs with version ${JSON.stringify(said.version)}, not ${JSON.stringify(version)}`)
  if (said.separator !== expected)
    problems.push('the DOMAIN_SEPARATOR of the token is not that of its name and version')
  if (!isPlainAccount(code)) problems.push(`payments go to ${recipient}, which is a contract: use a plain account`)
  return problems
}
