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

-- Puts holds that became exceptional on the lists of whoever they concern, and tells them. Called once for each flag.
create or replace function ledger_open_settlements(hold_ids bigint[]) returns void language sql as $$
  with opened as (
    insert into settlements (hold_id) select unnest(hold_ids) order by 1 on conflict do nothing returning id, hold_id
  ), concerned as (
    select h.id as hold_id, h.actor_account_id as account_id from holds h where h.id = any (hold_ids)
    union
    select a.hold_id, a.payer_account_id from hold_allocations a where a.hold_id = any (hold_ids)
  ), listed as (
    insert into settlement_parties (account_id, settlement_id) select c.account_id, o.id from opened o join concerned c on c.hold_id = o.hold_id
  )
  insert into outbox (event, account_id, object_id, payload)
  select 'settlement.pending', c.account_id, h.request_id, jsonb_build_object(
    'request_id', h.request_id, 'call_id', h.id, 'actor_account_id', h.actor_account_id,
    'billing_state', case when f.hold_id is null then 'usage_unknown' else 'pending_settlement' end,
    'reserve_amount_micro', h.reserve_micro, 'actual_amount_micro', f.actual_micro, 'shortfall_micro', f.actual_micro - h.reserve_micro, 'at', now())
  from concerned c join holds h on h.id = c.hold_id left join hold_flags f on f.hold_id = h.id and f.flag = 'shortfall'
  order by h.id, c.account_id
$$;

-- Sets more of a payer's Credits aside for a hold, in the order of use. Whoever calls has seen that there are enough.
create or replace function ledger_supplement(hold bigint, payer bigint, amount bigint) returns void language plpgsql as $$
declare
  remaining bigint := amount;
  n_next smallint;
  part record;
begin
  select max(n) + 1 into n_next from hold_allocations where hold_id = hold;
  for part in
    select b.id, (b.posted_micro - b.held_micro)::bigint as available
    from buckets b
    where b.account_id = payer and b.posted_micro > b.held_micro and (b.expires_at is null or b.expires_at > now())
    order by b.expires_at nulls last, b.kind, b.id
  loop
    exit when remaining = 0;
    part.available := least(part.available, remaining);
    insert into hold_allocations (hold_id, n, bucket_id, payer_account_id, amount_micro, supplemental)
    values (hold, n_next, part.id, payer, part.available, true);
    update buckets set held_micro = held_micro + part.available where id = part.id;
    remaining := remaining - part.available;
    n_next := n_next + 1;
  end loop;
  if remaining <> 0 then
    raise exception 'hold % lacks % of its supplement', hold, remaining using errcode = 'data_corrupted';
  end if;
end $$;

-- Counts a supplement as held in the windows of the hold's own moment, whenever it comes: its end will be counted there.
create or replace function ledger_hold_in_windows(budget bigint, moment timestamptz, amount bigint) returns void language sql as $$
  update budget_windows w set held_micro = w.held_micro + amount
  from budget_windows_at(moment) at
  where w.budget_id = budget and w.window_kind = at.window_kind and w.starts_on = at.starts_on
$$;

-- A capture above its hold: the actor's own account pays the rest if it can and its key's budget allows;
-- otherwise nothing moves and the item waits as a shortfall. An owner never pays more than it held unasked.
create or replace function ledger_capture_above(op ledger_resolution) returns void language plpgsql as $$
declare
  hold holds;
  missing bigint;
begin
  select * into strict hold from holds where id = op.id;
  missing := op.actual_micro - hold.reserve_micro;
  if account_available_micro(hold.actor_account_id) < missing
     -- the windows that the hold was counted in, though the day may have changed; per call the whole cost counts
     or exists (select from budget_rooms(hold.key_budget_id, hold.created_at)
                where room_micro < case when name = 'per_call' then op.actual_micro else missing end) then
    insert into hold_flags (hold_id, flag, actual_micro, outcome, usage, detail)
    values (op.id, 'shortfall', op.actual_micro, op.outcome, op.usage, format('cost %s, held %s', op.actual_micro, hold.reserve_micro));
    perform ledger_open_settlements(array[op.id]);
    return;
  end if;
  perform ledger_supplement(op.id, hold.actor_account_id, missing);
  perform ledger_hold_in_windows(hold.key_budget_id, hold.created_at, missing);
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
      and not exists (select from hold_flags f where f.hold_id = h.id and f.flag = 'shortfall' and not exists (select from settlement_authorizations s where s.hold_id = f.hold_id))
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
  marked bigint[];
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
    with flagged as (
      insert into hold_flags (hold_id, flag, detail, evidence)
      select distinct on (op.id) op.id, 'usage_unknown'::hold_flag, op.reason, op.usage
      from unnest(operations) op join holds h on h.id = op.id
      where op.operation = 'unknown'
        and not exists (select from hold_resolutions r where r.hold_id = op.id)
        and not exists (select from hold_flags f where f.hold_id = op.id)
      order by op.id, op.ordinal
      on conflict do nothing
      returning hold_id
    )
    select array_agg(hold_id) into marked from flagged;
    if marked is not null then
      perform ledger_open_settlements(marked);
    end if;
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
      and not exists (select from hold_flags f where f.hold_id = op.id and f.flag = 'shortfall' and not exists (select from settlement_authorizations s where s.hold_id = f.hold_id))
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
  ), moved as (
    insert into transfers (kind, debit_id, credit_id, amount_micro, account_id, balance_after_micro, hold_id)
    select 'capture', s.bucket_id, -3, s.captured, s.payer_account_id,
           before.posted - sum(s.captured) over (partition by s.payer_account_id order by s.hold_id, s.n), s.hold_id
    from split s
    join (select b.account_id, sum(b.posted_micro)::bigint as posted
          from (select distinct payer_account_id from split) p join buckets b on b.account_id = p.payer_account_id group by b.account_id) before
      on before.account_id = s.payer_account_id
    where s.captured > 0
    order by s.hold_id, s.n
    returning account_id, balance_after_micro, amount_micro
  )
  insert into outbox (event, account_id, object_id, payload)
  select 'balance.low', low.account_id, low.account_id::text, balance_low_payload(low.account_id, low.balance_after_micro, low.below_micro)
  from (
    -- balances run, so the movement that crosses the threshold is one of them, and the only one
    select m.account_id, m.balance_after_micro, m.amount_micro, coalesce(t.below_micro, d.balance_low_micro) as below_micro
    from moved m cross join ledger_settings d left join balance_thresholds t on t.account_id = m.account_id
  ) low
  where low.balance_after_micro < low.below_micro and low.balance_after_micro + low.amount_micro >= low.below_micro;

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
