-- Sets aside what an account still has of a grant whose payment is in doubt: min(given, available), the bucket that
-- it was given to first. No call asked for this hold, so it has no actor and counts in nobody's calls or budgets.
-- Composes with the caller's transaction. `hold_id` is null when nothing is left to hold.
create or replace function ledger_hold_grant(of_grant bigint) returns table (hold_id bigint, held_micro bigint)
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
  given credit_grants;
  id bigint;
  amount bigint;
  remaining bigint;
  part record;
  n_next smallint := 0;
begin
  select * into strict given from credit_grants g where g.id = of_grant;
  perform ledger_lock_families(array[given.account_id]);
  amount := least(given.amount_micro, account_available_micro(given.account_id));
  if amount <= 0 then
    return query select null::bigint, 0::bigint;
    return;
  end if;
  id := nextval('hold_ids');
  insert into holds (id, request_id, actor_account_id, family_id, credential_kind, credential_id, category, subject, reserve_micro, wanted_micro, minimum_micro)
  values (id, 'review_' || id, 0, 0, 'operator', 0, 'review', given.source || ' ' || given.source_id, amount, given.amount_micro, amount);
  remaining := amount;
  for part in
    select b.id, least(b.posted_micro - b.held_micro, amount) as micro
    from buckets b
    where b.account_id = given.account_id and b.posted_micro > b.held_micro and (b.expires_at is null or b.expires_at > now())
    order by b.id <> given.bucket_id, b.expires_at desc nulls first, b.id
  loop
    exit when remaining = 0;
    part.micro := least(part.micro, remaining);
    insert into hold_allocations (hold_id, n, bucket_id, payer_account_id, amount_micro)
    values (id, n_next, part.id, given.account_id, part.micro);
    update buckets b set held_micro = b.held_micro + part.micro where b.id = part.id;
    remaining := remaining - part.micro;
    n_next := n_next + 1;
  end loop;
  return query select id, amount;
end $$;

-- Ends such a hold, once: what it holds goes back to its account, or is taken from it for good. Gives what was taken;
-- a hold that has ended already gives what was taken then.
create or replace function ledger_end_grant_hold(of_hold bigint, of_grant bigint, take boolean, ended_by text, why text) returns bigint
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
  account bigint;
  before bigint;
  ended boolean;
  taken bigint;
begin
  select g.account_id into strict account from credit_grants g where g.id = of_grant;
  perform ledger_lock_families(array[account]);
  if not exists (select from holds h where h.id = of_hold and h.category = 'review') then
    raise exception 'hold % is not one of a review', of_hold;
  end if;
  insert into hold_resolutions (hold_id, kind, outcome, actual_micro, resolved_by, reason)
  values (of_hold, 'voided', 'failed', 0, ended_by, why) on conflict do nothing
  returning true into ended;
  if ended then
    before := account_posted_micro(account);
    update buckets b set held_micro = b.held_micro - a.amount_micro, posted_micro = b.posted_micro - case when take then a.amount_micro else 0 end
    from hold_allocations a where a.hold_id = of_hold and b.id = a.bucket_id;
    if take then
      insert into transfers (kind, debit_id, credit_id, amount_micro, account_id, balance_after_micro, grant_id)
      select 'reversal', a.bucket_id, -1, a.amount_micro, account, before - sum(a.amount_micro) over (order by a.n), of_grant
      from hold_allocations a where a.hold_id = of_hold order by a.n;
    end if;
  end if;
  select coalesce(sum(t.amount_micro), 0) into taken from transfers t where t.grant_id = of_grant and t.kind = 'reversal';
  return taken;
end $$;
