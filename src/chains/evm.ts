import type { Clock } from '../kernel/clock.ts'
import {
  CallReverted,
  type Chain,
  type ChainNode,
  type ChainReceipt,
  type ChainTransaction,
  type Header,
  type Heads,
  NodeUnavailable,
  RangeRefused,
  type TransactionFacts,
  type TransferLog,
  type TransferQuery,
} from './chain.ts'
import { type JsonRpc, openJsonRpc } from './json-rpc.ts'
import { addressOf, listOf, numberOf, objectOf, type Raw, textOf, timeOf } from './raw.ts'

/** `Transfer(address,address,uint256)`. */
const TRANSFER_TOPIC = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
/** Calls of `decimals()`, `symbol()` and `balanceOf(address)`. */
const DECIMALS = '0x313ce567'
const SYMBOL = '0x95d89b41'
const BALANCE_OF = '0x70a08231'
/** More transactions than this in one range: ask for a smaller one. */
const HITS_MAX = 500

/** What is known of a chain before a node is asked. */
export interface ChainSettings {
  readonly chainId: number
  readonly networkName: string
  readonly rpcUrls: readonly string[]
  /** How far `safe` and `finalized` lie behind on nodes that do not know the words. */
  readonly safeBlocks: number
  readonly finalizedBlocks: number
  /** How long a node may take to answer. Absent: 3 seconds. */
  readonly rpcTimeoutMs?: number | undefined
}

/** Opens the nodes of an EVM chain, one client for each. Asks nothing yet. */
export function openEvmChain(settings: ChainSettings, clock: Clock): Chain {
  const { chainId, networkName, rpcUrls, rpcTimeoutMs: timeoutMs } = settings
  const nodes = rpcUrls.map((url, index) => {
    const name = `node ${index + 1} of ${networkName}`
    return openNode(name, openJsonRpc({ url, name, clock, timeoutMs }), settings)
  })
  return { chainId, networkName, nodes }
}

function openNode(name: string, rpc: JsonRpc, settings: ChainSettings): ChainNode {
  const one = async (method: string, ...parameters: unknown[]): Promise<unknown> =>
    (await rpc.ask([[method, ...parameters]]))[0]
  const call = async (token: string, data: string, block: string): Promise<string> =>
    textOf(await one('eth_call', { to: token, data }, block))
  return {
    name,
    chainId: async () => Number(numberOf(await one('eth_chainId'))),
    heads: () => headsOf(rpc, settings),
    headers: async (blocks) =>
      (await rpc.ask(blocks.map((block) => ['eth_getBlockByNumber', hex(block), false]))).map(headerOf),
    transfers: (query) => transfersOf(rpc, name, query),
    facts: (txHash) => factsOf(rpc, txHash),
    sentCount: async (account, block) => numberOf(await one('eth_getTransactionCount', account, hex(block))),
    balance: async (token, holder, block) => numberOf(await call(token, `${BALANCE_OF}${word(holder)}`, hex(block))),
    nativeBalance: async (holder, block) => numberOf(await one('eth_getBalance', holder, hex(block))),
    read: (contract, data, block) => call(contract, data, hex(block)),
    async token(token) {
      const said = (data: string): Promise<string> =>
        call(token, data, 'latest').catch((error: unknown) => {
          if (error instanceof CallReverted) return '0x'
          throw error
        })
      const decimals = await said(DECIMALS)
      return {
        decimals: decimals === '0x' ? -1 : Number(numberOf(decimals)),
        symbol: stringOf(await said(SYMBOL)),
      }
    },
    code: async (address) => textOf(await one('eth_getCode', address, 'latest')),
  }
}

async function headsOf(rpc: JsonRpc, { safeBlocks, finalizedBlocks }: ChainSettings): Promise<Heads> {
  const [first] = await rpc.ask([['eth_getBlockByNumber', 'latest', false]])
  const latest = headerOf(first)
  if (!latest) throw new NodeUnavailable('the node has no latest block')
  // some nodes refuse the words, some know none of their blocks yet
  const tagged = async (tag: string, blocksBehind: number): Promise<bigint> => {
    const fallback = latest.number > BigInt(blocksBehind) ? latest.number - BigInt(blocksBehind) : 0n
    try {
      const header = headerOf((await rpc.ask([['eth_getBlockByNumber', tag, false]]))[0])
      if (header === undefined) return fallback
      return header.number < latest.number ? header.number : latest.number
    } catch (error) {
      if (error instanceof RangeRefused) return fallback
      throw error
    }
  }
  const [safe, finalized] = await Promise.all([tagged('safe', safeBlocks), tagged('finalized', finalizedBlocks)])
  return { latest, safe, finalized }
}

async function transfersOf(rpc: JsonRpc, name: string, query: TransferQuery): Promise<TransferLog[]> {
  const parties = query.parties.map((address) => `0x${word(address)}`)
  const topics = query.direction === 'to' ? [TRANSFER_TOPIC, null, parties] : [TRANSFER_TOPIC, parties]
  const filter = {
    address: query.tokens,
    topics,
    fromBlock: hex(query.fromBlock),
    toBlock: hex(query.toBlock),
  }
  const [answer] = await rpc.ask([['eth_getLogs', filter]])
  const logs = listOf(answer)
    .map(objectOf)
    .filter((log) => log.removed !== true)
  const hashes = [...new Set(logs.map((log) => textOf(log.transactionHash)))]
  if (hashes.length > HITS_MAX && query.toBlock > query.fromBlock)
    throw new RangeRefused(`${name} finds ${hashes.length} transactions`)
  const receipts = await rpc.ask(hashes.map((hash) => ['eth_getTransactionReceipt', hash]))
  const receiptOf = new Map(hashes.map((hash, index) => [hash, receipts[index]]))
  return logs
    .map((log) => {
      const receipt = receiptOf.get(textOf(log.transactionHash))
      // a log without a receipt that has it proves nothing, and neither does the absence of others
      if (!isReceipt(receipt) || textOf(receipt.blockHash) !== textOf(log.blockHash))
        throw new NodeUnavailable(`${name} lists a log whose receipt it does not have`)
      const ofToken = listOf(receipt.logs)
        .map(objectOf)
        .filter((other) => isTransfer(other) && textOf(other.address) === textOf(log.address))
      const position = ofToken.findIndex((other) => textOf(other.logIndex) === textOf(log.logIndex))
      const found = ofToken[position]
      if (!found || JSON.stringify(found.topics) !== JSON.stringify(log.topics) || found.data !== log.data)
        throw new NodeUnavailable(`${name} lists a log that its receipt does not have`)
      return {
        ...transferOf(log),
        txHash: textOf(log.transactionHash),
        position,
        block: numberOf(log.blockNumber),
        blockHash: textOf(log.blockHash),
      }
    })
    .filter(({ amount }) => amount > 0n)
}

async function factsOf(rpc: JsonRpc, txHash: string): Promise<TransactionFacts> {
  const [chainId, transaction, receipt] = await rpc.ask([
    ['eth_chainId'],
    ['eth_getTransactionByHash', txHash],
    ['eth_getTransactionReceipt', txHash],
  ])
  const read = isReceipt(receipt) && textOf(receipt.transactionHash) === txHash ? receiptFrom(receipt) : undefined
  const facts = {
    chainId: Number(numberOf(chainId)),
    transaction: transactionFrom(transaction),
    receipt: read,
  }
  if (!read) return { ...facts, canonical: undefined }
  const [block] = await rpc.ask([['eth_getBlockByNumber', hex(read.block), false]])
  const header = headerOf(block)
  const lists = header !== undefined && listOf(objectOf(block).transactions).includes(txHash)
  return { ...facts, canonical: header && { header, lists } }
}

function headerOf(block: unknown): Header | undefined {
  if (block === null || block === undefined) return undefined
  const { number, hash, timestamp } = objectOf(block)
  return { number: numberOf(number), hash: textOf(hash), at: timeOf(timestamp) }
}

function transactionFrom(answer: unknown): ChainTransaction | undefined {
  if (answer === null || answer === undefined) return undefined
  const { hash, from, to, value, input, type: kind, chainId, v, nonce } = objectOf(answer)
  const type = Number(numberOf(kind ?? '0x0'))
  return {
    hash: textOf(hash),
    from: textOf(from),
    to: to === null || to === undefined ? undefined : textOf(to),
    value: numberOf(value),
    input: textOf(input),
    type,
    signedFor: signedFor(type, v, chainId),
    nonce: numberOf(nonce),
  }
}

/** The first type has its chain in the signature (EIP-155), and nodes differ in what else they say of it. Some types have none. */
function signedFor(type: number, v: unknown, chainId: unknown): number | undefined {
  if (type !== 0) return chainId === null || chainId === undefined ? undefined : Number(numberOf(chainId))
  const value = v === null || v === undefined ? 0n : numberOf(v)
  return value < 35n ? undefined : Number((value - 35n) / 2n)
}

function receiptFrom(receipt: Raw): ChainReceipt {
  return {
    succeeded: numberOf(receipt.status) === 1n,
    block: numberOf(receipt.blockNumber),
    blockHash: textOf(receipt.blockHash),
    transfers: listOf(receipt.logs).map(objectOf).filter(isTransfer).map(transferOf),
  }
}

function isReceipt(answer: unknown): answer is Raw {
  return typeof answer === 'object' && answer !== null
}

/** Tokens of another standard log the same event with the amount as a topic: those are no amounts. */
function isTransfer(log: Raw): boolean {
  const topics = listOf(log.topics)
  return topics.length === 3 && topics[0] === TRANSFER_TOPIC && textOf(log.data).length === 66
}

function transferOf(log: Raw): { token: string; payer: string; recipient: string; amount: bigint } {
  const [, from, to] = listOf(log.topics)
  return {
    token: textOf(log.address),
    payer: addressOf(from),
    recipient: addressOf(to),
    amount: numberOf(log.data),
  }
}

function hex(value: bigint): string {
  return `0x${value.toString(16)}`
}

/** An address as a 32-byte word, without 0x. */
function word(address: string): string {
  return address.slice(2).padStart(64, '0')
}

/** A text as contracts return it: offset, length, bytes. Empty when it is none. */
function stringOf(data: string): string {
  const bytes = Buffer.from(data.slice(2), 'hex')
  if (bytes.length < 64) return ''
  const length = bytes.readUInt32BE(60)
  return bytes.subarray(64, 64 + Math.min(length, 64)).toString('utf8')
}
