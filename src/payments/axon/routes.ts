import { Type } from 'typebox'
import { Closed, IdParameter } from '../../http/fields.ts'
import { type Route, route } from '../../http/route.ts'
import type { Caller } from '../../kernel/caller.ts'
import { type ErrorCode, Fault } from '../../kernel/errors.ts'
import type { AxonDeps } from './deps.ts'
import { makeQuote, ownQuote } from './quotes/service.ts'
import type { Quote } from './quotes/store.ts'
import {
  ClaimReply,
  claimView,
  OrderReply,
  orderStatus,
  orderView,
  QuoteReply,
  quoteView,
  ReconcileReply,
} from './schema.ts'
import { redeemHash } from './service.ts'
import * as store from './store.ts'

const tag = 'Payments'
const QuoteBody = Closed({
  credit_usd: Type.Optional(Type.String({ description: 'What to be credited, in dollars: "10"' })),
  pay_axon: Type.Optional(Type.String({ description: 'What to pay, in whole coins: "0.25"' })),
})
const TxHash = Type.String({ description: '0x and 64 hexadecimal digits' })
const quoteRefusals = [
  'invalid_quote_request',
  'amount_below_minimum',
  'amount_above_maximum',
  'wallet_not_linked',
  'payer_is_contract',
  'too_many_open_quotes',
  'rate_unavailable',
  'asset_unavailable',
] as const satisfies ErrorCode[]
const claimRefusals = [
  'invalid_tx_hash',
  'wrong_payer',
  'wrong_recipient',
  'amount_below_minimum',
  'tx_failed',
  'tx_not_found',
  'wallet_not_linked',
  'tx_already_claimed',
  'too_many_open_claims',
  'asset_unavailable',
] as const satisfies ErrorCode[]
const own = ['order_not_found', 'not_original_account'] as const satisfies ErrorCode[]

/** Top-up with the chain's own coin (spec 4.6): a quote, a payment, its hash, and what became of it. */
export function axonRoutes(deps: AxonDeps): Route[] {
  return [quoteRoute, redeemRoute, orderRoute, readRoute, reconcileRoute].map((declared) => declared(deps))
}

const quoteRoute = (deps: AxonDeps): Route =>
  route({
    method: 'POST',
    path: '/v1/payments/axon/quote',
    summary: 'Lock a rate for ten minutes and name the exact amount to pay. Sends no funds.',
    description:
      'Pay expected_axon_wei to pay_to_address with a plain transaction from payer_wallet_address, then send its hash to redeem-hash. Never keep pay_to_address for later.',
    tag,
    access: 'any',
    body: QuoteBody,
    example: { credit_usd: '5' },
    replies: { 200: QuoteReply },
    refuses: quoteRefusals,
    handle: async ({ caller, body, requestId, reply }) => {
      const quote = await makeQuote(deps, caller, body)
      reply.header('cache-control', 'no-store')
      return { ...quoteView(quote, coinOf(deps)), request_id: requestId }
    },
  })

const redeemRoute = (deps: AxonDeps): Route =>
  route({
    method: 'POST',
    path: '/v1/payments/axon/redeem-hash',
    summary: 'Redeem a payment by the hash of its transaction.',
    description:
      'After 202 never pay again: send the same hash again until it is 200 `completed`. A hash that no node knows is looked for during 24 hours. A transaction is credited once, over all ways to pay.',
    tag,
    access: 'any',
    body: Closed({ tx_hash: TxHash }),
    replies: { 200: ClaimReply, 202: ClaimReply },
    refuses: claimRefusals,
    handle: async ({ caller, body, requestId, reply }) => {
      const claim = await redeemHash(deps, caller, body.tx_hash)
      return reply.code(statusOf(claim)).send({ ...claimView(claim), request_id: requestId })
    },
  })

const orderRoute = (deps: AxonDeps): Route =>
  route({
    method: 'POST',
    path: '/v1/payments/axon/order',
    summary: 'Make an order: a quote that can be read again by its number. Sends no funds.',
    tag,
    access: 'any',
    extension: true,
    body: QuoteBody,
    replies: { 200: OrderReply },
    refuses: quoteRefusals,
    handle: async ({ caller, body, requestId }) => {
      const quote = await makeQuote(deps, caller, body)
      return { ...orderView(quote, undefined, coinOf(deps), deps.clock.now()), request_id: requestId }
    },
  })

const readRoute = (deps: AxonDeps): Route =>
  route({
    method: 'GET',
    path: '/v1/payments/axon/orders/:id',
    summary: 'An order or quote: what to pay, and what became of it.',
    tag,
    access: 'any',
    extension: true,
    params: Closed({ id: IdParameter() }),
    replies: { 200: OrderReply },
    refuses: [...own, 'asset_unavailable'],
    handle: async ({ caller, params, requestId, reply }) => {
      const { quote, claim } = await standing(deps, caller, BigInt(params.id))
      reply.header('cache-control', 'no-store')
      return { ...orderView(quote, claim, coinOf(deps), deps.clock.now()), request_id: requestId }
    },
  })

const reconcileRoute = (deps: AxonDeps): Route =>
  route({
    method: 'POST',
    path: '/v1/payments/axon/reconcile',
    summary: 'Send the hash that pays an order. The same as redeem-hash, with the order in the answer.',
    description: 'A payment pays the order of its exact amount, whichever order it was sent for.',
    tag,
    access: 'any',
    extension: true,
    body: Closed({ order_id: IdParameter(), tx_hash: TxHash }),
    replies: { 200: ReconcileReply, 202: ReconcileReply },
    refuses: [...claimRefusals, ...own],
    handle: async ({ caller, body, requestId, reply }) => {
      const id = BigInt(body.order_id)
      await ownQuote(deps, caller, id)
      const claim = await redeemHash(deps, caller, body.tx_hash)
      const { quote, claim: paying } = await standing(deps, caller, id)
      return reply.code(statusOf(claim)).send({
        ...claimView(claim),
        order_id: body.order_id,
        order_status: orderStatus(quote, paying, deps.clock.now()),
        request_id: requestId,
      })
    },
  })

const statusOf = (claim: store.Claim): 200 | 202 => (claim.status === 'completed' ? 200 : 202)

function coinOf({ coin }: AxonDeps) {
  if (!coin) throw new Fault('asset_unavailable', { message: 'No native token is taken here.' })
  return coin
}

/** An order of the caller's, and the claim that pays it. */
async function standing(
  deps: AxonDeps,
  caller: Caller,
  id: bigint,
): Promise<{ quote: Quote; claim: store.Claim | undefined }> {
  const quote = await ownQuote(deps, caller, id)
  return { quote, claim: await store.ofQuote(deps.db, id) }
}
