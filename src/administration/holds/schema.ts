import { Type } from 'typebox'
import { Closed, Integer, integer, Micro, Nullable, type Of, Time } from '../../http/fields.ts'
import { stateOf } from './service.ts'
import type { AllocationRow, HoldRow } from './store.ts'

const hold = {
  id: Integer('The call id'),
  request_id: Type.String(),
  state: Type.Enum(['running', 'usage_unknown', 'shortfall', 'captured', 'voided'], {
    description:
      '`usage_unknown` waits for an operator, `shortfall` for its payers; `captured` was charged, `voided` was not',
  }),
  account_id: Integer('Who made the call'),
  category: Type.String(),
  subject: Type.String({ description: 'The model, or what else was bought' }),
  reserve_micro: Micro('What was held before the call'),
  actual_micro: Nullable(Micro('What it cost, where that is known')),
  created_at: Time(),
  age_seconds: Integer(),
  process: Nullable(Type.String({ description: 'The server that made the hold: host and process id' })),
  why: Nullable(Type.String({ description: 'Why it waits' })),
}

/** A hold in a list. */
export const Hold = Closed(hold)

/** A hold with what there is to decide by. */
export const HoldDetail = Closed({
  ...hold,
  can_resolve: Type.Boolean({ description: 'Its cost is unknown, so an operator ends it' }),
  evidence: Type.Record(Type.String(), Type.String(), {
    description: "What the provider's own record of the call is found by",
  }),
  allocations: Type.Array(
    Closed({ payer_account_id: Integer('Whose Credits'), bucket: Type.String(), amount_micro: Micro() }),
    { description: 'Who pays which part of the hold, in the order of use' },
  ),
  resolved: Nullable(
    Closed({
      charged_micro: Micro(),
      outcome: Type.String(),
      by: Nullable(Type.String({ description: 'The operator; null where the call ended by itself' })),
      reason: Nullable(Type.String()),
      at: Time(),
    }),
  ),
})

/** A hold as a list shows it. */
export const holdView = (row: HoldRow): Of<typeof Hold> => ({
  id: integer(row.id),
  request_id: row.request_id,
  state: stateOf(row),
  account_id: integer(row.actor_account_id),
  category: row.category,
  subject: row.subject,
  reserve_micro: integer(row.reserve_micro),
  actual_micro: row.actual_micro === null ? null : integer(row.actual_micro),
  created_at: row.created_at.toISOString(),
  age_seconds: Math.floor(row.age_seconds),
  process: row.process,
  why: row.flag_detail,
})

/** A hold with everything. */
export const holdDetailView = (row: HoldRow, parts: readonly AllocationRow[]): Of<typeof HoldDetail> => ({
  ...holdView(row),
  can_resolve: stateOf(row) === 'usage_unknown',
  evidence: Object.fromEntries(Object.entries(row.evidence ?? {}).map(([name, value]) => [name, String(value)])),
  allocations: parts.map((part) => ({
    payer_account_id: integer(part.payer_account_id),
    bucket: part.kind,
    amount_micro: integer(part.amount_micro),
  })),
  resolved:
    row.resolved_at === null
      ? null
      : {
          charged_micro: integer(row.resolved_micro ?? 0n),
          outcome: row.resolved_outcome ?? '',
          by: row.resolved_by,
          reason: row.resolved_reason,
          at: row.resolved_at.toISOString(),
        },
})
