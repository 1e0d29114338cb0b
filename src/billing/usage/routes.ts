import { Type } from 'typebox'
import { Closed, Integer, integer, Micro, Nullable, type Of, Time } from '../../http/fields.ts'
import { type Route, route } from '../../http/route.ts'
import { timeRange } from '../calls/time-range.ts'
import { DAYS_MAX, GROUPS_MAX, type UsageDeps, usage } from './service.ts'
import { type Dimension, dimensions, type UsageRow } from './store.ts'

const sums = {
  charged_micro: Micro('What this account paid: equals the captures of its statement over the same range'),
  refunded_micro: Micro('What came back to this account for failed calls: equals the refunds of its statement'),
  owner_charged_micro: Micro("What this account's owner paid for the calls that this account began in the range"),
  calls: Integer('Calls that began in the range, running ones included'),
  errors: Integer('Those of them that failed'),
  input_tokens: Integer(),
  output_tokens: Integer(),
}

const Group = Closed({
  day: Type.Optional(Type.String({ description: 'UTC day, as in 2026-01-31' })),
  model: Type.Optional(Type.String()),
  actor_account_id: Type.Optional(Integer('Who made the calls, when grouped by agent')),
  key_id: Type.Optional(Nullable(Integer('Null: made with an access token'))),
  other: Type.Optional(
    Type.Boolean({ description: `True of one last row: everything beyond the ${GROUPS_MAX} dearest groups` }),
  ),
  ...sums,
})

const Usage = Closed({
  from: Time(),
  to: Time(),
  group_by: Type.Array(Type.String()),
  data: Type.Array(Group),
  totals: Closed(sums),
  request_id: Type.String(),
})

const one = `(${dimensions.join('|')})`

/** What calls used, for people and their charts. */
export function usageRoutes(deps: UsageDeps): Route[] {
  return [
    route({
      method: 'GET',
      path: '/v1/usage',
      summary: 'Credits, calls, errors and tokens by day, model, agent or key.',
      description:
        'Covers the calls that this account made and those that it funded. Charges and refunds count on the day they were made, calls and tokens on the day the call began. Days are UTC.',
      tag: 'Usage',
      access: 'any',
      extension: true,
      query: Type.Object({
        from: Type.Optional(Time('First moment; 30 UTC days ending with `to` when absent')),
        to: Type.Optional(
          Time(`First moment that is not in the range any more; at most ${DAYS_MAX} days after from; now when absent`),
        ),
        group_by: Type.Optional(
          Type.String({
            default: 'day',
            pattern: `^${one}(,${one})?$`,
            description: `One or two of ${dimensions.join(', ')}, separated by a comma`,
          }),
        ),
      }),
      replies: { 200: Usage },
      refuses: [],
      handle: async ({ caller, query, requestId }): Promise<Of<typeof Usage>> => {
        const by = new Set((query.group_by ?? 'day').split(',') as Dimension[])
        const { from, to, groups, totals } = await usage(deps, caller, timeRange(query), by)
        return {
          from: from.toISOString(),
          to: to.toISOString(),
          group_by: [...by],
          data: groups.map((row) => groupView(row, by)),
          totals: sumsView(totals),
          request_id: requestId,
        }
      },
    }),
  ]
}

function groupView(row: UsageRow, by: ReadonlySet<Dimension>): Of<typeof Group> {
  if (row.other) return { other: true, ...sumsView(row) }
  // what is grouped by is there; only a key may be none
  return {
    ...(by.has('day') ? { day: row.day as string } : {}),
    ...(by.has('model') ? { model: row.model as string } : {}),
    ...(by.has('agent') ? { actor_account_id: integer(row.agent as bigint) } : {}),
    ...(by.has('key') ? { key_id: row.key === null ? null : integer(row.key) } : {}),
    ...sumsView(row),
  }
}

function sumsView(row: Omit<UsageRow, Dimension | 'other'>): Record<keyof typeof sums, number> {
  return {
    charged_micro: integer(row.charged_micro),
    refunded_micro: integer(row.refunded_micro),
    owner_charged_micro: integer(row.owner_charged_micro),
    calls: integer(row.calls),
    errors: integer(row.errors),
    input_tokens: integer(row.input_tokens),
    output_tokens: integer(row.output_tokens),
  }
}
