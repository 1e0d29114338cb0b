import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freshDatabase, type TestDatabase } from '../../../test/database.ts'
import { type Answer, ordersFixture } from '../../../test/orders-fixture.ts'
import { inTurns, raceRepeats, repeatedRace } from '../../../test/races/repeated.ts'
import { sweepLapsed } from './attempts.ts'
import { ORDER_LIFETIME_MS } from './states.ts'

/** The long form: npm run test:races, 200 repetitions of each. */
const REPEATS = raceRepeats(5)
const timeout = 20_000 + REPEATS * 500

let database: TestDatabase
let it: ReturnType<typeof ordersFixture>
beforeAll(async () => {
  database = await freshDatabase()
  it = ordersFixture(database)
})
afterAll(() => database.drop())

const said = ({ status, body }: Answer): string => (status === 200 ? 'done' : body.code)
const eventsOf = async (id: string): Promise<string[]> =>
  (
    await database.sql<{ event: string }>(
      `select event from order_events where order_id = $1 and event <> 'create' order by n`,
      [id],
    )
  ).map(({ event }) => event)
const reserved = async (payer: bigint, id: string): Promise<string> =>
  (await it.post(payer, id, 'attempts')).body.data.attempt_id

test('a send attempt beside the rejection of the one before it is made after that or refused, and only one is active', {
  timeout,
}, async () => {
  await repeatedRace('attempt against reject', REPEATS, ['done', 'attempt_active'], async (turn) => {
    const payer = await it.payer()
    const id = await it.order(payer)
    const first = await reserved(payer, id)
    const [made, rejected] = await inTurns(
      turn,
      () => it.post(payer, id, 'attempts'),
      () => it.post(payer, id, `attempts/${first}/reject`),
    )
    expect(said(rejected)).toBe('done')
    const now = (await it.get(payer, id)).body.data
    if (made.status === 200) {
      expect(made.body.data.attempt_id).not.toBe(first)
      expect([now.status, now.payment_attempt_id]).toEqual(['confirming', made.body.data.attempt_id])
      expect(await eventsOf(id)).toEqual(['reserve', 'reject', 'reserve'])
    } else {
      expect([now.status, now.payment_attempt_id]).toEqual(['pending', ''])
      expect(await eventsOf(id)).toEqual(['reserve', 'reject'])
    }
    return said(made)
  })
})

test('an attempt whose hash comes in is never taken back: the rejection was before the hash, or is refused', {
  timeout,
}, async () => {
  await repeatedRace('reject against a hash', REPEATS, ['done', 'attempt_has_payment'], async (turn) => {
    const payer = await it.payer()
    const id = await it.order(payer)
    const attempt = await reserved(payer, id)
    const txHash = it.hash()
    const [rejected, registered] = await inTurns(
      turn,
      () => it.post(payer, id, `attempts/${attempt}/reject`),
      () => it.post(payer, id, 'transactions', { tx_hash: txHash }),
    )
    expect(said(registered)).toBe('done')
    const now = (await it.get(payer, id)).body.data
    expect([now.status, now.tx_hash]).toEqual(['confirming', txHash])
    expect(await eventsOf(id)).toEqual(
      rejected.status === 200 ? ['reserve', 'reject', 'register'] : ['reserve', 'register'],
    )
    return said(rejected)
  })
})

test('an order is resumed before an attempt or not at all', { timeout }, async () => {
  await repeatedRace('resume against attempt', REPEATS, ['done', 'attempt_active'], async (turn) => {
    const payer = await it.payer()
    const id = await it.order(payer)
    const [resumed, made] = await inTurns(
      turn,
      () => it.post(payer, id, 'resume'),
      () => it.post(payer, id, 'attempts'),
    )
    expect(said(made)).toBe('done')
    expect((await it.get(payer, id)).body.data.status).toBe('confirming')
    expect(await eventsOf(id)).toEqual(resumed.status === 200 ? ['resume', 'reserve'] : ['reserve'])
    return said(resumed)
  })
})

test('an order that lapses while it is resumed waits for its payment afterwards, and one that lapses while it is paid is expired or paid', {
  timeout,
}, async () => {
  await repeatedRace('resume and attempt against expiry', REPEATS, ['done', 'order_expired'], async (turn) => {
    const payer = await it.payer()
    const [resumed, paid] = [await it.order(payer), await it.order(payer)]
    it.clock.by(ORDER_LIFETIME_MS - 1)
    const asked = () => Promise.all([it.post(payer, resumed, 'resume'), it.post(payer, paid, 'attempts')])
    const swept = async () => {
      // the last moment passes sooner or later than the requests look at the clock
      for (let n = turn % 7; n > 0; n--) await nextTurn()
      it.clock.by(1)
      await Promise.all(Array.from({ length: 3 }, () => sweepLapsed(it.deps, 1000)))
    }
    const [[resume, made]] = await inTurns(turn, asked, swept)
    expect(said(resume)).toBe('done')
    await sweepLapsed(it.deps, 1000)
    expect((await it.get(payer, resumed)).body.data.status).toBe('pending')
    expect((await it.get(payer, paid)).body.data.status).toBe(made.status === 200 ? 'confirming' : 'expired')
    return said(made)
  })
})

test('ten that settle one order, on two rails, credit it once', { timeout }, async () => {
  await repeatedRace('settling against settling on another rail', REPEATS, ['credited once'], async () => {
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
    return 'credited once'
  })
})

test('no request was refused with a code that its route does not declare', () => {
  expect(it.faults.map(String).filter((fault) => fault.includes('does not declare'))).toEqual([])
})
