import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freshDatabase, type TestDatabase } from '../../../../test/database.ts'
import { devUsdc, ordersFixture } from '../../../../test/orders-fixture.ts'
import { Fault } from '../../../kernel/errors.ts'
import * as lifecycle from '../lifecycle.ts'
import type { Decision, ReviewDeps } from './decision.ts'
import { decideOrder } from './service.ts'

const PROPOSAL_LIFETIME_MS = 24 * 3_600_000

let database: TestDatabase
let it: ReturnType<typeof ordersFixture>
let deps: ReviewDeps
beforeAll(async () => {
  database = await freshDatabase()
  it = ordersFixture(database)
  deps = { db: database.db, clock: it.clock, aloneLimitMicro: 100_000_000n }
})
afterAll(() => database.drop())

const by = (name: string, action: Decision['action'], change: Partial<Decision> = {}): Decision => ({
  action,
  reason: 'seen with the payer',
  operator: { kind: 'operator', name },
  ...change,
})
const refusal = (work: Promise<unknown>) =>
  work.then(
    () => 'done',
    (error: unknown) => (error instanceof Fault ? error.code : Promise.reject(error)),
  )

const audited = (target: string) =>
  database.sql(
    `select actor, action, reason, after->>'credited_micro' as credited from audit_log where target_id = $1`,
    [target],
  )

/** A transfer to us; joined to an order when one is named. */
async function transfer(amount: bigint, orderId: string | null = null) {
  const txHash = it.hash()
  await database.sql(
    `insert into chain_transfers (chain_id, tx_hash, log_position, block, block_hash, block_at, token_address, payer, recipient, amount, state, order_id)
     values (31337, $1, 2, 7, '0x', now(), $2, $3, $4, $5, $6, $7)`,
    [
      txHash,
      devUsdc.token_address,
      `0x${'99'.repeat(20)}`,
      devUsdc.recipient_address,
      amount,
      orderId === null ? 'unmatched' : 'matched',
      orderId,
    ],
  )
  return { chainId: 31337n, txHash, logPosition: 2 }
}

/** An order in review, for which this much arrived. */
async function inReview(receivedMicro: bigint, asset = 'dev_usdc') {
  const payer = await it.payer()
  const id = await it.order(payer, { asset })
  const key = await transfer(receivedMicro, id)
  await it.locked(id, (tx, order) =>
    lifecycle.suspect(tx, order, { reason: 'amount_mismatch', txHash: key.txHash, receivedMicro }, it.clock.now()),
  )
  return { payer, id, key }
}
const read = async (payer: bigint, id: string) => (await it.send('GET', `/v1/payments/orders/${id}`, payer)).body.data

describe('an order in review', () => {
  test('is credited with what arrived at its own rate, once, with its receipt, reason and event', async () => {
    const { payer, id, key } = await inReview(1_000_001n, 'dear_usdc')
    expect(await decideOrder(deps, id, by('ann', 'credit'))).toEqual({
      outcome: 'done',
      creditMicro: 333_333n,
    })
    expect(await refusal(decideOrder(deps, id, by('bob', 'credit')))).toBe('order_completed')
    expect(await it.availableMicro(payer)).toBe(333_333n)
    expect(await read(payer, id)).toMatchObject({
      status: 'completed',
      review: { resolution: 'credited', received_micro: '1000001' },
      events: [{}, {}, { event: 'operator_credit', from: 'review_required', to: 'completed' }],
    })
    expect(
      await database.sql('select actor, data from order_events where order_id = $1 and event = $2', [
        id,
        'operator_credit',
      ]),
    ).toEqual([
      {
        actor: 'operator:ann',
        data: {
          action: 'credit',
          credited_micro: '333333',
          refund_tx_hash: null,
          reason: 'seen with the payer',
        },
      },
    ])
    expect(
      await database.sql('select state, resolved_at is not null as resolved from chain_transfers where tx_hash = $1', [
        key.txHash,
      ]),
    ).toEqual([{ state: 'credited', resolved: true }])
    expect(await audited(id)).toEqual([
      {
        actor: 'operator:ann',
        action: 'credit.order',
        reason: 'seen with the payer',
        credited: '333333',
      },
    ])
    expect(await database.sql('select event from outbox where object_id = $1 order by id', [id])).toEqual([
      { event: 'order.review_required' },
      { event: 'order.completed' },
    ])
    expect(await it.audit()).toEqual([])
    expect(
      (
        await it.send('POST', '/v1/payments/orders', payer, {
          asset_id: 'dev_usdc',
          amount_micro: '5000000',
          idempotency_key: 'after',
        })
      ).status,
    ).toBe(200)
  })

  test('takes less than what arrived, never more and never nothing', async () => {
    const { payer, id } = await inReview(2_000_000n)
    for (const creditMicro of [2_000_001n, 0n, -1n])
      expect(await refusal(decideOrder(deps, id, by('ann', 'credit', { creditMicro })))).toBe('amount_above_maximum')
    await decideOrder(deps, id, by('ann', 'credit', { creditMicro: 1_500_000n }))
    expect(await it.availableMicro(payer)).toBe(1_500_000n)
    expect(await it.audit()).toEqual([])
  })

  test('expires when its money was sent back or it is dismissed, and lets its account pay again', async () => {
    for (const [action, resolution] of [
      ['refund', 'refunded'],
      ['dismiss', 'dismissed'],
    ] as const) {
      const { payer, id } = await inReview(2_000_000n)
      await decideOrder(deps, id, by('ann', action, { refundTxHash: it.hash() }))
      expect(await read(payer, id)).toMatchObject({ status: 'expired', review: { resolution } })
      expect(await it.availableMicro(payer)).toBe(0n)
      expect(await refusal(decideOrder(deps, id, by('ann', 'credit')))).toBe('order_not_in_review')
      expect(
        (
          await it.send('POST', '/v1/payments/orders', payer, {
            asset_id: 'dev_usdc',
            amount_micro: '5000000',
            idempotency_key: 'after',
          })
        ).status,
      ).toBe(200)
    }
  })

  test('takes two operators above the limit, who state the same within a day', async () => {
    const { payer, id } = await inReview(100_000_001n)
    const until = new Date(it.clock.now().getTime() + PROPOSAL_LIFETIME_MS)
    const proposed = { outcome: 'proposed', creditMicro: 100_000_001n, until }
    expect(await decideOrder(deps, id, by('ann', 'credit'))).toEqual(proposed)
    expect(await decideOrder(deps, id, by('ann', 'credit'))).toEqual(proposed)
    expect((await decideOrder(deps, id, by('bob', 'dismiss'))).outcome).toBe('proposed')
    // bob proposed something else, so ann's proposal is no longer the newest
    expect((await decideOrder(deps, id, by('eve', 'credit'))).outcome).toBe('proposed')
    it.clock.by(PROPOSAL_LIFETIME_MS)
    expect((await decideOrder(deps, id, by('bob', 'credit'))).outcome).toBe('proposed')
    expect(await it.availableMicro(payer)).toBe(0n)
    it.clock.by(PROPOSAL_LIFETIME_MS - 1)
    expect((await decideOrder(deps, id, by('ann', 'credit'))).outcome).toBe('done')
    expect(await it.availableMicro(payer)).toBe(100_000_001n)
    expect(
      await database.sql(
        `select data->>'proposed_by' as by from order_events where order_id = $1 and event = 'operator_credit'`,
        [id],
      ),
    ).toEqual([{ by: 'operator:bob' }])
    // at the limit one is enough
    const small = await inReview(100_000_000n)
    expect((await decideOrder(deps, small.id, by('ann', 'credit'))).outcome).toBe('done')
  })

  test('is decided once by ten operators at once', async () => {
    const { payer, id } = await inReview(5_000_000n)
    const outcomes = await Promise.all(
      Array.from({ length: 10 }, (_, n) =>
        refusal(decideOrder(deps, id, by(`op${n}`, n % 2 === 0 ? 'credit' : 'refund'))),
      ),
    )
    expect(outcomes.filter((outcome) => outcome === 'done')).toHaveLength(1)
    expect([0n, 5_000_000n]).toContain(await it.availableMicro(payer))
    expect(await it.audit()).toEqual([])
  })

  test('is not credited for a transfer that another purchase has', async () => {
    const first = await inReview(5_000_000n)
    await decideOrder(deps, first.id, by('ann', 'credit'))
    const second = await inReview(5_000_000n)
    await database.sql('delete from chain_transfers where tx_hash = $1', [second.key.txHash])
    expect(await refusal(decideOrder(deps, second.id, by('ann', 'credit')))).toBe('order_not_in_review')
    await database.sql('update chain_transfers set order_id = $2 where tx_hash = $1', [first.key.txHash, second.id])
    await database.sql('update orders set tx_hash = $2 where id = $1', [second.id, first.key.txHash])
    expect(await refusal(decideOrder(deps, second.id, by('ann', 'credit')))).toBe('tx_already_used')
    expect(await it.availableMicro(second.payer)).toBe(0n)
  })

  /** A call of the payer that costs so much; says what became of its hold. */
  async function spend(payer: bigint, micro: bigint): Promise<string> {
    const held = await it.make.hold(await it.make.key(payer), micro)
    if (held.status === 'reserved') await it.make.capture(held.id, micro)
    return held.status
  }
  /** An order that got its Credits, and whose block was lost; so much of them was spent in between. */
  async function reorganised(spentMicro = 0n) {
    const payer = await it.payer()
    const id = await it.order(payer)
    const key = await transfer(5_000_000n, id)
    const at = it.clock.now()
    await it.locked(id, (tx, order) =>
      lifecycle.see(tx, order, { txHash: key.txHash, attemptId: it.deps.random.uuid() }, at),
    )
    await it.locked(id, (tx, order) => lifecycle.settle(tx, order, key, at))
    if (spentMicro > 0n) await spend(payer, spentMicro)
    await it.locked(id, (tx, order) => lifecycle.undo(tx, order, at))
    // as the watcher leaves it: no block has the transfer
    await database.sql(`update chain_transfers set state = 'orphaned' where tx_hash = $1`, [key.txHash])
    return { payer, id }
  }
  const balanceOf = async (payer: bigint) => {
    const [row] = await database.sql<{ posted: string; held: string }>(
      'select sum(posted_micro) as posted, sum(held_micro) as held from buckets where account_id = $1',
      [payer],
    )
    return { posted: BigInt(row?.posted ?? 0), held: BigInt(row?.held ?? 0), available: await it.availableMicro(payer) }
  }

  test('whose block was lost after the credit holds what is left of its Credits, and crediting gives it back, once', async () => {
    const { payer, id } = await reorganised()
    expect(await read(payer, id)).toMatchObject({
      status: 'review_required',
      review: { reason: 'reorged_after_credit', held_micro: '5000000' },
    })
    expect(await balanceOf(payer)).toEqual({ posted: 5_000_000n, held: 5_000_000n, available: 0n })
    expect(await spend(payer, 1n)).toBe('insufficient_credits')
    expect(await it.audit()).toEqual([])
    expect(await decideOrder(deps, id, by('ann', 'credit', { creditMicro: 1n }))).toEqual({
      outcome: 'done',
      creditMicro: 5_000_000n,
    })
    expect(await balanceOf(payer)).toEqual({ posted: 5_000_000n, held: 0n, available: 5_000_000n })
    expect(await read(payer, id)).toMatchObject({ status: 'completed', review: { held_micro: null } })
    expect(await it.audit()).toEqual([])
  })

  test.each(['dismiss', 'refund'] as const)(
    'whose block was lost after the credit gives its Credits up when the operator says %s: all that was not spent',
    async (action) => {
      const { payer, id } = await reorganised(2_000_000n)
      expect(await balanceOf(payer)).toEqual({ posted: 3_000_000n, held: 3_000_000n, available: 0n })
      expect(await decideOrder(deps, id, by('ann', action))).toMatchObject({ outcome: 'done', takenMicro: 3_000_000n })
      expect(await balanceOf(payer)).toEqual({ posted: 0n, held: 0n, available: 0n })
      expect((await read(payer, id)).status).toBe('expired')
      expect(
        await database.sql(
          `select t.kind, t.amount_micro::int as amount, t.balance_after_micro::int as after from transfers t where account_id = $1 order by id desc limit 1`,
          [payer],
        ),
      ).toEqual([{ kind: 'reversal', amount: 3_000_000, after: 0 }])
      expect(await it.audit()).toEqual([])
    },
  )

  test('whose Credits were all spent before its block was lost holds nothing and takes nothing', async () => {
    const { payer, id } = await reorganised(5_000_000n)
    expect((await read(payer, id)).review).toMatchObject({ reason: 'reorged_after_credit', held_micro: null })
    expect(await decideOrder(deps, id, by('ann', 'dismiss'))).toMatchObject({ takenMicro: 0n })
    expect(await it.audit()).toEqual([])
  })

  test('whose block was lost holds and frees its Credits once, however many decide and restore at once', async () => {
    const { payer, id } = await reorganised()
    const at = it.clock.now()
    const work = [
      ...Array.from({ length: 5 }, () => refusal(decideOrder(deps, id, by('ann', 'dismiss')))),
      ...Array.from({ length: 5 }, () =>
        it.locked(id, (tx, order) => lifecycle.restore(tx, order, at)).then((order) => order?.status ?? 'late'),
      ),
    ]
    const outcomes = await Promise.all(work)
    expect(outcomes.filter((outcome) => outcome === 'done' || outcome === 'completed')).toHaveLength(1)
    const left = outcomes.includes('done') ? 0n : 5_000_000n
    expect(await balanceOf(payer)).toEqual({ posted: left, held: 0n, available: left })
    expect(await it.audit()).toEqual([])
  })
})
