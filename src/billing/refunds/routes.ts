import { Type } from 'typebox'
import { Closed, IdParameter, Integer, integer, Micro, type Of, PageQuery, Time } from '../../http/fields.ts'
import { type Route, route } from '../../http/route.ts'
import { applyRefund, listRefunds, type RefundDeps } from './service.ts'
import { type RefundRow, refundStatuses } from './store.ts'

const REASON_LENGTH_MAX = 1000
const PER_PAGE_DEFAULT = 20
/** Something to read, and nothing that the database cannot keep. */
const NOT_BLANK = '^[^\\u0000]*[^\\s\\u0000][^\\u0000]*$'

const Status = Type.Enum(refundStatuses, {
  description:
    'completed: the Credits are back. review_required: an operator decides, since it is not known from where the call was paid. rejected: the operator did not agree',
})
const Refund = Type.Object(
  {
    id: Integer(),
    account_id: Integer('The account that made the call'),
    call_id: Integer(),
    amount_micro: Micro('What the call cost, of all who paid for it'),
    reason: Type.String(),
    status: Status,
    created_at: Time(),
  },
  { $id: 'Refund', additionalProperties: false },
)

/** Refunds of failed calls (spec 2.9, 4.7). */
export function refundRoutes(deps: RefundDeps): Route[] {
  return [applyRoute(deps), listRoute(deps)]
}

const applyRoute = (deps: RefundDeps): Route =>
  route({
    method: 'POST',
    path: '/v1/refunds/apply',
    summary: 'Have a failed call that was charged refunded, once.',
    description:
      'The Credits return to the accounts and buckets that they came from; one that has expired lives 7 more days. A repeat gives the same refund.',
    tag: 'Refunds',
    access: 'session',
    body: Closed({
      call_id: IdParameter(),
      reason: Type.String({ minLength: 1, maxLength: REASON_LENGTH_MAX, pattern: NOT_BLANK }),
    }),
    example: { call_id: 1001, reason: 'no answer came' },
    replies: { 200: Closed({ status: Status, refund: Refund, request_id: Type.String() }) },
    refuses: ['call_not_found', 'not_original_account', 'call_not_refundable'],
    handle: async ({ caller, body, requestId }) => {
      const refund = await applyRefund(deps, caller, { callId: BigInt(body.call_id), reason: body.reason })
      return { status: refund.status, refund: refundView(refund), request_id: requestId }
    },
  })

const listRoute = (deps: RefundDeps): Route =>
  route({
    method: 'GET',
    path: '/v1/refunds',
    summary: 'Refunds of calls that this account made, newest first.',
    tag: 'Refunds',
    access: 'any',
    query: Type.Object({ ...PageQuery, status: Type.Optional(Status) }),
    replies: {
      200: Closed({
        refunds: Type.Array(Refund),
        total: Integer(),
        page: Integer(),
        per_page: Integer(),
        request_id: Type.String(),
      }),
    },
    refuses: [],
    handle: async ({ caller, query, requestId }) => {
      const { page = 1, per_page: perPage = PER_PAGE_DEFAULT, status } = query
      const { rows, total } = await listRefunds(deps, caller, { page, perPage, status })
      return { refunds: rows.map(refundView), total, page, per_page: perPage, request_id: requestId }
    },
  })

function refundView(row: RefundRow): Of<typeof Refund> {
  return {
    id: integer(row.id),
    account_id: integer(row.account_id),
    call_id: integer(row.call_id),
    amount_micro: integer(row.amount_micro),
    reason: row.reason,
    status: row.status,
    created_at: row.created_at.toISOString(),
  }
}
