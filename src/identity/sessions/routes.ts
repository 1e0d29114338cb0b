import { Type } from 'typebox'
import { Closed, CursorQuery, Empty, IdParameter, Integer, integer, readCursor, Time } from '../../http/fields.ts'
import { type Route, route } from '../../http/route.ts'
import { cookieRefreshToken, forgetRefreshToken, keepRefreshToken, wantsCookie } from '../../http/session-cookie.ts'
import { Fault } from '../../kernel/errors.ts'
import { SignedIn, signedIn } from '../sign-in.ts'
import { endSessions, logout, refresh, type SessionDeps } from './service.ts'
import * as store from './store.ts'

const Done = Closed({ ok: Type.Literal(true), request_id: Type.String() })

const Session = Closed({
  id: Integer('Session id'),
  device: Type.String({ description: 'The User-Agent of the sign-in' }),
  created_at: Time(),
  last_used_at: Time('To the minute, roughly'),
  expires_at: Time('Its end, however often its tokens are exchanged'),
  current: Type.Boolean({ description: 'The session of this request' }),
})

/** What the endpoints of sessions need from outside. */
export interface SessionRoutesDeps extends SessionDeps {
  readonly publicUrl: () => string
}

/** Endpoints of sessions (spec 3.6, 4.3). */
export function sessionRoutes(deps: SessionRoutesDeps): Route[] {
  return [...tokenRoutes(deps), ...ownRoutes(deps)]
}

/** For whoever holds a refresh token. */
function tokenRoutes(deps: SessionRoutesDeps): Route[] {
  return [
    route({
      method: 'POST',
      path: '/v1/auth/refresh',
      summary: 'Exchange a refresh token, once, for new tokens.',
      tag: 'Sign-in',
      access: 'public',
      limit: 'auth',
      body: Closed({
        refresh_token: Type.Optional(Type.String({ description: 'Left out only by pages whose browser keeps it' })),
      }),
      replies: { 200: SignedIn },
      refuses: ['invalid_refresh_token', 'refresh_token_reused', 'account_banned', 'account_deactivated'],
      handle: async ({ body, requestId, request, reply }) => {
        reply.header('cache-control', 'no-store')
        if (body.refresh_token === undefined && !wantsCookie(request))
          throw new Fault('missing_field', {
            message: 'The field refresh_token is required.',
            fields: { field: 'refresh_token' },
          })
        const presented = body.refresh_token ?? cookieRefreshToken(request) ?? ''
        const renewed = { ...(await refresh(deps, presented)), apiKey: undefined, requestId }
        const keeping = { request, reply, publicUrl: deps.publicUrl() }
        return signedIn(deps.db, renewed, (token) => keepRefreshToken(keeping, token))
      },
    }),
    route({
      method: 'POST',
      path: '/v1/auth/logout',
      summary: 'End the session of a refresh token, even of one that was exchanged before. API keys stay.',
      tag: 'Sign-in',
      access: 'public',
      limit: 'auth',
      // optional, because the spec answers a missing token with 401 and not with 400
      body: Closed({ refresh_token: Type.Optional(Type.String()) }),
      replies: { 200: Done },
      refuses: ['invalid_refresh_token'],
      handle: async ({ body, requestId, request, reply }) => {
        await logout(deps, body.refresh_token ?? cookieRefreshToken(request) ?? '')
        if (wantsCookie(request)) forgetRefreshToken(reply, deps.publicUrl())
        return { ok: true, request_id: requestId }
      },
    }),
  ]
}

/** For whoever is signed in. */
function ownRoutes(deps: SessionDeps): Route[] {
  return [
    route({
      method: 'POST',
      path: '/v1/me/sessions/revoke-all',
      summary: 'End every session of the account, this one included. API keys stay.',
      tag: 'Sign-in',
      access: 'session',
      body: Empty,
      replies: { 200: Done },
      refuses: [],
      handle: async ({ caller, requestId }) => {
        await endSessions(deps.db, { accountId: caller.accountId, requestId })
        return { ok: true, request_id: requestId }
      },
    }),
    listRoute(deps),
    route({
      method: 'DELETE',
      path: '/v1/me/sessions/:id',
      summary: 'End one session of the account.',
      tag: 'Sign-in',
      access: 'session',
      extension: true,
      params: Closed({ id: IdParameter() }),
      replies: { 200: Done },
      refuses: ['session_not_found'],
      handle: async ({ caller, params, requestId }) => {
        const which = { accountId: caller.accountId, id: BigInt(params.id), requestId }
        if ((await endSessions(deps.db, which)) === 0n) throw new Fault('session_not_found')
        return { ok: true, request_id: requestId }
      },
    }),
  ]
}

function listRoute(deps: SessionDeps): Route {
  return route({
    method: 'GET',
    path: '/v1/me/sessions',
    summary: 'List the sessions of the account that may still be used, newest first.',
    tag: 'Sign-in',
    access: 'session',
    extension: true,
    query: Type.Object({
      ...CursorQuery,
    }),
    replies: {
      200: Closed({ data: Type.Array(Session), next_cursor: Integer('0 when there are no more') }),
    },
    refuses: [],
    handle: async ({ caller, query }) => {
      const { limit, beforeId } = readCursor(query)
      const rows = await store.listAlive(deps.db, { accountId: caller.accountId, beforeId, limit })
      return {
        data: rows.map((row) => ({
          id: integer(row.id),
          device: row.device,
          created_at: row.created_at.toISOString(),
          last_used_at: row.last_used_at.toISOString(),
          expires_at: row.expires_at.toISOString(),
          current: row.id === caller.credential.id,
        })),
        next_cursor: rows.length < limit ? 0 : integer(rows.at(-1)?.id ?? 0n),
      }
    },
  })
}
