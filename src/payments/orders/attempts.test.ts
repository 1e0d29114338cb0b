import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freshDatabase, type TestDatabase } from '../../../test/database.ts'
import { code, ordersFixture } from '../../../test/orders-fixture.ts'
import { sweepLapsed } from './attempts.ts'
import * as lifecycle from './lifecycle.ts'
import { ORDER_LIFETIME_MS } from './states.ts'

let database: TestDatabase
let it: ReturnType<typeof ordersFixture>
beforeAll(async () => {
  database = await freshDatabase()
  it = ordersFixture(database)
})
afterAll(() => database.drop())

const HOUR = 3_600_000

describe('a send attempt', () => {
  test('is reserved until the last millisecond before the expiry, and not at it', async () => {
    const payer = await it.payer()
    const [early, exact, late] = [await it.order(payer), await it.order(payer), await it.order(payer)]
    const start = it.clock.now()
    it.clock.set(new Date(start.getTime() + ORDER_LIFETIME_MS - 1))
    expect((await it.post(payer, early, 'attempts')).status).toBe(200)
    it.clock.by(1)
    expect((await it.get(payer, exact)).body.data.status).toBe('expired')
    expect(code(await it.post(payer, exact, 'attempts'))).toEqual([409, 'order_expired'])
    it.clock.by(1)
    expect(code(await it.post(payer, late, 'attempts'))).toEqual([409, 'order_expired'])
    // a confirming order does not end by the clock
    it.clock.by(99 * HOUR)
    await sweepLapsed(it.deps, 1000)
    expect((await it.get(payer, early)).body.data.status).toBe('confirming')
    expect(await database.sql('select status from orders where id = $1', [late])).toEqual([{ status: 'expired' }])
  })

  test('is one: of 25 at once one is reserved and 24 are refused', async () => {
    const payer = await it.payer()
    const id = await it.order(payer)
    const answers = await Promise.all(Array.from({ length: 25 }, () => it.post(payer, id, 'attempts')))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(answers.filter(({ status }) => status !== 200).map(code)).toEqual(Array(24).fill([409, 'attempt_active']))
    expect(answers.find(({ status }) => status === 409)?.body.message).toMatch(/GET the order/)
    expect(
      await database.sql(`select count(*)::int as n from order_events where order_id = $1 and event = 'reserve'`, [id]),
    ).toEqual([{ n: 1 }])
    expect(it.woken.length).toBeGreaterThan(0)
  })

  test('is taken back by its own id only, again and again with the same answer, and may then be made anew', async () => {
    const payer = await it.payer()
    const id = await it.order(payer)
    const reserve = async () => (await it.post(payer, id, 'attempts')).body.data.attempt_id
    const first = await reserve()
    expect(code(await it.post(payer, id, `attempts/${it.deps.random.uuid()}/reject`))).toEqual([
      404,
      'attempt_not_found',
    ])
    const rejected = await it.post(payer, id, `attempts/${first}/reject`)
    expect(rejected.body.data).toMatchObject({ id, status: 'pending', payment_attempt_id: '' })
    expect((await it.post(payer, id, `attempts/${first}/reject`)).body.data).toEqual(rejected.body.data)
    const second = await reserve()
    expect(code(await it.post(payer, id, `attempts/${first}/reject`))).toEqual([409, 'attempt_not_current'])
    await it.post(payer, id, 'transactions', { tx_hash: it.hash() })
    expect(code(await it.post(payer, id, `attempts/${second}/reject`))).toEqual([409, 'attempt_has_payment'])
    expect((await it.get(payer, id)).body.data).toMatchObject({
      status: 'confirming',
      payment_attempt_id: second,
    })
  })

  test('is not taken back once the chain shows its transfer, though no hash was registered', async () => {
    const payer = await it.payer()
    const id = await it.order(payer)
    const attempt = (await it.post(payer, id, 'attempts')).body.data.attempt_id
    const txHash = it.hash()
    await it.see(id, txHash)
    expect(code(await it.post(payer, id, `attempts/${attempt}/reject`))).toEqual([409, 'attempt_has_payment'])
    await it.settle(id, txHash)
    expect(code(await it.post(payer, id, `attempts/${attempt}/reject`))).toEqual([409, 'order_completed'])
  })

  test('ends with the last of its hashes, and the next one is free again', async () => {
    const payer = await it.payer()
    const id = await it.order(payer)
    const [first, second] = [it.hash(), it.hash()]
    for (const txHash of [first, second]) await it.post(payer, id, 'transactions', { tx_hash: txHash })
    const release = (txHash: string) =>
      it.locked(id, (tx, order) => lifecycle.release(tx, order, 'fail', txHash, 'failed', it.clock.now()))
    expect(await release(first)).toBeUndefined()
    expect((await release(second))?.status).toBe('pending')
    const reserved = await it.post(payer, id, 'attempts')
    expect(reserved.status).toBe(200)
    expect((await it.post(payer, id, `attempts/${reserved.body.data.attempt_id}/reject`)).status).toBe(200)
  })

  test('needs the wallet that the order names', async () => {
    const payer = await it.payer()
    const id = await it.order(payer)
    const linked = it.wallets.get(payer) ?? []
    it.wallets.set(payer, [`0x${'99'.repeat(20)}`])
    for (const path of ['attempts', 'resume'])
      expect(code(await it.post(payer, id, path))).toEqual([403, 'wallet_changed'])
    it.wallets.set(payer, linked)
    expect((await it.post(payer, id, 'attempts')).status).toBe(200)
  })
})

describe('resuming', () => {
  test('extends from the expiry or, when that has passed, from now, and changes nothing else', async () => {
    const payer = await it.payer()
    const id = await it.order(payer)
    const start = it.clock.now().getTime()
    const before = (await it.get(payer, id)).body.data
    const extended = (await it.post(payer, id, 'resume')).body.data
    expect(extended).toEqual({
      ...before,
      expires_at: new Date(start + 2 * ORDER_LIFETIME_MS).toISOString(),
      events: [...before.events, { event: 'resume', from: 'pending', to: 'pending', at: expect.any(String) }],
    })
    it.clock.by(23 * HOUR)
    expect((await it.get(payer, id)).body.data.status).toBe('expired')
    const revived = (await it.send('POST', `/v1/payments/orders/${id}/resume`, payer)).body.data
    expect([revived.status, revived.expires_at]).toEqual(['pending', new Date(start + 23.5 * HOUR).toISOString()])
    it.clock.by(HOUR)
    expect(code(await it.post(payer, id, 'resume'))).toEqual([409, 'resume_limit'])
  })

  test('is refused while an attempt is active, when a payment is recorded, and when the order is over', async () => {
    const payer = await it.payer()
    const id = await it.order(payer)
    const attempt = (await it.post(payer, id, 'attempts')).body.data.attempt_id
    expect(code(await it.post(payer, id, 'resume'))).toEqual([409, 'attempt_active'])
    await it.post(payer, id, `attempts/${attempt}/reject`)
    expect((await it.post(payer, id, 'resume')).status).toBe(200)
    const failed = it.hash()
    await it.post(payer, id, 'transactions', { tx_hash: failed })
    await it.locked(id, (tx, order) => lifecycle.release(tx, order, 'fail', failed, 'failed', it.clock.now()))
    expect(code(await it.post(payer, id, 'resume'))).toEqual([409, 'payment_recorded'])
    const paid = it.hash()
    await it.see(id, paid)
    await it.settle(id, paid)
    expect(code(await it.post(payer, id, 'resume'))).toEqual([409, 'order_completed'])
    expect(code(await it.post(payer, id, 'attempts'))).toEqual([409, 'order_completed'])
  })
})

describe('registering a hash', () => {
  test('is a hint in any case of letters, once, and brings a lapsed order back from looking unpaid', async () => {
    const payer = await it.payer()
    const id = await it.order(payer)
    it.clock.by(ORDER_LIFETIME_MS)
    const txHash = it.hash()
    const upper = `0x${txHash.slice(2).toUpperCase()}`
    const registered = await it.post(payer, id, 'transactions', { tx_hash: upper })
    expect(registered.body.data).toMatchObject({
      status: 'confirming',
      tx_hash: txHash,
      payment_attempt_id: expect.stringMatching(/-/),
    })
    expect((await it.post(payer, id, 'transactions', { tx_hash: txHash })).body.data.events).toHaveLength(2)
    expect(code(await it.post(payer, id, 'attempts'))).toEqual([409, 'attempt_active'])
    for (const wrong of ['', '0x', `${txHash}0`, txHash.slice(2), `0x${'g'.repeat(64)}`, ` ${txHash}`])
      expect([wrong, ...code(await it.post(payer, id, 'transactions', { tx_hash: wrong }))]).toEqual([
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
      expect((await it.post(payer, id, 'transactions', { tx_hash: txHash })).status).toBe(200)
    expect(code(await it.post(payer, id, 'transactions', { tx_hash: it.hash() }))).toEqual([409, 'too_many_hashes'])
    expect((await it.post(payer, id, 'transactions', { tx_hash: hashes[0] })).status).toBe(200)
    await it.see(id, hashes[2] ?? '')
    await it.settle(id, hashes[2] ?? '')
    expect((await it.post(payer, id, 'transactions', { tx_hash: hashes[2] })).status).toBe(200)
  })

  test('claims nothing: two orders may name one hash, and it pays one of them once', async () => {
    const [payer, squatter] = [await it.payer(), await it.payer()]
    const [mine, theirs] = [await it.order(payer), await it.order(squatter)]
    const txHash = it.hash()
    for (const [account, id] of [
      [squatter, theirs],
      [payer, mine],
    ] as const)
      expect((await it.post(account, id, 'transactions', { tx_hash: txHash })).status).toBe(200)
    await it.see(mine, txHash)
    await it.settle(mine, txHash)
    // a watcher that errs all the same gives nothing twice
    await it.see(theirs, txHash)
    expect((await it.settle(theirs, txHash))?.review_reason).toBe('tx_already_used')
    expect(await it.availableMicro(squatter)).toBe(0n)
    const third = await it.order(payer)
    expect(code(await it.post(payer, third, 'transactions', { tx_hash: txHash }))).toEqual([409, 'tx_already_used'])
    expect(code(await it.post(payer, mine, 'transactions', { tx_hash: it.hash() }))).toEqual([409, 'order_completed'])
    expect(await it.audit()).toEqual([])
  })
})

test('no request was refused with a code that its route does not declare', () => {
  expect(it.faults.map(String).filter((fault) => fault.includes('does not declare'))).toEqual([])
})
