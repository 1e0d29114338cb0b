import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freshDatabase, type TestDatabase } from '../../../test/database.ts'
import { code, ordersFixture } from '../../../test/orders-fixture.ts'
import * as lifecycle from './lifecycle.ts'

let database: TestDatabase
let it: ReturnType<typeof ordersFixture>
beforeAll(async () => {
  database = await freshDatabase()
  it = ordersFixture(database)
})
afterAll(() => database.drop())

describe('an order', () => {
  test('is made with everything that the server fixes, and reads the same afterwards', async () => {
    const payer = await it.payer()
    const made = await it.create(payer, { asset_id: 'dear_usdc', amount_micro: '5000000' })
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
    expect((await it.get(payer, data.id)).body.data).toEqual(data)
    // the rate stays what it was when the operator changes it
    it.state.assets = it.state.assets.map((asset) => ({ ...asset, rate_ppm: 9_000_000n }))
    expect((await it.get(payer, data.id)).body.data).toEqual(data)
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
    await it.see(id, txHash)
    expect((await it.get(payer, id)).body.data).toMatchObject({
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
    expect((await it.get(payer, id)).body.data).toMatchObject({
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
    await it.see(id, txHash)
    await it.settle(id, txHash)
    expect(await it.settle(id, txHash)).toBeUndefined()
    expect((await it.get(payer, id)).body.data).toMatchObject({
      status: 'completed',
      tx_hash: txHash,
      completed_at: it.clock.now().toISOString(),
    })
    expect(await it.availableMicro(payer)).toBe(5_000_000n)
    expect(
      await database.sql('select event, account_id, payload->>$2 as tx_hash from outbox where object_id = $1', [
        id,
        'tx_hash',
      ]),
    ).toEqual([{ event: 'order.completed', account_id: String(payer), tx_hash: txHash }])
    expect(await it.audit()).toEqual([])
  })

  test('may be paid by another transfer after a reorganisation took the first one away', async () => {
    const payer = await it.payer()
    const id = await it.order(payer)
    const [first, second] = [it.hash(), it.hash()]
    await it.see(id, first)
    expect(await it.see(id, second)).toBeUndefined()
    await it.locked(id, (tx, order) => lifecycle.orphan(tx, order, it.clock.now()))
    expect(await it.settle(id, first)).toBeUndefined()
    await it.see(id, second)
    expect((await it.settle(id, second))?.status).toBe('completed')
    expect(await it.availableMicro(payer)).toBe(5_000_000n)
  })

  test('belongs to the account that made it: others get 403, unknown ones 404', async () => {
    const [payer, other] = [await it.payer(), await it.payer()]
    const id = await it.order(payer)
    const attempt = (await it.post(payer, id, 'attempts')).body.data.attempt_id
    for (const answer of [
      await it.get(other, id),
      await it.post(other, id, 'attempts'),
      await it.post(other, id, `attempts/${attempt}/reject`),
      await it.post(other, id, 'resume'),
      await it.post(other, id, 'transactions', { tx_hash: it.hash() }),
    ]) {
      expect(code(answer)).toEqual([403, 'not_original_account'])
    }
    const nobody = it.deps.random.uuid()
    for (const answer of [
      await it.get(payer, nobody),
      await it.post(payer, nobody, 'attempts'),
      await it.post(payer, nobody, `attempts/${attempt}/reject`),
      await it.post(payer, nobody, 'resume'),
      await it.post(payer, nobody, 'transactions', { tx_hash: it.hash() }),
    ]) {
      expect(code(answer)).toEqual([404, 'order_not_found'])
    }
  })

  test('is read with an API key but never paid with one, and nobody reads it without a credential', async () => {
    const payer = await it.payer()
    const id = await it.order(payer)
    expect((await it.send('GET', `/v1/payments/orders/${id}`, payer, undefined, 'api_key')).status).toBe(200)
    expect((await it.send('GET', '/v1/payments/orders', payer, undefined, 'api_key')).body.data).toHaveLength(1)
    for (const path of ['attempts', `attempts/${id}/reject`, 'resume', 'transactions']) {
      expect(code(await it.send('POST', `/v1/payments/orders/${id}/${path}`, payer, {}, 'api_key'))).toEqual([
        403,
        'access_token_required',
      ])
    }
    expect(code(await it.send('POST', '/v1/payments/orders', payer, it.wanted(), 'api_key'))).toEqual([
      403,
      'access_token_required',
    ])
    expect(code(await it.send('POST', '/v1/payments/context', payer, { amount_micro: '5000000' }, 'api_key'))).toEqual([
      403,
      'access_token_required',
    ])
    expect((await it.send('GET', `/v1/payments/orders/${id}`, undefined)).status).toBe(401)
  })

  test('refuses ids that are no UUID, and members that no endpoint knows', async () => {
    const payer = await it.payer()
    const id = await it.order(payer)
    expect(code(await it.get(payer, '7'))).toEqual([400, 'invalid_parameter'])
    expect(code(await it.post(payer, id, 'attempts/7/reject'))).toEqual([400, 'invalid_parameter'])
    for (const path of ['attempts', `attempts/${id}/reject`, 'resume'])
      expect(code(await it.post(payer, id, path, { force: true }))).toEqual([400, 'unknown_field'])
    expect(code(await it.post(payer, id, 'transactions', { tx_hash: it.hash(), chain_id: 1 }))).toEqual([
      400,
      'unknown_field',
    ])
    expect(code(await it.create(payer, { recipient: 'me' }))).toEqual([400, 'unknown_field'])
    expect(code(await it.send('POST', '/v1/payments/orders', payer, {}))).toEqual([400, 'missing_field'])
  })
})

describe('a review', () => {
  test('stops every further payment of the account, and of no other, until it is resolved', async () => {
    const payer = await it.payer()
    const [id, other] = [await it.order(payer), await it.order(payer)]
    await it.review(id)
    for (const answer of [
      await it.create(payer),
      await it.post(payer, other, 'attempts'),
      await it.post(payer, other, 'resume'),
      await it.post(payer, id, 'attempts'),
      await it.post(payer, id, 'resume'),
      await it.post(payer, id, 'transactions', { tx_hash: it.hash() }),
    ]) {
      expect(code(answer)).toEqual([409, 'review_unresolved'])
    }
    expect((await it.create(payer)).body.message).toContain(id)
    expect((await it.post(payer, other, 'transactions', { tx_hash: it.hash() })).status).toBe(200)
    expect((await it.get(payer, id)).body.data.review).toEqual({
      reason: 'not_direct',
      opened_at: it.clock.now().toISOString(),
      resolved_at: null,
      resolution: null,
      held_micro: null,
      received_micro: '1',
    })
    expect(await database.sql('select event from outbox where object_id = $1', [id])).toEqual([
      { event: 'order.review_required' },
    ])
    expect((await it.create(await it.payer())).status).toBe(200)
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
  expect(code(await it.send('GET', `/v1/payments/orders?cursor=${await it.order(await it.payer())}`, payer))).toEqual([
    400,
    'invalid_parameter',
  ])
})

test('no request was refused with a code that its route does not declare', () => {
  expect(it.faults.map(String).filter((fault) => fault.includes('does not declare'))).toEqual([])
})
