import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import feeToken from '../../contracts/artifacts/FeeToken.json' with { type: 'json' }
import logForger from '../../contracts/artifacts/LogForger.json' with { type: 'json' }
import { developmentAsset, type TestChain, testChain } from '../../test/chain.ts'
import { type LyingNode, lyingNode } from '../../test/lying-node.ts'
import { systemClock } from '../kernel/clock.ts'
import { askAgreed, NodeUnavailable, RangeRefused } from './chain.ts'
import { openEvmChain } from './evm.ts'
import { checkAsset } from './start-check.ts'

let chain: TestChain
let node: LyingNode
beforeAll(async () => {
  chain = await testChain()
  node = await lyingNode(chain.rpcUrl)
})
afterAll(async () => {
  await node.stop()
  await chain.stop()
})

const open = (...rpcUrls: string[]) =>
  openEvmChain(
    { chainId: 31_337, networkName: 'the test chain', rpcUrls, safeBlocks: 3, finalizedBlocks: 7 },
    systemClock,
  )

describe('before an asset is served', () => {
  const problems = async (change: object, urls = [chain.rpcUrl]) =>
    (await checkAsset(open(...urls), { ...developmentAsset(chain.recipient), ...change })).problems

  test('every node confirms that it is what its row says', async () => {
    expect(await problems({}, [chain.rpcUrl, node.url])).toEqual([])
  })

  test('a node on another chain is refused', async () => {
    node.lie = async ({ method, params }, honest) => (method === 'eth_chainId' ? '0x2105' : honest(method, ...params))
    expect(await problems({}, [chain.rpcUrl, node.url])).toEqual([
      'node 2 of the test chain is on chain 8453, not 31337',
    ])
    node.lie = undefined
  })

  test('a token without code, or with other decimals or another symbol, is refused', async () => {
    expect(await problems({ tokenAddress: `0x${'9'.repeat(40)}` })).toEqual([expect.stringMatching(/no contract at/)])
    expect(await problems({ symbol: 'USDT' })).toEqual([expect.stringMatching(/called "USDC", not USDT/)])
    expect(await problems({ decimals: 18 })).toEqual([expect.stringMatching(/6 decimals, not 18/)])
    // a contract that answers every question with 18: a token of 18 decimals, scaled to nothing by anybody
    const eighteen = `0x${'6'.repeat(40)}`
    await chain.rpc('anvil_setCode', eighteen, '0x601260005260206000f3')
    expect(await problems({ tokenAddress: eighteen, symbol: '' })).toEqual([
      expect.stringMatching(/has 18 decimals, not 6: amounts are micro units, which are exact with six alone/),
    ])
    const forger = await chain.deploy(logForger.bytecode)
    expect(await problems({ tokenAddress: forger })).toHaveLength(2)
  })

  test('a recipient that is a contract is refused, and an upgraded plain account is not', async () => {
    const contract = await chain.deploy(feeToken.bytecode)
    expect(await problems({ recipientAddress: contract })).toEqual([expect.stringMatching(/is a contract/)])
    await chain.rpc('anvil_setCode', `0x${'8'.repeat(40)}`, `0xef0100${'7'.repeat(40)}`)
    expect(await problems({ recipientAddress: `0x${'8'.repeat(40)}` })).toEqual([])
  })

  test('nothing is concluded from a node that does not answer', async () => {
    await expect(problems({}, ['http://127.0.0.1:9'])).rejects.toThrow(NodeUnavailable)
  })
})

test('safe and finalized fall back to a number of blocks on a node that does not know the words', async () => {
  node.lie = async ({ method, params }, honest) =>
    params[0] === 'safe' || params[0] === 'finalized' ? null : honest(method, ...params)
  await chain.mine(20)
  const [heads] = await Promise.all(open(node.url).nodes.map((each) => each.heads()))
  expect(heads).toMatchObject({
    safe: (heads?.latest.number ?? 0n) - 3n,
    finalized: (heads?.latest.number ?? 0n) - 7n,
  })
  node.lie = undefined
})

test('a log that the receipt of its transaction does not have is not passed on', async () => {
  const height = await chain.height()
  await chain.pay({ from: chain.payers[0] ?? '', amount: 5n })
  await chain.mine()
  const query = {
    tokens: [chain.token],
    parties: [chain.recipient],
    direction: 'to',
    fromBlock: height + 1n,
    toBlock: height + 1n,
  } as const
  const [honest] = (await open(chain.rpcUrl).nodes[0]?.transfers(query)) ?? []
  expect(honest).toMatchObject({
    amount: 5n,
    position: 0,
    payer: chain.payers[0],
    recipient: chain.recipient,
    token: chain.token,
  })
  node.lie = async ({ method, params }, ask) => {
    const answer = await ask(method, ...params)
    return method === 'eth_getLogs'
      ? (answer as object[]).map((log) => ({ ...log, data: `0x${'f'.repeat(64)}` }))
      : answer
  }
  await expect(open(node.url).nodes[0]?.transfers(query)).rejects.toThrow(/does not have/)
  await expect(askAgreed(open(chain.rpcUrl, node.url), 'transfers', (each) => each.transfers(query))).rejects.toThrow(
    NodeUnavailable,
  )
  node.lie = undefined
})

test('what a node says when it refuses decides whether to ask for less or to come back later', async () => {
  const { RpcError } = await import('../../test/lying-node.ts')
  const query = {
    tokens: [chain.token],
    parties: [chain.recipient],
    direction: 'to',
    fromBlock: 1n,
    toBlock: 2n,
  } as const
  const refused = async (code: number, message: string) => {
    node.lie = async () => {
      throw new RpcError(code, message)
    }
    return open(node.url)
      .nodes[0]?.transfers(query)
      .catch((error: unknown) => error)
  }
  expect(await refused(-32_005, 'query returned more than 10000 results')).toBeInstanceOf(RangeRefused)
  expect(await refused(-32_602, 'eth_getLogs is limited to a 5 range')).toBeInstanceOf(RangeRefused)
  expect(await refused(-32_000, 'block range too large')).toBeInstanceOf(RangeRefused)
  expect(await refused(-32_005, 'rate limit exceeded')).toBeInstanceOf(NodeUnavailable)
  expect(await refused(-32_603, 'internal error')).toBeInstanceOf(NodeUnavailable)
  node.lie = undefined
})

test('an error never holds the address of a node, which may hold a key', async () => {
  const error = await open('http://user-key.invalid:1/secret-key')
    .nodes[0]?.chainId()
    .catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(NodeUnavailable)
  expect(`${(error as Error).stack} ${(error as Error).cause}`).not.toMatch(/secret-key|user-key/)
})
