import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freshDatabase, type TestDatabase } from '../../../test/database.ts'
import { type Answer, ordersFixture } from '../../../test/orders-fixture.ts'
import type { OrderStatus } from '../../db/schema.ts'
import { Fault } from '../../kernel/errors.ts'
import { sweepLapsed } from './attempts.ts'
import * as lifecycle from './lifecycle.ts'
import { decideOrder } from './review/service.ts'
import {
  type Event,
  extendedExpiry,
  isInTime,
  isMove,
  isPastRecovery,
  ORDER_LIFETIME_MS,
  statusAt,
  stepOf,
} from './states.ts'
import * as store from './store.ts'

let database: TestDatabase
let it: ReturnType<typeof ordersFixture>
beforeAll(async () => {
  database = await freshDatabase()
  it = ordersFixture(database)
})
afterAll(() => database.drop())

const statuses: readonly OrderStatus[] = ['pending', 'confirming', 'completed', 'expired', 'review_required']
const now = () => it.clock.now()

/** An order of an account of its own in this status, brought there through the doors that lead there. */
async function orderIn(status: OrderStatus): Promise<{ id: string; payer: bigint; attemptId: string }> {
  const payer = await it.payer()
  const id = await it.order(payer)
  // an attempt that is over, so that there is one to speak of in every status
  let attemptId = it.deps.random.uuid()
  await it.locked(id, async (tx) => {
    await store.startAttempt(tx, { id: attemptId, orderId: id, source: 'reserved', at: now() })
    await store.endAttempt(tx, id, 'replaced', now())
  })
  if (status === 'confirming' || status === 'completed')
    attemptId = (await it.send('POST', `/v1/payments/orders/${id}/attempts`, payer, {})).body.data.attempt_id
  if (status === 'completed') await pay(id)
  if (status === 'expired')
    await database.sql('update orders set expires_at = created_at, status = $2 where id = $1', [id, 'expired'])
  if (status === 'review_required')
    await it.locked(id, (tx, order) =>
      lifecycle.suspect(tx, order, { reason: 'amount_mismatch', txHash: it.hash(), receivedMicro: 1_000_000n }, now()),
    )
  return { id, payer, attemptId }
}

async function pay(id: string): Promise<void> {
  const txHash = it.hash()
  await database.sql(
    `insert into chain_transfers (chain_id, tx_hash, log_position, block, block_hash, block_at, token_address, payer, recipient, amount, state, order_id)
     select chain_id, $2, 0, 7, '0x', now(), token_address, payer_address, recipient_address, amount_micro, 'matched', id from orders where id = $1`,
    [id, txHash],
  )
  await it.locked(id, (tx, order) => lifecycle.see(tx, order, { txHash, attemptId: it.deps.random.uuid() }, now()))
  await it.locked(id, (tx, order) =>
    lifecycle.settle(tx, order, { chainId: order.chain_id, txHash, logPosition: 0 }, now()),
  )
}

type Made = Awaited<ReturnType<typeof orderIn>>
const codeOf = (answer: Answer): string => (answer.status === 200 ? 'moved' : answer.body.code)
const post =
  (path: string) =>
  async ({ id, payer, attemptId }: Made) =>
    codeOf(
      await it.send(
        'POST',
        `/v1/payments/orders/${id}/${path.replace(':attempt', attemptId)}`,
        payer,
        path === 'transactions' ? { tx_hash: it.hash() } : {},
      ),
    )
const chain =
  (work: (tx: Parameters<typeof lifecycle.see>[0], order: store.Order) => Promise<unknown>) =>
  async ({ id }: Made) =>
    (await it.locked(id, work)) === undefined ? 'unmoved' : 'moved'
const operator =
  (action: 'credit' | 'refund' | 'dismiss') =>
  async ({ id }: Made) => {
    await database.sql(
      `insert into chain_transfers (chain_id, tx_hash, log_position, block, block_hash, block_at, token_address, payer, recipient, amount, state, order_id)
     select chain_id, coalesce(tx_hash, $2), 0, 7, '0x', now(), token_address, payer_address, recipient_address, amount_micro, 'matched', id from orders where id = $1 on conflict do nothing`,
      [id, it.hash()],
    )
    const deps = { db: database.db, clock: it.clock, aloneLimitMicro: 1_000_000_000n }
    return decideOrder(deps, id, { action, reason: 'a test', operator: { kind: 'operator', name: 'ann' } }).then(
      () => 'moved',
      (error: unknown) => (error instanceof Fault ? error.code : Promise.reject(error)),
    )
  }

/** The table's cell: what the event does to an order whose time is not over. */
const cellOf = (event: Event, status: OrderStatus) =>
  stepOf({ status, created_at: new Date(0), expires_at: new Date(1) }, event, new Date(0))

/** How each event really reaches an order. */
const doors: Record<Event, (made: Made) => Promise<string>> = {
  reserve: post('attempts'),
  reject: post('attempts/:attempt/reject'),
  resume: post('resume'),
  register: post('transactions'),
  async lapse({ id }) {
    await database.sql('update orders set expires_at = created_at where id = $1', [id])
    const before = await store.find(database.db, id)
    await sweepLapsed(it.deps, 1000)
    return before?.status === (await store.find(database.db, id))?.status ? 'unmoved' : 'moved'
  },
  see: chain((tx, order) => lifecycle.see(tx, order, { txHash: it.hash(), attemptId: it.deps.random.uuid() }, now())),
  settle: chain(async (tx, order) => {
    const seen =
      order.status === 'confirming'
        ? await lifecycle.see(tx, order, { txHash: it.hash(), attemptId: it.deps.random.uuid() }, now())
        : order
    return lifecycle.settle(
      tx,
      seen ?? order,
      { chainId: order.chain_id, txHash: seen?.tx_hash ?? '', logPosition: 0 },
      now(),
    )
  }),
  suspect: chain((tx, order) =>
    lifecycle.suspect(tx, order, { reason: 'not_direct', txHash: it.hash(), receivedMicro: 5_000_000n }, now()),
  ),
  fail: chain((tx, order) => lifecycle.release(tx, order, 'fail', it.hash(), 'failed', now())),
  replace: chain((tx, order) => lifecycle.release(tx, order, 'replace', it.hash(), 'replaced', now())),
  mismatch: chain((tx, order) => lifecycle.release(tx, order, 'mismatch', it.hash(), 'wrong_recipient', now())),
  abandon: chain((tx, order) => lifecycle.abandon(tx, order, now())),
  orphan: chain(async (tx, order) => {
    const seen =
      order.status === 'confirming'
        ? await lifecycle.see(tx, order, { txHash: it.hash(), attemptId: it.deps.random.uuid() }, now())
        : order
    return lifecycle.orphan(tx, seen ?? order, now())
  }),
  undo: chain((tx, order) => lifecycle.undo(tx, order, now())),
  restore: chain(async (tx, order) => {
    // only a review that a reorganisation opened is ended by the transfer's return
    await tx
      .updateTable('orders')
      .set({ review_reason: 'reorged_after_credit' })
      .where('id', '=', order.id)
      .where('status', '=', 'review_required')
      .execute()
    return lifecycle.restore(tx, (await store.lock(tx, order.id)) ?? order, now())
  }),
  operator_propose: async (made) => {
    const deps = { db: database.db, clock: it.clock, aloneLimitMicro: 0n }
    return decideOrder(deps, made.id, {
      action: 'dismiss',
      reason: 'a test',
      operator: { kind: 'operator', name: 'ann' },
    }).then(
      ({ outcome }) => (outcome === 'proposed' ? 'moved' : outcome),
      (error: unknown) => (error instanceof Fault ? error.code : Promise.reject(error)),
    )
  },
  operator_credit: operator('credit'),
  operator_refund: operator('refund'),
  operator_dismiss: operator('dismiss'),
}

describe.each(Object.keys(doors) as Event[])('%s', (event) => {
  test.each(statuses)('does to an order that is %s what the table says', async (status) => {
    const made = await orderIn(status)
    const before = await eventsOf(made.id)
    const outcome = await doors[event](made)
    const step = cellOf(event, status)
    const after = await store.find(database.db, made.id)
    if (isMove(step)) {
      expect([outcome, after?.status]).toEqual(['moved', step])
      expect((await eventsOf(made.id)).at(-1)).toEqual({
        event,
        from_status: event === 'settle' || event === 'orphan' ? 'confirming' : status,
        to_status: step,
      })
    } else {
      // the chain and the clock are told nothing: their news is simply not for this order
      expect(outcome).toBe(
        [
          'lapse',
          'see',
          'settle',
          'suspect',
          'fail',
          'replace',
          'mismatch',
          'abandon',
          'orphan',
          'undo',
          'restore',
        ].includes(event)
          ? 'unmoved'
          : step,
      )
      expect(after?.status).toBe(status)
      expect(await eventsOf(made.id)).toEqual(before)
    }
  })
})

const eventsOf = (id: string) =>
  database.sql<{ event: string; from_status: string; to_status: string }>(
    'select event, from_status, to_status from order_events where order_id = $1 order by n',
    [id],
  )

const HOUR = 3_600_000
const at = (ms: number) => new Date(Date.UTC(2026, 0, 1) + ms)
const order = (status: OrderStatus, expiresMs = ORDER_LIFETIME_MS) => ({
  status,
  created_at: at(0),
  expires_at: at(expiresMs),
})

test('a pending order ends at its last millisecond, and no other status ends by the clock', () => {
  expect(statusAt(order('pending'), at(ORDER_LIFETIME_MS - 1))).toBe('pending')
  expect(statusAt(order('pending'), at(ORDER_LIFETIME_MS))).toBe('expired')
  expect(statusAt(order('confirming'), at(99 * HOUR))).toBe('confirming')
})

test('a resume counts from the later of expiry and now, and resumes do not add up beyond a day', () => {
  expect(extendedExpiry(order('pending'), at(1000))).toEqual(at(2 * ORDER_LIFETIME_MS))
  expect(extendedExpiry(order('expired'), at(HOUR))).toEqual(at(HOUR + ORDER_LIFETIME_MS))
  expect(extendedExpiry(order('expired'), at(24 * HOUR - 1))).toEqual(at(24 * HOUR - 1 + ORDER_LIFETIME_MS))
  expect(extendedExpiry(order('expired'), at(24 * HOUR))).toBeUndefined()
  expect(extendedExpiry(order('pending', 24 * HOUR), at(1000))).toBeUndefined()
})

test('a late transfer is in time for a day, when its attempt was reserved before the expiry', () => {
  const early = [{ created_at: at(ORDER_LIFETIME_MS - 1) }]
  const late = [{ created_at: at(ORDER_LIFETIME_MS) }]
  expect(isInTime(order('pending'), at(ORDER_LIFETIME_MS), [])).toBe(true)
  expect(isInTime(order('expired'), at(ORDER_LIFETIME_MS + 1), [])).toBe(false)
  expect(isInTime(order('confirming'), at(ORDER_LIFETIME_MS + 1), late)).toBe(false)
  expect(isInTime(order('confirming'), at(ORDER_LIFETIME_MS + 24 * HOUR), early)).toBe(true)
  expect(isInTime(order('confirming'), at(ORDER_LIFETIME_MS + 24 * HOUR + 1), early)).toBe(false)
  expect(isPastRecovery(order('confirming'), at(ORDER_LIFETIME_MS + 24 * HOUR))).toBe(false)
  expect(isPastRecovery(order('confirming'), at(ORDER_LIFETIME_MS + 24 * HOUR + 1))).toBe(true)
})
