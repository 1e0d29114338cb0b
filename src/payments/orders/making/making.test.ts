import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freshDatabase, type TestDatabase } from '../../../../test/database.ts'
import { code, devUsdc, ordersFixture } from '../../../../test/orders-fixture.ts'
import { ORDER_LIFETIME_MS } from '../states.ts'

let database: TestDatabase
let it: ReturnType<typeof ordersFixture>
beforeAll(async () => {
  database = await freshDatabase()
  it = ordersFixture(database)
})
afterAll(() => database.drop())

describe('making an order', () => {
  test('refuses amounts, assets, wallets and contexts that cannot pay, each with what to do', async () => {
    const payer = await it.payer()
    const cases: Array<[Record<string, unknown>, number, string]> = [
      [{ asset_id: 'base_gold' }, 400, 'unknown_asset'],
      [{ amount_micro: '05' }, 400, 'invalid_amount'],
      [{ amount_micro: '1.5' }, 400, 'invalid_amount'],
      [{ amount_micro: '-5' }, 400, 'invalid_amount'],
      [{ amount_micro: '' }, 400, 'invalid_amount'],
      [{ amount_micro: '1'.repeat(19) }, 400, 'invalid_amount'],
      [{ amount_micro: 5000000 }, 400, 'invalid_field'],
      [{ amount_micro: '9999' }, 400, 'amount_below_minimum'],
      [{ amount_micro: '10000000001' }, 400, 'amount_above_maximum'],
      [{ idempotency_key: '' }, 400, 'invalid_idempotency_key'],
      [{ idempotency_key: 'x'.repeat(129) }, 400, 'invalid_idempotency_key'],
      [{ idempotency_key: 'é' }, 400, 'invalid_idempotency_key'],
      [{ asset_id: 'paused_usdc' }, 503, 'asset_unavailable'],
      [{ payment_context_token: 'forged' }, 400, 'invalid_context'],
    ]
    for (const [change, status, expected] of cases) {
      const answer = await it.create(payer, change)
      expect([change, ...code(answer)]).toEqual([change, status, expected])
      expect(answer.body.message.length).toBeGreaterThan(20)
    }
    expect((await it.create(payer, { amount_micro: '10000' })).status).toBe(200)
    expect((await it.create(payer, { amount_micro: '10000000000' })).status).toBe(200)
    expect((await it.create(payer, { idempotency_key: 'x'.repeat(128) })).status).toBe(200)
  })

  test('refuses while the network is not healthy or does not answer, and nothing is written', async () => {
    const payer = await it.payer()
    it.state.healthy = false
    const answer = await it.create(payer)
    expect(code(answer)).toEqual([503, 'asset_unavailable'])
    expect(answer.headers['retry-after']).toBe('30')
    expect(
      (await it.send('GET', '/v1/payments/options', undefined)).body.data.assets.map(
        (asset: { enabled: boolean }) => asset.enabled,
      ),
    ).toEqual([false, false, false])
    it.state.healthy = true
    it.codes.set(it.wallets.get(payer)?.[0] ?? '', new Error('no node answers'))
    expect(code(await it.create(payer))).toEqual([503, 'asset_unavailable'])
    expect((await it.send('GET', '/v1/payments/orders', payer)).body.data).toEqual([])
  })

  test('needs a linked wallet that is a plain account; one that delegates its code is one', async () => {
    const without = await it.make.account('owner', { email: 'a@b.example' })
    expect(code(await it.create(without))).toEqual([403, 'wallet_not_linked'])
    const payer = await it.payer()
    const wallet = it.wallets.get(payer)?.[0] ?? ''
    for (const contract of [
      '0x6080',
      `0xef0100${'11'.repeat(19)}`,
      `0xef0100${'11'.repeat(21)}`,
      `0xef0200${'11'.repeat(20)}`,
    ]) {
      it.codes.set(wallet, contract)
      expect([contract, ...code(await it.create(payer))]).toEqual([contract, 409, 'payer_is_contract'])
    }
    it.codes.set(wallet, `0xef0100${'11'.repeat(20)}`)
    expect((await it.create(payer)).status).toBe(200)
  })

  test('takes 20 open orders of an account and no more until one lapses', async () => {
    const payer = await it.payer()
    const made = await Promise.all(Array.from({ length: 30 }, () => it.create(payer)))
    expect(made.filter(({ status }) => status === 200)).toHaveLength(20)
    expect(made.filter(({ status }) => status !== 200).map(code)).toEqual(Array(10).fill([429, 'too_many_open_orders']))
    it.clock.by(ORDER_LIFETIME_MS)
    expect((await it.create(payer)).status).toBe(200)
  })

  test('gives the same order to the same key and body, whatever has changed since, and 409 to another body', async () => {
    const payer = await it.payer()
    const body = it.wanted()
    const first = await it.send('POST', '/v1/payments/orders', payer, body)
    await it.post(payer, first.body.data.id, 'attempts')
    it.state.healthy = false
    it.wallets.set(payer, [])
    const { amount_micro, idempotency_key, asset_id } = body
    const again = await it.send('POST', '/v1/payments/orders', payer, {
      idempotency_key,
      amount_micro,
      asset_id,
    })
    expect(again.headers['idempotent-replayed']).toBe('true')
    expect(again.body.data).toMatchObject({ id: first.body.data.id, status: 'confirming' })
    expect(code(await it.send('POST', '/v1/payments/orders', payer, { ...body, amount_micro: '5000001' }))).toEqual([
      409,
      'idempotency_conflict',
    ])
    it.state.healthy = true
    // the key is the account's own
    expect((await it.send('POST', '/v1/payments/orders', await it.payer(), body)).body.data.id).not.toBe(
      first.body.data.id,
    )
  })

  test('makes one order of 50 requests with one key at once', async () => {
    const payer = await it.payer()
    const body = it.wanted()
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => it.send('POST', '/v1/payments/orders', payer, body)),
    )
    expect(new Set(answers.map((answer) => `${answer.status} ${answer.body.data.id}`)).size).toBe(1)
    expect(answers.filter((answer) => answer.headers['idempotent-replayed'] === undefined)).toHaveLength(1)
    expect(
      await database.sql(
        'select count(*)::int as n from order_events e join orders o on o.id = e.order_id where o.payer_account_id = $1',
        [payer],
      ),
    ).toEqual([{ n: 1 }])
  })
})

test('the options are public and say what a payment needs to know', async () => {
  const { body, status } = await it.send('GET', '/v1/payments/options', undefined)
  expect(status).toBe(200)
  expect(body.data.credit_micro_per_credit).toBe(1_000_000)
  expect(body.data.assets[0]).toEqual({
    asset_id: 'dev_usdc',
    symbol: 'USDC',
    chain_id: 31337,
    network_name: 'Development chain',
    token_address: '0x7070707070707070707070707070707070707070',
    decimals: 6,
    recipient_address: expect.stringMatching(/^0x/),
    rate_ppm: '1000000',
    min_amount_micro: Number(devUsdc.min_amount_micro),
    max_amount_micro: 10_000_000_000,
    required_confirmations: 10,
    explorer_url: 'https://explorer.example',
    enabled: true,
  })
})

test('no request was refused with a code that its route does not declare', () => {
  expect(it.faults.map(String).filter((fault) => fault.includes('does not declare'))).toEqual([])
})
