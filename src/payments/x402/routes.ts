import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { Closed, IdParameter, Nullable } from '../../http/fields.ts'
import { type Route, route } from '../../http/route.ts'
import type { Caller } from '../../kernel/caller.ts'
import { type ErrorCode, errorBody, Fault } from '../../kernel/errors.ts'
import { encodeHeader, headersOf, type Proof, readProof } from './codec.ts'
import { type Payment, PaymentRejected, type TopUpDeps, type TopUpSettings } from './model.ts'
import { networkName, offerOf } from './offer.ts'
import { PaymentRequiredBody, PaymentStatus, resultView, statusView, TopUpResult } from './schema.ts'
import { creditsFor, topUp, unavailable } from './service.ts'
import * as store from './store.ts'

/** What the endpoints of x402 need. */
export interface X402RoutesDeps extends Pick<TopUpDeps, 'db'> {
  /** Everything about top-ups as they are taken now; undefined while none are. */
  readonly topUps: () => (TopUpDeps & { readonly look: (payment: Payment) => Promise<void> }) | undefined
  /** Checks a Bearer credential, where one comes along. */
  readonly authenticate: (token: string) => Promise<Caller>
  /** Without a trailing slash. */
  readonly publicUrl: () => string
}

const TOPUP_PATH = '/v1/payments/topup'
const DEFAULT_AMOUNT_MICRO = 5_000_000
const ABOUT =
  'Takes x402 version 2 (PAYMENT-REQUIRED, PAYMENT-SIGNATURE, PAYMENT-RESPONSE) and version 1 (body, X-PAYMENT, X-PAYMENT-RESPONSE), scheme exact with EIP-3009. Each authorization is credited once, however often its proof is sent, to the account of the paying wallet; an unknown wallet becomes an Agent account. 402 says that no money moved by this proof and none can; 202 that it may have: poll, and do not sign again. With a proof this request moves money: it is no safe speculative read.'
const TOPUP_REFUSES: readonly ErrorCode[] = [
  'payment_required',
  'payment_rejected',
  'invalid_payment',
  'invalid_amount',
  'amount_below_minimum',
  'amount_above_maximum',
  'invalid_context',
  'context_expired',
  'context_mismatch',
  'unauthorized',
  'account_banned',
  'account_deactivated',
  'payer_of_another_account',
  'payment_conflict',
  'topup_unavailable',
]
/** What catalogues of paid endpoints read. */
const PAYMENT_INFO = {
  price: { mode: 'dynamic', currency: 'USD', min: '0.000001', max: '10000.000000' },
  protocols: [{ x402: {} }],
}

/** Top-ups by x402 (spec 4.6): an Agent signs a stablecoin transfer, and its account is credited once. */
export function x402Routes(deps: X402RoutesDeps): Route[] {
  return [topUpRoute, statusRoute, listRoute, discoveryRoute].map((route) => route(deps))
}

/** What browsers and crawlers ask ahead of time must not spend money. */
function isSpeculative({ headers }: FastifyRequest): boolean {
  return [headers['sec-purpose'], headers.purpose, headers['x-moz']].some((value) =>
    /prefetch|prerender/i.test(String(value)),
  )
}

const topUpRoute = (deps: X402RoutesDeps): Route =>
  route({
    method: 'GET',
    path: TOPUP_PATH,
    summary: 'Buy Credits by x402: without a proof of payment it answers 402 with the terms.',
    description: ABOUT,
    tag: 'Payments',
    access: 'public',
    limit: 'topup',
    cors: true,
    requestHeaders: {
      'PAYMENT-SIGNATURE': 'The proof of payment of x402 version 2: base64 of JSON',
      'X-PAYMENT': 'The proof of payment of x402 version 1',
      'Payment-Context': 'A payment_context_token of POST /v1/payments/context: credits the account that it names',
    },
    openApi: { 'x-payment-info': PAYMENT_INFO },
    query: Type.Object({
      amount_micro: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: 9_000_000_000_000_000,
          default: DEFAULT_AMOUNT_MICRO,
          description: 'What to pay, in micro units of the stablecoin, as digits',
        }),
      ),
    }),
    replies: { 200: TopUpResult, 202: TopUpResult, 402: PaymentRequiredBody },
    refuses: TOPUP_REFUSES,
    handle: async ({ request, reply, requestId }) => {
      reply.header('cache-control', 'no-store')
      const amountMicro = amountFrom(request.url)
      const topUps = deps.topUps()
      if (!topUps) throw unavailable('Top-ups by x402 are not configured here, or their chain is being checked.')
      const { settings } = topUps
      refuseOutsideLimits(settings, amountMicro)
      const resourceUrl = `${deps.publicUrl()}${TOPUP_PATH}?amount_micro=${amountMicro}`
      const refuse = (code: 'payment_required' | 'payment_rejected', more: Refused = {}) =>
        answerRefused({ settings, reply, requestId, amountMicro, resourceUrl }, code, more)
      const proof = isSpeculative(request) ? undefined : readProof(request.headers)
      const token = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1]
      const caller = token === undefined ? undefined : await deps.authenticate(token)
      if (!proof) return refuse('payment_required')
      const context = request.headers['payment-context']
      const contextToken = typeof context === 'string' ? context : undefined
      try {
        const { payment, replayed } = await topUp(topUps, { proof, amountMicro, caller, contextToken, requestId })
        if (replayed) reply.header('idempotent-replayed', 'true')
        if (payment.status === 'failed') return refuse('payment_rejected', { proof, payment })
        return answerPayment(reply, settings, proof, payment)
      } catch (error) {
        if (error instanceof PaymentRejected) return refuse('payment_rejected', { proof, error })
        throw error
      }
    },
  })

/** The amount in the address, in digits only: `1e6` and `0x10` are numbers to a computer, and mistakes here. */
function amountFrom(url: string): bigint {
  const asked = new URL(url, 'http://localhost').searchParams.getAll('amount_micro')
  if (asked.length === 0) return BigInt(DEFAULT_AMOUNT_MICRO)
  const [text = ''] = asked
  if (asked.length > 1 || !/^[1-9]\d{0,15}$/.test(text))
    throw new Fault('invalid_amount', {
      message: 'amount_micro must be given once, in digits, and be at least 1.',
      fields: { field: 'amount_micro' },
    })
  return BigInt(text)
}

function refuseOutsideLimits(settings: TopUpSettings, amountMicro: bigint): void {
  const { minAmountMicro, maxAmountMicro, asset } = settings
  const refuse = (code: ErrorCode, message: string) => {
    throw new Fault(code, { message, fields: { field: 'amount_micro' } })
  }
  if (amountMicro < minAmountMicro)
    refuse('amount_below_minimum', `The smallest top-up is ${minAmountMicro} micro ${asset.symbol}. Nothing was sent.`)
  if (amountMicro > maxAmountMicro)
    refuse('amount_above_maximum', `The largest top-up is ${maxAmountMicro} micro ${asset.symbol}. Nothing was sent.`)
  creditsFor(settings, amountMicro)
}

interface Asked {
  readonly settings: TopUpSettings
  readonly reply: FastifyReply
  readonly requestId: string
  readonly amountMicro: bigint
  readonly resourceUrl: string
}

interface Refused {
  readonly proof?: Proof
  readonly error?: PaymentRejected
  /** A payment that can land no more. */
  readonly payment?: Payment
}

/** 402 with the terms for both versions of x402, in the body of every refusal. */
function answerRefused(
  { settings, reply, requestId, amountMicro, resourceUrl }: Asked,
  code: 'payment_required' | 'payment_rejected',
  { proof, error, payment }: Refused,
): FastifyReply {
  const reason = error?.reason ?? (payment ? 'expired' : undefined)
  const message = error?.message ?? (payment ? resultView(payment).message : undefined)
  const fault = new Fault(code, message === undefined ? {} : { message })
  const offer = offerOf(settings, amountMicro, resourceUrl, reason ?? code)
  reply.request.faultCode = code
  reply.raw.statusMessage = fault.refusal.phrase
  reply.code(402).header('x-should-retry', 'false').header('PAYMENT-REQUIRED', encodeHeader(offer.v2))
  if (proof)
    reply.header(
      headersOf[proof.version].response,
      encodeHeader({
        success: false,
        errorReason: reason ?? code,
        errorMessage: fault.message,
        payer: proof.authorization.payer,
        transaction: '',
        network: networkName(settings, proof.version),
      }),
    )
  return reply.send({
    ...errorBody(fault, requestId),
    ...offer.body,
    error: code,
    ...(reason === undefined ? {} : { reason }),
    payment_state: 'unused',
    retry_action: 'resign',
    ...(payment ? { payment_id: Number(payment.id) } : {}),
  })
}

/** 200 once the Credits are there; 202 as long as money may be on its way. */
function answerPayment(reply: FastifyReply, settings: TopUpSettings, proof: Proof, payment: Payment): FastifyReply {
  const isCredited = payment.status === 'credited'
  const result = resultView(payment)
  const settlement = {
    success: isCredited,
    ...(isCredited ? {} : { errorReason: 'settlement_pending', errorMessage: result.message }),
    payer: result.wallet_address,
    transaction: result.transaction_hash,
    network: networkName(settings, proof.version),
    ...(proof.version === 2 ? { amount: String(payment.amount_micro), extra: { paymentId: result.payment_id } } : {}),
  }
  reply.code(isCredited ? 200 : 202).header(headersOf[proof.version].response, encodeHeader(settlement))
  if (!isCredited) reply.header('location', result.poll_url).header('retry-after', '2')
  return reply.send(result)
}

const statusRoute = (deps: X402RoutesDeps): Route =>
  route({
    method: 'GET',
    path: '/v1/payments/x402/:id',
    summary: 'The status of an x402 payment. Looks at the chain while it is open.',
    tag: 'Payments',
    access: 'any',
    params: Closed({ id: IdParameter() }),
    replies: { 200: PaymentStatus },
    refuses: ['payment_not_found', 'not_original_account'],
    handle: async ({ caller, params, reply }) => {
      reply.header('cache-control', 'no-store')
      const id = BigInt(params.id)
      const payment = await store.find(deps.db, id)
      if (!payment) throw new Fault('payment_not_found')
      if (payment.account_id !== caller.accountId) throw new Fault('not_original_account')
      const isOpen = payment.status === 'awaiting_settlement' || payment.status === 'pending'
      if (isOpen) await deps.topUps()?.look(payment)
      return statusView((isOpen ? await store.find(deps.db, id) : undefined) ?? payment)
    },
  })

const listRoute = (deps: X402RoutesDeps): Route =>
  route({
    method: 'GET',
    path: '/v1/payments/x402',
    summary: 'The x402 payments that credit this account, newest first.',
    tag: 'Payments',
    access: 'any',
    extension: true,
    query: Type.Object({
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 50 })),
      before_id: Type.Optional({ ...IdParameter(), description: 'next_cursor of the page before' }),
    }),
    replies: {
      200: Closed({ data: Type.Array(PaymentStatus), next_cursor: Nullable(Type.Integer()) }),
    },
    refuses: [],
    handle: async ({ caller, query }) => {
      const limit = query.limit ?? 50
      const before = query.before_id === undefined ? undefined : BigInt(query.before_id)
      const rows = await store.list(deps.db, caller.accountId, before, limit + 1)
      const page = rows.slice(0, limit).map(statusView)
      return { data: page, next_cursor: rows.length > limit ? (page.at(-1)?.payment_id ?? null) : null }
    },
  })

const discoveryRoute = (deps: X402RoutesDeps): Route =>
  route({
    method: 'GET',
    path: '/.well-known/x402',
    summary: 'What can be paid here by x402.',
    tag: 'Payments',
    access: 'public',
    extension: true,
    cors: true,
    replies: {
      200: Closed({
        version: Type.Integer(),
        x402Version: Type.Integer(),
        resources: Type.Array(Type.String()),
        networks: Type.Array(Type.String({ description: 'CAIP-2' })),
        instructions: Type.String(),
      }),
    },
    refuses: [],
    handle: ({ reply }) => {
      reply.header('cache-control', 'public, max-age=60')
      const topUps = deps.topUps()
      return {
        version: 1,
        x402Version: 2,
        resources: topUps ? [`${deps.publicUrl()}${TOPUP_PATH}`] : [],
        networks: topUps ? [networkName(topUps.settings, 2)] : [],
        instructions:
          'GET the resource with ?amount_micro= to buy Credits for the account of the paying wallet. Each authorization is credited once. On 202 poll, and do not sign again.',
      }
    },
  })
