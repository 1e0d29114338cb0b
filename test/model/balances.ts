import { ACCOUNTS } from './commands.ts'
import type { World } from './world.ts'

/** All that money can be seen by, as text: buckets, budgets, events, items; and, dearer to read, holds. */
export interface Balances {
  readonly buckets: string[]
  readonly budgets: string[]
  readonly told: string[]
  readonly settlements: number
  readonly holds?: string[]
}

/** The balances that the model has. */
export function modelBalances({ model }: World, withHolds: boolean): Balances {
  return {
    buckets: model.buckets.map((b) => `${b.account} ${b.kind} posted ${b.posted} held ${b.held}`),
    budgets: [...model.budgets.values()].flatMap((b) =>
      b.spent + b.held === 0n
        ? []
        : ['daily', 'monthly', 'total'].map((window) => `${b.id} ${window} spent ${b.spent} held ${b.held}`),
    ),
    told: [...model.told].map(([what, times]) => `${what}: ${times}`).sort(),
    settlements: model.settlements,
    ...(withHolds ? { holds: modelHolds(model) } : {}),
  }
}

function modelHolds(model: World['model']): string[] {
  return [...model.holds]
    .sort(([a], [b]) => Number(a - b))
    .map(([id, h]) => {
      const parts = h.parts.map((p) => `${model.buckets.indexOf(p.bucket)}:${p.amount}`).join(' ')
      return `${id} ${h.reserve} ${h.state} ${h.actual} ${h.refunded ? 'refunded ' : ''}parts ${parts}`
    })
}

const names = `(array['${ACCOUNTS.join("','")}'])`
const SEEN = `
  'buckets', (select coalesce(json_agg(format('%s %s posted %s held %s', ${names}[account_id], kind, posted_micro, held_micro) order by id), '[]') from buckets),
  'budgets', (select coalesce(json_agg(format('%s %s spent %s held %s', budget_id, window_kind, spent_micro, held_micro) order by budget_id, window_kind), '[]') from budget_windows where spent_micro + held_micro > 0),
  'told', (select coalesce(json_agg(what order by what collate "C"), '[]') from (select format('%s %s: %s', event, ${names}[account_id], count(*)) as what from outbox group by event, account_id) t),
  'settlements', (select count(*) from settlements)`

/** The same of the database, as queries that give one JSON value. */
export const BALANCES = `select json_build_object(${SEEN})`
export const BALANCES_AND_HOLDS = `
  with numbered as (select *, row_number() over (order by id) - 1 as position from buckets)
  select json_build_object(${SEEN},
    'holds', (select coalesce(json_agg(format('%s %s %s %s %sparts %s', h.id, h.reserve_micro, coalesce(r.kind::text, 'open'), coalesce(r.actual_micro, 0), case when f.id is not null then 'refunded ' end,
        (select string_agg(format('%s:%s', n.position, a.amount_micro), ' ' order by a.n) from hold_allocations a join numbered n on n.id = a.bucket_id where a.hold_id = h.id)) order by h.id), '[]')
      from holds h left join hold_resolutions r on r.hold_id = h.id left join refunds f on f.call_id = h.id))`
