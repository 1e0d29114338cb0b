import { Type } from 'typebox'
import { Closed, Empty, Nullable } from '../../http/fields.ts'
import { type Route, route } from '../../http/route.ts'
import { assert } from '../../kernel/assert.ts'
import { Fault } from '../../kernel/errors.ts'
import { ownOrder, registerHash, rejectAttempt, reserveAttempt, resumeOrder } from './attempts.ts'
import * as reading from './reading/store.ts'
import { OrderView, orderView } from './schema.ts'
import { createOrder, type OrdersDeps } from './service.ts'
import * as store from './store.ts'

const EVENTS_SHOWN_MAX = 100
const Uuid = Type.String({ format: 'uuid' })
const OneOrder = { params: Closed({ id: Uuid }), replies: { 200: Closed({ data: OrderView }) } }
const own = ['order_not_found', 'not_original_account'] as const

/** Wallet orders (spec 4.5): an order, a single send attempt, a hash, and what became of it. */
export function orderRoutes(deps: OrdersDeps): Route[] {
  return [createRoute, reserveRoute, rejectRoute, resumeRoute, registerRoute, readRoute, listRoute].map((route) =>
    route(deps),
  )
}

const createRoute = (deps: OrdersDeps): Route =>
  route({
    method: 'POST',
    path: '/v1/payments/orders',
    summary: 'Make an order for a stablecoin payment. Sends no funds.',
    description:
      'The server fixes payer, recipient, network, token, amount and rate. The order waits 30 minutes for its send attempt. The same idempotency_key with the same body gives the same order.',
    tag: 'Payments',
    access: 'session',
    body: Closed({
      asset_id: Type.String({ description: 'One of GET /v1/payments/options' }),
      amount_micro: Type.String({
        description: 'What to pay, in micro units of the asset, as digits',
      }),
      idempotency_key: Type.String({
        description: '1 to 128 printable ASCII characters, fresh for each order',
      }),
      payment_context_token: Type.Optional(
        Type.String({
          maxLength: 4096,
          description: 'Credits the account that the context names; without one the caller is credited',
        }),
      ),
    }),
    example: { asset_id: 'dev_usdc', amount_micro: '5000000', idempotency_key: 'first-order' },
    replies: OneOrder.replies,
    refuses: [
      'invalid_idempotency_key',
      'idempotency_conflict',
      'unknown_asset',
      'invalid_amount',
      'amount_below_minimum',
      'amount_above_maximum',
      'asset_unavailable',
      'invalid_context',
      'context_expired',
      'context_mismatch',
      'wallet_not_linked',
      'payer_is_contract',
      'review_unresolved',
      'too_many_open_orders',
    ],
    handle: async ({ caller, body, reply }) => {
      const { order, replayed } = await createOrder(deps, caller, body)
      if (replayed) reply.header('idempotent-replayed', 'true')
      return { data: await viewOf(deps, order.id) }
    },
  })

const reserveRoute = (deps: OrdersDeps): Route =>
  route({
    method: 'POST',
    path: '/v1/payments/orders/:id/attempts',
    summary: 'Reserve the single send attempt of an order. Sends no funds.',
    description:
      'Call it right before the wallet is asked to send. While an attempt is active every other call is refused with 409: follow the order instead of paying again.',
    tag: 'Payments',
    access: 'session',
    params: OneOrder.params,
    body: Empty,
    replies: { 200: Closed({ data: Closed({ order: OrderView, attempt_id: Uuid }) }) },
    refuses: [...own, 'attempt_active', 'order_completed', 'order_expired', 'review_unresolved', 'wallet_changed'],
    handle: async ({ caller, params }) => {
      const { order, attemptId } = await reserveAttempt(deps, caller, params.id)
      return { data: { order: await viewOf(deps, order.id), attempt_id: attemptId } }
    },
  })

const rejectRoute = (deps: OrdersDeps): Route =>
  route({
    method: 'POST',
    path: '/v1/payments/orders/:id/attempts/:attemptId/reject',
    summary: 'Take back an attempt that the wallet rejected.',
    description:
      'Only when the wallet said that nothing was sent. After a timeout, a lost connection or a closed page the attempt stays reserved: the payment may be on its way.',
    tag: 'Payments',
    access: 'session',
    params: Closed({ id: Uuid, attemptId: Uuid }),
    body: Empty,
    replies: OneOrder.replies,
    refuses: [
      ...own,
      'attempt_not_found',
      'attempt_not_current',
      'attempt_has_payment',
      'order_completed',
      'review_unresolved',
    ],
    handle: async ({ caller, params }) => {
      const order = await rejectAttempt(deps, caller, params.id, params.attemptId)
      return { data: await viewOf(deps, order.id) }
    },
  })

const resumeRoute = (deps: OrdersDeps): Route =>
  route({
    method: 'POST',
    path: '/v1/payments/orders/:id/resume',
    summary: 'Give an unpaid order another 30 minutes. Sends no funds.',
    description: 'A lapsed order comes back while it is under 24 hours old. Everything but expires_at stays as it was.',
    tag: 'Payments',
    access: 'session',
    params: OneOrder.params,
    body: Empty,
    replies: OneOrder.replies,
    refuses: [
      ...own,
      'attempt_active',
      'payment_recorded',
      'order_completed',
      'review_unresolved',
      'wallet_changed',
      'resume_limit',
    ],
    handle: async ({ caller, params }) => {
      const order = await resumeOrder(deps, caller, params.id)
      return { data: await viewOf(deps, order.id) }
    },
  })

const registerRoute = (deps: OrdersDeps): Route =>
  route({
    method: 'POST',
    path: '/v1/payments/orders/:id/transactions',
    summary: 'Register the hash of the transaction that pays an order.',
    description: 'A hint that proves nothing: the chain is asked. A payment is found without it too.',
    tag: 'Payments',
    access: 'session',
    params: OneOrder.params,
    body: Closed({ tx_hash: Type.String({ description: '0x and 64 hexadecimal digits' }) }),
    replies: OneOrder.replies,
    refuses: [...own, 'invalid_tx_hash', 'tx_already_used', 'order_completed', 'review_unresolved', 'too_many_hashes'],
    handle: async ({ caller, params, body }) => {
      const order = await registerHash(deps, caller, params.id, body.tx_hash)
      return { data: await viewOf(deps, order.id) }
    },
  })

const readRoute = (deps: OrdersDeps): Route =>
  route({
    method: 'GET',
    path: '/v1/payments/orders/:id',
    summary: 'An order: its status, its depth on the chain, and what happened to it.',
    tag: 'Payments',
    access: 'any',
    extension: true,
    params: OneOrder.params,
    replies: OneOrder.replies,
    refuses: own,
    handle: async ({ caller, params, reply }) => {
      await ownOrder(deps, caller, params.id)
      reply.header('cache-control', 'no-store')
      return { data: await viewOf(deps, params.id) }
    },
  })

const listRoute = (deps: OrdersDeps): Route =>
  route({
    method: 'GET',
    path: '/v1/payments/orders',
    summary: 'The orders that this account made, newest first.',
    tag: 'Payments',
    access: 'any',
    extension: true,
    query: Type.Object({
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 50 })),
      cursor: Type.Optional(Type.String({ format: 'uuid', description: 'next_cursor of the page before' })),
    }),
    replies: {
      200: Closed({
        data: Type.Array(OrderView),
        next_cursor: Nullable(Type.String({ description: 'cursor of the next older page; null at the end' })),
      }),
    },
    refuses: [],
    handle: async ({ caller, query }) => {
      const limit = query.limit ?? 50
      const after = query.cursor === undefined ? undefined : await store.find(deps.db, query.cursor)
      if (query.cursor !== undefined && after?.payer_account_id !== caller.accountId) {
        throw new Fault('invalid_parameter', {
          message: 'The parameter cursor is not the next_cursor of a page of yours.',
        })
      }
      const rows = await reading.list(deps.db, caller.accountId, after, limit + 1)
      const page = rows.slice(0, limit)
      const hashes = await reading.newestHashes(
        deps.db,
        page.map((order) => order.id),
      )
      const now = deps.clock.now()
      return {
        data: page.map((order) => orderView({ order, registeredHash: hashes.get(order.id) }, deps.chains, now)),
        next_cursor: rows.length > limit ? (page.at(-1)?.id ?? null) : null,
      }
    },
  })

/** An order as it is now, with its events. */
async function viewOf(deps: OrdersDeps, id: string) {
  const [order, events, hashes] = await Promise.all([
    reading.read(deps.db, id),
    reading.events(deps.db, id, EVENTS_SHOWN_MAX),
    reading.newestHashes(deps.db, [id]),
  ])
  assert(order, `order ${id} was there a moment ago`)
  return orderView({ order, events, registeredHash: hashes.get(id) }, deps.chains, deps.clock.now())
}
