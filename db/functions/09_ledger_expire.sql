-- Moves what the expired buckets of an account still have, and no hold keeps, to the system account `expired`; gives
-- how much. What a hold keeps follows when it is released. Nothing could be spent since the moment itself, so it does
-- not matter when this runs. A repeat moves nothing.
create or replace function ledger_expire(account bigint) returns bigint language plpgsql security definer
set search_path = pg_catalog, public, pg_temp as $$
declare
  swept bigint;
begin
  perform ledger_lock_families(array[account]);
  with due as (
    select b.id, (b.posted_micro - b.held_micro)::bigint as free from buckets b
    where b.account_id = account and b.expires_at <= now() and b.closed_at is null
  ), emptied as (
    update buckets b set posted_micro = b.held_micro, closed_at = case when b.held_micro = 0 then now() end
    from due where b.id = due.id and (due.free > 0 or b.held_micro = 0)
  ), moved as (
    insert into transfers (kind, debit_id, credit_id, amount_micro, account_id, balance_after_micro)
    select 'expiry', due.id, -4, due.free, account, account_posted_micro(account) - sum(due.free) over (order by due.id)
    from due where due.free > 0 order by due.id
    returning balance_after_micro, amount_micro
  ), told as (
    insert into outbox (event, account_id, object_id, payload)
    select 'balance.low', account, account::text, balance_low_payload(account, m.balance_after_micro, low.below_micro)
    from moved m
    cross join (select coalesce((select t.below_micro from balance_thresholds t where t.account_id = account), d.balance_low_micro) as below_micro from ledger_settings d) low
    where m.balance_after_micro < low.below_micro and m.balance_after_micro + m.amount_micro >= low.below_micro
  )
  select coalesce(sum(amount_micro), 0)::bigint into swept from moved;
  return swept;
end $$;
