import { Type } from 'typebox'
import { Closed, CursorQuery, Empty, Integer, integer, Micro, type Of, readCursor } from '../../http/fields.ts'
import { type Route, route } from '../../http/route.ts'
import { authorize, listSettlements, type SettlementDeps } from './service.ts'
import type { SettlementRow } from './store.ts'
import { itemFor } from './view.ts'

const SettlementItem = Type.Object(
  {
    billing_state: Type.Enum(['pending_settlement', 'usage_unknown', 'settled', 'released']),
    request_id: Type.String({ description: 'The x-request-id of the call' }),
    actor_account_id: Integer('Who made the call'),
    reserve_amount_micro: Micro('What was held before the call'),
    actual_amount_micro: Micro(
      'What the call cost. 0 while billing_state is usage_unknown: the cost is not known then, which is not zero',
    ),
    status: Type.Enum(['reserved', 'settled', 'released']),
    authorized: Type.Boolean({ description: 'Its payers agreed to what it cost above the hold' }),
    payment_review_required: Type.Boolean({
      description: 'Only the operator can resolve it: its usage is unknown. Keep the request_id',
    }),
    historical_owner: Type.Boolean({
      description: 'This account paid for the Agent that made the call, and is not its owner any more',
    }),
    can_authorize: Type.Boolean({
      description: 'This account may authorize the item, and every payer can pay its part now',
    }),
    shortfall_micro: Micro('What the call cost above the hold and nobody has paid yet'),
    funding_accounts: Type.Array(
      Closed({
        account_id: Integer(),
        reserved_amount_micro: Micro('What this account holds for the call'),
        available_amount_micro: Micro(
          "What this account has besides. Of another account than the reader's no more than its part of the shortfall",
        ),
        supplemental_allowed: Type.Boolean({
          description: 'Its part of the shortfall is charged to it when the item is authorized',
        }),
      }),
      {
        description:
          'Who paid the hold. Each pays its part of the shortfall: in proportion to what it holds. Of other payers only the owner of the Agent that made the call reads',
      },
    ),
  },
  { $id: 'SettlementItem', additionalProperties: false },
)

/** Calls whose money was not simple: what they cost is unknown, or more than was held (spec 2.8, 4.7). */
export function settlementRoutes(deps: SettlementDeps): Route[] {
  return [listRoute(deps), authorizeRoute(deps)]
}

const listRoute = (deps: SettlementDeps): Route =>
  route({
    method: 'GET',
    path: '/v1/credits/settlements',
    summary: 'Calls that wait for their settlement, newest first.',
    description:
      'Items of this account: calls that it made, and calls of its Agents, present and past, that it paid a part of. Reading changes nothing.',
    tag: 'Credits',
    access: 'session',
    query: Type.Object({
      ...CursorQuery,
      state: Type.Optional(
        Type.Enum(['open', 'all'], { default: 'open', description: '`all` also shows what is settled or released' }),
      ),
    }),
    replies: {
      200: Closed({
        data: Type.Array(SettlementItem),
        next_cursor: Integer('before_id of the next older page; 0 at the end'),
      }),
    },
    refuses: [],
    handle: async ({ caller, query }) => {
      const { limit, beforeId = 0n } = readCursor(query)
      const { rows, next } = await listSettlements(deps, caller, { all: query.state === 'all', beforeId, limit })
      return { data: rows.map((row) => itemView(row, caller.accountId)), next_cursor: integer(next) }
    },
  })

const authorizeRoute = (deps: SettlementDeps): Route =>
  route({
    method: 'POST',
    path: '/v1/credits/settlements/:request_id/authorize',
    summary: 'Agree to pay what a call cost above its hold.',
    description:
      'Every account that paid the hold pays its part of the rest, in proportion to what it held: all of them, or nothing is charged. Budgets do not refuse it, and count it. Repeating it changes nothing. Owners authorize what they paid a part of; an Agent only what it paid alone.',
    tag: 'Credits',
    access: 'session',
    extension: true,
    params: Closed({ request_id: Type.String({ minLength: 1, maxLength: 200 }) }),
    body: Empty,
    replies: { 200: Closed({ data: SettlementItem }) },
    refuses: ['settlement_not_found', 'owner_account_required', 'usage_unknown', 'insufficient_credits'],
    handle: async ({ caller, params, requestId }) => {
      const asked = { settlementRequestId: params.request_id, requestId }
      return { data: itemView(await authorize(deps, caller, asked), caller.accountId) }
    },
  })

function itemView(row: SettlementRow, viewer: bigint): Of<typeof SettlementItem> {
  const item = itemFor(row, viewer)
  return {
    billing_state: item.billingState,
    request_id: row.request_id,
    actor_account_id: integer(row.actor_account_id),
    reserve_amount_micro: integer(row.reserve_micro),
    actual_amount_micro: integer(row.actual_micro ?? 0n),
    status: item.status,
    authorized: row.authorized,
    payment_review_required: item.billingState === 'usage_unknown',
    historical_owner: item.historicalOwner,
    can_authorize: item.canAuthorize,
    shortfall_micro: integer(item.shortfallMicro),
    funding_accounts: item.funding.map((account) => ({
      account_id: account.accountId,
      reserved_amount_micro: account.reservedMicro,
      available_amount_micro: account.availableMicro,
      supplemental_allowed: account.supplementalAllowed,
    })),
  }
}
