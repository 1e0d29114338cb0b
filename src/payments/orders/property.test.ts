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
      what: fc.constantFrom(
        'reserve' as const,
        'reject' as const,
        'resume' as const,
        'register' as const,
      ),
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

async function live(
  happenings: readonly Happening[],
): Promise<{ payer: bigint; operatorMicro: bigint }> {
  const payer = await it.payer()
  const wallet = it.wallets.get(payer)?.[0] ?? ''
  const hashes = Array.from({ length: 6 }, () => it.hash())
  const watcher = smallWatcher({ database, it, payerWallet: wallet })
  const orders: string[] = []
  const attempts = new Map<string, string>()
  let operatorMicro = 0n
  const post = (id: string | undefined, path: string, body: unknown = {}) =>
    it.send('POST', `/v1/payments/orders/${id}/${path}`, payer, body)
  const deps = { db: database.db, clock: it.clock, aloneLimitMicro: 1_000_000_000n }

  for (const event of happenings) {
    const hash = 'hash' in event ? (hashes[event.hash] ?? '') : ''
    const id =
      'order' in event && orders.length > 0 ? orders[event.order % orders.length] : undefined
    switch (event.what) {
      case 'create': {
        const made = await it.send('POST', '/v1/payments/orders', payer, {
          asset_id: 'dev_usdc',
          amount_micro: String(amountOf(event.amount)),
          idempotency_key: it.deps.random.uuid(),
        })
        if (made.status === 200) orders.push(made.body.data.id)
        break
      }
      case 'reserve': {
        if (!id) break
        const { body } = await post(id, 'attempts')
        if (body.data) attempts.set(id, body.data.attempt_id)
        break
      }
      case 'reject':
        if (id && attempts.has(id)) await post(id, `attempts/${attempts.get(id)}/reject`)
        break
      case 'resume':
        if (id) await post(id, 'resume')
        break
      case 'register':
        if (id) await post(id, 'transactions', { tx_hash: hash })
        break
      case 'pay':
        await database.sql(
          `insert into chain_transfers (chain_id, tx_hash, log_position, block, block_hash, block_at, token_address, payer, recipient, amount, note)
           values (31337, $1, 0, 7, '0x', $2, $3, $4, $5, $6, $7) on conflict do nothing`,
          [
            hash,
            it.clock.now(),
            devUsdc.token_address,
            wallet,
            devUsdc.recipient_address,
            amountOf(event.amount),
            event.direct ? null : 'router',
          ],
        )
        await watcher.place(hash)
        break
      case 'settle':
      case 'reorganise':
        await watcher[event.what](hash)
        break
      case 'fail': {
        const [mined] = await database.sql('select 1 from chain_transfers where tx_hash = $1', [
          hash,
        ])
        if (id && !mined)
          await it.locked(id, (tx, order) =>
            lifecycle.release(tx, order, 'fail', hash, 'failed', it.clock.now()),
          )
        break
      }
      case 'abandon':
        if (id)
          await it.locked(id, async (tx, order) =>
            isPastRecovery(order, it.clock.now())
              ? lifecycle.abandon(tx, order, it.clock.now())
              : undefined,
          )
        break
      case 'wait':
        it.clock.by(event.minutes * 60_000)
        await sweepLapsed(it.deps, 1000)
        break
      default: {
        const decision = { action: event.what, reason: 'a run', operator: 'ann', accountId: payer }
        const [row] = await database.sql<Row>('select * from chain_transfers where tx_hash = $1', [
          hash,
        ])
        const before = id ? await store.find(database.db, id) : undefined
        const decided =
          row?.state === 'unmatched'
            ? decideTransfer(deps, { chainId: 31337n, txHash: hash, logPosition: 0 }, decision)
            : id
              ? decideOrder(deps, id, decision)
              : undefined
        try {
          const given = await decided
          if (
            given &&
            event.what === 'credit' &&
            (row?.state === 'unmatched' || before?.grant_id === null)
          )
            operatorMicro += given.creditMicro
        } catch (error) {
          if (!(error instanceof Fault)) throw error
        }
      }
    }
  }
  return { payer, operatorMicro }
}

test('whatever happens in whatever order: Credits are those of completed orders and of operators, and no payment is forgotten', async () => {
  let completed = 0
  let operated = 0
  await fc.assert(
    fc.asyncProperty(fc.array(happening, { minLength: 10, maxLength: 40 }), async (happenings) => {
      const { payer, operatorMicro } = await live([{ what: 'create', amount: 1 }, ...happenings])
      const [sums] = await database.sql<{
        automatic: string
        granted: string
        forgotten: string
        done: string
      }>(
        `select
           (select coalesce(sum(credit_micro), 0) from orders o where payer_account_id = $1 and grant_id is not null
              and exists (select from order_events e where e.order_id = o.id and e.event = 'settle')) as automatic,
           (select coalesce(sum(amount_micro), 0) from credit_grants where account_id = $1) as granted,
           (select count(*) from orders where payer_account_id = $1 and status = 'completed') as done,
           -- a transfer that is neither credited, nor decided on, nor waiting for its depth, nor for an operator
           (select count(*) from chain_transfers t left join orders o on o.id = t.order_id
            where t.payer = (select wallet_address from accounts where id = $1) and t.resolved_at is null
              and not (t.state = 'unmatched' or t.state = 'credited' or (t.state = 'matched' and o.status in ('confirming', 'review_required') and o.tx_hash = t.tx_hash))) as forgotten`,
        [payer],
      )
      expect(BigInt(sums?.granted ?? 0)).toBe(BigInt(sums?.automatic ?? 0) + operatorMicro)
      expect(sums?.forgotten).toBe('0')
      expect(await it.availableMicro(payer)).toBe(BigInt(sums?.granted ?? 0))
      completed += Number(sums?.done)
      operated += operatorMicro > 0n ? 1 : 0
    }),
    { numRuns: 60 },
  )
  expect(await it.audit()).toEqual([])
  // the runs reached what they are about
  expect(completed).toBeGreaterThan(5)
  expect(operated).toBeGreaterThan(0)
}, 120_000)
