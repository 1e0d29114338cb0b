import { type Static, Type } from 'typebox'
import type { Database } from '../../db/database.ts'
import {
  Closed,
  CursorQuery,
  IdParameter,
  Integer,
  integer,
  Micro,
  Nullable,
  readCursor,
  Time,
} from '../../http/fields.ts'
import { type Route, route } from '../../http/route.ts'
import { operatorName } from '../../identity/audit-log/service.ts'
import type { Clock } from '../../kernel/clock.ts'
import { Fault } from '../../kernel/errors.ts'
import { microcredits } from '../../kernel/money.ts'
import { administration, byOf, futureTime, Reason } from '../schema.ts'
import { GIVEN_BUCKETS, type Gift, giveCredits, isSame } from './service.ts'
import * as store from './store.ts'

/** What the endpoints of grants need. */
export interface GrantsDeps {
  readonly db: Database
  readonly clock: Clock
}

const grant = {
  id: Integer('Grant id'),
  account_id: Integer(),
  amount_micro: Micro(),
  bucket: Type.Enum(['promo', 'bonus', 'refunded', 'purchased']),
  expires_at: Nullable(Time('null is never')),
  reason: Type.String(),
  granted_by: Type.String({ description: '`operator:<name>`, `account:<id>` of an admin, or the way of payment' }),
  created_at: Time(),
}

/** What an account was given, and giving it more. */
export function grantRoutes(deps: GrantsDeps): Route[] {
  return [
    giveRoute(deps),
    route({
      ...administration,
      method: 'GET',
      path: '/v1/admin/accounts/:id/grants',
      summary: 'List what an account was given, by payments and by operators, newest first.',
      params: Closed({ id: IdParameter() }),
      query: Type.Object(CursorQuery),
      replies: {
        200: Closed({
          data: Type.Array(
            Closed({
              ...grant,
              source: Type.Enum(['order', 'x402', 'axon', 'promo', 'operator']),
              source_id: Type.String({ description: 'The order, payment or key, once for each source' }),
            }),
          ),
          next_cursor: Integer('0 when there are no more'),
        }),
      },
      refuses: [],
      handle: async ({ params, query }) => {
        const { beforeId, limit } = readCursor(query)
        const rows = await store.list(deps.db, { accountId: BigInt(params.id), beforeId, limit })
        return {
          data: rows.map((row) => ({ ...grantView(row), source: row.source, source_id: row.source_id })),
          next_cursor: rows.length < limit ? 0 : integer(rows.at(-1)?.id ?? 0n),
        }
      },
    }),
  ]
}

const GrantBody = Closed({
  amount_micro: Type.Integer({
    minimum: 1,
    maximum: Number.MAX_SAFE_INTEGER,
    description: 'Microcredits: 1 Credit = 1000000',
  }),
  bucket: Type.Enum([...GIVEN_BUCKETS]),
  expires_at: Type.Optional(Nullable(Time('In the future; null is never'))),
  reason: Reason,
})

function giveRoute({ db, clock }: GrantsDeps): Route {
  return route({
    ...administration,
    method: 'POST',
    path: '/v1/admin/accounts/:id/grants',
    summary: 'Give Credits to an account, once for each Idempotency-Key of this admin.',
    description:
      'A repeat with the same key and body is answered with the grant of the first, for good; with another body it is refused with `idempotency_conflict`. Nothing is given twice.',
    requestHeaders: { 'Idempotency-Key': 'Required: 1 to 128 printable ASCII characters, a fresh one for each grant' },
    params: Closed({ id: IdParameter() }),
    body: GrantBody,
    replies: {
      200: Closed({
        data: Closed({ ...grant, repeated: Type.Boolean({ description: 'True when nothing was given now' }) }),
        request_id: Type.String(),
      }),
    },
    refuses: [
      'account_not_found',
      'balance_limit',
      'idempotency_conflict',
      'idempotency_key_required',
      'invalid_idempotency_key',
    ],
    handle: async (call) => {
      const by = byOf(call)
      const id = `${operatorName(by.operator)}:${keyOf(call.request.headers['idempotency-key'])}`
      const repeats = (await store.find(db, id)) !== undefined
      const gift = { id, accountId: BigInt(call.params.id), ...wantedOf(call.body, repeats ? undefined : clock) }
      const { grant: given, repeated } = await giveCredits(db, gift, by)
      const alike = given.expires_at?.getTime() === gift.expiresAt?.getTime() && given.reason === by.reason
      if (!(alike && isSame(given, gift))) throw new Fault('idempotency_conflict')
      if (repeated) call.reply.header('idempotent-replayed', 'true')
      return { data: { ...grantView(given), repeated }, request_id: call.requestId }
    },
  })
}

function keyOf(header: string | string[] | undefined): string {
  if (header === undefined) throw new Fault('idempotency_key_required')
  const key = String(header)
  if (!/^[\x20-\x7e]{1,128}$/.test(key)) throw new Fault('invalid_idempotency_key')
  return key
}

/** Without a clock, a time that has passed is taken: what a repeat names was ahead when it was first asked for. */
function wantedOf(
  { amount_micro, bucket, expires_at }: Static<typeof GrantBody>,
  clock: Clock | undefined,
): Pick<Gift, 'amountMicro' | 'bucket' | 'expiresAt'> {
  const passed = expires_at ? new Date(expires_at) : undefined
  return {
    amountMicro: microcredits(amount_micro),
    bucket,
    expiresAt: clock ? futureTime(expires_at, clock) : passed,
  }
}

function grantView(row: store.GrantRow) {
  return {
    id: integer(row.id),
    account_id: integer(row.account_id),
    amount_micro: integer(row.amount_micro),
    bucket: row.bucket,
    expires_at: row.expires_at?.toISOString() ?? null,
    reason: row.reason,
    granted_by: row.granted_by,
    created_at: row.created_at.toISOString(),
  }
}
