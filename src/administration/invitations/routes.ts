import { Type } from 'typebox'
import type { Database } from '../../db/database.ts'
import { Closed, CursorQuery, IdParameter, Integer, integer, Nullable, readCursor, Time } from '../../http/fields.ts'
import { type Route, route } from '../../http/route.ts'
import { createInvitation, revokeInvitation } from '../../identity/invitations/service.ts'
import { type InvitationRow, list } from '../../identity/invitations/store.ts'
import type { Clock } from '../../kernel/clock.ts'
import { Fault } from '../../kernel/errors.ts'
import type { Random } from '../../kernel/random.ts'
import { administration, byOf, futureTime, operatorOf, ReasonBody, Text } from '../schema.ts'
import { invitationState, USES_MAX } from './state.ts'

/** What the endpoints of invitations need. */
export interface InvitationsDeps {
  readonly db: Database
  readonly clock: Clock
  readonly random: Random
}

const Invitation = Closed({
  id: Integer('Invitation id'),
  state: Type.Enum(['open', 'used_up', 'expired', 'revoked']),
  note: Type.String({ description: 'For whom it is; nothing is checked against it' }),
  max_uses: Integer('How many accounts it admits'),
  uses: Integer('How many registered with it'),
  created_by: Type.String(),
  created_at: Time(),
  expires_at: Nullable(Time('null is never')),
  revoked_at: Nullable(Time()),
})

/** Codes that admit new owners. */
export function invitationAdministrationRoutes(deps: InvitationsDeps): Route[] {
  return [
    route({
      ...administration,
      method: 'GET',
      path: '/v1/admin/invitations',
      summary: 'List the invitations, newest first. Their codes are nowhere.',
      query: Type.Object(CursorQuery),
      replies: {
        200: Closed({ data: Type.Array(Invitation), next_cursor: Integer('0 when there are no more') }),
      },
      refuses: [],
      handle: async ({ query }) => {
        const { limit, beforeId } = readCursor(query)
        const rows = await list(deps.db, limit, beforeId)
        return { data: rows.map(view), next_cursor: rows.length < limit ? 0 : integer(rows.at(-1)?.id ?? 0n) }
      },
    }),
    createRoute(deps),
    route({
      ...administration,
      method: 'POST',
      path: '/v1/admin/invitations/:id/revoke',
      summary: 'End an invitation now; who registered with it stays.',
      params: Closed({ id: IdParameter() }),
      body: ReasonBody,
      replies: {
        200: Closed({
          data: Closed({ invitation_id: Integer(), changed: Type.Boolean() }),
          request_id: Type.String(),
        }),
      },
      refuses: ['invitation_not_found'],
      handle: async (call) => {
        const changed = await revokeInvitation(deps.db, BigInt(call.params.id), byOf(call))
        if (changed === undefined) throw new Fault('invitation_not_found')
        return { data: { invitation_id: call.params.id, changed }, request_id: call.requestId }
      },
    }),
  ]
}

function createRoute({ db, clock, random }: InvitationsDeps): Route {
  return route({
    ...administration,
    method: 'POST',
    path: '/v1/admin/invitations',
    summary: 'Make an invitation. Its code is in this answer and nowhere else, ever.',
    body: Closed({
      max_uses: Type.Optional(
        Type.Integer({ minimum: 1, maximum: USES_MAX, default: 1, description: 'How many accounts it admits' }),
      ),
      expires_at: Type.Optional(Nullable(Time('In the future; null is never'))),
      note: Type.Optional(Text({ maxLength: 254, description: 'For whom it is; anybody can use it' })),
    }),
    replies: {
      200: Closed({
        data: Closed({
          id: Integer(),
          max_uses: Integer(),
          expires_at: Nullable(Time()),
          code: Type.String({ description: 'Pass it on now: it is shown this once and stored nowhere' }),
        }),
        request_id: Type.String(),
      }),
    },
    refuses: [],
    handle: async (call) => {
      const { max_uses: maxUses = 1, note = '', expires_at } = call.body
      const expiresAt = futureTime(expires_at, clock)
      const by = { operator: operatorOf(call), requestId: call.requestId }
      const { id, code } = await createInvitation({ db, random }, { maxUses, expiresAt, note: note.trim() }, by)
      call.reply.header('cache-control', 'no-store')
      return {
        data: { id: integer(id), max_uses: maxUses, expires_at: expiresAt?.toISOString() ?? null, code },
        request_id: call.requestId,
      }
    },
  })
}

const view = (row: InvitationRow) => ({
  id: integer(row.id),
  state: invitationState(row),
  note: row.note,
  max_uses: row.max_uses,
  uses: row.uses,
  created_by: row.created_by,
  created_at: row.created_at.toISOString(),
  expires_at: row.expires_at?.toISOString() ?? null,
  revoked_at: row.revoked_at?.toISOString() ?? null,
})
