-- Locks the families of these accounts, in order of id, and refuses when a link changed while it waited:
-- the caller sends the same work again. Everything a ledger function reads after this is stable.
create or replace function ledger_lock_families(account_ids bigint[]) returns void language plpgsql as $$
declare
  family_ids bigint[];
begin
  select array_agg(distinct family_id) into family_ids from accounts where id = any (account_ids);
  perform 1 from (select id from families where id = any (family_ids) order by id for no key update) locked;
  if exists (select from accounts where id = any (account_ids) and family_id <> all (family_ids)) then
    raise exception 'a link changed while its family was being locked' using errcode = 'serialization_failure';
  end if;
end $$;

-- The windows of budgets that a moment falls into.
create or replace function budget_windows_at(moment timestamptz)
returns table (window_kind budget_window, starts_on date) language sql immutable as $$
  values ('daily'::budget_window, (moment at time zone 'UTC')::date),
         ('monthly'::budget_window, date_trunc('month', moment at time zone 'UTC')::date),
         ('total'::budget_window, date '1970-01-01')
$$;

-- What a budget lets through in the windows of a moment, window by window, tightest first. A null room is no limit.
drop function if exists budget_rooms(bigint);
create or replace function budget_rooms(budget bigint, moment timestamptz default now())
returns table (name text, limit_micro bigint, spent_micro bigint, held_micro bigint, room_micro bigint)
language sql stable as $$
  select w.window_kind::text, limits.micro, coalesce(b.spent_micro, 0)::bigint, coalesce(b.held_micro, 0)::bigint,
         greatest(limits.micro - coalesce(b.spent_micro, 0) - coalesce(b.held_micro, 0), 0)
  from budgets g
  cross join budget_windows_at(moment) w
  cross join lateral (select case w.window_kind when 'daily' then g.daily_micro when 'monthly' then g.monthly_micro else g.total_micro end::bigint as micro) limits
  left join budget_windows b on b.budget_id = g.id and b.window_kind = w.window_kind and b.starts_on = w.starts_on
  where g.id = budget and limits.micro is not null
  union all
  select 'per_call', g.per_call_micro, 0, 0, g.per_call_micro from budgets g where g.id = budget and g.per_call_micro is not null
  order by 5
$$;

-- What an account owns, and what of it no open hold may take and no expiry has ended.
create or replace function account_posted_micro(account bigint) returns bigint language sql stable as $$
  select coalesce(sum(posted_micro), 0)::bigint from buckets where account_id = account
$$;
create or replace function account_available_micro(account bigint) returns bigint language sql stable as $$
  select coalesce(sum(posted_micro - held_micro), 0)::bigint from buckets
  where account_id = account and (expires_at is null or expires_at > now())
$$;

-- What an account may spend: its own, where the link lets it, and of its owner's only what the link's budget
-- leaves. Never more of the owner's than that: an Agent must not learn what its owner has.
create or replace function account_spendable_micro(account bigint) returns bigint language plpgsql stable as $$
declare
  linked record;
  own bigint := account_available_micro(account);
begin
  select l.billing_mode, l.funding_paused, l.budget_id, l.owner_account_id, o.status into linked
  from agent_links l join accounts o on o.id = l.owner_account_id where l.agent_account_id = account;
  if not found then
    return own;
  end if;
  if linked.billing_mode = 'owner_only' then
    own := 0;
  end if;
  if linked.billing_mode = 'self_only' or linked.funding_paused or linked.status <> 'active' then
    return own;
  end if;
  return own + least(account_available_micro(linked.owner_account_id),
                     coalesce((select min(room_micro) from budget_rooms(linked.budget_id)), 9000000000000000));
end $$;

-- What an event of a low balance tells.
create or replace function balance_low_payload(account bigint, balance bigint, below bigint) returns jsonb language sql stable as $$
  select jsonb_build_object('account_id', account, 'balance_micro', balance, 'threshold_micro', below, 'at', now())
$$;
