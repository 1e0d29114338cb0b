import { Type } from 'typebox'
import type { Database } from '../../db/database.ts'
import type { RefundDecision } from '../../db/schema.ts'
import { Closed, IdParameter, Integer, integer, Micro, Nullable, Time } from '../../http/fields.ts'
import { type Route, route } from '../../http/route.ts'
import { Fault } from '../../kernel/errors.ts'
import { administration, byOf, ReasonBody } from '../schema.ts'
import { decide, statusOf } from './service.ts'
import * as store from './store.ts'

/** What the endpoints of refunds in review need. */
export interface RefundsDeps {
  readonly db: Database
}

const LIMIT_DEFAULT = 50

const Refund = Closed({
  id: Integer('Refund id'),
  status: Type.Enum(['review_required', 'completed', 'rejected']),
  call_id: Integer(),
  call_request_id: Type.String({ description: 'The request id of the call' }),
  account_id: Integer('The account that made the call: approved, it gets the amount'),
  amount_micro: Micro(),
  reason: Type.String({ description: 'Why the account asked' }),
  note: Type.String({ description: 'Why it is not known from where the call was paid' }),
  created_at: Time(),
  decided_by: Nullable(Type.String()),
  decision_reason: Nullable(Type.String()),
  decided_at: Nullable(Time()),
})

/** Refunds of calls of which it is not known from where they were paid: an operator decides. */
export function refundAdministrationRoutes(deps: RefundsDeps): Route[] {
  return [
    listRoute(deps),
    route({
      ...administration,
      method: 'GET',
      path: '/v1/admin/refunds/:id',
      summary: 'Show a refund, and where its Credits went.',
      params: Closed({ id: IdParameter() }),
      replies: {
        200: Closed({
          data: Refund,
          returned_to: Type.Array(Closed({ account_id: Integer(), bucket: Type.String(), amount_micro: Micro() })),
          request_id: Type.String(),
        }),
      },
      refuses: ['refund_not_found'],
      handle: async ({ params, requestId }) => {
        const refund = await store.find(deps.db, BigInt(params.id))
        if (refund === undefined) throw new Fault('refund_not_found')
        const parts = refund.is_verified ? await store.parts(deps.db, refund) : []
        return { data: view(refund), returned_to: parts.map(partView), request_id: requestId }
      },
    }),
    decisionRoute(
      deps,
      'approve',
      'approved',
      'Give the Credits of a refund in review to the account that made the call.',
    ),
    decisionRoute(deps, 'reject', 'rejected', 'Close a refund in review: nothing is given back.'),
  ]
}

function listRoute({ db }: RefundsDeps): Route {
  return route({
    ...administration,
    method: 'GET',
    path: '/v1/admin/refunds',
    summary: 'List the refunds that wait for a decision, oldest first, or those decided, newest first.',
    query: Type.Object({
      state: Type.Optional(Type.Enum(['waiting', 'decided'], { default: 'waiting' })),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: LIMIT_DEFAULT })),
      cursor: Type.Optional(
        Type.Integer({
          minimum: 0,
          maximum: Number.MAX_SAFE_INTEGER,
          default: 0,
          description: 'next_cursor of the page before; 0 is the first page',
        }),
      ),
    }),
    replies: { 200: Closed({ data: Type.Array(Refund), next_cursor: Integer('0 when there are no more') }) },
    refuses: [],
    handle: async ({ query: { state = 'waiting', limit = LIMIT_DEFAULT, cursor = 0 } }) => {
      const rows =
        state === 'waiting'
          ? await store.waiting(db, limit, BigInt(cursor))
          : await store.decided(db, limit, cursor === 0 ? undefined : BigInt(cursor))
      return { data: rows.map(view), next_cursor: rows.length < limit ? 0 : integer(rows.at(-1)?.id ?? 0n) }
    },
  })
}

function decisionRoute({ db }: RefundsDeps, verb: string, word: RefundDecision, summary: string): Route {
  return route({
    ...administration,
    method: 'POST',
    path: `/v1/admin/refunds/:id/${verb}`,
    summary,
    params: Closed({ id: IdParameter() }),
    body: ReasonBody,
    replies: {
      200: Closed({
        data: Refund,
        changed: Type.Boolean({ description: 'False when the same was decided before' }),
        request_id: Type.String(),
      }),
    },
    refuses: ['refund_not_found', 'refund_not_in_review', 'refund_decided'],
    handle: async (call) => {
      const { refund, changed } = await decide(db, { refundId: BigInt(call.params.id), word }, byOf(call))
      return { data: view(refund), changed, request_id: call.requestId }
    },
  })
}

const partView = (part: { account_id: bigint; kind: string; amount_micro: bigint }) => ({
  account_id: integer(part.account_id),
  bucket: part.kind,
  amount_micro: integer(part.amount_micro),
})

const view = (row: store.RefundRow) => ({
  id: integer(row.id),
  status: statusOf(row),
  call_id: integer(row.call_id),
  call_request_id: row.request_id,
  account_id: integer(row.account_id),
  amount_micro: integer(row.amount_micro),
  reason: row.reason,
  note: row.is_verified ? '' : (row.note ?? 'its allocations do not add up to what was charged'),
  created_at: row.created_at.toISOString(),
  decided_by: row.decided_by,
  decision_reason: row.decision_reason,
  decided_at: row.decided_at?.toISOString() ?? null,
})
