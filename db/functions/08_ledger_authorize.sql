-- What each account that paid a hold would pay of `missing` more: in proportion to what it holds, in whole
-- microcredits that make the sum. The balances of now have no say in it: who cannot pay its part cannot lend it.
create or replace function settlement_parts(hold bigint, missing bigint)
returns table (n smallint, payer_account_id bigint, reserved_micro bigint, part_micro bigint) language sql stable as $$
  select p.n, p.payer, p.reserved, (div(missing::numeric * p.upto, p.total) - div(missing::numeric * (p.upto - p.reserved), p.total))::bigint
  from (
    select min(a.n) as n, a.payer_account_id as payer, sum(a.amount_micro)::bigint as reserved,
           sum(sum(a.amount_micro)) over (order by min(a.n)) as upto, sum(sum(a.amount_micro)) over () as total
    from hold_allocations a where a.hold_id = hold and not a.supplemental group by a.payer_account_id
  ) p
$$;

-- Settles a call that cost more than its hold: each account that paid the hold pays its part of the rest, all of them
-- at once or none. The limits of budgets do not refuse it, since it is what their owner agrees to; it counts in them.
-- `insufficient` names the first payer that cannot; `settled` is a repeat, or an end that came otherwise.
create or replace function ledger_authorize(hold bigint, authorizing_account bigint)
returns table (outcome text, payer_account_id bigint, required_micro bigint, available_micro bigint)
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
  made holds;
  short hold_flags;
  part record;
begin
  select * into made from holds h where h.id = hold;
  -- what is settled stays so: a repeat has nothing to wait for
  if exists (select from hold_resolutions r where r.hold_id = hold) then
    return query select 'settled', null::bigint, null::bigint, null::bigint;
    return;
  end if;
  perform ledger_lock_families((select array_agg(a.payer_account_id) || made.actor_account_id from hold_allocations a where a.hold_id = hold));
  if exists (select from hold_resolutions r where r.hold_id = hold) then
    return query select 'settled', null::bigint, null::bigint, null::bigint;
    return;
  end if;
  select * into short from hold_flags f where f.hold_id = hold and f.flag = 'shortfall';
  if short.hold_id is null then
    return query select case when exists (select from hold_flags f where f.hold_id = hold) then 'usage_unknown' else 'running' end,
                        null::bigint, null::bigint, null::bigint;
    return;
  end if;
  for part in select * from settlement_parts(hold, short.actual_micro - made.reserve_micro) p order by p.n loop
    if account_available_micro(part.payer_account_id) < part.part_micro then
      return query select 'insufficient', part.payer_account_id::bigint, part.part_micro::bigint, account_available_micro(part.payer_account_id);
      return;
    end if;
  end loop;

  for part in select * from settlement_parts(hold, short.actual_micro - made.reserve_micro) p order by p.n loop
    insert into settlement_authorizations (hold_id, payer_account_id, amount_micro, authorized_by)
    values (hold, part.payer_account_id, part.part_micro, authorizing_account);
    if part.part_micro > 0 then
      perform ledger_supplement(hold, part.payer_account_id, part.part_micro);
      if part.payer_account_id <> made.actor_account_id then
        perform ledger_hold_in_windows(made.link_budget_id, made.created_at, part.part_micro);
      end if;
    end if;
  end loop;
  perform ledger_hold_in_windows(made.key_budget_id, made.created_at, short.actual_micro - made.reserve_micro);
  -- the end itself is the one of every call; the authorization above has lifted what kept it back
  perform ledger_resolve(array[(1, hold, 'capture', short.actual_micro, short.outcome, short.usage, 'authorized', 'account:' || authorizing_account)::ledger_resolution]);
  if not exists (select from hold_resolutions r where r.hold_id = hold and r.actual_micro = short.actual_micro) then
    raise exception 'hold % was authorized and not settled', hold using errcode = 'data_corrupted';
  end if;
  return query select 'authorized', null::bigint, null::bigint, null::bigint;
end $$;
