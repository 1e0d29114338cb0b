-- Which part of each bucket a captured hold took, by the same rule by which it was taken.
create or replace function captured_parts(hold bigint, actual bigint)
returns table (bucket_id bigint, payer_account_id bigint, captured_micro bigint) language sql stable as $$
  select p.bucket_id, p.payer_account_id, sum(least(p.amount_micro, actual - p.used_before))::bigint
  from (select a.*, sum(a.amount_micro) over (order by a.n) - a.amount_micro as used_before from hold_allocations a where a.hold_id = hold) p
  where p.used_before < actual group by p.bucket_id, p.payer_account_id
$$;

-- Tells the account that its refund is there, and the owner whose Credits came back by it.
create or replace function ledger_tell_refund(refund bigint) returns void language sql as $$
  insert into outbox (event, account_id, object_id, payload)
  select 'refund.completed', r.account_id, r.id::text, jsonb_strip_nulls(jsonb_build_object(
    'refund_id', r.id, 'call_id', r.call_id, 'account_id', r.account_id, 'amount_micro', r.amount_micro, 'status', 'completed', 'at', now(),
    'owner_account_id', (select max(t.account_id) from transfers t where t.refund_id = r.id and t.account_id <> r.account_id)))
  from refunds r where r.id = refund
$$;

-- Gives back what a call took: to the buckets it came from, and to the windows of budgets it was counted in. A bucket
-- that has expired is credited all the same and lives 7 more days.
create or replace function ledger_return_captured(refund bigint, made holds, actual bigint) returns void language plpgsql as $$
begin
  -- what was left in an expired bucket must not live on with what comes back
  perform ledger_expire(due.account_id) from (
    select distinct b.account_id from captured_parts(made.id, actual) p join buckets b on b.id = p.bucket_id where b.expires_at <= now()
  ) due;
  with part as materialized (
    select * from captured_parts(made.id, actual)
  ), before as materialized (
    select p.payer_account_id, account_posted_micro(p.payer_account_id) as posted from (select distinct payer_account_id from part) p
  ), credited as (
    update buckets b set posted_micro = b.posted_micro + part.captured_micro, closed_at = null,
           expires_at = case when b.expires_at <= now() then now() + interval '7 days' else b.expires_at end
    from part where b.id = part.bucket_id
  )
  insert into transfers (kind, debit_id, credit_id, amount_micro, account_id, balance_after_micro, hold_id, refund_id)
  select 'refund', -3, part.bucket_id, part.captured_micro, part.payer_account_id,
         before.posted + sum(part.captured_micro) over (partition by part.payer_account_id order by part.bucket_id), made.id, refund
  from part join before using (payer_account_id)
  order by part.bucket_id;

  update budget_windows w set spent_micro = w.spent_micro - back.micro
  from (
    select x.budget_id, at.window_kind, at.starts_on, sum(x.micro)::bigint as micro
    from (
      select made.key_budget_id as budget_id, p.captured_micro as micro from captured_parts(made.id, actual) p
      union all
      select made.link_budget_id, p.captured_micro from captured_parts(made.id, actual) p where p.payer_account_id <> made.actor_account_id
    ) x cross join budget_windows_at(made.created_at) at
    group by x.budget_id, at.window_kind, at.starts_on
  ) back
  where w.budget_id = back.budget_id and w.window_kind = back.window_kind and w.starts_on = back.starts_on;
end $$;

-- Refunds a failed call that was charged, once, when the account that made it asks. Without verified allocations the
-- refund waits for an operator. A repeat gives the same refund; any other outcome says why there is none.
create or replace function ledger_refund(call bigint, account bigint, why text)
returns table (outcome text, refund_id bigint) language plpgsql security definer
set search_path = pg_catalog, public, pg_temp as $$
declare
  made holds;
  ended hold_resolutions;
  given bigint;
  verified boolean;
begin
  select * into made from holds h where h.id = call;
  if made.id is null then
    return query select 'call_not_found', null::bigint;
    return;
  elsif made.actor_account_id <> account then
    return query select 'not_original_account', null::bigint;
    return;
  end if;
  -- a refund that is there stays as it is: only who may be the first has to wait
  select r.id into given from refunds r where r.call_id = call;
  if given is not null then
    return query select 'repeated', given;
    return;
  end if;
  perform ledger_lock_families((select array_agg(a.payer_account_id) || account from hold_allocations a where a.hold_id = call));
  select r.id into given from refunds r where r.call_id = call;
  if given is not null then
    return query select 'repeated', given;
    return;
  end if;
  select * into ended from hold_resolutions r where r.hold_id = call;
  if ended.hold_id is null or ended.outcome = 'success' or ended.actual_micro = 0 then
    return query select case
      when ended.outcome = 'success' then 'call_successful'
      when ended.hold_id is not null then 'nothing_charged'
      when exists (select from hold_flags f where f.hold_id = call and f.flag = 'shortfall') then 'pending_settlement'
      when exists (select from hold_flags f where f.hold_id = call) then 'usage_unknown'
      else 'call_running' end, null::bigint;
    return;
  end if;
  verified := not exists (select from holds_without_allocations w where w.hold_id = call)
    and coalesce((select sum(p.captured_micro) from captured_parts(call, ended.actual_micro) p), 0) = ended.actual_micro;
  insert into refunds (call_id, account_id, amount_micro, reason, is_verified)
  values (call, account, ended.actual_micro, why, verified) returning id into given;
  if verified then
    perform ledger_return_captured(given, made, ended.actual_micro);
    perform ledger_tell_refund(given);
  end if;
  return query select 'refunded', given;
end $$;

-- An operator's word on a refund that could not be verified. Approved, the amount goes to the account that made the
-- call, as Credits of kind `refunded`: from where it was paid is not known. A repeat changes nothing.
create or replace function ledger_decide_refund(refund bigint, word refund_decision, actor text, why text)
returns text language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
  asked refunds;
  earlier refund_decision;
  target bigint;
begin
  select * into asked from refunds r where r.id = refund;
  if asked.id is null then return 'refund_not_found'; end if;
  if asked.is_verified then return 'not_in_review'; end if;
  perform ledger_lock_families(array[asked.account_id]);
  select d.decision into earlier from refund_decisions d where d.refund_id = refund;
  if earlier is not null then
    return case when earlier = word then 'repeated' else 'decided_otherwise' end;
  end if;
  insert into refund_decisions (refund_id, decision, decided_by, reason) values (refund, word, actor, why);
  if word = 'approved' then
    insert into buckets (account_id, kind) values (asked.account_id, 'refunded')
    on conflict (account_id, kind) where expires_at is null do update set posted_micro = buckets.posted_micro
    returning id into target;
    update buckets set posted_micro = posted_micro + asked.amount_micro where id = target;
    insert into transfers (kind, debit_id, credit_id, amount_micro, account_id, balance_after_micro, hold_id, refund_id)
    values ('refund', -3, target, asked.amount_micro, asked.account_id, account_posted_micro(asked.account_id), asked.call_id, refund);
    perform ledger_tell_refund(refund);
  end if;
  return word::text;
end $$;
