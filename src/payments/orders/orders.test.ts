import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freshDatabase, type TestDatabase } from '../../../test/database.ts'
import { sweepLapsed } from './attempts.ts'
import * as lifecycle from './lifecycle.ts'
import { devUsdc, ordersFixture, plainContexts } from './orders.fixture.ts'
import { ORDER_LIFETIME_MS } from './states.ts'

let database: TestDatabase
let it: ReturnType<typeof ordersFixture>
beforeAll(async () => {
  database = await freshDatabase()
  it = ordersFixture(database)
})
afterAll(() => database.drop())

const HOUR = 3_600_000
const wanted = (change: Record<string, unknown> = {}) => ({
  asset_id: 'dev_usdc',
  amount_micro: '5000000',
  idempotency_key: it.deps.random.uuid(),
  ...change,
})
const create = (payer: bigint, change: Record<string, unknown> = {}) =>
  it.send('POST', '/v1/payments/orders', payer, wanted(change))
const post = (payer: bigint, id: string, path: string, body: unknown = {}) =>
  it.send('POST', `/v1/payments/orders/${id}/${path}`, payer, body)
const get = (payer: bigint, id: string) => it.send('GET', `/v1/payments/orders/${id}`, payer)
const code = (answer: { status: number; body: { code?: string } }) => [
  answer.status,
  answer.body.code,
]
const review = (id: string) =>
  it.locked(id, (tx, order) =>
    lifecycle.suspect(
      tx,
      order,
      { reason: 'not_direct', txHash: it.hash(), receivedMicro: 1n },
      it.clock.now(),
    ),
  )
const see = (id: string, txHash: string) =>
  it.locked(id, (tx, order) =>
    lifecycle.see(tx, order, { txHash, attemptId: it.deps.random.uuid() }, it.clock.now()),
  )
const settle = (id: string, txHash: string) =>
  it.locked(id, (tx, order) =>
    lifecycle.settle(
      tx,
      order,
      { chainId: order.chain_id, txHash, logPosition: 0 },
      it.clock.now(),
    ),
  )

describe('an order', () => {
  test('is made with everything that the server fixes, and reads the same afterwards', async () => {
    const payer = await it.payer()
    const made = await create(payer, { asset_id: 'dear_usdc', amount_micro: '5000000' })
    expect(made.status).toBe(200)
    const { data } = made.body
    expect(data).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      account_id: Number(payer),
      account_label: expect.stringMatching(/^payer /),
      payer_address: expect.stringMatching(/^0x[0-9a-fA-F]{40}$/),
      asset_id: 'dear_usdc',
      chain_id: 31337,
      token_address: '0x7070707070707070707070707070707070707070',
      recipient_address: expect.stringMatching(/^0x[0-9a-fA-F]{40}$/),
      // 5 dollars at 3 dollars a Credit, rounded down
      amount_micro: '5000000',
      credit_micro: '1666666',
      rate_ppm: '3000000',
      status: 'pending',
      payment_attempt_id: '',
      tx_hash: '',
      created_at: '2026-11-20T12:00:00.000Z',
      expires_at: '2026-11-20T12:30:00.000Z',
      completed_at: null,
      confirmations: 0,
      required_confirmations: 10,
      block_number: null,
      review: null,
      network_name: 'Development chain',
      token_symbol: 'USDC',
      token_decimals: 6,
      explorer_tx_url: '',
      server_time: '2026-11-20T12:00:00.000Z',
      events: [{ event: 'create', from: null, to: 'pending', at: '2026-11-20T12:00:00.000Z' }],
    })
    expect((await get(payer, data.id)).body.data).toEqual(data)
    // the rate stays what it was when the operator changes it
    it.state.assets = it.state.assets.map((asset) => ({ ...asset, rate_ppm: 9_000_000n }))
    expect((await get(payer, data.id)).body.data).toEqual(data)
    it.state.assets = it.state.assets.map((asset) => ({
      ...asset,
      rate_ppm: asset.asset_id === 'dear_usdc' ? 3_000_000n : 1_000_000n,
    }))
  })

  test('shows how deep its transfer is, where to look at it, and what happened', async () => {
    const payer = await it.payer()
    const id = await it.order(payer, { amount: '200000000' })
    const txHash = it.hash()
    await database.sql(
      `insert into chain_transfers (chain_id, tx_hash, log_position, block, block_hash, block_at, token_address, payer, recipient, amount, state, order_id)
       select chain_id, $2, 0, 100, '0x', now(), token_address, payer_address, recipient_address, amount_micro, 'matched', id from orders where id = $1`,
      [id, txHash],
    )
    await database.sql(
      `insert into chain_cursors (chain_id, block, hash, head_block, head_at, safe_block, finalized_block) values (31337, 104, '0x', 104, now() + interval '1 year', 90, 80)`,
    )
    await see(id, txHash)
    expect((await get(payer, id)).body.data).toMatchObject({
      status: 'confirming',
      tx_hash: txHash,
      confirmations: 5,
      required_confirmations: 65,
      block_number: 100,
      explorer_tx_url: `https://explorer.example/tx/${txHash}`,
      events: [{ event: 'create' }, { event: 'see', from: 'pending', to: 'confirming' }],
    })
    await it.locked(id, (tx, order) => lifecycle.orphan(tx, order, it.clock.now()))
    await database.sql(`update chain_transfers set state = 'orphaned' where tx_hash = $1`, [txHash])
    expect((await get(payer, id)).body.data).toMatchObject({
      status: 'confirming',
      confirmations: 0,
      block_number: null,
      tx_hash: txHash,
    })
    await database.sql('delete from chain_cursors')
  })

  test('is credited once when its transfer settles, and the world is told of it', async () => {
    const payer = await it.payer()
    const id = await it.order(payer)
    const txHash = it.hash()
    await see(id, txHash)
    await settle(id, txHash)
    expect(await settle(id, txHash)).toBeUndefined()
    expect((await get(payer, id)).body.data).toMatchObject({
      status: 'completed',
      tx_hash: txHash,
      completed_at: it.clock.now().toISOString(),
    })
    expect(await it.availableMicro(payer)).toBe(5_000_000n)
    expect(
      await database.sql(
        'select event, account_id, payload->>$2 as tx_hash from outbox where object_id = $1',
        [id, 'tx_hash'],
      ),
    ).toEqual([{ event: 'order.completed', account_id: String(payer), tx_hash: txHash }])
    expect(await it.audit()).toEqual([])
  })

  test('may be paid by another transfer after a reorganisation took the first one away', async () => {
    const payer = await it.payer()
    const id = await it.order(payer)
    const [first, second] = [it.hash(), it.hash()]
    await see(id, first)
    expect(await see(id, second)).toBeUndefined()
    await it.locked(id, (tx, order) => lifecycle.orphan(tx, order, it.clock.now()))
    expect(await settle(id, first)).toBeUndefined()
    await see(id, second)
    expect((await settle(id, second))?.status).toBe('completed')
    expect(await it.availableMicro(payer)).toBe(5_000_000n)
  })

  test('belongs to the account that made it: others get 403, unknown ones 404', async () => {
    const [payer, other] = [await it.payer(), await it.payer()]
    const id = await it.order(payer)
    const attempt = (await post(payer, id, 'attempts')).body.data.attempt_id
    for (const answer of [
      await get(other, id),
      await post(other, id, 'attempts'),
      await post(other, id, `attempts/${attempt}/reject`),
      await post(other, id, 'resume'),
      await post(other, id, 'transactions', { tx_hash: it.hash() }),
    ]) {
      expect(code(answer)).toEqual([403, 'not_original_account'])
    }
    const nobody = it.deps.random.uuid()
    for (const answer of [
      await get(payer, nobody),
      await post(payer, nobody, 'attempts'),
      await post(payer, nobody, `attempts/${attempt}/reject`),
      await post(payer, nobody, 'resume'),
      await post(payer, nobody, 'transactions', { tx_hash: it.hash() }),
    ]) {
      expect(code(answer)).toEqual([404, 'order_not_found'])
    }
  })

  test('is read with an API key but never paid with one, and nobody reads it without a credential', async () => {
    const payer = await it.payer()
    const id = await it.order(payer)
    expect(
      (await it.send('GET', `/v1/payments/orders/${id}`, payer, undefined, 'api_key')).status,
    ).toBe(200)
    expect(
      (await it.send('GET', '/v1/payments/orders', payer, undefined, 'api_key')).body.data,
    ).toHaveLength(1)
    for (const path of ['attempts', `attempts/${id}/reject`, 'resume', 'transactions']) {
      expect(
        code(await it.send('POST', `/v1/payments/orders/${id}/${path}`, payer, {}, 'api_key')),
      ).toEqual([403, 'access_token_required'])
    }
    expect(code(await it.send('POST', '/v1/payments/orders', payer, wanted(), 'api_key'))).toEqual([
      403,
      'access_token_required',
    ])
    expect(
      code(
        await it.send(
          'POST',
          '/v1/payments/context',
          payer,
          { amount_micro: '5000000' },
          'api_key',
        ),
      ),
    ).toEqual([403, 'access_token_required'])
    expect((await it.send('GET', `/v1/payments/orders/${id}`, undefined)).status).toBe(401)
  })

  test('refuses ids that are no UUID, and members that no endpoint knows', async () => {
    const payer = await it.payer()
    const id = await it.order(payer)
    expect(code(await get(payer, '7'))).toEqual([400, 'invalid_parameter'])
    expect(code(await post(payer, id, 'attempts/7/reject'))).toEqual([400, 'invalid_parameter'])
    for (const path of ['attempts', `attempts/${id}/reject`, 'resume'])
      expect(code(await post(payer, id, path, { force: true }))).toEqual([400, 'unknown_field'])
    expect(
      code(await post(payer, id, 'transactions', { tx_hash: it.hash(), chain_id: 1 })),
    ).toEqual([400, 'unknown_field'])
    expect(code(await create(payer, { recipient: 'me' }))).toEqual([400, 'unknown_field'])
    expect(code(await it.send('POST', '/v1/payments/orders', payer, {}))).toEqual([
      400,
      'missing_field',
    ])
  })
})

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
      const answer = await create(payer, change)
      expect([change, ...code(answer)]).toEqual([change, status, expected])
      expect(answer.body.message.length).toBeGreaterThan(20)
    }
    expect((await create(payer, { amount_micro: '10000' })).status).toBe(200)
    expect((await create(payer, { amount_micro: '10000000000' })).status).toBe(200)
    expect((await create(payer, { idempotency_key: 'x'.repeat(128) })).status).toBe(200)
  })

  test('refuses while the network is not healthy or does not answer, and nothing is written', async () => {
    const payer = await it.payer()
    it.state.healthy = false
    const answer = await create(payer)
    expect(code(answer)).toEqual([503, 'asset_unavailable'])
    expect(answer.headers['retry-after']).toBe('30')
    expect(
      (await it.send('GET', '/v1/payments/options', undefined)).body.data.assets.map(
        (asset: { enabled: boolean }) => asset.enabled,
      ),
    ).toEqual([false, false, false])
    it.state.healthy = true
    it.codes.set(it.wallets.get(payer)?.[0] ?? '', new Error('no node answers'))
    expect(code(await create(payer))).toEqual([503, 'asset_unavailable'])
    expect((await it.send('GET', '/v1/payments/orders', payer)).body.data).toEqual([])
  })

  test('needs a linked wallet that is a plain account; one that delegates its code is one', async () => {
    const without = await it.make.account('owner', { email: 'a@b.example' })
    expect(code(await create(without))).toEqual([403, 'wallet_not_linked'])
    const payer = await it.payer()
    const wallet = it.wallets.get(payer)?.[0] ?? ''
    for (const contract of [
      '0x6080',
      `0xef0100${'11'.repeat(19)}`,
      `0xef0100${'11'.repeat(21)}`,
      `0xef0200${'11'.repeat(20)}`,
    ]) {
      it.codes.set(wallet, contract)
      expect([contract, ...code(await create(payer))]).toEqual([contract, 409, 'payer_is_contract'])
    }
    it.codes.set(wallet, `0xef0100${'11'.repeat(20)}`)
    expect((await create(payer)).status).toBe(200)
  })

  test('takes 20 open orders of an account and no more until one lapses', async () => {
    const payer = await it.payer()
    const made = await Promise.all(Array.from({ length: 30 }, () => create(payer)))
    expect(made.filter(({ status }) => status === 200)).toHaveLength(20)
    expect(made.filter(({ status }) => status !== 200).map(code)).toEqual(
      Array(10).fill([429, 'too_many_open_orders']),
    )
    it.clock.by(ORDER_LIFETIME_MS)
    expect((await create(payer)).status).toBe(200)
  })

  test('gives the same order to the same key and body, whatever has changed since, and 409 to another body', async () => {
    const payer = await it.payer()
    const body = wanted()
    const first = await it.send('POST', '/v1/payments/orders', payer, body)
    await post(payer, first.body.data.id, 'attempts')
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
    expect(
      code(
        await it.send('POST', '/v1/payments/orders', payer, { ...body, amount_micro: '5000001' }),
      ),
    ).toEqual([409, 'idempotency_conflict'])
    it.state.healthy = true
    // the key is the account's own
    expect(
      (await it.send('POST', '/v1/payments/orders', await it.payer(), body)).body.data.id,
    ).not.toBe(first.body.data.id)
  })

  test('makes one order of 50 requests with one key at once', async () => {
    const payer = await it.payer()
    const body = wanted()
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => it.send('POST', '/v1/payments/orders', payer, body)),
    )
    expect(new Set(answers.map((answer) => `${answer.status} ${answer.body.data.id}`)).size).toBe(1)
    expect(
      answers.filter((answer) => answer.headers['idempotent-replayed'] === undefined),
    ).toHaveLength(1)
    expect(
      await database.sql(
        'select count(*)::int as n from order_events e join orders o on o.id = e.order_id where o.payer_account_id = $1',
        [payer],
      ),
    ).toEqual([{ n: 1 }])
  })
})

describe('a send attempt', () => {
  test('is reserved until the last millisecond before the expiry, and not at it', async () => {
    const payer = await it.payer()
    const [early, exact, late] = [
      await it.order(payer),
      await it.order(payer),
      await it.order(payer),
    ]
    const start = it.clock.now()
    it.clock.set(new Date(start.getTime() + ORDER_LIFETIME_MS - 1))
    expect((await post(payer, early, 'attempts')).status).toBe(200)
    it.clock.by(1)
    expect((await get(payer, exact)).body.data.status).toBe('expired')
    expect(code(await post(payer, exact, 'attempts'))).toEqual([409, 'order_expired'])
    it.clock.by(1)
    expect(code(await post(payer, late, 'attempts'))).toEqual([409, 'order_expired'])
    // a confirming order does not end by the clock
    it.clock.by(99 * HOUR)
    await sweepLapsed(it.deps, 1000)
    expect((await get(payer, early)).body.data.status).toBe('confirming')
    expect(await database.sql('select status from orders where id = $1', [late])).toEqual([
      { status: 'expired' },
    ])
  })

  test('is one: of 25 at once one is reserved and 24 are refused', async () => {
    const payer = await it.payer()
    const id = await it.order(payer)
    const answers = await Promise.all(Array.from({ length: 25 }, () => post(payer, id, 'attempts')))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(answers.filter(({ status }) => status !== 200).map(code)).toEqual(
      Array(24).fill([409, 'attempt_active']),
    )
    expect(answers.find(({ status }) => status === 409)?.body.message).toMatch(/GET the order/)
    expect(
      await database.sql(
        `select count(*)::int as n from order_events where order_id = $1 and event = 'reserve'`,
        [id],
      ),
    ).toEqual([{ n: 1 }])
    expect(it.woken.length).toBeGreaterThan(0)
  })

  test('is taken back by its own id only, again and again with the same answer, and may then be made anew', async () => {
    const payer = await it.payer()
    const id = await it.order(payer)
    const reserve = async () => (await post(payer, id, 'attempts')).body.data.attempt_id
    const first = await reserve()
    expect(code(await post(payer, id, `attempts/${it.deps.random.uuid()}/reject`))).toEqual([
      404,
      'attempt_not_found',
    ])
    const rejected = await post(payer, id, `attempts/${first}/reject`)
    expect(rejected.body.data).toMatchObject({ id, status: 'pending', payment_attempt_id: '' })
    expect((await post(payer, id, `attempts/${first}/reject`)).body.data).toEqual(
      rejected.body.data,
    )
    const second = await reserve()
    expect(code(await post(payer, id, `attempts/${first}/reject`))).toEqual([
      409,
      'attempt_not_current',
    ])
    await post(payer, id, 'transactions', { tx_hash: it.hash() })
    expect(code(await post(payer, id, `attempts/${second}/reject`))).toEqual([
      409,
      'attempt_has_payment',
    ])
    expect((await get(payer, id)).body.data).toMatchObject({
      status: 'confirming',
      payment_attempt_id: second,
    })
  })

  test('is not taken back once the chain shows its transfer, though no hash was registered', async () => {
    const payer = await it.payer()
    const id = await it.order(payer)
    const attempt = (await post(payer, id, 'attempts')).body.data.attempt_id
    const txHash = it.hash()
    await see(id, txHash)
    expect(code(await post(payer, id, `attempts/${attempt}/reject`))).toEqual([
      409,
      'attempt_has_payment',
    ])
    await settle(id, txHash)
    expect(code(await post(payer, id, `attempts/${attempt}/reject`))).toEqual([
      409,
      'order_completed',
    ])
  })

  test('ends with the last of its hashes, and the next one is free again', async () => {
    const payer = await it.payer()
    const id = await it.order(payer)
    const [first, second] = [it.hash(), it.hash()]
    for (const txHash of [first, second]) await post(payer, id, 'transactions', { tx_hash: txHash })
    const release = (txHash: string) =>
      it.locked(id, (tx, order) =>
        lifecycle.release(tx, order, 'fail', txHash, 'failed', it.clock.now()),
      )
    expect(await release(first)).toBeUndefined()
    expect((await release(second))?.status).toBe('pending')
    const reserved = await post(payer, id, 'attempts')
    expect(reserved.status).toBe(200)
    expect((await post(payer, id, `attempts/${reserved.body.data.attempt_id}/reject`)).status).toBe(
      200,
    )
  })

  test('needs the wallet that the order names', async () => {
    const payer = await it.payer()
    const id = await it.order(payer)
    const linked = it.wallets.get(payer) ?? []
    it.wallets.set(payer, [`0x${'99'.repeat(20)}`])
    for (const path of ['attempts', 'resume'])
      expect(code(await post(payer, id, path))).toEqual([403, 'wallet_changed'])
    it.wallets.set(payer, linked)
    expect((await post(payer, id, 'attempts')).status).toBe(200)
  })
})

describe('resuming', () => {
  test('extends from the expiry or, when that has passed, from now, and changes nothing else', async () => {
    const payer = await it.payer()
    const id = await it.order(payer)
    const start = it.clock.now().getTime()
    const before = (await get(payer, id)).body.data
    const extended = (await post(payer, id, 'resume')).body.data
    expect(extended).toEqual({
      ...before,
      expires_at: new Date(start + 2 * ORDER_LIFETIME_MS).toISOString(),
      events: [
        ...before.events,
        { event: 'resume', from: 'pending', to: 'pending', at: expect.any(String) },
      ],
    })
    it.clock.by(23 * HOUR)
    expect((await get(payer, id)).body.data.status).toBe('expired')
    const revived = (await it.send('POST', `/v1/payments/orders/${id}/resume`, payer)).body.data
    expect([revived.status, revived.expires_at]).toEqual([
      'pending',
      new Date(start + 23.5 * HOUR).toISOString(),
    ])
    it.clock.by(HOUR)
    expect(code(await post(payer, id, 'resume'))).toEqual([409, 'resume_limit'])
  })

  test('is refused while an attempt is active, when a payment is recorded, and when the order is over', async () => {
    const payer = await it.payer()
    const id = await it.order(payer)
    const attempt = (await post(payer, id, 'attempts')).body.data.attempt_id
    expect(code(await post(payer, id, 'resume'))).toEqual([409, 'attempt_active'])
    await post(payer, id, `attempts/${attempt}/reject`)
    expect((await post(payer, id, 'resume')).status).toBe(200)
    const failed = it.hash()
    await post(payer, id, 'transactions', { tx_hash: failed })
    await it.locked(id, (tx, order) =>
      lifecycle.release(tx, order, 'fail', failed, 'failed', it.clock.now()),
    )
    expect(code(await post(payer, id, 'resume'))).toEqual([409, 'payment_recorded'])
    const paid = it.hash()
    await see(id, paid)
    await settle(id, paid)
    expect(code(await post(payer, id, 'resume'))).toEqual([409, 'order_completed'])
    expect(code(await post(payer, id, 'attempts'))).toEqual([409, 'order_completed'])
  })
})

describe('registering a hash', () => {
  test('is a hint in any case of letters, once, and brings a lapsed order back from looking unpaid', async () => {
    const payer = await it.payer()
    const id = await it.order(payer)
    it.clock.by(ORDER_LIFETIME_MS)
    const txHash = it.hash()
    const upper = `0x${txHash.slice(2).toUpperCase()}`
    const registered = await post(payer, id, 'transactions', { tx_hash: upper })
    expect(registered.body.data).toMatchObject({
      status: 'confirming',
      tx_hash: txHash,
      payment_attempt_id: expect.stringMatching(/-/),
    })
    expect(
      (await post(payer, id, 'transactions', { tx_hash: txHash })).body.data.events,
    ).toHaveLength(2)
    expect(code(await post(payer, id, 'attempts'))).toEqual([409, 'attempt_active'])
    for (const wrong of [
      '',
      '0x',
      `${txHash}0`,
      txHash.slice(2),
      `0x${'g'.repeat(64)}`,
      ` ${txHash}`,
    ])
      expect([wrong, ...code(await post(payer, id, 'transactions', { tx_hash: wrong }))]).toEqual([
        wrong,
        400,
        'invalid_tx_hash',
      ])
  })

  test('takes five and refuses the sixth, and a known one is always answered', async () => {
    const payer = await it.payer()
    const id = await it.order(payer)
    const hashes = Array.from({ length: 5 }, () => it.hash())
    for (const txHash of hashes)
      expect((await post(payer, id, 'transactions', { tx_hash: txHash })).status).toBe(200)
    expect(code(await post(payer, id, 'transactions', { tx_hash: it.hash() }))).toEqual([
      409,
      'too_many_hashes',
    ])
    expect((await post(payer, id, 'transactions', { tx_hash: hashes[0] })).status).toBe(200)
    await see(id, hashes[2] ?? '')
    await settle(id, hashes[2] ?? '')
    expect((await post(payer, id, 'transactions', { tx_hash: hashes[2] })).status).toBe(200)
  })

  test('claims nothing: two orders may name one hash, and it pays one of them once', async () => {
    const [payer, squatter] = [await it.payer(), await it.payer()]
    const [mine, theirs] = [await it.order(payer), await it.order(squatter)]
    const txHash = it.hash()
    for (const [account, id] of [
      [squatter, theirs],
      [payer, mine],
    ] as const)
      expect((await post(account, id, 'transactions', { tx_hash: txHash })).status).toBe(200)
    await see(mine, txHash)
    await settle(mine, txHash)
    // a watcher that errs all the same gives nothing twice
    await see(theirs, txHash)
    expect((await settle(theirs, txHash))?.review_reason).toBe('tx_already_used')
    expect(await it.availableMicro(squatter)).toBe(0n)
    const third = await it.order(payer)
    expect(code(await post(payer, third, 'transactions', { tx_hash: txHash }))).toEqual([
      409,
      'tx_already_used',
    ])
    expect(code(await post(payer, mine, 'transactions', { tx_hash: it.hash() }))).toEqual([
      409,
      'order_completed',
    ])
    expect(await it.audit()).toEqual([])
  })
})

describe('a review', () => {
  test('stops every further payment of the account, and of no other, until it is resolved', async () => {
    const payer = await it.payer()
    const [id, other] = [await it.order(payer), await it.order(payer)]
    await review(id)
    for (const answer of [
      await create(payer),
      await post(payer, other, 'attempts'),
      await post(payer, other, 'resume'),
      await post(payer, id, 'attempts'),
      await post(payer, id, 'resume'),
      await post(payer, id, 'transactions', { tx_hash: it.hash() }),
    ]) {
      expect(code(answer)).toEqual([409, 'review_unresolved'])
    }
    expect((await create(payer)).body.message).toContain(id)
    expect((await post(payer, other, 'transactions', { tx_hash: it.hash() })).status).toBe(200)
    expect((await get(payer, id)).body.data.review).toEqual({
      reason: 'not_direct',
      opened_at: it.clock.now().toISOString(),
      resolved_at: null,
      resolution: null,
      received_micro: '1',
    })
    expect(await database.sql('select event from outbox where object_id = $1', [id])).toEqual([
      { event: 'order.review_required' },
    ])
    expect((await create(await it.payer())).status).toBe(200)
  })
})

describe('races', () => {
  test('reject against register: either the attempt is taken back or the hash is kept, never neither', async () => {
    for (let round = 0; round < 10; round += 1) {
      const payer = await it.payer()
      const id = await it.order(payer)
      const attempt = (await post(payer, id, 'attempts')).body.data.attempt_id
      const [rejected, registered] = await Promise.all([
        post(payer, id, `attempts/${attempt}/reject`),
        post(payer, id, 'transactions', { tx_hash: it.hash() }),
      ])
      expect(registered.status).toBe(200)
      expect(rejected.status === 200 || rejected.body.code === 'attempt_has_payment').toBe(true)
      // a hash that is known always waits for the chain
      expect((await get(payer, id)).body.data.status).toBe('confirming')
    }
  })

  test('resume against expiry: whoever comes first, a resumed order waits for its payment again', async () => {
    for (let round = 0; round < 10; round += 1) {
      const payer = await it.payer()
      const id = await it.order(payer)
      it.clock.by(ORDER_LIFETIME_MS)
      const [resumed] = await Promise.all([
        post(payer, id, 'resume'),
        sweepLapsed(it.deps, 1000),
        sweepLapsed(it.deps, 1000),
      ])
      expect(resumed.status).toBe(200)
      expect((await get(payer, id)).body.data.status).toBe('pending')
    }
  })

  test('resume against attempts: the order waits for one payment, for longer or not', async () => {
    const payer = await it.payer()
    const id = await it.order(payer)
    const answers = await Promise.all([
      post(payer, id, 'attempts'),
      post(payer, id, 'resume'),
      post(payer, id, 'attempts'),
    ])
    expect(answers.filter((answer) => answer.body.data?.attempt_id !== undefined)).toHaveLength(1)
    expect((await get(payer, id)).body.data.status).toBe('confirming')
  })

  test('ten that settle one order, on two rails, credit it once', async () => {
    const payer = await it.payer()
    const id = await it.order(payer)
    const txHash = it.hash()
    await see(id, txHash)
    const axon = database.db
      .transaction()
      .execute((tx) =>
        import('./store.ts').then((store) =>
          store.grantForReceipt(
            tx,
            { chainId: 31337n, txHash, logPosition: 0 },
            {
              source: 'operator',
              sourceId: txHash,
              accountId: payer,
              amountMicro: 5_000_000n,
              reason: 'a race',
            },
          ),
        ),
      )
    await Promise.all([axon, ...Array.from({ length: 10 }, () => settle(id, txHash))])
    expect(await it.availableMicro(payer)).toBe(5_000_000n)
    expect(await it.audit()).toEqual([])
  })
})

test('the list shows an account its own orders, newest first, page by page without gaps', async () => {
  const payer = await it.payer()
  const made: string[] = []
  for (let n = 0; n < 5; n += 1) {
    made.unshift(await it.order(payer))
    // two of them at one moment
    if (n !== 2) it.clock.by(1000)
  }
  const seen: string[] = []
  let cursor = ''
  do {
    const page = await it.send('GET', `/v1/payments/orders?limit=2${cursor}`, payer)
    for (const order of page.body.data) seen.push(order.id)
    expect(page.body.data[0]).not.toHaveProperty('events')
    cursor = page.body.next_cursor === null ? '' : `&cursor=${page.body.next_cursor}`
  } while (cursor !== '')
  expect([...seen].sort()).toEqual([...made].sort())
  expect([seen[0], seen[4]]).toEqual([made[0], made[4]])
  expect(
    code(
      await it.send('GET', `/v1/payments/orders?cursor=${await it.order(await it.payer())}`, payer),
    ),
  ).toEqual([400, 'invalid_parameter'])
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

describe('a payment context', () => {
  const context = (payer: bigint, body: unknown) =>
    it.send('POST', '/v1/payments/context', payer, body)

  test('shows the recipient and carries its token in the fragment alone', async () => {
    const payer = await it.payer()
    const { data } = (await context(payer, { amount_micro: '5000000' })).body
    expect(data).toMatchObject({
      amount_micro: '5000000',
      recipient: {
        account_id: Number(payer),
        label: expect.stringMatching(/^payer/),
        wallet_address: expect.stringMatching(/^0x[0-9a-fA-F]{40}$/),
      },
    })
    const url = new URL(data.topup_url)
    expect([url.origin, url.pathname, url.search]).toEqual(['https://pay.example', '/topup', ''])
    expect(new URLSearchParams(url.hash.slice(1)).get('context')).toBe(data.payment_context_token)
    const left = new Date(data.expires_at).getTime() - it.clock.now().getTime()
    expect([left > 15 * 60_000 - 1000, left <= 15 * 60_000]).toEqual([true, true])
  })

  test('credits a linked Agent by an order that is paid by the owner, for 15 minutes and the same amount', async () => {
    const [owner, agent] = [await it.payer(), await it.payer()]
    expect(
      code(await context(owner, { amount_micro: '5000000', recipient_account_id: Number(agent) })),
    ).toEqual([403, 'recipient_not_allowed'])
    await it.make.link(agent, owner, 'self_only')
    const { data } = (
      await context(owner, { amount_micro: '5000000', recipient_account_id: Number(agent) })
    ).body
    expect(data.recipient.account_id).toBe(Number(agent))
    const token = data.payment_context_token
    expect(
      code(await create(owner, { payment_context_token: token, amount_micro: '5000001' })),
    ).toEqual([409, 'context_mismatch'])
    expect(code(await create(agent, { payment_context_token: token }))).toEqual([
      409,
      'context_mismatch',
    ])
    const made = (await create(owner, { payment_context_token: token })).body.data
    expect([made.account_id, made.account_label]).toEqual([Number(agent), data.recipient.label])
    const txHash = it.hash()
    await see(made.id, txHash)
    await settle(made.id, txHash)
    expect([await it.availableMicro(agent), await it.availableMicro(owner)]).toEqual([
      5_000_000n,
      0n,
    ])
    expect(code(await get(agent, made.id))).toEqual([403, 'not_original_account'])
    it.clock.by(15 * 60_000)
    expect(code(await create(owner, { payment_context_token: token }))).toEqual([
      409,
      'context_expired',
    ])
    expect(await plainContexts.verify(token, it.clock.now())).toBe('expired')
  })

  test('refuses amounts that no asset takes, and any context while none is enabled', async () => {
    const payer = await it.payer()
    expect(code(await context(payer, { amount_micro: 'five' }))).toEqual([400, 'invalid_amount'])
    expect(code(await context(payer, { amount_micro: '1' }))).toEqual([400, 'amount_below_minimum'])
    expect(code(await context(payer, { amount_micro: '99999999999' }))).toEqual([
      400,
      'amount_above_maximum',
    ])
    const { assets } = it.state
    it.state.assets = []
    expect(code(await context(payer, { amount_micro: '5000000' }))).toEqual([
      503,
      'asset_unavailable',
    ])
    it.state.assets = assets
  })
})

test('no request was refused with a code that its route does not declare', () => {
  expect(it.faults.map(String).filter((fault) => fault.includes('does not declare'))).toEqual([])
})
