-- The ends of holds: capture, void, unknown. All of one flush together; see ledger_apply for the order.

-- Drops first: a type cannot be replaced, and nothing stores it.
drop function if exists ledger_apply(json);
drop function if exists ledger_reserve_one;
drop function if exists ledger_reserve;
drop function if exists ledger_resolve;
drop function if exists ledger_resolve_in_order;
drop function if exists ledger_move_budgets;
drop function if exists ledger_capture_above;
drop function if exists ledger_reserve_fitting;
drop type if exists ledger_candidate;
drop type if exists ledger_reservation;
drop type if exists ledger_resolution;
drop type if exists ledger_result;

create type ledger_resolution as (
  ordinal int, id bigint, operation text, actual_micro bigint, outcome call_outcome, usage json, reason text, resolved_by text
);
create type ledger_result as (ordinal int, actor_account_id bigint, status text, amount_micro bigint, detail json);

-- A capture above its hold: the actor's own account pays the rest if it can and its key's budget allows;
-- otherwise nothing moves and the item waits as a shortfall. An owner never pays more than it held unasked.
create or replace function ledger_capture_above(op ledger_resolution) returns void language plpgsql as $$
declare
  hold holds;
  missing bigint;
  part record;
  n_next smallint;
begin
  select * into strict hold from holds where id = op.id;
  missing := op.actual_micro - hold.reserve_micro;
  if account_available_micro(hold.actor_account_id) < missing
     or exists (select from budget_rooms(hold.key_budget_id) where name <> 'per_call' and room_micro < missing) then
    insert into hold_flags (hold_id, flag, actual_micro, outcome, usage, detail)
    values (op.id, 'shortfall', op.actual_micro, op.outcome, op.usage, format('cost %s, held %s', op.actual_micro, hold.reserve_micro))
    on conflict do nothing;
    insert into settlements (hold_id) values (op.id) on conflict do nothing;
    return;
  end if;
  select max(n) + 1 into n_next from hold_allocations where hold_id = op.id;
  for part in
    select b.id, least(b.posted_micro - b.held_micro, missing - (sum(b.posted_micro - b.held_micro) over consumption - (b.posted_micro - b.held_micro))) as amount
    from buckets b
    where b.account_id = hold.actor_account_id and (b.expires_at is null or b.expires_at > now()) and b.posted_micro > b.held_micro
    window consumption as (order by b.expires_at nulls last, b.kind, b.id)
  loop
    exit when part.amount <= 0;
    insert into hold_allocations (hold_id, n, bucket_id, payer_account_id, amount_micro, supplemental)
    values (op.id, n_next, part.id, hold.actor_account_id, part.amount, true);
    update buckets set held_micro = held_micro + part.amount where id = part.id;
    n_next := n_next + 1;
  end loop;
  update budget_windows w set held_micro = w.held_micro + missing
  from budget_windows_at(hold.created_at) at
  where w.budget_id = hold.key_budget_id and w.window_kind = at.window_kind and w.starts_on = at.starts_on;
end $$;

-- Moves what the ends of these holds release and spend in their budgets' windows. Runs before the ends are
-- written, so a hold that has ended already is told by its row and moved no second time.
create or replace function ledger_move_budgets(operations ledger_resolution[]) returns void language sql as $$
  with asked as (
    select distinct on (op.id) op.id, op.actual_micro from unnest(operations) op where op.operation in ('capture', 'void') order by op.id, op.ordinal
  ), split as (
    select h.id, h.actor_account_id, h.key_budget_id, h.link_budget_id, h.created_at, a.payer_account_id, a.amount_micro,
           greatest(0, least(a.amount_micro, op.actual_micro - (sum(a.amount_micro) over (partition by a.hold_id order by a.n) - a.amount_micro)))::bigint as captured
    from asked op join holds h on h.id = op.id join hold_allocations a on a.hold_id = h.id
    where op.actual_micro <= (select sum(x.amount_micro) from hold_allocations x where x.hold_id = h.id)
      and not exists (select from hold_resolutions r where r.hold_id = h.id)
      and not exists (select from hold_flags f where f.hold_id = h.id and f.flag = 'shortfall')
  )
  update budget_windows w set held_micro = w.held_micro - s.held, spent_micro = w.spent_micro + s.spent
  from (
    select x.budget_id, at.window_kind, at.starts_on, sum(x.amount_micro)::bigint as held, sum(x.captured)::bigint as spent
    from (
      select key_budget_id as budget_id, created_at, amount_micro, captured from split where key_budget_id is not null
      union all
      select link_budget_id, created_at, amount_micro, captured from split where link_budget_id is not null and payer_account_id <> actor_account_id
    ) x cross join lateral budget_windows_at(x.created_at) at
    group by x.budget_id, at.window_kind, at.starts_on
  ) s
  where w.budget_id = s.budget_id and w.window_kind = s.window_kind and w.starts_on = s.starts_on
$$;

-- Ends of which the order decides: a capture above its hold takes what earlier ends released and leaves less for
-- later ones, and of two ends of one hold the first counts. Split there, the rest still goes together.
create or replace function ledger_resolve_in_order(operations ledger_resolution[]) returns ledger_result[] language plpgsql as $$
declare
  op ledger_resolution;
  together ledger_resolution[] := '{}';
  results ledger_result[] := '{}';
  is_above boolean;
begin
  foreach op in array operations loop
    is_above := exists (select from holds h where h.id = op.id and op.actual_micro > h.reserve_micro);
    if cardinality(together) > 0 and (is_above or exists (select from unnest(together) earlier where earlier.id = op.id)) then
      results := results || ledger_resolve(together);
      together := '{}';
    end if;
    if is_above then
      results := results || ledger_resolve(array[op]);
    else
      together := together || op;
    end if;
  end loop;
  if cardinality(together) > 0 then
    results := results || ledger_resolve(together);
  end if;
  return results;
end $$;

create or replace function ledger_resolve(operations ledger_resolution[]) returns ledger_result[] language plpgsql as $$
declare
  above ledger_resolution;
  results ledger_result[];
  any_unknown boolean;
  any_above boolean;
  any_budget boolean;
  any_repeated boolean;
begin
  -- most flushes have none of these: what is not there is not asked for
  select bool_or(op.operation = 'unknown'), bool_or(op.actual_micro > h.reserve_micro), bool_or(coalesce(h.key_budget_id, h.link_budget_id) is not null),
         count(distinct op.id) < count(*)
  into any_unknown, any_above, any_budget, any_repeated
  from unnest(operations) op join holds h on h.id = op.id;

  if (any_above or any_repeated) and cardinality(operations) > 1 then
    return ledger_resolve_in_order(operations);
  end if;

  if any_unknown then
    insert into hold_flags (hold_id, flag, detail)
    select distinct on (op.id) op.id, 'usage_unknown'::hold_flag, op.reason
    from unnest(operations) op join holds h on h.id = op.id
    where op.operation = 'unknown'
      and not exists (select from hold_resolutions r where r.hold_id = op.id)
      and not exists (select from hold_flags f where f.hold_id = op.id)
    on conflict do nothing;
    insert into settlements (hold_id)
    select distinct op.id from unnest(operations) op join hold_flags f on f.hold_id = op.id and f.flag = 'usage_unknown'
    where op.operation = 'unknown' on conflict do nothing;
  end if;

  if any_above then
    for above in
      select distinct on (op.id) op.*
      from unnest(operations) op join holds h on h.id = op.id
      where op.operation = 'capture' and op.actual_micro > h.reserve_micro
        and not exists (select from hold_resolutions r where r.hold_id = op.id)
        and not exists (select from hold_flags f where f.hold_id = op.id and f.flag = 'shortfall')
      order by op.id, op.ordinal
    loop
      perform ledger_capture_above(above);
    end loop;
  end if;

  if any_budget then
    perform ledger_move_budgets(operations);
  end if;

  with asked as (
    select distinct on (op.id) op.* from unnest(operations) op where op.operation in ('capture', 'void') order by op.id, op.ordinal
  ), ended as (
    insert into hold_resolutions (hold_id, kind, outcome, actual_micro, usage, resolved_by, reason)
    select op.id, case op.operation when 'capture' then 'captured' else 'voided' end::resolution_kind,
           op.outcome, op.actual_micro, op.usage, op.resolved_by, op.reason
    from asked op
    where exists (select from holds h where h.id = op.id)
      and op.actual_micro <= (select sum(a.amount_micro) from hold_allocations a where a.hold_id = op.id)
      and not exists (select from hold_flags f where f.hold_id = op.id and f.flag = 'shortfall')
    on conflict do nothing
    returning hold_id, actual_micro
  ), split as (
    -- allocations are consumed in order; what is not used of the last ones goes back
    select e.hold_id, a.n, a.bucket_id, a.payer_account_id, a.amount_micro,
           greatest(0, least(a.amount_micro, e.actual_micro - (sum(a.amount_micro) over (partition by a.hold_id order by a.n) - a.amount_micro)))::bigint as captured
    from ended e join hold_allocations a on a.hold_id = e.hold_id
  ), buckets_moved as (
    update buckets b set posted_micro = b.posted_micro - s.captured, held_micro = b.held_micro - s.amount
    from (select bucket_id, sum(amount_micro)::bigint as amount, sum(captured)::bigint as captured from split group by bucket_id) s
    where b.id = s.bucket_id
  )
  insert into transfers (kind, debit_id, credit_id, amount_micro, account_id, balance_after_micro, hold_id)
  select 'capture', s.bucket_id, -3, s.captured, s.payer_account_id,
         before.posted - sum(s.captured) over (partition by s.payer_account_id order by s.hold_id, s.n), s.hold_id
  from split s
  join (select b.account_id, sum(b.posted_micro)::bigint as posted
        from (select distinct payer_account_id from split) p join buckets b on b.account_id = p.payer_account_id group by b.account_id) before
    on before.account_id = s.payer_account_id
  where s.captured > 0
  order by s.hold_id, s.n;

  select array_agg((op.ordinal, h.actor_account_id,
    case
      when h.id is null then 'hold_not_found'
      when r.hold_id is not null then
        case when op.operation = 'capture' and r.kind = 'captured' and r.actual_micro = op.actual_micro then 'captured'
             when op.operation = 'void' and r.kind = 'voided' then 'voided'
             else 'already_resolved' end
      when shortfall.hold_id is not null then
        case when op.operation = 'capture' and shortfall.actual_micro = op.actual_micro then 'shortfall' else 'already_resolved' end
      else 'usage_unknown'
    end,
    coalesce(r.actual_micro, shortfall.actual_micro)::bigint, null)::ledger_result) into results
  from unnest(operations) op
  left join holds h on h.id = op.id
  left join hold_resolutions r on r.hold_id = op.id
  left join hold_flags shortfall on shortfall.hold_id = op.id and shortfall.flag = 'shortfall';
  return results;
end $$;
