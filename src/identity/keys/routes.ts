import { type Static, Type } from 'typebox'
import { Closed, IdParameter, Integer, integer, Micro, Nullable, Time } from '../../http/fields.ts'
import { type Route, route } from '../../http/route.ts'
import { assert } from '../../kernel/assert.ts'
import type { Clock } from '../../kernel/clock.ts'
import { Fault } from '../../kernel/errors.ts'
import type { BudgetLimits } from '../accounts/store.ts'
import { byAccount, createKey, type KeyDeps, revokeKeys } from './service.ts'
import * as store from './store.ts'

/** What the endpoints of keys need from outside. */
export interface KeyRouteDeps extends KeyDeps {
  readonly clock: Clock
}

const NAME_LENGTH_MAX = 100
const Limit = Type.Optional(Nullable(Micro('Microcredits; null is no limit')))

const BudgetBody = Closed({
  per_call_micro: Limit,
  daily_micro: Limit,
  monthly_micro: Limit,
  total_micro: Limit,
})

const Budget = Closed({
  per_call_micro: Nullable(Micro()),
  daily_micro: Nullable(Micro('By UTC day')),
  monthly_micro: Nullable(Micro('By UTC month')),
  total_micro: Nullable(Micro()),
})

const metadata = {
  id: Integer('Key id'),
  name: Type.String(),
  prefix: Type.String({ description: 'What the key begins with' }),
  last4: Type.String({ description: 'What it ends with' }),
  status: Type.Enum(['active', 'revoked'], {
    description: 'An expired key reads revoked, with revoked_at null',
  }),
  created_at: Time(),
  last_used_at: Nullable(Time('To the minute, roughly')),
  expires_at: Nullable(Time()),
  revoked_at: Nullable(Time()),
  budget: Nullable(Budget),
}

const Key = Closed(metadata)
const NewKey = Closed({
  ...metadata,
  token: Type.String({ description: 'The full key. It is in this answer and nowhere else, ever' }),
})
const Done = Closed({ ok: Type.Literal(true), request_id: Type.String() })

/** Endpoints of API keys (spec 3.7, 4.3). A key reads them and cannot make or revoke any. */
export function keyRoutes(deps: KeyRouteDeps): Route[] {
  return [
    route({
      method: 'GET',
      path: '/v1/me/api-keys',
      summary: 'List the API keys of the account, revoked and expired ones too, newest first.',
      tag: 'API keys',
      access: 'any',
      replies: { 200: Closed({ keys: Type.Array(Key), data: Nullable(Key) }) },
      refuses: [],
      handle: async ({ caller }) => {
        const rows = await store.list(deps.db, { accountId: caller.accountId })
        const newest = rows.find((row) => row.status === 'active')
        return { keys: rows.map(keyView), data: newest ? keyView(newest) : null }
      },
    }),
    createRoute(deps),
    route({
      method: 'DELETE',
      path: '/v1/me/api-keys/:id',
      summary: 'Revoke a key at once. Other keys and sessions stay.',
      tag: 'API keys',
      access: 'session',
      params: Closed({ id: IdParameter() }),
      replies: { 200: Done },
      refuses: ['api_key_not_found'],
      handle: async ({ caller, params, requestId }) => {
        const which = { accountId: caller.accountId, id: BigInt(params.id) }
        if ((await revokeKeys(deps, which, byAccount(caller.accountId, requestId))) === 0n)
          throw new Fault('api_key_not_found')
        return { ok: true, request_id: requestId }
      },
    }),
    route({
      method: 'DELETE',
      path: '/v1/me/api-keys',
      summary: 'Revoke every key of the account at once. Sessions stay.',
      tag: 'API keys',
      access: 'session',
      replies: { 200: Done },
      refuses: [],
      handle: async ({ caller, requestId }) => {
        await revokeKeys(deps, { accountId: caller.accountId }, byAccount(caller.accountId, requestId))
        return { ok: true, request_id: requestId }
      },
    }),
  ]
}

function createRoute(deps: KeyRouteDeps): Route {
  return route({
    method: 'POST',
    path: '/v1/me/api-keys',
    summary: 'Make a key. Its full text is in this answer only; older keys stay valid.',
    tag: 'API keys',
    access: 'session',
    body: Closed({
      name: Type.Optional(Type.String({ maxLength: NAME_LENGTH_MAX })),
      expires_at: Type.Optional(Nullable(Time('In the future; null is never'))),
      budget: Type.Optional(Nullable(BudgetBody)),
    }),
    example: { name: 'my program', budget: { daily_micro: 1_000_000 } },
    replies: {
      200: Closed({
        data: NewKey,
        api_key: Type.String({ description: 'The same as data.token' }),
      }),
    },
    refuses: [],
    handle: async ({ caller, body, reply, requestId }) => {
      const expiresAt = body.expires_at ? new Date(body.expires_at) : undefined
      if (expiresAt && !(expiresAt > deps.clock.now())) {
        throw new Fault('invalid_field', {
          message: 'The field expires_at must be a time in the future.',
          fields: { field: 'expires_at' },
        })
      }
      const budget = limitsOf(body.budget)
      const wanted = {
        accountId: caller.accountId,
        name: body.name ?? '',
        ...(expiresAt ? { expiresAt } : {}),
        ...(budget ? { budget } : {}),
      }
      const { id, secret } = await createKey(deps, wanted, byAccount(caller.accountId, requestId))
      const [row] = await store.list(deps.db, { accountId: caller.accountId, id })
      assert(row, `key ${id} was made and is not there`)
      reply.header('cache-control', 'no-store')
      return { data: { ...keyView(row), token: secret }, api_key: secret }
    },
  })
}

/** undefined when nothing is limited: then there is no budget to keep. */
function limitsOf(budget: Static<typeof BudgetBody> | null | undefined): BudgetLimits | undefined {
  const limit = (value: number | null | undefined): bigint | null =>
    value === null || value === undefined ? null : BigInt(value)
  const limits = {
    per_call_micro: limit(budget?.per_call_micro),
    daily_micro: limit(budget?.daily_micro),
    monthly_micro: limit(budget?.monthly_micro),
    total_micro: limit(budget?.total_micro),
  }
  return Object.values(limits).some((value) => value !== null) ? limits : undefined
}

function keyView(row: store.ListedKey): Static<typeof Key> {
  const amount = (value: bigint | null): number | null => (value === null ? null : integer(value))
  const time = (value: Date | null): string | null => value?.toISOString() ?? null
  return {
    id: integer(row.id),
    name: row.name,
    prefix: row.prefix,
    last4: row.last4,
    status: row.status === 'active' ? 'active' : 'revoked',
    created_at: row.created_at.toISOString(),
    last_used_at: time(row.last_used_at),
    expires_at: time(row.expires_at),
    revoked_at: time(row.revoked_at),
    budget:
      row.budget_id === null
        ? null
        : {
            per_call_micro: amount(row.per_call_micro),
            daily_micro: amount(row.daily_micro),
            monthly_micro: amount(row.monthly_micro),
            total_micro: amount(row.total_micro),
          },
  }
}
