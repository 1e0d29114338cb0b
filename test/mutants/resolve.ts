import type { Mutant } from './mutant.ts'

const MODEL = 'test/model/model.test.ts'
const BATCHES = 'test/model/batches.test.ts'
const BUDGETS = 'src/ledger/budgets.test.ts'
const EXPIRY = 'src/ledger/expiry.test.ts'
const SETTLEMENTS = 'src/billing/settlements'
const file = '02_ledger_resolve.sql'

/** How holds end: captured, given back, unknown, or above what was held. */
export const resolveMutants: readonly Mutant[] = [
  {
    file,
    text: 'order by 1 on conflict do nothing returning id, hold_id',
    replacement: 'order by 1 returning id, hold_id',
    why: 'an unknown cost that turns out too high is an error, and its call stays open for ever',
    first: SETTLEMENTS,
  },
  {
    file,
    text: 'order by b.expires_at nulls last, b.kind, b.id',
    replacement: 'order by b.expires_at nulls first, b.kind, b.id',
    why: 'what a call cost above its hold is taken from Credits that last before those that expire',
    first: MODEL,
  },
  {
    file,
    text: 'order by b.expires_at nulls last, b.kind, b.id',
    replacement: 'order by b.expires_at nulls last, b.kind desc, b.id',
    why: 'what a call cost above its hold is taken from the kinds of Credits in the wrong order',
    first: MODEL,
  },
  {
    file,
    text: 'b.posted_micro > b.held_micro and (b.expires_at is null or b.expires_at > now())',
    replacement: 'b.posted_micro > b.held_micro',
    why: 'what a call cost above its hold is taken from Credits that have expired',
    first: MODEL,
  },
  {
    file,
    text: 'if account_available_micro(hold.actor_account_id) < missing',
    replacement: 'if account_available_micro(hold.actor_account_id) <= missing',
    why: 'a call that its actor can just pay waits as a shortfall',
    first: MODEL,
  },
  {
    file,
    text: "where room_micro < case when name = 'per_call' then op.actual_micro else missing end) then",
    replacement: "where room_micro <= case when name = 'per_call' then op.actual_micro else missing end) then",
    why: 'a call that costs just what its budget leaves waits as a shortfall',
    first: BUDGETS,
  },
  {
    file,
    text: "where room_micro < case when name = 'per_call' then op.actual_micro else missing end) then",
    replacement: 'where room_micro < missing) then',
    why: 'a call costs more than its key may cost per call',
    first: BUDGETS,
  },
  {
    file,
    text: 'budget_rooms(hold.key_budget_id, hold.created_at)',
    replacement: 'budget_rooms(hold.key_budget_id)',
    why: 'a call that goes on over midnight is measured by the day after it',
    first: BUDGETS,
  },
  {
    file,
    text: 'perform ledger_hold_in_windows(hold.key_budget_id, hold.created_at, missing);',
    replacement: '',
    why: "what a call cost above its hold is missing in its key's budget",
    first: BUDGETS,
  },
  {
    file,
    text: 'perform ledger_hold_in_windows(hold.key_budget_id, hold.created_at, missing);',
    replacement: 'perform ledger_hold_in_windows(hold.key_budget_id, now(), missing);',
    why: 'what a call cost above its hold counts in another day than its end',
    first: BUDGETS,
  },
  {
    file,
    text: '    where op.actual_micro <= (select sum(x.amount_micro) from hold_allocations x',
    replacement: '    where op.actual_micro < (select sum(x.amount_micro) from hold_allocations x',
    why: 'a call that cost all of its hold stays held in its budgets',
    first: BUDGETS,
  },
  {
    file,
    text: `x.hold_id = h.id)
      and not exists (select from hold_resolutions r where r.hold_id = h.id)`,
    replacement: 'x.hold_id = h.id)',
    why: 'a repeated end is counted in budgets again',
    first: MODEL,
  },
  {
    file,
    text: `      and not exists (select from hold_flags f where f.hold_id = h.id and f.flag = 'shortfall' and not exists (select from settlement_authorizations s where s.hold_id = f.hold_id))`,
    replacement: '',
    why: 'a void of a shortfall, which ends nothing, moves the budgets',
    first: SETTLEMENTS,
  },
  {
    file,
    text: 'from split where link_budget_id is not null and payer_account_id <> actor_account_id',
    replacement: 'from split where link_budget_id is not null',
    why: "what an Agent paid itself counts as spent of its owner's",
    first: MODEL,
  },
  {
    file,
    text: 'cross join lateral budget_windows_at(x.created_at) at',
    replacement: 'cross join lateral budget_windows_at(now()) at',
    why: 'the end of a call counts in another day than its hold',
    first: BUDGETS,
  },
  {
    file,
    text: `    if cardinality(together) > 0 and (is_above or`,
    replacement: `    if cardinality(together) > 0 and (false or`,
    why: 'a capture above its hold goes before ends that came earlier',
    first: BATCHES,
  },
  {
    file,
    text: '(any_above or any_repeated) and cardinality(operations) > 1',
    replacement: '(any_above) and cardinality(operations) > 1',
    why: 'of two ends of one hold in one flush another than the first may count',
    first: BATCHES,
  },
  {
    file,
    text: '(any_above or any_repeated) and cardinality(operations) > 1',
    replacement: '(any_repeated) and cardinality(operations) > 1',
    why: 'captures above their holds are decided before ends that came earlier in their flush',
    first: BATCHES,
  },
  {
    file,
    text: `      order by op.id, op.ordinal
      on conflict do nothing
      returning hold_id`,
    replacement: `      order by op.id, op.ordinal
      returning hold_id`,
    why: 'a hold that is marked as unknown twice is an error',
    first: MODEL,
    harmless: 'the lines above leave out what has a flag, one row for each hold, under the lock of the family',
  },
  {
    file,
    text: `      where op.operation = 'unknown'
        and not exists (select from hold_resolutions r where r.hold_id = op.id)`,
    replacement: `      where op.operation = 'unknown'`,
    why: 'a call that has ended is put on the list of unknown costs',
    first: MODEL,
  },
  {
    file,
    text: `where op.operation = 'capture' and op.actual_micro > h.reserve_micro
        and not exists (select from hold_resolutions r where r.hold_id = op.id)`,
    replacement: `where op.operation = 'capture' and op.actual_micro > h.reserve_micro`,
    why: 'a repeated capture above its hold takes the difference again',
    first: MODEL,
  },
  {
    file,
    text: `        and not exists (select from hold_flags f where f.hold_id = op.id and f.flag = 'shortfall')
      order by op.id, op.ordinal
    loop`,
    replacement: `      order by op.id, op.ordinal
    loop`,
    why: 'a repeated shortfall is taken as soon as there are Credits, though only its payers may agree to it',
    first: MODEL,
  },
  {
    file,
    text: 'and op.actual_micro <= (select sum(a.amount_micro) from hold_allocations a where a.hold_id = op.id)',
    replacement: 'and op.actual_micro < (select sum(a.amount_micro) from hold_allocations a where a.hold_id = op.id)',
    why: 'a call that cost all of its hold never ends',
    first: MODEL,
  },
  {
    file,
    text: 'and op.actual_micro <= (select sum(a.amount_micro) from hold_allocations a where a.hold_id = op.id)',
    replacement: '',
    why: 'a call ends with more than what was taken for it',
    first: MODEL,
    harmless:
      'a cost above the hold was supplemented or flagged just before, and the next line leaves out what is flagged',
  },
  {
    file,
    text: `    on conflict do nothing
    returning hold_id, actual_micro`,
    replacement: '    returning hold_id, actual_micro',
    why: 'an end that is sent again is an error',
    first: MODEL,
  },
  {
    file,
    text: 'over (partition by a.hold_id order by a.n) - a.amount_micro)))::bigint as captured\n    from ended',
    replacement:
      'over (partition by a.hold_id order by a.n desc) - a.amount_micro)))::bigint as captured\n    from ended',
    why: "a capture takes the owner's Credits first, and those that last",
    first: MODEL,
  },
  {
    file,
    text: 'set posted_micro = b.posted_micro - s.captured, held_micro = b.held_micro - s.amount',
    replacement: 'set posted_micro = b.posted_micro - s.captured, held_micro = b.held_micro - s.captured',
    why: 'what a call did not use stays held',
    first: MODEL,
  },
  {
    file,
    text: 'where s.captured > 0\n',
    replacement: 'where s.captured >= 0\n',
    why: 'movements of nothing are written',
    first: MODEL,
  },
  {
    file,
    text: 'where low.balance_after_micro < low.below_micro and',
    replacement: 'where low.balance_after_micro <= low.below_micro and',
    why: 'a low balance is told of at the threshold, not below it',
    first: 'src/ledger/thresholds.test.ts',
  },
  {
    file,
    text: 'low.balance_after_micro + low.amount_micro >= low.below_micro',
    replacement: 'low.balance_after_micro + low.amount_micro > low.below_micro',
    why: 'whoever falls below from the threshold itself is never told',
    first: 'src/ledger/thresholds.test.ts',
  },
  {
    file: '04_ledger_apply.sql',
    text: `  if resolutions is not null then
    results := ledger_resolve(resolutions);
  end if;
  if reservations is not null then
    results := coalesce(results, '{}') || ledger_reserve(reservations);
  end if;`,
    replacement: `  if reservations is not null then
    results := ledger_reserve(reservations);
  end if;
  if resolutions is not null then
    results := coalesce(results, '{}') || ledger_resolve(resolutions);
  end if;`,
    why: 'what ends of holds release cannot be held in the same flush',
    first: BATCHES,
  },
  {
    file: '09_ledger_expire.sql',
    text: 'b.expires_at <= now() and b.closed_at is null',
    replacement: 'b.expires_at < now() and b.closed_at is null',
    why: 'Credits are left at the very moment of their expiry, when nobody can spend them',
    first: EXPIRY,
  },
  {
    file: '09_ledger_expire.sql',
    text: 'set posted_micro = b.held_micro, closed_at',
    replacement: 'set posted_micro = 0, closed_at',
    why: 'an expiry takes what a hold keeps',
    first: EXPIRY,
  },
  {
    file: '09_ledger_expire.sql',
    text: 'm.balance_after_micro + m.amount_micro >= low.below_micro',
    replacement: 'm.balance_after_micro + m.amount_micro > low.below_micro',
    why: 'whoever falls below from the threshold itself by an expiry is never told',
    first: 'src/ledger/thresholds.test.ts',
  },
]
