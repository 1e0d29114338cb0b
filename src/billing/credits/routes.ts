import { Readable } from 'node:stream'
import { Type } from 'typebox'
import { Closed, CursorQuery, Integer, integer, Micro, Nullable, type Of, readCursor, Time } from '../../http/fields.ts'
import { type Route, route } from '../../http/route.ts'
import { timeRange } from '../calls/time-range.ts'
import { HEADER, line } from './csv.ts'
import {
  type Amounts,
  balance,
  type CreditDeps,
  type Span,
  type Statement,
  statementPage,
  statementSpan,
} from './service.ts'
import type { MovementRow } from './store.ts'

/** Rows that a CSV download reads, and so holds in memory, at once. */
const CSV_PAGE = 1000

const amounts = {
  balance_micro: Micro('Owned, in microcredits: 1 Credit = 1000000'),
  available_micro: Micro('What the next call may take'),
  held_micro: Micro('Set aside for open calls'),
}

const Budget = Closed({
  scope: Type.Enum(['key', 'link'], {
    description: "Whose limit binds: the API key's, or the one that the owner set for this Agent",
  }),
  limit: Type.Enum(['per_call', 'daily', 'monthly', 'total']),
  limit_micro: Micro(),
  spent_micro: Micro(),
  held_micro: Micro(),
  remaining_micro: Micro(),
  resets_at: Nullable(Time('End of the UTC day or month; null when the limit does not reset')),
})

const Balance = Closed({
  account_id: Integer(),
  ...amounts,
  balance_micro_usdc: Micro('The same number as available_micro, for existing clients'),
  buckets: Type.Array(
    Closed({
      kind: Type.Enum(['promo', 'bonus', 'refunded', 'purchased', 'owner'], {
        description: 'In the order of use. `owner` is what the owner lets this account spend',
      }),
      available_micro: Micro(),
      held_micro: Micro(),
      expires_at: Nullable(Time()),
    }),
  ),
  budget: Nullable(Budget),
  self_account: Type.Optional(Closed({ account_id: Integer(), ...amounts })),
  request_id: Type.String(),
})

const Movement = Closed({
  id: Integer(),
  kind: Type.Enum(['grant', 'capture', 'refund', 'expiry', 'reversal']),
  amount_micro: Integer('Microcredits, negative when they left the account'),
  bucket: Type.Enum(['promo', 'bonus', 'refunded', 'purchased']),
  balance_after_micro: Micro('What the account owned right after'),
  created_at: Time(),
  call_id: Nullable(Integer('The call that was charged: GET /v1/calls/{id}')),
  model: Nullable(Type.String({ description: 'What was called' })),
  actor_account_id: Nullable(Integer('Who made the call: this account, or an Agent that it pays for')),
  key_id: Nullable(Integer('The API key of the call; null for an access token')),
  refund_id: Nullable(Integer('Of a failed call that was charged: GET /v1/refunds')),
  grant: Nullable(
    Closed({
      source: Type.String(),
      source_id: Type.String({ description: 'The order, payment or other reason, once for each source' }),
    }),
  ),
})

const StatementPage = Closed({
  opening_micro: Micro('What the account owned before the oldest movement of this page'),
  closing_micro: Micro('What it owned after the newest: opening and movements make closing'),
  data: Type.Array(Movement),
  next_cursor: Integer('before_id of the next older page; 0 at the end'),
  request_id: Type.String(),
})

/** What a caller owns and may spend, and every movement that made it so. */
export function creditRoutes(deps: CreditDeps): Route[] {
  return [
    route({
      method: 'GET',
      path: '/v1/credits/balance',
      summary: 'Credits that this credential can spend, and the limit that binds.',
      description:
        "For an Agent with an owner this is its own Credits and what its owner lets it spend. The largest hold that would be granted now is available_micro, or what the key's budget leaves where that is less.",
      tag: 'Credits',
      access: 'any',
      extension: true,
      replies: { 200: Balance },
      refuses: [],
      handle: async ({ caller, requestId }): Promise<Of<typeof Balance>> => {
        const { buckets, budget, own, ...total } = await balance(deps, caller)
        const accountId = integer(caller.accountId)
        return {
          account_id: accountId,
          ...amountsView(total),
          balance_micro_usdc: integer(total.available_micro),
          buckets: buckets.map((bucket) => ({
            kind: bucket.kind,
            available_micro: integer(bucket.available_micro),
            held_micro: integer(bucket.held_micro),
            expires_at: utc(bucket.expires_at),
          })),
          budget: budget
            ? {
                scope: budget.scope,
                limit: budget.limit,
                limit_micro: budget.limit_micro,
                spent_micro: budget.spent_micro,
                held_micro: budget.held_micro,
                remaining_micro: budget.room_micro,
                resets_at: utc(budget.resets_at),
              }
            : null,
          ...(own ? { self_account: { account_id: accountId, ...amountsView(own) } } : {}),
          request_id: requestId,
        }
      },
    }),
    statementRoute(deps),
  ]
}

function statementRoute(deps: CreditDeps): Route {
  return route({
    method: 'GET',
    path: '/v1/credits/ledger',
    summary: 'The statement of this account: every movement, newest first.',
    description:
      'Opening and movements make closing, on each page and over a whole range. `Accept: text/csv` gives the whole range as one file. Movements are in the order in which they were written; near `from` and `to` those of the same moment stay together. A range that ended a minute ago never changes any more. Captures and refunds of a range, added up by actor_account_id, key_id or model, are charged_micro and refunded_micro of GET /v1/usage.',
    tag: 'Credits',
    access: 'any',
    extension: true,
    query: Type.Object({
      ...CursorQuery,
      from: Type.Optional(Time('First moment')),
      to: Type.Optional(Time('First moment that is not in the range any more')),
    }),
    replies: { 200: StatementPage },
    refuses: [],
    handle: async ({ caller, query, requestId, request, reply }) => {
      const span = await statementSpan(deps, caller, timeRange(query))
      reply.header('vary', 'Accept')
      if (/\btext\/csv\b/i.test(request.headers.accept ?? '')) {
        const page = (beforeId: bigint) => statementPage(deps, caller, { ...span, beforeId }, CSV_PAGE)
        // the first page is read before anything is sent, so that a failure is still a documented refusal
        const file = Readable.from(csv(await page(span.beforeId), page), { objectMode: false })
        return reply
          .header('content-type', 'text/csv; charset=utf-8')
          .header('content-disposition', 'attachment; filename="statement.csv"')
          .send(file)
      }
      const { limit, beforeId = 0n } = readCursor(query)
      const statement = await statementPage(deps, caller, before(span, beforeId), limit)
      return {
        opening_micro: integer(statement.opening_micro),
        closing_micro: integer(statement.closing_micro),
        data: statement.movements.map(movementView),
        next_cursor: integer(statement.next),
        request_id: requestId,
      }
    },
  })
}

/** The whole range, a page at a time: the next is read when the client has taken this one. */
async function* csv(first: Statement, pageBefore: (id: bigint) => Promise<Statement>): AsyncGenerator<string> {
  yield line(HEADER)
  for (let page = first; ; page = await pageBefore(page.next)) {
    yield page.movements.map((row) => line(cells(row))).join('')
    if (page.next === 0n) return
  }
}

function cells(row: MovementRow): Array<string | bigint | null> {
  return [
    row.id,
    row.moved_at.toISOString(),
    row.kind,
    row.amount_micro,
    row.bucket,
    row.balance_after_micro,
    row.call_id,
    row.model,
    row.actor_account_id,
    row.key_id,
    row.refund_id,
    row.grant_source,
    row.grant_source_id,
  ]
}

function movementView(row: MovementRow): Of<typeof Movement> {
  return {
    id: integer(row.id),
    kind: row.kind,
    amount_micro: integer(row.amount_micro),
    bucket: row.bucket,
    balance_after_micro: integer(row.balance_after_micro),
    created_at: row.moved_at.toISOString(),
    call_id: row.call_id === null ? null : integer(row.call_id),
    model: row.model,
    actor_account_id: row.actor_account_id === null ? null : integer(row.actor_account_id),
    key_id: row.key_id === null ? null : integer(row.key_id),
    refund_id: row.refund_id === null ? null : integer(row.refund_id),
    grant: row.grant_source === null ? null : { source: row.grant_source, source_id: row.grant_source_id ?? '' },
  }
}

function before(span: Span, cursor: bigint): Span {
  return cursor > 0n && cursor < span.beforeId ? { ...span, beforeId: cursor } : span
}

function amountsView(of: Amounts): { balance_micro: number; available_micro: number; held_micro: number } {
  return {
    balance_micro: integer(of.balance_micro),
    available_micro: integer(of.available_micro),
    held_micro: integer(of.held_micro),
  }
}

function utc(time: string | null): string | null {
  return time === null ? null : new Date(time).toISOString()
}
