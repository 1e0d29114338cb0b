import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freshDatabase, type TestDatabase } from '../../../test/database.ts'
import { devUsdc, ordersFixture } from '../../../test/orders-fixture.ts'
import { type Row, smallWatcher } from '../../../test/small-watcher.ts'
import { Fault } from '../../kernel/errors.ts'
import { sweepLapsed } from './attempts.ts'
import * as lifecycle from './lifecycle.ts'
import { decideOrder, decideTransfer } from './review/service.ts'
import { isPastRecovery } from './states.ts'
import * as store from './store.ts'

let database: TestDatabase
let it: ReturnType<typeof ordersFixture>
beforeAll(async () => {
  database = await freshDatabase()
  it = ordersFixture(database)
})
afterAll(() => database.drop())

/** Anything that can happen, in any order, to a payer with a few orders. */
const happening = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      what: fc.constant('create' as const),
      amount: fc.integer({ min: 1, max: 3 }),
    }),
  },
  {
    weight: 12,
    arbitrary: fc.record({
      what: fc.constantFrom('reserve' as const, 'reject' as const, 'resume' as const, 'register' as const),
      order: fc.nat(3),
      hash: fc.nat(5),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      what: fc.constant('pay' as const),
      amount: fc.integer({ min: 1, max: 4 }),
      hash: fc.nat(5),
      direct: fc.boolean(),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      what: fc.constantFrom('settle' as const, 'reorganise' as const),
      hash: fc.nat(5),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      what: fc.constantFrom('fail' as const, 'abandon' as const),
      order: fc.nat(3),
      hash: fc.nat(5),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      what: fc.constant('wait' as const),
      minutes: fc.constantFrom(1, 29, 31, 60 * 24 + 31),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      what: fc.constantFrom('credit' as const, 'refund' as const, 'dismiss' as const),
      order: fc.nat(3),
      hash: fc.nat(5),
    }),
  },
)
type Happening = typeof happening extends fc.Arbitrary<infer T> ? T : never

const amountOf = (n: number): bigint => BigInt(n) * 1_000_000n

/** One life: a payer, some orders, and six transactions that may or may not come. */
async function newLife() {
  const payer = await it.payer()
  const wallet = it.wallets.get(payer)?.[0] ?? ''
  return {
    payer,
    wallet,
    watcher: smallWatcher({ database, it, payerWallet: wallet }),
    hashes: Array.from({ length: 6 }, () => it.hash()),
    orders: [] as string[],
    attempts: new Map<string, string>(),
    operatorMicro: 0n,
  }
}
type Life = Awaited<ReturnType<typeof newLife>>
type Of<What extends Happening['what']> = Extract<Happening, { what: What }>

const is = <What extends Happening['what']>(event: Happening, ...whats: readonly What[]): event is Of<What> =>
  (whats as readonly string[]).includes(event.what)

async function payerDoes(life: Life, event: Of<'reserve' | 'reject' | 'resume' | 'register'>) {
  const id = life.orders[event.order % life.orders.length]
  if (id === undefined) return
  const attempt = life.attempts.get(id)
  if (event.what === 'reserve') {
    const { body } = await it.post(life.payer, id, 'attempts')
    if (body.data) life.attempts.set(id, body.data.attempt_id)
  } else if (event.what === 'register') {
    await it.post(life.payer, id, 'transactions', { tx_hash: life.hashes[event.hash] })
  } else if (event.what === 'resume') await it.post(life.payer, id, 'resume')
  else if (attempt !== undefined) await it.post(life.payer, id, `attempts/${attempt}/reject`)
}

async function pay(life: Life, event: Of<'pay'>) {
  const hash = life.hashes[event.hash] ?? ''
  await database.sql(
    `insert into chain_transfers (chain_id, tx_hash, log_position, block, block_hash, block_at, token_address, payer, recipient, amount, note)
     values (31337, $1, 0, 7, '0x', $2, $3, $4, $5, $6, $7) on conflict do nothing`,
    [
      hash,
      it.clock.now(),
      devUsdc.token_address,
      life.wallet,
      devUsdc.recipient_address,
      amountOf(event.amount),
      event.direct ? null : 'router',
    ],
  )
  await life.watcher.place(hash)
}

async function giveUp(life: Life, event: Of<'fail' | 'abandon'>) {
  const id = life.orders[event.order % life.orders.length]
  const hash = life.hashes[event.hash] ?? ''
  const mined = await database.sql('select 1 from chain_transfers where tx_hash = $1', [hash])
  if (id === undefined) return
  await it.locked(id, async (tx, order) => {
    const now = it.clock.now()
    if (event.what === 'fail')
      return mined.length > 0 ? undefined : lifecycle.release(tx, order, 'fail', hash, 'failed', now)
    return isPastRecovery(order, now) ? lifecycle.abandon(tx, order, now) : undefined
  })
}

async function operatorDoes(life: Life, event: Of<'credit' | 'refund' | 'dismiss'>) {
  const deps = { db: database.db, clock: it.clock, aloneLimitMicro: 1_000_000_000n }
  const hash = life.hashes[event.hash] ?? ''
  const id = life.orders[event.order % life.orders.length] ?? ''
  const decision = {
    action: event.what,
    reason: 'a run',
    operator: { kind: 'operator', name: 'ann' },
    accountId: life.payer,
  } as const
  const [row] = await database.sql<Row>('select * from chain_transfers where tx_hash = $1', [hash])
  const before = await store.find(database.db, id)
  const unmatched = row?.state === 'unmatched'
  try {
    const given = unmatched
      ? await decideTransfer(deps, { chainId: 31337n, txHash: hash, logPosition: 0 }, decision)
      : await decideOrder(deps, id, decision)
    if (event.what === 'credit' && (unmatched || before?.grant_id === null)) life.operatorMicro += given.creditMicro
  } catch (error) {
    if (!(error instanceof Fault)) throw error
  }
}

async function live(happenings: readonly Happening[]): Promise<Life> {
  const life = await newLife()
  for (const event of happenings) {
    if (is(event, 'create')) {
      const made = await it.create(life.payer, { amount_micro: String(amountOf(event.amount)) })
      if (made.status === 200) life.orders.push(made.body.data.id)
    } else if (is(event, 'pay')) await pay(life, event)
    else if (is(event, 'settle', 'reorganise')) await life.watcher[event.what](life.hashes[event.hash] ?? '')
    else if (is(event, 'fail', 'abandon')) await giveUp(life, event)
    else if (is(event, 'credit', 'refund', 'dismiss')) await operatorDoes(life, event)
    else if (is(event, 'reserve', 'reject', 'resume', 'register')) await payerDoes(life, event)
    else {
      it.clock.by(event.minutes * 60_000)
      await sweepLapsed(it.deps, 1000)
    }
  }
  return life
}

const paidWithoutAHash: Happening[] = [
  { what: 'reserve', order: 0, hash: 0 },
  { what: 'pay', amount: 1, hash: 0, direct: true },
  { what: 'settle', hash: 0 },
]
const decidedByAnOperator: Happening[] = [
  { what: 'reserve', order: 0, hash: 0 },
  { what: 'pay', amount: 2, hash: 0, direct: true },
  { what: 'settle', hash: 0 },
  { what: 'credit', order: 0, hash: 0 },
]

const lostAfterItsCredit: Happening[] = [
  ...paidWithoutAHash,
  { what: 'reorganise', hash: 0 },
  { what: 'dismiss', order: 0, hash: 0 },
]
const lostAndFound: Happening[] = [
  ...paidWithoutAHash,
  { what: 'reorganise', hash: 0 },
  { what: 'reorganise', hash: 0 },
  { what: 'settle', hash: 0 },
]

test('whatever happens in whatever order: Credits are those of completed orders and of operators, and no payment is forgotten', async () => {
  let completed = 0
  let operated = 0
  let undone = 0
  await fc.assert(
    fc.asyncProperty(fc.array(happening, { minLength: 10, maxLength: 40 }), async (happenings) => {
      const { payer, operatorMicro } = await live([{ what: 'create', amount: 1 }, ...happenings])
      const [sums] = await database.sql<{
        automatic: string
        granted: string
        taken: string
        held: string
        forgotten: string
        done: string
      }>(
        `select
           (select coalesce(sum(credit_micro), 0) from orders o where payer_account_id = $1 and grant_id is not null
              and exists (select from order_events e where e.order_id = o.id and e.event = 'settle')) as automatic,
           (select coalesce(sum(amount_micro), 0) from credit_grants where account_id = $1) as granted,
           (select coalesce(sum(amount_micro), 0) from transfers where account_id = $1 and kind = 'reversal') as taken,
           (select coalesce(sum(held_micro), 0) from buckets where account_id = $1) as held,
           (select count(*) from orders where payer_account_id = $1 and status = 'completed') as done,
           -- a transfer that is neither credited, nor decided on, nor waiting for its depth, nor for an operator
           (select count(*) from chain_transfers t left join orders o on o.id = t.order_id
            where t.payer = (select wallet_address from accounts where id = $1) and t.resolved_at is null
              and not (t.state in ('unmatched', 'orphaned') or t.state = 'credited' or (t.state = 'matched' and o.status in ('confirming', 'review_required') and o.tx_hash = t.tx_hash))) as forgotten`,
        [payer],
      )
      expect(BigInt(sums?.granted ?? 0)).toBe(BigInt(sums?.automatic ?? 0) + operatorMicro)
      expect(sums?.forgotten).toBe('0')
      // what a reorganisation put in doubt is held, and what an operator took back is gone; nothing else is missing
      const gone = BigInt(sums?.taken ?? 0) + BigInt(sums?.held ?? 0)
      expect(await it.availableMicro(payer)).toBe(BigInt(sums?.granted ?? 0) - gone)
      undone += gone > 0n ? 1 : 0
      completed += Number(sums?.done)
      operated += operatorMicro > 0n ? 1 : 0
    }),
    // The examples make sure that every run reaches what it is about; what chance adds differs from run to run.
    { numRuns: 60, examples: [[paidWithoutAHash], [decidedByAnOperator], [lostAfterItsCredit], [lostAndFound]] },
  )
  expect(await it.audit()).toEqual([])
  expect(completed).toBeGreaterThan(0)
  expect(operated).toBeGreaterThan(0)
  expect(undone).toBeGreaterThan(0)
}, 120_000)
