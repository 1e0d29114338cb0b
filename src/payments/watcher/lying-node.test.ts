import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type LyingNode, lyingNode, RpcError } from '../../../test/lying-node.ts'
import { orderOf } from '../../../test/orders.ts'
import { handMovedClock } from '../../../test/orders-fixture.ts'
import { openSetting, type Setting } from '../../../test/payment-setting.ts'
import { auditLedger } from '../../ledger/audit.ts'

// Two nodes are asked; one of them lies. Nothing is credited while it does, and everything when it has healed.

let setting: Setting
let node: LyingNode
let round: ReturnType<Setting['rounds']>

beforeAll(async () => {
  setting = await openSetting()
  node = await lyingNode(setting.chain.rpcUrl)
  round = setting.rounds({ urls: [setting.chain.rpcUrl, node.url] })
  await round.once()
})
afterEach(() => {
  node.lie = undefined
  node.mode = 'answer'
})
afterAll(async () => {
  const totals = await setting.totals()
  expect(totals.granted).toBe(totals.completed)
  expect(await auditLedger(setting.database.db)).toEqual([])
  await node.stop()
  await setting.stop()
})

const blocks = async (count: number) => {
  for (let mined = 0; mined < count; mined += 1) {
    await setting.chain.mine()
    // its own watcher each time: a breaker that is open would hide what the node says
    round = setting.rounds({ urls: [setting.chain.rpcUrl, node.url] })
    await round.once()
  }
}
const isCompleted = async (id: string) => (await orderOf(setting.database, id)).status === 'completed'
const HEX = 16

async function creditedOnlyWhenHealed(begin: () => void, expected: { unhealthy?: boolean } = {}): Promise<void> {
  const { id, amount } = await setting.order()
  const before = (await setting.totals()).granted
  begin()
  const hash = await setting.chain.pay({ from: setting.payer, amount })
  await blocks(4)
  if (expected.unhealthy) expect(round.status()).toMatchObject({ healthy: false })
  expect(await isCompleted(id)).toBe(false)
  expect((await setting.totals()).granted).toBe(before)
  node.lie = undefined
  node.mode = 'answer'
  await blocks(3)
  expect(await orderOf(setting.database, id)).toMatchObject({ status: 'completed', tx_hash: hash })
  expect((await setting.totals()).granted).toBe(before + amount)
}

describe('a node that', () => {
  test('lags far behind holds the credit back', () =>
    creditedOnlyWhenHealed(() => {
      let stuckAt: Promise<bigint> | undefined
      node.lie = async ({ method, params }, honest) => {
        stuckAt ??= setting.chain.height()
        const height = await stuckAt
        if (method === 'eth_getBlockByNumber' && params[0] === 'latest')
          return honest(method, `0x${height.toString(HEX)}`, false)
        if (
          method === 'eth_getBlockByNumber' &&
          typeof params[0] === 'string' &&
          params[0].startsWith('0x') &&
          BigInt(params[0]) > height
        )
          return null
        if (method === 'eth_getLogs')
          return honest(method, params[0]).then((logs) =>
            (logs as { blockNumber: string }[]).filter((log) => BigInt(log.blockNumber) <= height),
          )
        return honest(method, ...params)
      }
    }))

  test('drops logs holds the credit back instead of hiding the payment', () =>
    creditedOnlyWhenHealed(
      () => {
        node.lie = async ({ method, params }, honest) => (method === 'eth_getLogs' ? [] : honest(method, ...params))
      },
      { unhealthy: true },
    ))

  test('answers too many requests', () =>
    creditedOnlyWhenHealed(() => (node.mode = 'too_many_requests'), { unhealthy: true }))
  test('answers something that is no JSON', () =>
    creditedOnlyWhenHealed(() => (node.mode = 'not_json'), { unhealthy: true }))

  test('changes its chain id at the moment of the credit', () =>
    creditedOnlyWhenHealed(() => {
      node.lie = async ({ method, params }, honest) => (method === 'eth_chainId' ? '0x1' : honest(method, ...params))
    }))

  test('serves the receipt of a dead branch', () =>
    creditedOnlyWhenHealed(() => {
      node.lie = async ({ method, params }, honest) => {
        const answer = await honest(method, ...params)
        if (method !== 'eth_getTransactionReceipt' || answer === null) return answer
        return { ...(answer as object), blockHash: `0x${'de'.repeat(32)}` }
      }
    }))

  test('is on another branch', () =>
    creditedOnlyWhenHealed(
      () => {
        node.lie = async ({ method, params }, honest) => {
          const answer = await honest(method, ...params)
          return method === 'eth_getBlockByNumber' && answer !== null
            ? { ...(answer as object), hash: `0x${'bb'.repeat(32)}` }
            : answer
        }
      },
      { unhealthy: true },
    ))

  test('answers nonsense in every field', () =>
    creditedOnlyWhenHealed(
      () => {
        node.lie = async ({ method }) =>
          method === 'eth_getLogs' ? [{ address: 1, topics: 'x' }] : { number: 'soon', hash: 7 }
      },
      { unhealthy: true },
    ))
})

test.each(['hang', 'hang_in_body'] as const)(
  'a node that hangs (%s) is given up after its time limit',
  async (mode) => {
    const { id, amount } = await setting.order({
      amount: mode === 'hang' ? 21_000_000n : 22_000_000n,
    })
    await setting.chain.pay({ from: setting.payer, amount })
    await setting.chain.mine(2)
    node.mode = mode
    await round.once()
    expect(round.status()).toMatchObject({
      healthy: false,
      trouble: expect.stringMatching(/did not answer within 3000 ms/),
    })
    node.mode = 'answer'
    await blocks(2)
    expect(await isCompleted(id)).toBe(true)
  },
)

test('a payment that one node forges, log, receipt and all, is never seen', async () => {
  const { id, amount } = await setting.order({ amount: 31_000_000n })
  const txHash = `0x${'f0'.repeat(32)}`
  const pad = (address: string) => `0x${address.slice(2).padStart(64, '0')}`
  node.lie = async ({ method, params }, honest) => {
    const block = (await honest('eth_getBlockByNumber', 'latest', false)) as {
      number: string
      hash: string
      transactions: string[]
    }
    const log = {
      address: setting.chain.token,
      topics: [
        '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef',
        pad(setting.payer),
        pad(setting.chain.recipient),
      ],
      data: `0x${amount.toString(HEX).padStart(64, '0')}`,
      blockNumber: block.number,
      blockHash: block.hash,
      transactionHash: txHash,
      logIndex: '0x0',
      removed: false,
    }
    if (method === 'eth_getLogs') return [log]
    if (method === 'eth_getTransactionReceipt' && params[0] === txHash)
      return {
        transactionHash: txHash,
        status: '0x1',
        blockNumber: block.number,
        blockHash: block.hash,
        logs: [log],
      }
    return honest(method, ...params)
  }
  await blocks(3)
  expect(round.status()).toMatchObject({
    healthy: false,
    trouble: expect.stringMatching(/disagree about transfers/),
  })
  expect(await setting.transfer(txHash)).toBeUndefined()
  expect((await orderOf(setting.database, id)).status).toBe('pending')
})

test('a node that refuses wide ranges is asked for narrow ones, and the way is still made', async () => {
  const { id, amount } = await setting.order({ amount: 41_000_000n })
  await setting.chain.pay({ from: setting.payer, amount })
  await setting.chain.mine(120, 0)
  node.lie = async ({ method, params }, honest) => {
    const range = params[0] as { fromBlock: string; toBlock: string }
    if (method === 'eth_getLogs' && BigInt(range.toBlock) - BigInt(range.fromBlock) >= 10n)
      throw new RpcError(-32005, 'query exceeds max block range 10')
    return honest(method, ...params)
  }
  await round.once()
  expect(round.status()).toMatchObject({ healthy: true, behind: 0n })
  expect(await isCompleted(id)).toBe(true)
})

test('a node that keeps failing is left alone for a while, and asked again after it', async () => {
  node.mode = 'too_many_requests'
  const clock = handMovedClock()
  const watching = setting.rounds({ urls: [setting.chain.rpcUrl, node.url], clock })
  for (let tries = 0; tries < 5; tries += 1) await watching.once()
  const before = node.requests
  clock.by(999)
  await watching.once()
  expect(node.requests).toBe(before)
  expect(watching.status().trouble).toMatch(/left alone/)
  clock.by(1)
  node.mode = 'answer'
  await watching.once()
  expect(node.requests).toBeGreaterThan(before)
  expect(watching.status()).toMatchObject({ healthy: true })
})
