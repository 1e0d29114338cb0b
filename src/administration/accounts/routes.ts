import { Type } from 'typebox'
import type { Database } from '../../db/database.ts'
import { Closed, CursorQuery, IdParameter, Integer, integer, Micro, Nullable, readCursor } from '../../http/fields.ts'
import { type Route, route } from '../../http/route.ts'
import { Fault } from '../../kernel/errors.ts'
import { microcredits } from '../../kernel/money.ts'
import { administration, byOf, Reason, ReasonBody, Text } from '../schema.ts'
import { revokeAllKeys, revokeKey, signOut } from './access.ts'
import { AccountInFull, AccountInList, fullView, lineView, Status } from './schema.ts'
import { search } from './search/store.ts'
import { readTerm } from './search/term.ts'
import { changeStatus, giveRole, setAlert } from './service.ts'
import { showAccount } from './show.ts'
import { type StatusVerb, statusVerbs } from './status.ts'

/** What the endpoints of accounts need. */
export interface AccountsDeps {
  readonly db: Database
}

const OfAccount = Closed({ id: IdParameter() })

/** Accounts, as an admin sees and changes them. */
export function accountAdministrationRoutes(deps: AccountsDeps): Route[] {
  return [
    searchRoute(deps),
    showRoute(deps),
    ...(Object.keys(statusVerbs) as StatusVerb[]).map((verb) => statusRoute(deps, verb)),
    roleRoute(deps),
    alertRoute(deps),
    ...accessRoutes(deps),
  ]
}

function searchRoute({ db }: AccountsDeps): Route {
  return route({
    ...administration,
    method: 'GET',
    path: '/v1/admin/accounts',
    summary: 'Find accounts, newest first.',
    query: Type.Object({
      ...CursorQuery,
      query: Type.Optional(
        Text({
          maxLength: 254,
          description: 'An id, the beginning of a wallet or e-mail address, or the beginnings of words of a label',
        }),
      ),
      type: Type.Optional(Type.Enum(['owner', 'agent'])),
      status: Type.Optional(Status),
      role: Type.Optional(Type.Enum(['user', 'admin'])),
    }),
    replies: {
      200: Closed({ data: Type.Array(AccountInList), next_cursor: Integer('0 when there are no more') }),
    },
    refuses: [],
    handle: async ({ query }) => {
      const { type, status, role } = query
      const page = readCursor(query)
      const rows = await search(db, { ...page, term: readTerm(query.query ?? ''), type, status, role })
      return { data: rows.map(lineView), next_cursor: rows.length < page.limit ? 0 : integer(rows.at(-1)?.id ?? 0n) }
    },
  })
}

function showRoute({ db }: AccountsDeps): Route {
  return route({
    ...administration,
    method: 'GET',
    path: '/v1/admin/accounts/:id',
    summary: 'Show an account: balance by bucket, Agents, keys without their secrets, holds, latest calls and orders.',
    params: OfAccount,
    replies: { 200: AccountInFull },
    refuses: ['account_not_found'],
    handle: async ({ params, requestId }) => {
      const shown = await showAccount(db, BigInt(params.id))
      if (shown === undefined) throw new Fault('account_not_found')
      return { ...fullView(shown), request_id: requestId }
    },
  })
}

function statusRoute({ db }: AccountsDeps, verb: StatusVerb): Route {
  return route({
    ...administration,
    method: 'POST',
    path: `/v1/admin/accounts/:id/${verb}`,
    summary: `Of an account: ${statusVerbs[verb]}.`,
    params: OfAccount,
    body: ReasonBody,
    replies: {
      200: Closed({
        data: Closed({ account_id: Integer(), status: Status, changed: Type.Boolean() }),
        request_id: Type.String(),
      }),
    },
    refuses: ['account_not_found', 'account_status_conflict', 'own_account'],
    handle: async (call) => {
      const { accountId, status, changed } = await changeStatus(
        db,
        { accountId: BigInt(call.params.id), verb },
        byOf(call),
      )
      return { data: { account_id: integer(accountId), status, changed }, request_id: call.requestId }
    },
  })
}

function roleRoute({ db }: AccountsDeps): Route {
  const Role = Type.Enum(['user', 'admin'])
  return route({
    ...administration,
    method: 'POST',
    path: '/v1/admin/accounts/:id/role',
    summary: 'Make an owner an admin of this server, or an ordinary user again.',
    params: OfAccount,
    body: Closed({ role: Role, reason: Reason }),
    replies: {
      200: Closed({
        data: Closed({ account_id: Integer(), role: Role, changed: Type.Boolean() }),
        request_id: Type.String(),
      }),
    },
    refuses: ['account_not_found', 'account_role_conflict', 'own_account'],
    handle: async (call) => {
      const { id } = call.params
      const { role } = call.body
      const { changed } = await giveRole(db, { accountId: BigInt(id), role }, byOf(call))
      return { data: { account_id: id, role, changed }, request_id: call.requestId }
    },
  })
}

function alertRoute({ db }: AccountsDeps): Route {
  const Below = Nullable(Micro('Microcredits; 0 is never, null the setting for all'))
  return route({
    ...administration,
    method: 'POST',
    path: '/v1/admin/accounts/:id/alert',
    summary: 'Say below which balance an account is told (balance.low).',
    params: OfAccount,
    body: Closed({ below_micro: Below, reason: Reason }),
    replies: {
      200: Closed({
        data: Closed({ account_id: Integer(), below_micro: Below, changed: Type.Boolean() }),
        request_id: Type.String(),
      }),
    },
    refuses: ['account_not_found'],
    handle: async (call) => {
      const { id } = call.params
      const { below_micro } = call.body
      const belowMicro = below_micro === null ? undefined : microcredits(below_micro)
      const { changed } = await setAlert(db, { accountId: BigInt(id), belowMicro }, byOf(call))
      return { data: { account_id: id, below_micro, changed }, request_id: call.requestId }
    },
  })
}

/** What takes credentials away. */
function accessRoutes({ db }: AccountsDeps): Route[] {
  return [
    route({
      ...administration,
      method: 'POST',
      path: '/v1/admin/accounts/:id/api-keys/:key/revoke',
      summary: 'Revoke one key of an account at once; calls that run are finished and billed.',
      params: Closed({ id: IdParameter(), key: IdParameter() }),
      body: ReasonBody,
      replies: {
        200: Closed({ data: Closed({ key_id: Integer(), changed: Type.Boolean() }), request_id: Type.String() }),
      },
      refuses: ['api_key_not_found'],
      handle: async (call) => {
        const { id, key } = call.params
        const { changed } = await revokeKey(db, { accountId: BigInt(id), keyId: BigInt(key) }, byOf(call))
        return { data: { key_id: key, changed }, request_id: call.requestId }
      },
    }),
    route({
      ...administration,
      method: 'POST',
      path: '/v1/admin/accounts/:id/api-keys/revoke-all',
      summary: 'Revoke every key of an account at once. Sessions stay.',
      params: OfAccount,
      body: ReasonBody,
      replies: {
        200: Closed({ data: Closed({ account_id: Integer(), revoked: Integer() }), request_id: Type.String() }),
      },
      refuses: ['account_not_found'],
      handle: async (call) => {
        const { revoked } = await revokeAllKeys(db, BigInt(call.params.id), byOf(call))
        return { data: { account_id: call.params.id, revoked: integer(revoked) }, request_id: call.requestId }
      },
    }),
    route({
      ...administration,
      method: 'POST',
      path: '/v1/admin/accounts/:id/sessions/revoke-all',
      summary: 'End every session of an account, which signs in again then. Keys stay.',
      params: OfAccount,
      body: ReasonBody,
      replies: {
        200: Closed({ data: Closed({ account_id: Integer(), ended: Integer() }), request_id: Type.String() }),
      },
      refuses: ['account_not_found'],
      handle: async (call) => {
        const { ended } = await signOut(db, BigInt(call.params.id), byOf(call))
        return { data: { account_id: call.params.id, ended: integer(ended) }, request_id: call.requestId }
      },
    }),
  ]
}
