import { Type } from 'typebox'
import { Closed, IdParameter, integer, Micro, Nullable, type Of, Time } from '../../http/fields.ts'
import { type Call, type Route, route } from '../../http/route.ts'
import type { Action, Decision } from '../../payments/orders/review/decision.ts'
import { administration, byOf, Reason } from '../schema.ts'
import { ReviewKindName, ReviewView, reviewView, WaitingView, waitingView } from './schema.ts'
import { decideReview, type ReviewsDeps, readReview, waitingReviews } from './service.ts'
import { labels } from './store.ts'

const LIMIT_DEFAULT = 50

const NamedReview = Closed({ id: Type.String({ minLength: 1, maxLength: 120, description: 'As the list names it' }) })

/** Payments that could not be credited by themselves. */
export function reviewAdministrationRoutes(deps: ReviewsDeps): Route[] {
  return [listRoute(deps), detailRoute(deps), ...decisionRoutes(deps)]
}

const viewingOf = ({ clock, coin }: ReviewsDeps) => ({ now: clock.now(), coin })

const listRoute = (deps: ReviewsDeps): Route =>
  route({
    ...administration,
    method: 'GET',
    path: '/v1/admin/reviews',
    summary: 'Payments that wait for a decision, longest first.',
    description:
      'Orders in review, transfers that no order asked for, payments with the native coin and payments by x402, in one list.',
    query: Type.Object({
      kind: Type.Optional(ReviewKindName),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, default: LIMIT_DEFAULT })),
    }),
    replies: {
      200: Closed({
        data: Type.Array(WaitingView),
        has_more: Type.Boolean({ description: 'There are more: raise limit, or decide on these first' }),
        request_id: Type.String(),
      }),
    },
    refuses: [],
    handle: async ({ query: { kind, limit = LIMIT_DEFAULT }, requestId }) => {
      const { reviews, hasMore } = await waitingReviews(deps.db, { kind, limit })
      const viewing = viewingOf(deps)
      return { data: reviews.map((review) => waitingView(review, viewing)), has_more: hasMore, request_id: requestId }
    },
  })

const detailRoute = (deps: ReviewsDeps): Route =>
  route({
    ...administration,
    method: 'GET',
    path: '/v1/admin/reviews/:id',
    summary: 'A payment: what was asked for beside what the chain shows, why it waits, and what may be done.',
    params: NamedReview,
    replies: { 200: Closed({ data: ReviewView, request_id: Type.String() }) },
    refuses: ['review_not_found'],
    handle: async ({ params, requestId }) => {
      const read = await readReview(deps, params.id)
      const { accountId } = read.review
      const names = await labels(deps.db, accountId === undefined ? [] : [accountId])
      return { data: reviewView(read, names, viewingOf(deps)), request_id: requestId }
    },
  })

const Decided = Closed({
  data: Closed({
    id: Type.String(),
    action: Type.Enum(['credit', 'refund', 'dismiss']),
    outcome: Type.Enum(['done', 'proposed'], {
      description: '`proposed`: it is above what one operator may decide, and another one has to state the same',
    }),
    credit_micro: Micro('What is decided over'),
    taken_micro: Nullable(Micro('Credits that were given before and taken back')),
    until: Nullable(Time('A proposal waits for its second operator until then')),
  }),
  request_id: Type.String(),
})

const CreditBody = Closed({
  reason: Reason,
  credit_micro: Type.Optional(Micro('Less than what arrived is worth')),
  account_id: Type.Optional(IdParameter()),
})
const RefundBody = Closed({
  reason: Reason,
  tx_hash: Type.String({ pattern: '^0x[0-9a-fA-F]{64}$', description: 'The transaction that sent the money back' }),
})

const summaries = {
  credit: 'Give the Credits for what arrived, at most what it is worth.',
  refund: 'Record that the money was sent back. The server holds no key: it sends nothing.',
  dismiss: 'Close a payment without Credits.',
} as const

/** What the verbs have in common; each refuses what the rules of its kind of payment refuse. */
const verb = (action: Action) =>
  ({
    ...administration,
    method: 'POST',
    path: `/v1/admin/reviews/:id/${action}`,
    summary: summaries[action],
    description:
      'Above FAREBOX_REVIEW_ALONE_CREDITS the answer is a proposal, and the decision is done when a second admin or operator states the same within 24 hours. A transfer that no order asked for is credited to account_id.',
    params: NamedReview,
    replies: { 200: Decided },
    refuses: [
      'review_not_found',
      'order_not_found',
      'payment_not_found',
      'order_not_in_review',
      'order_completed',
      'chain_unavailable',
      ...(action === 'credit'
        ? ([
            'account_not_found',
            'amount_above_maximum',
            'amount_below_minimum',
            'tx_already_used',
            'tx_already_claimed',
            'rate_unavailable',
          ] as const)
        : []),
    ],
  }) as const

function decisionRoutes(deps: ReviewsDeps): Route[] {
  const decide = (call: Deciding, wanted: Omit<Decision, 'operator' | 'reason'>) => decided(deps, call, wanted)
  return [
    route({
      ...verb('credit'),
      body: CreditBody,
      handle: (call) => {
        const { credit_micro: credit, account_id: account } = call.body
        return decide(call, {
          action: 'credit',
          ...(credit === undefined ? {} : { creditMicro: BigInt(credit) }),
          ...(account === undefined ? {} : { accountId: BigInt(account) }),
        })
      },
    }),
    route({
      ...verb('refund'),
      body: RefundBody,
      handle: (call) => decide(call, { action: 'refund', refundTxHash: call.body.tx_hash.toLowerCase() }),
    }),
    route({
      ...verb('dismiss'),
      body: Closed({ reason: Reason }),
      handle: (call) => decide(call, { action: 'dismiss' }),
    }),
  ]
}

type Deciding = Pick<Call<{ id: string }, unknown, { reason: string }>, 'params' | 'caller' | 'body' | 'requestId'>

async function decided(
  deps: ReviewsDeps,
  call: Deciding,
  wanted: Omit<Decision, 'operator' | 'reason'>,
): Promise<Of<typeof Decided>> {
  const done = await decideReview(deps, call.params.id, wanted, byOf(call))
  const taken = done.outcome === 'done' ? done.takenMicro : undefined
  return {
    data: {
      id: call.params.id,
      action: wanted.action,
      outcome: done.outcome,
      credit_micro: integer(done.creditMicro),
      taken_micro: taken === undefined ? null : integer(taken),
      until: done.outcome === 'proposed' ? done.until.toISOString() : null,
    },
    request_id: call.requestId,
  }
}
