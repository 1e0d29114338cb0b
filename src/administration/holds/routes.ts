import { Type } from 'typebox'
import type { Database } from '../../db/database.ts'
import { Closed, IdParameter, Integer, integer, Micro, Nullable } from '../../http/fields.ts'
import { type Route, route } from '../../http/route.ts'
import { Fault } from '../../kernel/errors.ts'
import { microcredits } from '../../kernel/money.ts'
import { administration, byOf, Reason } from '../schema.ts'
import { type LookupSettings, lookUpHold } from './lookup.ts'
import { Hold, HoldDetail, holdDetailView, holdView } from './schema.ts'
import { findHold, resolveHold, waitingHolds } from './service.ts'
import * as store from './store.ts'

/** What the endpoints of holds need. */
export interface HoldsDeps {
  readonly db: Database
  /** Models and providers as they are in force now. */
  readonly lookupSettings: () => LookupSettings
}

const LIMIT_DEFAULT = 50

const NamedHold = Closed({
  id: Type.String({ pattern: '^(\\d{1,15}|req_[0-9a-zA-Z_-]{1,64})$', description: 'Its id, or its request id' }),
})

/** Credits that calls set aside and that wait for a decision. */
export function holdAdministrationRoutes(deps: HoldsDeps): Route[] {
  return [listRoute(deps), detailRoute(deps), resolveRoute(deps), lookupRoute(deps)]
}

const listRoute = ({ db }: HoldsDeps): Route =>
  route({
    ...administration,
    method: 'GET',
    path: '/v1/admin/holds',
    summary: 'Holds that wait, longest first.',
    description: 'Calls of unknown cost wait for an operator; a shortfall waits for its payers to agree to the rest.',
    query: Type.Object({
      account: Type.Optional(IdParameter()),
      flag: Type.Optional(Type.Enum(['usage_unknown', 'shortfall'])),
      after: Type.Optional(
        Type.Integer({
          minimum: 0,
          maximum: Number.MAX_SAFE_INTEGER,
          default: 0,
          description: 'next_cursor of the page before',
        }),
      ),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: LIMIT_DEFAULT })),
    }),
    replies: {
      200: Closed({
        data: Type.Array(Hold),
        next_cursor: Integer('`after` of the next page; 0 at the end'),
        request_id: Type.String(),
      }),
    },
    refuses: [],
    handle: async ({ query: { account, flag, after = 0, limit = LIMIT_DEFAULT }, requestId }) => {
      const { holds, hasMore } = await waitingHolds(db, {
        accountId: account === undefined ? undefined : BigInt(account),
        flag,
        after: after === 0 ? undefined : BigInt(after),
        limit,
      })
      return {
        data: holds.map(holdView),
        next_cursor: hasMore ? integer(holds.at(-1)?.id ?? 0n) : 0,
        request_id: requestId,
      }
    },
  })

const detailRoute = ({ db }: HoldsDeps): Route =>
  route({
    ...administration,
    method: 'GET',
    path: '/v1/admin/holds/:id',
    summary: 'A hold: why it waits, who pays, and what its call can be looked up by.',
    params: NamedHold,
    replies: { 200: Closed({ data: HoldDetail, request_id: Type.String() }) },
    refuses: ['hold_not_found'],
    handle: async ({ params, requestId }) => {
      const hold = await findHold(db, params.id)
      return { data: holdDetailView(hold, await store.allocations(db, hold.id)), request_id: requestId }
    },
  })

const resolveRoute = ({ db }: HoldsDeps): Route =>
  route({
    ...administration,
    method: 'POST',
    path: '/v1/admin/holds/:id/resolve',
    summary: 'End a hold of unknown cost: charge what the call cost, or nothing.',
    description:
      'Exactly one of actual_micro and release. A repeat changes nothing. What is more than was held is charged only with above_hold, and from the account that made the call; if it cannot pay, nothing is charged and the hold waits as `shortfall`.',
    params: NamedHold,
    body: Closed({
      actual_micro: Type.Optional(Micro('Charge this much and give the rest back')),
      release: Type.Optional(Type.Literal(true, { description: 'Charge nothing' })),
      outcome: Type.Optional(
        Type.Enum(['success', 'failed'], {
          default: 'success',
          description: 'With actual_micro: how the call ended for the client; one that failed may be refunded',
        }),
      ),
      above_hold: Type.Optional(Type.Boolean({ description: 'Charge it even though it is more than was held' })),
      reason: Reason,
    }),
    replies: {
      200: Closed({
        data: Closed({
          hold_id: Integer(),
          account_id: Integer('Who made the call'),
          state: Type.Enum(['captured', 'voided', 'shortfall']),
          charged_micro: Micro(),
          returned_micro: Micro(),
          available_micro: Nullable(Integer('What the account can spend now; null where nothing was changed')),
          changed: Type.Boolean(),
        }),
        request_id: Type.String(),
      }),
    },
    refuses: ['hold_not_found', 'hold_not_resolvable', 'amount_above_hold'],
    handle: async (call) => {
      const { actual_micro: actual, release, outcome = 'success', above_hold: aboveHold } = call.body
      if ((actual === undefined) === (release === undefined))
        throw new Fault('invalid_field', { message: 'Say how it ends: exactly one of actual_micro and release.' })
      const end = { actualMicro: actual === undefined ? undefined : microcredits(actual), outcome, aboveHold }
      const resolved = await resolveHold(db, call.params.id, end, byOf(call))
      const { hold, state, chargedMicro, returnedMicro, availableMicro, changed } = resolved
      return {
        data: {
          hold_id: integer(hold.id),
          account_id: integer(hold.actor_account_id),
          state,
          charged_micro: integer(chargedMicro),
          returned_micro: integer(returnedMicro),
          available_micro: availableMicro === undefined ? null : integer(availableMicro),
          changed,
        },
        request_id: call.requestId,
      }
    },
  })

const lookupRoute = ({ db, lookupSettings }: HoldsDeps): Route =>
  route({
    ...administration,
    method: 'POST',
    path: '/v1/admin/holds/:id/lookup',
    summary: "Ask the provider's own record what the call used. It decides nothing.",
    params: NamedHold,
    body: Closed({}),
    replies: {
      200: Closed({
        data: Closed({
          hold_id: Integer(),
          provider: Type.String(),
          input_tokens: Integer(),
          output_tokens: Integer(),
          cached_input_tokens: Integer(),
          cost_micro: Nullable(Micro('At the price kept with the hold; null where none is kept')),
        }),
        request_id: Type.String(),
      }),
    },
    refuses: ['hold_not_found', 'usage_not_found'],
    handle: async ({ params, requestId }) => {
      const hold = await findHold(db, params.id)
      const { provider, usage, costMicro } = await lookUpHold(hold, lookupSettings())
      return {
        data: {
          hold_id: integer(hold.id),
          provider,
          input_tokens: usage.inputTokens,
          output_tokens: usage.outputTokens,
          cached_input_tokens: usage.cachedInputTokens,
          cost_micro: costMicro === undefined ? null : integer(costMicro),
        },
        request_id: requestId,
      }
    },
  })
