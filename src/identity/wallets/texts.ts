import { getAddress } from 'viem/utils'

/** What a wallet is told that it agrees to, besides the frame that every challenge has. */
export interface Purpose {
  /** One line, in characters that every wallet's parser takes. */
  readonly statement: string
  /** URIs that bind the signature to this purpose and these accounts. */
  readonly resources: readonly string[]
}

/** An owner as a wallet is told of it. */
export interface NamedOwner {
  readonly id: bigint
  readonly label: string | null
}

const NOTHING_IS_SENT = 'This sends no transaction and costs no gas.'
const LABEL_LENGTH_MAX = 60
/** Base: where payments are made by default. The account is the same on every chain. */
const CHAIN = 'eip155:8453'

/** Binding by an Agent that its owner permitted it: names the owner, the purpose and the Agent (spec 4.4). */
export function bindingPurpose(owner: NamedOwner, agentWallet: string): Purpose {
  const agent = getAddress(agentWallet)
  return {
    statement: `Bind this wallet as an owner wallet of ${named(owner)}. Purpose: owner-wallet-binding. Requested by linked Agent ${agent} with the delegation of that owner. ${NOTHING_IS_SENT}`,
    resources: [...resourcesOf('owner-wallet-binding', owner), `urn:farebox:agent:${CHAIN}:${agent}`],
  }
}

/** Adding by the owner itself. */
export function linkingPurpose(owner: NamedOwner): Purpose {
  return {
    statement: `Add this wallet to ${named(owner)}. Purpose: wallet-linking. Requested by that owner. ${NOTHING_IS_SENT}`,
    resources: resourcesOf('wallet-linking', owner),
  }
}

const resourcesOf = (purpose: string, { id }: NamedOwner): string[] => [
  `urn:farebox:purpose:${purpose}`,
  `urn:farebox:owner:${id}`,
]

/** The label is somebody's free text: it is cut down to what cannot be taken for more of the statement or break it. */
function named({ id, label }: NamedOwner): string {
  const plain = (label ?? '')
    .replace(/[^A-Za-z0-9 ._-]+/g, ' ')
    .replace(/ +/g, ' ')
    .trim()
    .slice(0, LABEL_LENGTH_MAX)
    .trim()
  return `owner account ${id}${plain ? ` (${plain})` : ''}`
}
