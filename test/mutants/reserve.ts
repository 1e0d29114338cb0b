import type { Mutant } from './mutant.ts'

const MODEL = 'test/model/model.test.ts'
const BATCHES = 'test/model/batches.test.ts'
const BUDGETS = 'src/ledger/budgets.test.ts'
const EXPIRY = 'src/ledger/expiry.test.ts'
const file = '03_ledger_reserve.sql'

/** What is available, what budgets leave, and how a hold is set aside. */
export const reserveMutants: readonly Mutant[] = [
  {
    file: '01_ledger_lock.sql',
    text: 'where account_id = account and (expires_at is null or expires_at > now())',
    replacement: 'where account_id = account and (expires_at is null or expires_at >= now())',
    why: 'Credits count at the very moment of their expiry, when the sweep takes them',
    first: EXPIRY,
  },
  {
    file: '01_ledger_lock.sql',
    text: 'select coalesce(sum(posted_micro - held_micro), 0)::bigint from buckets',
    replacement: 'select coalesce(sum(posted_micro), 0)::bigint from buckets',
    why: 'what open holds keep is spent again',
    first: MODEL,
  },
  {
    file: '01_ledger_lock.sql',
    text: 'greatest(limits.micro - coalesce(b.spent_micro, 0) - coalesce(b.held_micro, 0), 0)',
    replacement: 'greatest(limits.micro - coalesce(b.spent_micro, 0), 0)',
    why: 'what open holds keep of a budget is granted again',
    first: BUDGETS,
  },
  {
    file: '01_ledger_lock.sql',
    text: "when 'daily' then g.daily_micro when 'monthly' then g.monthly_micro",
    replacement: "when 'daily' then g.monthly_micro when 'monthly' then g.daily_micro",
    why: 'the limit of a day binds a month',
    first: BUDGETS,
  },
  {
    file: '01_ledger_lock.sql',
    text: "values ('daily'::budget_window, (moment at time zone 'UTC')::date)",
    replacement: "values ('daily'::budget_window, (moment at time zone 'UTC' + interval '1 hour')::date)",
    why: 'a day of a budget begins an hour before midnight in UTC',
    first: BUDGETS,
  },
  {
    file: '01_ledger_lock.sql',
    text: "date_trunc('month', moment at time zone 'UTC')::date",
    replacement: "date_trunc('month', moment at time zone 'UTC' + interval '1 hour')::date",
    why: 'a month of a budget begins an hour before midnight in UTC',
    first: BUDGETS,
  },
  {
    file: '01_ledger_lock.sql',
    text: '  order by 5\n',
    replacement: '  order by 5 desc\n',
    why: 'the widest limit of a budget binds',
    first: BUDGETS,
  },
  {
    file: '01_ledger_lock.sql',
    text: "  if linked.billing_mode = 'owner_only' then",
    replacement: '  if false then',
    why: "an Agent is told that it may spend its own Credits where only its owner's count",
    first: BUDGETS,
  },
  {
    file: '01_ledger_lock.sql',
    text: "or linked.funding_paused or linked.status <> 'active' then",
    replacement: 'then',
    why: 'an Agent is told that it may spend what its owner paused',
    first: BUDGETS,
  },
  {
    file,
    text: 'if granted < op.minimum_micro then',
    replacement: 'if granted <= op.minimum_micro then',
    why: 'the last Credit cannot be spent',
    first: BUDGETS,
  },
  {
    file,
    text: 'if granted < op.minimum_micro then',
    replacement: 'if granted < 1 then',
    why: 'less is held than the caller takes',
    first: BUDGETS,
  },
  {
    file,
    text: 'if key_bound.room_micro < op.minimum_micro then',
    replacement: 'if key_bound.room_micro <= op.minimum_micro then',
    why: 'a refusal blames a budget that leaves enough',
    first: BUDGETS,
  },
  {
    file,
    text: 'elsif own + owners >= op.minimum_micro then',
    replacement: 'elsif own + owners > op.minimum_micro then',
    why: 'a refusal asks for Credits where a budget binds',
    first: BUDGETS,
  },
  {
    file,
    text: 'owner_left := least(owners, coalesce(link_bound.room_micro, owners));',
    replacement: 'owner_left := owners;',
    why: "an owner's limit is not kept",
    first: BUDGETS,
  },
  {
    file,
    text: 'granted := least(op.wanted_micro, funds, coalesce(key_bound.room_micro, op.wanted_micro));',
    replacement: 'granted := least(op.wanted_micro, funds);',
    why: "a key's limit is not kept",
    first: BUDGETS,
  },
  {
    file,
    text: 'order by b.account_id <> op.actor_account_id, b.expires_at nulls last, b.kind, b.id',
    replacement: 'order by b.account_id = op.actor_account_id, b.expires_at nulls last, b.kind, b.id',
    why: "an owner's Credits go before the Agent's own",
    first: MODEL,
  },
  {
    file,
    text: 'order by b.account_id <> op.actor_account_id, b.expires_at nulls last, b.kind, b.id',
    replacement: 'order by b.account_id <> op.actor_account_id, b.expires_at nulls first, b.kind, b.id',
    why: 'Credits that last go before those that expire',
    first: MODEL,
  },
  {
    file,
    text: 'order by b.account_id <> op.actor_account_id, b.expires_at nulls last, b.kind, b.id',
    replacement: 'order by b.account_id <> op.actor_account_id, b.expires_at nulls last, b.id',
    why: 'kinds of Credits are used in the order in which they came',
    first: MODEL,
  },
  {
    file,
    text: `and b.posted_micro > b.held_micro and (b.expires_at is null or b.expires_at > now())
    order by b.account_id <>`,
    replacement: `and b.posted_micro > b.held_micro
    order by b.account_id <>`,
    why: 'a hold is set aside from Credits that have expired',
    first: MODEL,
  },
  {
    file,
    text: '(c.link_budget_id, greatest(granted - own, 0))',
    replacement: '(c.link_budget_id, granted)',
    why: "an Agent's own Credits use up the limit of what its owner pays",
    first: MODEL,
  },
  {
    file,
    text: `x.held > 0
    on conflict (budget_id, window_kind, starts_on) do update set held_micro = budget_windows.held_micro + excluded.held_micro;`,
    replacement: 'x.held > 0;',
    why: 'the second call of a budget is an error',
    first: BUDGETS,
  },
  {
    file,
    text: `x.held > 0
    on conflict (budget_id, window_kind, starts_on) do update set held_micro = budget_windows.held_micro + excluded.held_micro;`,
    replacement: `x.held > 0
    on conflict (budget_id, window_kind, starts_on) do nothing;`,
    why: 'only the first call of a budget counts in it',
    first: BUDGETS,
  },
  {
    file,
    text: 'over (partition by b.account_id order by b.expires_at nulls last, b.kind, b.id)::bigint',
    replacement: 'over (partition by b.account_id order by b.expires_at nulls first, b.kind, b.id)::bigint',
    why: 'in a large flush Credits that last go before those that expire',
    first: BATCHES,
  },
  {
    file,
    text: `where b.posted_micro > b.held_micro and (b.expires_at is null or b.expires_at > now())
  ), allocated`,
    replacement: `where b.posted_micro > b.held_micro
  ), allocated`,
    why: 'a large flush sets holds aside from Credits that have expired',
    first: BATCHES,
  },
  {
    file,
    text: 'where least(b.upto, c.upto) > greatest(b.upto - b.available, c.upto - c.wanted_micro)',
    replacement: 'where least(b.upto, c.upto) >= greatest(b.upto - b.available, c.upto - c.wanted_micro)',
    why: 'a large flush writes allocations of nothing',
    first: 'src/ledger/flush.test.ts',
  },
  {
    file,
    text: 'group by c.family_id, f.account_id, f.micro having sum(c.wanted) > f.micro',
    replacement: 'group by c.family_id, f.account_id, f.micro having max(c.wanted) > f.micro',
    why: 'a large flush grants together what fits one by one',
    first: 'src/ledger/flush.test.ts',
  },
  {
    file,
    text: 'x.largest else x.wanted end > room.room_micro',
    replacement: 'x.largest else x.largest end > room.room_micro',
    why: 'a large flush goes over a budget together',
    first: 'src/ledger/flush.test.ts',
  },
  {
    file,
    text: '(not w.own_pays or own.micro = 0)',
    replacement: 'true',
    why: "in a large flush the owner pays what the Agent's own Credits should",
    first: 'src/ledger/flush.test.ts',
  },
  {
    file,
    text: `group by x.budget_id, at.window_kind, at.starts_on
    on conflict (budget_id, window_kind, starts_on) do update set held_micro = budget_windows.held_micro + excluded.held_micro`,
    replacement: 'group by x.budget_id, at.window_kind, at.starts_on',
    why: 'the second large flush of a budget is an error',
    first: BATCHES,
  },
  {
    file,
    text: 'where link_budget_id is not null and payer_account_id <> actor_account_id) x',
    replacement: 'where link_budget_id is not null) x',
    why: "in a large flush an Agent's own Credits use up the limit of what its owner pays",
    first: BATCHES,
  },
  {
    file,
    text: "when a.status = 'banned' then 'account_banned'",
    replacement: '',
    why: 'a banned account goes on spending',
    first: MODEL,
  },
  {
    file,
    text: '(k.id is null or k.revoked_at is not null or k.expires_at <= now())',
    replacement: '(k.id is null or k.expires_at <= now())',
    why: 'a revoked key goes on spending',
    first: MODEL,
  },
  {
    file,
    text: '(k.id is null or k.revoked_at is not null or k.expires_at <= now())',
    replacement: '(k.id is null or k.revoked_at is not null or k.expires_at < now())',
    why: 'a key spends at the very moment of its expiry',
    first: 'src/ledger/flush.test.ts',
  },
  {
    file,
    text: "not l.funding_paused and o.status = 'active' then o.id end",
    replacement: "o.status = 'active' then o.id end",
    why: 'the kill switch of an owner stops nothing',
    first: MODEL,
  },
  {
    file,
    text: "and op.process_id is not null then 'process_ended'",
    replacement: "and false then 'process_ended'",
    why: 'a hold is made for a server that counts as dead, and nobody ends it',
    first: 'src/ledger/processes.test.ts',
  },
  {
    file,
    text: 'and repeated.wanted_micro = op.wanted_micro and repeated.minimum_micro',
    replacement: 'and repeated.minimum_micro',
    why: 'another wish under the id of a hold is answered as that hold',
    first: MODEL,
    harmless: 'it is compared again where the answer is made',
  },
  {
    file,
    text: 'and known.wanted_micro = (candidate.op).wanted_micro and known.minimum_micro',
    replacement: 'and known.minimum_micro',
    why: 'in one flush another wish under the id of the first is answered as the first',
    first: 'src/ledger/flush.test.ts',
  },
]
