import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type AxonServer, type AxonSetting, COIN, openAxonSetting, USD } from '../../../test/axon-setting.ts'
import { type LyingNode, lyingNode, RpcError } from '../../../test/lying-node.ts'
import { auditLedger } from '../../ledger/audit.ts'
import { coinReport } from './reconciliation/service.ts'

let setting: AxonSetting
let server: AxonServer
let wallet: string
let accountId: bigint

beforeAll(async () => {
  setting = await openAxonSetting()
  server = await setting.server()
})
beforeEach(async () => {
  wallet = await setting.wallet()
  accountId = await setting.account(wallet)
  setting.troubles.length = 0
})
afterAll(async () => {
  expect(await auditLedger(setting.database.db)).toEqual([])
  await setting.stop()
})

const mine = async (blocks = 1) => {
  for (let mined = 0; mined < blocks; mined += 1) {
    await setting.mine()
    await server.rounds.once()
  }
}
const rpc = (method: string, ...parameters: unknown[]) => setting.chain.rpc(method, ...parameters)
const quotedPayment = async (body: object = { credit_usd: '4' }) => {
  const { body: quote } = await server.send(accountId, 'POST', 'quote', body)
  return setting.pay(wallet, quote.expected_axon_wei)
}
const redeem = async (hash: string, by = server) => {
  await setting.database.sql('update axon_claims set looked_at = null')
  const { status, body } = await by.send(accountId, 'POST', 'redeem-hash', { tx_hash: hash })
  return [status, body.code ?? body.status, body.review_reason ?? undefined]
}
const credited = async () => {
  const [row] = await setting.database.sql<{ micro: string }>('select account_available_micro($1) as micro', [
    accountId,
  ])
  return BigInt(row?.micro ?? 0)
}
const claim = async (hash: string) => {
  const [row] = await setting.database.sql<{ status: string; reason: string | null; final: boolean }>(
    'select status, reason, final from axon_claims where tx_hash = $1',
    [hash],
  )
  return row
}

describe('a hash that no node knows', () => {
  const unknown = `0x${'5'.repeat(64)}`

  test('is pending for 24 hours by the time of the chain, then refused, and found all the same when it comes', async () => {
    const signed = await quotedPayment()
    const raw = await rpc('eth_getRawTransactionByHash', signed)
    await rpc('anvil_dropTransaction', signed)
    expect(await redeem(signed)).toEqual([202, 'pending', undefined])
    await setting.database.sql(
      "update axon_claims set claimed_at = claimed_at - interval '23 hours 50 minutes' where tx_hash = $1",
      [signed],
    )
    await mine()
    expect(await redeem(signed)).toEqual([202, 'pending', undefined])
    await setting.database.sql(
      "update axon_claims set claimed_at = claimed_at - interval '20 minutes' where tx_hash = $1",
      [signed],
    )
    await mine()
    expect(await claim(signed)).toEqual({ status: 'failed', reason: 'tx_not_found', final: true })
    expect(await redeem(signed)).toEqual([400, 'tx_not_found', undefined])
    await rpc('eth_sendRawTransaction', raw)
    await mine(2)
    expect(await redeem(signed)).toEqual([200, 'completed', undefined])
    expect(await credited()).toBe(4_000_000n)
  })

  test('is given up by no node that fails, and twenty of them are all that an account may have', async () => {
    const node = await lyingNode(setting.chain.rpcUrl)
    const lame = await setting.server({ urls: [setting.chain.rpcUrl, node.url] })
    node.mode = 'too_many_requests'
    expect(await redeem(unknown, lame)).toEqual([202, 'pending', undefined])
    await setting.database.sql(
      "update axon_claims set claimed_at = claimed_at - interval '2 days' where tx_hash = $1",
      [unknown],
    )
    await setting.mine()
    await lame.rounds.once()
    expect(await claim(unknown)).toMatchObject({ status: 'pending' })
    await node.stop()
    for (let number = 0; number < 19; number += 1) {
      const hash = `0x${String(number).padStart(64, '7')}`
      expect((await redeem(hash))[0]).toBe(202)
    }
    expect(await redeem(`0x${'8'.repeat(64)}`)).toEqual([429, 'too_many_open_claims', undefined])
    expect(await redeem(unknown)).toEqual([400, 'tx_not_found', undefined])
  })

  test('is one too many for an account of which a hundred were refused today, until tomorrow', async () => {
    await setting.database.sql(
      `insert into axon_claims (account_id, chain_id, tx_hash, status, reason, claimed_at, final)
       select $1, 31337, '0x' || lpad(n::text, 64, '0'), 'failed', 'wrong_recipient', now(), true from generate_series(1, 100) n`,
      [accountId],
    )
    expect(await redeem(`0x${'4'.repeat(64)}`)).toEqual([429, 'too_many_open_claims', undefined])
    await setting.database.sql(
      "update axon_claims set claimed_at = claimed_at - interval '1 day' where account_id = $1",
      [accountId],
    )
    expect(await redeem(`0x${'4'.repeat(64)}`)).toEqual([202, 'pending', undefined])
  })
})

describe('a reorganisation', () => {
  // so deep that the wallet's coins stay
  beforeEach(() => setting.mine(6))

  test('before the Credits takes the payment back to pending, and it is credited once when it is mined again', async () => {
    const hash = await quotedPayment()
    await mine()
    const raw = await rpc('eth_getRawTransactionByHash', hash)
    expect(await redeem(hash)).toEqual([202, 'confirming', undefined])
    await rpc('anvil_reorg', 2, [])
    await mine()
    expect(await claim(hash)).toMatchObject({ status: 'pending' })
    await rpc('eth_sendRawTransaction', raw)
    await mine(2)
    expect(await claim(hash)).toMatchObject({ status: 'completed' })
    expect(await credited()).toBe(4_000_000n)
  })

  test('that moves a payment to another block changes nothing', async () => {
    const hash = await quotedPayment({ pay_axon: '1500' })
    await mine(1)
    expect(await redeem(hash)).toEqual([202, 'confirming', undefined])
    await rpc('anvil_reorg', 1, [[await rpc('eth_getRawTransactionByHash', hash), 0]])
    await mine(4)
    expect(await claim(hash)).toMatchObject({ status: 'completed' })
    expect(await credited()).toBe(3_000_000_000n)
  })

  test('after the Credits is reviewed, gives nothing twice, and ends by itself when the payment is back', async () => {
    const hash = await quotedPayment()
    await mine(2)
    const raw = await rpc('eth_getRawTransactionByHash', hash)
    expect(await redeem(hash)).toEqual([200, 'completed', undefined])
    await rpc('anvil_reorg', 4, [])
    await mine()
    await mine()
    expect(await redeem(hash)).toEqual([202, 'review_required', 'reorged_after_credit'])
    await rpc('eth_sendRawTransaction', raw)
    await mine(2)
    expect(await redeem(hash)).toEqual([200, 'completed', undefined])
    expect(await credited()).toBe(4_000_000n)
    await mine(3)
    expect(await claim(hash)).toEqual({ status: 'completed', reason: null, final: true })
  })
})

describe('a node', () => {
  let node: LyingNode
  let honestAndIt: AxonServer
  beforeAll(async () => {
    node = await lyingNode(setting.chain.rpcUrl)
    honestAndIt = await setting.server({ urls: [setting.chain.rpcUrl, node.url] })
  })
  afterAll(() => node.stop())
  beforeEach(() => {
    node.lie = undefined
    node.mode = 'answer'
  })

  test('that shows another value than the other gets nothing credited, and the payment is completed when it is honest', async () => {
    const hash = await quotedPayment()
    await setting.mine(2)
    node.lie = async ({ method, params }, honest) => {
      const answer = await honest(method, ...params)
      return method === 'eth_getTransactionByHash' ? { ...(answer as object), value: '0xde0b6b3a7640000' } : answer
    }
    expect(await redeem(hash, honestAndIt)).toEqual([202, 'pending', undefined])
    expect(setting.troubles.join()).toMatch(/is not the same to every node/)
    node.lie = undefined
    expect(await redeem(hash, honestAndIt)).toEqual([200, 'completed', undefined])
  })

  test('that invents a payment, and one that hides it, decide nothing alone', async () => {
    const real = await quotedPayment()
    await setting.mine(2)
    const invented = `0x${'6'.repeat(64)}`
    node.lie = async ({ method, params }, honest) => {
      const [hash] = params
      if (!/TransactionByHash|TransactionReceipt/.test(method)) return honest(method, ...params)
      if (hash === real) return null
      if (hash !== invented) return honest(method, ...params)
      return { ...((await honest(method, real)) as object), hash, transactionHash: hash }
    }
    expect(await redeem(invented, honestAndIt)).toEqual([202, 'pending', undefined])
    expect(await redeem(real, honestAndIt)).toEqual([202, 'pending', undefined])
    await honestAndIt.rounds.once()
    expect(await credited()).toBe(0n)
    node.lie = undefined
    expect(await redeem(real, honestAndIt)).toEqual([200, 'completed', undefined])
  })

  test('that does not answer lets nothing be quoted or credited, and both go on when it does', async () => {
    const hash = await quotedPayment()
    await setting.mine(2)
    node.mode = 'not_json'
    expect(await redeem(hash, honestAndIt)).toEqual([202, 'pending', undefined])
    const quote = () => honestAndIt.send(accountId, 'POST', 'quote', { credit_usd: '2' })
    expect((await quote()).body).toMatchObject({ code: 'asset_unavailable' })
    node.mode = 'answer'
    const healed = await setting.server({ urls: [setting.chain.rpcUrl, node.url] })
    expect(await redeem(hash, healed)).toEqual([200, 'completed', undefined])
    expect((await healed.send(accountId, 'POST', 'quote', { credit_usd: '2' })).status).toBe(200)
  })

  test('that has forgotten what was held at a block is asked at a later one, and that is no trouble', async () => {
    const { rows } = await setting.database.pool.query('select max(block) as newest from axon_reconciliations')
    await setting.mine(3)
    node.lie = async ({ method, params }, honest) => {
      if (method === 'eth_getBalance')
        throw new RpcError(-32_602, 'BlockOutOfRangeError: block height is 20 but requested was 18')
      return honest(method, ...params)
    }
    await honestAndIt.rounds.once()
    expect(setting.troubles).toEqual([])
    node.lie = undefined
    await setting.mine(3)
    await honestAndIt.rounds.once()
    expect((await coinReport(setting.database.db, new Date()))?.ok).toBe(true)
    const after = await setting.database.pool.query('select max(block) as newest from axon_reconciliations')
    expect(after.rows[0].newest).toBeGreaterThanOrEqual(rows[0].newest ?? 0n)
  })

  test('on another chain keeps quotes from being made', async () => {
    node.lie = async ({ method, params }, honest) => (method === 'eth_chainId' ? '0x1' : honest(method, ...params))
    const astray = await setting.server({ urls: [setting.chain.rpcUrl, node.url] })
    expect(astray.rounds.status()).toMatchObject({
      usable: false,
      trouble: expect.stringMatching(/on chain 1, not 31337/),
    })
    expect((await astray.send(accountId, 'POST', 'quote', { credit_usd: '2' })).body.code).toBe('asset_unavailable')
  })
})

describe('what the recipient holds', () => {
  test('is compared with what was credited: more credited than arrived is found, and so is a changed ledger', async () => {
    const report = async () => coinReport(setting.database.db, new Date())
    await mine(4)
    await setting.worth(2n * USD)
    const before = await report()
    const hash = await quotedPayment()
    await setting.pay(wallet, COIN)
    await mine(2)
    await redeem(hash)
    await mine(4)
    const after = await report()
    const difference = (name: 'received' | 'credited') => (after?.[name] ?? 0n) - (before?.[name] ?? 0n)
    expect([difference('received') - difference('credited'), difference('credited')]).toEqual([COIN, 2n * COIN])
    expect(after?.ok).toBe(true)
    await rpc('anvil_setBalance', setting.config.payToAddress, '0x0')
    await mine(4)
    expect(await report()).toMatchObject({
      ok: false,
      detail: expect.stringMatching(/more were credited than arrived/),
    })
    const credited = (by: number) =>
      setting.database.sql('update axon_claims set credited_micro = credited_micro + $2 where tx_hash = $1', [hash, by])
    await credited(1)
    expect(await report()).toMatchObject({ ok: false, detail: expect.stringMatching(/differ by 1 microcredits/) })
    await credited(-1)
  })
})
