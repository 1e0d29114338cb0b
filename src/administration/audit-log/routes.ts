import { Type } from 'typebox'
import type { Database } from '../../db/database.ts'
import { Closed, CursorQuery, Integer, integer, Nullable, readCursor } from '../../http/fields.ts'
import { type Route, route } from '../../http/route.ts'
import { type Action, actions } from '../../identity/audit-log/actions.ts'
import type { LogRow } from '../../identity/audit-log/chain.ts'
import { listAuditLog, verifyPartOfAuditLog } from '../../identity/audit-log/service.ts'
import { administration, Text } from '../schema.ts'

/** What the endpoints of the audit log need. */
export interface AuditLogDeps {
  readonly db: Database
}

/** Entries that one request checks at most: a few tenths of a second. */
const CHECKED_MAX = 20_000
const ACTIONS = Object.keys(actions) as Action[]

const Entry = Closed({
  id: Integer('Its place in the log: 1, 2, 3 and so on, without gaps'),
  at: Type.String({ description: 'RFC 3339 in UTC, with microseconds' }),
  actor_kind: Type.Enum(['operator', 'account', 'system']),
  actor: Type.String({ description: '`operator:<name>` at a terminal, the id of an account, or a part of the server' }),
  action: Type.String({ description: '`verb.noun`' }),
  target_kind: Type.String(),
  target_id: Type.String(),
  before: Type.Unknown({ description: 'What was changed, as JSON; null where nothing was before' }),
  after: Type.Unknown({ description: 'What it was changed to' }),
  reason: Nullable(Type.String()),
  request_id: Nullable(Type.String()),
  hash: Type.String({ description: 'Over the entry and the hash of the one before it' }),
})

/** Who did what, when and why. */
export function auditLogRoutes({ db }: AuditLogDeps): Route[] {
  return [
    route({
      ...administration,
      method: 'GET',
      path: '/v1/admin/audit-log',
      summary: 'List the audit log, newest first.',
      query: Type.Object({
        ...CursorQuery,
        actor: Type.Optional(
          Text({ maxLength: 200, description: 'Only what this one did: operator:<name>, or account:<id>' }),
        ),
        action: Type.Optional(Type.Enum(ACTIONS, { description: 'Only this' })),
        target: Type.Optional(
          Text({
            maxLength: 200,
            pattern: '^[a-z_]+:[^\\0]+$',
            description: 'Only what was done to this, such as account:7',
          }),
        ),
      }),
      replies: { 200: Closed({ data: Type.Array(Entry), next_cursor: Integer('0 when there are no more') }) },
      refuses: [],
      handle: async ({ query }) => {
        const { limit, beforeId } = readCursor(query)
        const [, targetKind, targetId] = /^([a-z_]+):(.+)$/s.exec(query.target ?? '') ?? []
        const actor = query.actor?.replace(/^(account|system):/, '')
        const rows = await listAuditLog(db, { actor, action: query.action, targetKind, targetId, limit, beforeId })
        return { data: rows.map(view), next_cursor: rows.length < limit ? 0 : integer(rows.at(-1)?.id ?? 0n) }
      },
    }),
    verifyRoute({ db }),
  ]
}

function verifyRoute({ db }: AuditLogDeps): Route {
  return route({
    ...administration,
    method: 'GET',
    path: '/v1/admin/audit-log/verify',
    summary: 'Check entries against the ones before them: whether one was changed, removed, added or moved.',
    description:
      'Checks a part, so that a long log keeps nobody waiting: while `next_after_id` is not 0, ask again with it as `after_id`. The parts together prove what `farebox audit-log verify` does.',
    query: Type.Object({
      after_id: Type.Optional(
        Type.Integer({
          minimum: 0,
          maximum: Number.MAX_SAFE_INTEGER,
          default: 0,
          description: 'next_after_id of the part before; 0 begins with the first entry',
        }),
      ),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: CHECKED_MAX, default: CHECKED_MAX })),
    }),
    replies: {
      200: Closed({
        ok: Type.Boolean({ description: 'Whether every entry of this part is as it was written' }),
        rows: Integer('How many entries were checked'),
        head: Closed({
          id: Integer('The last entry that was checked'),
          hash: Type.String({
            description: 'Noted outside the database, it proves later that nothing up to it was rewritten',
          }),
        }),
        broken: Nullable(Closed({ id: Integer('The first entry that is not right'), problem: Type.String() })),
        next_after_id: Integer('0 when this part reached the end of the log, or something broken'),
        request_id: Type.String(),
      }),
    },
    refuses: [],
    handle: async ({ query: { after_id = 0, limit = CHECKED_MAX }, requestId }) => {
      const { rows, head, broken, whole } = await verifyPartOfAuditLog(db, { after: BigInt(after_id), limit })
      return {
        ok: broken === undefined,
        rows,
        head: { id: integer(head.id), hash: head.hash },
        broken: broken ? { id: integer(broken.id), problem: broken.problem } : null,
        next_after_id: whole || broken ? 0 : integer(head.id),
        request_id: requestId,
      }
    },
  })
}

const view = ({ id, before, after, hash, previous_hash: _, ...row }: LogRow) => ({
  ...row,
  id: integer(id),
  before: before === null ? null : (JSON.parse(before) as unknown),
  after: after === null ? null : (JSON.parse(after) as unknown),
  hash: hash.toString('hex'),
})
