import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freshDatabase, type TestDatabase } from '../../../test/database.ts'
import { ordersFixture } from '../../../test/orders-fixture.ts'
import { sweepLapsed } from './attempts.ts'
import { ORDER_LIFETIME_MS } from './states.ts'

let database: TestDatabase
let it: ReturnType<typeof ordersFixture>
beforeAll(async () => {
  database = await freshDatabase()
  it = ordersFixture(database)
})
afterAll(() => database.drop())

describe('races', () => {
  test('reject against register: either the attempt is taken back or the hash is kept, never neither', async () => {
    for (let round = 0; round < 10; round += 1) {
      const payer = await it.payer()
      const id = await it.order(payer)
      const attempt = (await it.post(payer, id, 'attempts')).body.data.attempt_id
      const [rejected, registered] = await Promise.all([
        it.post(payer, id, `attempts/${attempt}/reject`),
        it.post(payer, id, 'transactions', { tx_hash: it.hash() }),
      ])
      expect(registered.status).toBe(200)
      expect(rejected.status === 200 || rejected.body.code === 'attempt_has_payment').toBe(true)
      // a hash that is known always waits for the chain
      expect((await it.get(payer, id)).body.data.status).toBe('confirming')
    }
  })

  test('resume against expiry: whoever comes first, a resumed order waits for its payment again', async () => {
    for (let round = 0; round < 10; round += 1) {
      const payer = await it.payer()
      const id = await it.order(payer)
      it.clock.by(ORDER_LIFETIME_MS)
      const [resumed] = await Promise.all([
        it.post(payer, id, 'resume'),
        sweepLapsed(it.deps, 1000),
        sweepLapsed(it.deps, 1000),
      ])
      expect(resumed.status).toBe(200)
      expect((await it.get(payer, id)).body.data.status).toBe('pending')
    }
  })

  test('resume against attempts: the order waits for one payment, for longer or not', async () => {
    const payer = await it.payer()
    const id = await it.order(payer)
    const answers = await Promise.all([
      it.post(payer, id, 'attempts'),
      it.post(payer, id, 'resume'),
      it.post(payer, id, 'attempts'),
    ])
    expect(answers.filter((answer) => answer.body.data?.attempt_id !== undefined)).toHaveLength(1)
    expect((await it.get(payer, id)).body.data.status).toBe('confirming')
  })

  test('ten that settle one order, on two rails, credit it once', async () => {
    const payer = await it.payer()
    const id = await it.order(payer)
    const txHash = it.hash()
    await it.see(id, txHash)
    const axon = database.db.transaction().execute((tx) =>
      import('./crediting/store.ts').then((store) =>
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
    await Promise.all([axon, ...Array.from({ length: 10 }, () => it.settle(id, txHash))])
    expect(await it.availableMicro(payer)).toBe(5_000_000n)
    expect(await it.audit()).toEqual([])
  })
})

test('no request was refused with a code that its route does not declare', () => {
  expect(it.faults.map(String).filter((fault) => fault.includes('does not declare'))).toEqual([])
})
