/** The block at a height. Hashes and addresses are lower case wherever this floor gives them. */
export interface Header {
  readonly number: bigint
  readonly hash: string
  readonly at: Date
}

/** Where a node says the chain ends, and up to where it calls it safe and final. */
export interface Heads {
  readonly latest: Header
  readonly safe: bigint
  readonly finalized: bigint
}

/** A token transfer that a node finds in a block. Its amount is in the token's smallest unit. */
export interface TransferLog {
  readonly txHash: string
  /** Which of its transaction's transfers of this token it is, from 0: stays when the block changes, unlike the log's index. */
  readonly position: number
  readonly block: bigint
  readonly blockHash: string
  readonly token: string
  readonly payer: string
  readonly recipient: string
  readonly amount: bigint
}

/** Which transfers to look for. Both block numbers are included. */
export interface TransferQuery {
  readonly tokens: readonly string[]
  /** Transfers to these, or from these. */
  readonly parties: readonly string[]
  readonly direction: 'to' | 'from'
  readonly fromBlock: bigint
  readonly toBlock: bigint
}

/** Everything a node says about a transaction, for `directTransfer` to judge. */
export interface TransactionFacts {
  readonly chainId: number
  readonly transaction: ChainTransaction | undefined
  readonly receipt: ChainReceipt | undefined
  /** The block that the chain has now at the receipt's height. */
  readonly canonical: { readonly header: Header; readonly lists: boolean } | undefined
}

/** A transaction as it was signed. */
export interface ChainTransaction {
  readonly hash: string
  readonly from: string
  /** undefined: it creates a contract. */
  readonly to: string | undefined
  readonly value: bigint
  readonly input: string
  readonly type: number
  /** The chain that its signature is for; undefined: for any chain, as signatures once were. */
  readonly signedFor: number | undefined
  readonly nonce: bigint
}

/** What became of a transaction in the block that the node believes it is in. */
export interface ChainReceipt {
  readonly succeeded: boolean
  readonly block: bigint
  readonly blockHash: string
  readonly transfers: readonly {
    readonly token: string
    readonly payer: string
    readonly recipient: string
    readonly amount: bigint
  }[]
}

/**
 * One RPC node. Nodes are never mixed: what is believed is what each of them says alone. Every question may
 * throw NodeUnavailable; a question for logs also RangeRefused.
 */
export interface ChainNode {
  /** For logs and operators: never the address, which may hold a key. */
  readonly name: string
  chainId(): Promise<number>
  heads(): Promise<Heads>
  /** The blocks at these heights, in their order. undefined: the node has no such block. */
  headers(blocks: readonly bigint[]): Promise<(Header | undefined)[]>
  transfers(query: TransferQuery): Promise<TransferLog[]>
  facts(txHash: string): Promise<TransactionFacts>
  /** Transactions that an account has sent, as of a block. */
  sentCount(account: string, block: bigint): Promise<bigint>
  balance(token: string, holder: string, block: bigint): Promise<bigint>
  /** What an account holds of the chain's own coin, in wei. */
  nativeBalance(holder: string, block: bigint): Promise<bigint>
  /** What a contract answers to a call, in hex digits. Throws CallReverted when it refuses. */
  read(contract: string, data: string, block: bigint): Promise<string>
  /** What a token says of itself. */
  token(token: string): Promise<{ readonly decimals: number; readonly symbol: string }>
  /** The code at an address; `0x` for a plain account. */
  code(address: string): Promise<string>
}

/** A chain as its configured nodes see it. */
export interface Chain {
  readonly chainId: number
  readonly networkName: string
  /** At least one. All must agree. */
  readonly nodes: readonly ChainNode[]
}

/** The node does not answer, answers nonsense or is being left alone after failures. Nothing follows from it. */
export class NodeUnavailable extends Error {
  override name = 'NodeUnavailable'
}

/** The node does not give so many blocks or logs at once, or none that lie so far back: ask for less. */
export class RangeRefused extends Error {
  override name = 'RangeRefused'
}

/** The contract refuses the call: it is not what was thought. */
export class CallReverted extends Error {
  override name = 'CallReverted'
}

/** Nodes say different things. Nothing follows from either until they agree. */
export class NodesDisagree extends Error {
  override name = 'NodesDisagree'
}

/** What every node answers, asked at once. Throws when one fails. */
export function askAll<T>(chain: Chain, ask: (node: ChainNode) => Promise<T>): Promise<T[]> {
  return Promise.all(chain.nodes.map(ask))
}

/** The one answer of all nodes. Throws NodesDisagree, naming what was asked, when two differ. */
export async function askAgreed<T>(chain: Chain, what: string, ask: (node: ChainNode) => Promise<T>): Promise<T> {
  const answers = await askAll(chain, ask)
  const first = answers[0]
  if (new Set(answers.map(comparable)).size > 1)
    throw new NodesDisagree(`the nodes of ${chain.networkName} disagree about ${what}`)
  // a chain has at least one node
  return first as T
}

function comparable(answer: unknown): string {
  return JSON.stringify(answer, (_, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value)) ?? ''
}
