import type { Clock } from '../../kernel/clock.ts'
import { CallReverted, type ChainNode, type Header, NodeUnavailable } from '../chain.ts'
import { type ChainSettings, openEvmChain } from '../evm.ts'
import { type JsonRpc, openJsonRpc } from '../json-rpc.ts'
import { addressOf, listOf, numberOf, objectOf, type Raw, textOf } from '../raw.ts'

/** An event of the token that spends an authorization's nonce, as a node finds it. */
export interface NonceEvent {
  readonly kind: 'used' | 'canceled'
  readonly txHash: string
  readonly block: bigint
  readonly blockHash: string
}

/** What a token logged in one transaction, in order. Only what authorizations are about. */
export type TokenLog =
  | { readonly kind: 'used' | 'canceled'; readonly payer: string; readonly nonce: string }
  | {
      readonly kind: 'transfer'
      /** Which of the transaction's transfers of this token it is, from 0. */
      readonly position: number
      readonly payer: string
      readonly recipient: string
      readonly amount: bigint
    }

/** What a node must be able to say where signed authorizations are settled. */
export interface AuthorizationNode extends ChainNode {
  /** Whether the nonce is spent, by use or by cancellation, as of a block. */
  nonceSpent(token: string, payer: string, nonce: string, block: bigint): Promise<boolean>
  /** Events that spent the nonce, in these blocks. */
  nonceEvents(query: {
    readonly token: string
    readonly payer: string
    readonly nonce: string
    readonly fromBlock: bigint
    readonly toBlock: bigint
  }): Promise<NonceEvent[]>
  /** The token's logs of a transaction in the chain's own block; undefined when it is not in one, or failed. */
  tokenLogs(
    token: string,
    txHash: string,
  ): Promise<{ readonly header: Header; readonly logs: readonly TokenLog[] } | undefined>
  /** What the token says of its EIP-712 domain. Texts are empty, and the separator undefined, where it says nothing. */
  signingDomain(token: string): Promise<{ name: string; version: string; separator: string | undefined }>
  /** Gas that a call takes; `reverts` when it would fail. */
  gasFor(call: { from: string; to: string; data: string }): Promise<bigint | 'reverts'>
  /** What a unit of gas costs now, in wei. */
  fees(): Promise<{ readonly baseFee: bigint; readonly priorityFee: bigint }>
  /** Transactions that an account has in blocks. */
  nextNonce(account: string): Promise<bigint>
  /** Native currency of an account, in wei. */
  gasBalance(account: string): Promise<bigint>
  /** Whether the node has a transaction, waiting or in a block. */
  knows(txHash: string): Promise<boolean>
  /** Hands a signed transaction over. Throws NodeUnavailable when it is not taken, or not known to be. */
  broadcast(raw: string): Promise<void>
}

const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
/** `AuthorizationUsed(address,bytes32)` and `AuthorizationCanceled(address,bytes32)`. */
const USED = '0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5'
const CANCELED = '0x1cdd46ff242716cdaa72d159d339a485b3438398348d68f09d7c8c0a59353d81'
/** Calls of `authorizationState(address,bytes32)`, `name()`, `version()` and `DOMAIN_SEPARATOR()`. */
const AUTHORIZATION_STATE = '0xe94a0102'
const NAME = '0x06fdde03'
const VERSION = '0x54fd4d50'
const SEPARATOR = '0x3644e515'
const TEXT_BYTES_MAX = 256

/** The same nodes as `openEvmChain` opens, which can also be asked about authorizations. Asks nothing yet. */
export function openAuthorizationNodes(settings: ChainSettings, clock: Clock): AuthorizationNode[] {
  return openEvmChain(settings, clock).nodes.map((node, index) => {
    const url = settings.rpcUrls[index] ?? ''
    return {
      ...node,
      ...questions(openJsonRpc({ url, name: node.name, clock, timeoutMs: settings.rpcTimeoutMs }), node),
    }
  })
}

type Questions = Omit<AuthorizationNode, keyof ChainNode>

function questions(rpc: JsonRpc, node: ChainNode): Questions {
  const one = async (method: string, ...parameters: unknown[]): Promise<unknown> =>
    (await rpc.ask([[method, ...parameters]]))[0]
  return {
    async nonceSpent(token, payer, nonce, block) {
      const data = `${AUTHORIZATION_STATE}${word(payer)}${nonce.slice(2)}`
      return numberOf(await one('eth_call', { to: token, data }, hex(block))) === 1n
    },
    async nonceEvents({ token, payer, nonce, fromBlock, toBlock }) {
      const topics = [[USED, CANCELED], `0x${word(payer)}`, nonce]
      const filter = { address: token, topics, fromBlock: hex(fromBlock), toBlock: hex(toBlock) }
      return listOf(await one('eth_getLogs', filter))
        .map(objectOf)
        .filter((log) => log.removed !== true)
        .map((log) => ({
          kind: kindOf(log) === USED ? 'used' : 'canceled',
          txHash: textOf(log.transactionHash),
          block: numberOf(log.blockNumber),
          blockHash: textOf(log.blockHash),
        }))
    },
    tokenLogs: (token, txHash) => tokenLogsOf(one, node, token, txHash),
    async signingDomain(token) {
      const said = (data: string): Promise<string> =>
        one('eth_call', { to: token, data }, 'latest').then(textOf, (error: unknown) => {
          if (error instanceof CallReverted) return '0x'
          throw error
        })
      const [name, version, separator] = await Promise.all([said(NAME), said(VERSION), said(SEPARATOR)])
      return { name: stringOf(name), version: stringOf(version), separator: separator === '0x' ? undefined : separator }
    },
    gasFor: (call) =>
      one('eth_estimateGas', call).then(numberOf, (error: unknown) => {
        if (error instanceof CallReverted) return 'reverts' as const
        throw error
      }),
    async fees() {
      const block = objectOf(await one('eth_getBlockByNumber', 'latest', false))
      const priorityFee = numberOf(await one('eth_maxPriorityFeePerGas'))
      return { baseFee: numberOf(block.baseFeePerGas), priorityFee }
    },
    nextNonce: async (account) => numberOf(await one('eth_getTransactionCount', account, 'latest')),
    gasBalance: async (account) => numberOf(await one('eth_getBalance', account, 'latest')),
    async knows(txHash) {
      const found = await one('eth_getTransactionByHash', txHash)
      return found !== null && found !== undefined
    },
    broadcast: async (raw) => void textOf(await one('eth_sendRawTransaction', raw)),
  }
}

async function tokenLogsOf(
  one: (method: string, ...parameters: unknown[]) => Promise<unknown>,
  node: ChainNode,
  token: string,
  txHash: string,
): Promise<{ header: Header; logs: TokenLog[] } | undefined> {
  const answer = await one('eth_getTransactionReceipt', txHash)
  if (answer === null || answer === undefined) return undefined
  const receipt = objectOf(answer)
  if (textOf(receipt.transactionHash) !== txHash)
    throw new NodeUnavailable(`${node.name} gives the receipt of another transaction`)
  const [header] = await node.headers([numberOf(receipt.blockNumber)])
  // nodes serve receipts of dead branches, sometimes for ever
  if (!header || header.hash !== textOf(receipt.blockHash) || numberOf(receipt.status) !== 1n) return undefined
  let position = -1
  const logs: TokenLog[] = []
  for (const log of listOf(receipt.logs).map(objectOf)) {
    if (textOf(log.address) !== token) continue
    const kind = kindOf(log)
    const [, first, second] = listOf(log.topics)
    if (kind === USED || kind === CANCELED)
      logs.push({ kind: kind === USED ? 'used' : 'canceled', payer: addressOf(first), nonce: textOf(second) })
    if (!isTransfer(log)) continue
    position += 1
    const amount = numberOf(log.data)
    logs.push({ kind: 'transfer', position, payer: addressOf(first), recipient: addressOf(second), amount })
  }
  return { header, logs }
}

function kindOf(log: Raw): string {
  const [kind] = listOf(log.topics)
  return kind === undefined ? '0x' : textOf(kind)
}

/** The same transfers that `TransferLog.position` counts. */
function isTransfer(log: Raw): boolean {
  return listOf(log.topics).length === 3 && kindOf(log) === TRANSFER && textOf(log.data).length === 66
}

function hex(value: bigint): string {
  return `0x${value.toString(16)}`
}

function word(address: string): string {
  return address.slice(2).padStart(64, '0')
}

function stringOf(data: string): string {
  const bytes = Buffer.from(data.slice(2), 'hex')
  if (bytes.length < 64) return ''
  return bytes.subarray(64, 64 + Math.min(bytes.readUInt32BE(60), TEXT_BYTES_MAX)).toString('utf8')
}
