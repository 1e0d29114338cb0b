-- Gives Credits once for each (source, source_id). A repeat changes nothing and gives the first grant's id.
-- Composes with the caller's transaction, so an order and its Credits become true together.
create or replace function ledger_grant(
  grant_source grant_source, grant_source_id text, account bigint, bucket bucket_kind, amount bigint,
  expiry timestamptz, grant_reason text, actor text
) returns table (grant_id bigint, repeated boolean) language plpgsql security definer
set search_path = pg_catalog, public, pg_temp as $$
declare
  target bigint;
  given bigint;
begin
  perform ledger_lock_families(array[account]);
  select g.id into given from credit_grants g where g.source = grant_source and g.source_id = grant_source_id;
  if found then
    return query select given, true;
    return;
  end if;
  if expiry is null then
    select id into target from buckets b where b.account_id = account and b.kind = bucket and b.expires_at is null;
  end if;
  if target is null then
    insert into buckets (account_id, kind, expires_at) values (account, bucket, expiry) returning id into target;
  end if;
  update buckets set posted_micro = posted_micro + amount where id = target;
  insert into credit_grants (source, source_id, account_id, bucket_id, amount_micro, reason, granted_by)
  values (grant_source, grant_source_id, account, target, amount, grant_reason, actor) returning id into given;
  insert into transfers (kind, debit_id, credit_id, amount_micro, account_id, balance_after_micro, grant_id)
  values ('grant', case when grant_source in ('order', 'x402', 'axon') then -1 else -2 end, target, amount, account, account_posted_micro(account), given);
  return query select given, false;
end $$;
