import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type AxonServer, type AxonSetting, COIN, openAxonSetting, USD } from '../../../../test/axon-setting.ts'

let setting: AxonSetting
let server: AxonServer
let wallet: string
let accountId: bigint

beforeAll(async () => {
  setting = await openAxonSetting()
  server = await setting.server()
})
beforeEach(async () => {
  setting.troubles.length = 0
  await setting.worth(2n * USD)
  wallet = await setting.wallet()
  accountId = await setting.account(wallet)
})
afterAll(() => setting.stop())

const ask = (body: unknown, by = server) => by.send(accountId, 'POST', 'quote', body)
const codeOf = async (body: unknown, by = server) => {
  const answer = await ask(body, by)
  return [answer.status, answer.body.code]
}

describe('a quote', () => {
  test('has every field of the contract, typed as there', async () => {
    await setting.worth(2_500_123_456_789_000_000_001n)
    const { status, body } = await ask({ credit_usd: '10.5' })
    expect(status).toBe(200)
    // 10.5 / 2500.123456789000000001, rounded up to the wei
    const wei = (10_500_000n * 10n ** 30n + 2_500_123_456_789_000_000_000n) / 2_500_123_456_789_000_000_001n
    expect(body).toEqual({
      quote_id: expect.any(Number),
      quote_mode: 'credit_usd',
      credit_usd: '10.5',
      pay_axon: `0.00${wei}`,
      expected_axon_wei: String(wei),
      usd_per_axon_rate: '2500.123456789000000001',
      min_topup_usd: '1',
      credited_micro_usdc: 10_500_000,
      pay_to_address: expect.stringMatching(/^0x[0-9a-fA-F]{40}$/),
      payer_wallet_address: expect.stringMatching(new RegExp(wallet, 'i')),
      chain_id: 31_337,
      network_name: 'the test chain',
      rpc_url: setting.chain.rpcUrl,
      tx_explorer_base_url: 'https://explorer.example/tx/',
      expires_at: expect.any(String),
      request_id: expect.stringMatching(/^req_/),
    })
    const [row] = await setting.database.sql<{ seconds: string; rate: string }>(
      'select extract(epoch from expires_at - created_at) as seconds, r.rate from axon_quotes q join axon_rates r on r.id = q.rate_id where q.id = $1',
      [body.quote_id],
    )
    expect([Number(row?.seconds), row?.rate]).toEqual([600, '2500123456789000000001'])
  })

  test('of an amount to pay credits what it is worth, rounded down, and shows the amount to the last wei', async () => {
    await setting.worth(3n * USD + 1n)
    const { body } = await ask({ pay_axon: '0.999999999999999999' })
    expect(body).toMatchObject({
      quote_mode: 'pay_axon',
      pay_axon: '0.999999999999999999',
      expected_axon_wei: '999999999999999999',
      credit_usd: '2.999999',
      credited_micro_usdc: 2_999_999,
    })
  })

  test('never asks for the amount of another open one of its account', async () => {
    const bodies = await Promise.all(Array.from({ length: 5 }, () => ask({ pay_axon: '1' })))
    expect(bodies.map(({ body }) => BigInt(body.expected_axon_wei) - COIN).sort()).toEqual([0n, 1n, 2n, 3n, 4n])
    expect(bodies.map(({ body }) => body.credited_micro_usdc)).toEqual(Array(5).fill(2_000_000))
  })

  test('is the sixth of its account to be refused, until one has ended; others are not concerned', async () => {
    const made = await Promise.all(Array.from({ length: 8 }, () => ask({ credit_usd: '2' })))
    expect(made.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 200, 429, 429, 429])
    expect(await codeOf({ credit_usd: '2' })).toEqual([429, 'too_many_open_quotes'])
    const other = await setting.account(await setting.wallet())
    expect((await server.send(other, 'POST', 'quote', { credit_usd: '2' })).status).toBe(200)
    await setting.database.sql(
      "update axon_quotes set expires_at = expires_at - interval '11 minutes' where account_id = $1",
      [accountId],
    )
    expect((await ask({ credit_usd: '2' })).status).toBe(200)
  })

  test.each([
    [{}],
    [{ credit_usd: '1', pay_axon: '1' }],
    [{ credit_usd: '0' }],
    [{ credit_usd: '-1' }],
    [{ credit_usd: '1e3' }],
    [{ credit_usd: '1.0000001' }],
    [{ pay_axon: '.5' }],
    [{ pay_axon: '0.0000000000000000001' }],
    [{ pay_axon: '99999999999999999999' }],
  ])('is refused for %j', async (body) => {
    expect(await codeOf(body)).toEqual([400, 'invalid_quote_request'])
  })

  test('takes no numbers and no other field', async () => {
    expect(await codeOf({ credit_usd: 5 })).toEqual([400, 'invalid_field'])
    expect(await codeOf({ credit_usd: '5', tip: '1' })).toEqual([400, 'unknown_field'])
  })

  test('is refused below and above the limits, with the limits', async () => {
    const { body } = await ask({ credit_usd: '0.999999' })
    expect(body).toMatchObject({ code: 'amount_below_minimum', min_topup_usd: '1' })
    expect(await codeOf({ pay_axon: '0.4' })).toEqual([400, 'amount_below_minimum'])
    expect(await codeOf({ credit_usd: '10000.000001' })).toEqual([400, 'amount_above_maximum'])
  })

  test('is refused to an account without a wallet, and for a wallet that is a contract', async () => {
    await setting.database.sql('update accounts set wallet_address = null where id = $1', [accountId])
    await setting.database.sql('delete from account_wallets where account_id = $1', [accountId])
    expect(await codeOf({ credit_usd: '2' })).toEqual([403, 'wallet_not_linked'])
    const contract = await setting.wallet()
    await setting.chain.rpc('anvil_setCode', contract, '0x6000')
    const other = await setting.account(contract)
    const answer = await server.send(other, 'POST', 'quote', { credit_usd: '2' })
    expect([answer.status, answer.body.code]).toEqual([409, 'payer_is_contract'])
  })

  test('is refused while there is no fresh rate, with when to come back', async () => {
    await setting.worth(undefined)
    expect(await codeOf({ credit_usd: '2' })).toEqual([503, 'rate_unavailable'])
    await setting.worth(2n * USD)
    expect((await ask({ credit_usd: '2' })).status).toBe(200)
  })

  test('is refused while the operator has paused the coin; what was quoted before is still redeemed', async () => {
    const { body } = await ask({ credit_usd: '2' })
    const paused = await setting.server({ config: { enabled: false } })
    expect(await codeOf({ credit_usd: '2' }, paused)).toEqual([503, 'asset_unavailable'])
    const hash = await setting.pay(wallet, body.expected_axon_wei)
    await setting.mine(2)
    expect((await paused.send(accountId, 'POST', 'redeem-hash', { tx_hash: hash })).status).toBe(200)
  })
})

describe('an order', () => {
  test('is a quote that its account reads by its number, and nobody else', async () => {
    const { body: order } = await server.send(accountId, 'POST', 'order', { credit_usd: '2' })
    expect(order).toMatchObject({ status: 'pending', tx_hash: '', credited_micro_usdc: 2_000_000 })
    expect(order.id).toBe(order.quote_id)
    const read = (as: bigint) => server.send(as, 'GET', `orders/${order.id}`)
    expect((await read(accountId)).body).toEqual({ ...order, request_id: expect.any(String) })
    const other = await setting.account(await setting.wallet())
    expect((await read(other)).body).toMatchObject({ code: 'not_original_account' })
    expect((await server.send(accountId, 'GET', 'orders/999999')).body).toMatchObject({ code: 'order_not_found' })
    await setting.database.sql("update axon_quotes set expires_at = now() - interval '1 hour' where id = $1", [
      order.id,
    ])
    expect((await read(accountId)).body).toMatchObject({ status: 'expired' })
  })

  test('is completed by the hash that is sent for it', async () => {
    const { body: order } = await server.send(accountId, 'POST', 'order', { credit_usd: '2' })
    const hash = await setting.pay(wallet, order.expected_axon_wei)
    const reconcile = (tx_hash: string) => server.send(accountId, 'POST', 'reconcile', { order_id: order.id, tx_hash })
    expect(await reconcile(hash)).toMatchObject({
      status: 202,
      body: { status: 'pending', order_id: order.id, order_status: 'pending' },
    })
    await setting.mine(2)
    await server.rounds.once()
    expect(await reconcile(hash)).toMatchObject({
      status: 200,
      body: { status: 'completed', order_id: order.id, order_status: 'completed', credited_micro_usdc: 2_000_000 },
    })
    const other = await setting.account(await setting.wallet())
    const theirs = await server.send(other, 'POST', 'reconcile', { order_id: order.id, tx_hash: hash })
    expect(theirs.body).toMatchObject({ code: 'not_original_account' })
  })
})
