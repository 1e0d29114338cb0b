import { Type } from 'typebox'
import type { Database } from '../../db/database.ts'
import {
  Closed,
  CursorQuery,
  IdParameter,
  Integer,
  integer,
  Micro,
  Nullable,
  type Of,
  readCursor,
  Time,
} from '../../http/fields.ts'
import { type Route, route } from '../../http/route.ts'
import { Fault } from '../../kernel/errors.ts'
import { type CallPlace, type CallRow, callStatuses, find, list, place } from './store.ts'
import { timeRange } from './time-range.ts'
import { billingState, chargedMicro, mayRead, refusalToRefund } from './view.ts'

/** What reading calls needs. */
export interface CallReadingDeps {
  readonly db: Database
}

const Call = Closed({
  call_id: Integer(),
  request_id: Type.String({ description: 'The x-request-id of the call itself' }),
  category: Type.String(),
  model: Type.String({ description: 'The model, or the capability' }),
  actor_account_id: Integer('Who made the call'),
  key_id: Nullable(Integer('The API key; null when the call was made with an access token')),
  status: Type.Enum(callStatuses),
  outcome: Nullable(Type.String({ description: 'success or failed; null while it is not known' })),
  billing_state: Type.Enum(['reserved', 'pending_settlement', 'usage_unknown', 'settled', 'released']),
  usage: Type.Unknown({ description: 'As the provider reported it; null while it is not known' }),
  price: Type.Unknown({ description: 'The prices of this call, as they were when it was held' }),
  bounds: Type.Unknown({ description: 'What the hold was computed from' }),
  reserve_amount_micro: Micro('What was held before the provider was asked'),
  actual_amount_micro: Nullable(Micro('What the call cost; null while it is not known')),
  charged_micro: Micro("What this account paid of it: the sum of funding, and of its statement's rows for the call"),
  funding: Type.Array(
    Closed({
      account_id: Integer(),
      bucket: Type.String(),
      reserved_amount_micro: Micro('The part that was held'),
      amount_micro: Micro('The part that was charged'),
    }),
    { description: "This account's own parts. Other payers' parts are theirs to read" },
  ),
  refundable: Type.Boolean(),
  refund_reason_not: Nullable(
    Type.String({
      description:
        'call_running, usage_unknown, pending_settlement, call_successful, nothing_charged, already_refunded or not_original_account',
    }),
  ),
  refund_id: Nullable(Integer('The refund that the account which made the call applied for: GET /v1/refunds')),
  created_at: Time(),
  resolved_at: Nullable(Time()),
})

/** The calls that an account made, and those that it funded. */
export function callRoutes(deps: CallReadingDeps): Route[] {
  return [
    route({
      method: 'GET',
      path: '/v1/calls',
      summary: 'Calls that this account made or funded, newest first.',
      tag: 'Calls',
      access: 'any',
      extension: true,
      query: Type.Object({
        ...CursorQuery,
        model: Type.Optional(Type.String({ maxLength: 200 })),
        status: Type.Optional(Type.Enum(callStatuses)),
        key_id: Type.Optional(IdParameter()),
        request_id: Type.Optional(Type.String({ maxLength: 64, description: 'Of the request that made the call' })),
        from: Type.Optional(Time('First moment')),
        to: Type.Optional(Time('First moment that is not in the range any more')),
      }),
      replies: {
        200: Closed({ data: Type.Array(Call), next_cursor: Integer('before_id of the next older page; 0 at the end') }),
      },
      refuses: [],
      handle: async ({ caller, query }) => {
        const { limit, beforeId = 0n } = readCursor(query)
        const filter = {
          ...timeRange(query),
          model: query.model,
          status: query.status,
          requestId: query.request_id,
          keyId: query.key_id === undefined ? undefined : BigInt(query.key_id),
          before: await cursor(deps.db, beforeId),
        }
        const rows = await list(deps.db, caller.accountId, filter, limit + 1)
        const page = rows.slice(0, limit)
        const oldest = page.at(-1)
        return {
          data: page.map((row) => callView(row, caller.accountId)),
          next_cursor: oldest && rows.length > limit ? integer(oldest.id) : 0,
        }
      },
    }),
    route({
      method: 'GET',
      path: '/v1/calls/:id',
      summary: 'One call: its usage, price, cost and funding.',
      tag: 'Calls',
      access: 'any',
      extension: true,
      params: Closed({ id: IdParameter() }),
      replies: { 200: Closed({ data: Call }) },
      refuses: ['call_not_found', 'not_original_account'],
      handle: async ({ caller, params }) => {
        const row = await find(deps.db, caller.accountId, BigInt(params.id))
        if (!row) throw new Fault('call_not_found')
        if (!mayRead(row, caller.accountId)) throw new Fault('not_original_account')
        return { data: callView(row, caller.accountId) }
      },
    }),
  ]
}

async function cursor(db: Database, id: bigint): Promise<CallPlace | undefined> {
  if (id === 0n) return undefined
  const found = await place(db, id)
  if (!found)
    throw new Fault('invalid_parameter', {
      message: 'The parameter before_id is not a call: pass the next_cursor of the page before.',
    })
  return found
}

function callView(row: CallRow, viewer: bigint): Of<typeof Call> {
  const detail = (row.detail ?? {}) as { price?: unknown; bounds?: unknown }
  const refusal = refusalToRefund(row, viewer)
  return {
    call_id: integer(row.id),
    request_id: row.request_id,
    category: row.category,
    model: row.subject,
    actor_account_id: integer(row.actor_account_id),
    key_id: row.key_id === null ? null : integer(row.key_id),
    status: row.status,
    outcome: row.outcome,
    billing_state: billingState(row),
    usage: row.usage ?? null,
    price: detail.price ?? null,
    bounds: detail.bounds ?? null,
    reserve_amount_micro: integer(row.reserve_micro),
    actual_amount_micro: row.actual_micro === null ? null : integer(row.actual_micro),
    charged_micro: chargedMicro(row),
    funding: [...row.funding],
    refundable: refusal === undefined,
    refund_reason_not: refusal ?? null,
    refund_id: row.refund_id === null ? null : integer(row.refund_id),
    created_at: row.created_at.toISOString(),
    resolved_at: row.resolved_at?.toISOString() ?? null,
  }
}
