-- What was written in a span of time, whoever it belongs to: by the summary of the rows' times, since the indexes by account
-- or hold would be walked from end to end.
create or replace function holds_begun(since timestamptz, upto timestamptz) returns setof holds language sql stable
set enable_indexscan = off
set enable_indexonlyscan = off
set enable_seqscan = off
as $$
  select * from holds h where h.created_at >= since and h.created_at < upto
$$;
create or replace function holds_ended(since timestamptz, upto timestamptz) returns setof hold_resolutions language sql stable
set enable_indexscan = off
set enable_indexonlyscan = off
set enable_seqscan = off
as $$
  select * from hold_resolutions r where r.resolved_at >= since and r.resolved_at < upto
$$;
create or replace function transfers_moved(since timestamptz, upto timestamptz) returns setof transfers language sql stable
set enable_indexscan = off
set enable_indexonlyscan = off
set enable_seqscan = off
as $$
  select * from transfers t where t.moved_at >= since and t.moved_at < upto
$$;

-- Audits what was stamped since the last call, up to where time is closed, at most a day of it: costs the new rows,
-- whatever the size of the ledger. It finds what went wrong now; ledger_audit() derives everything again and finds what
-- was changed long after. Rows of one transaction carry one time, so a hold's end and its movements are always seen
-- together. Run it in one REPEATABLE READ snapshot. Of several at once one works, the others find nothing to do.
create or replace function ledger_audit_recent() returns table (check_name text, subject text, expected text, found text)
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
-- what is new is little and its neighbours are found by index (`offset 0` keeps it so): tables that were small when they
-- were looked at last must not look like a reason to read all of the others
set enable_seqscan = off
set enable_mergejoin = off
set jit = off
as $$
#variable_conflict use_column
declare
  since timestamptz;
  upto timestamptz;
  latest holds[];
begin
  select audited_until into since from audit_progress for update skip locked;
  select least(closed_until, since + interval '1 day') into upto from closed_time;
  if since is null or upto <= since then
    return;
  end if;

  latest := array(select h from holds_begun(since, 'infinity') h);

  return query
    with recent as materialized (
      select t.id, t.kind, t.account_id, t.amount_micro, t.balance_after_micro, t.hold_id, t.grant_id, t.refund_id, greatest(t.debit_id, t.credit_id) as bucket_id,
             case when t.debit_id > 0 then -t.amount_micro else t.amount_micro end as signed
      from transfers_moved(since, upto) t
    ), begun as materialized (
      select l.id, l.reserve_micro from unnest(latest) l where l.created_at < upto
    ), ended as materialized (
      select r.hold_id, r.kind, r.actual_micro from holds_ended(since, upto) r
    ), open as materialized (
      -- what was open where the last audit ended, and all that was begun since
      select known.id, (select h.process_id from holds h where h.id = known.id) as process_id
      from (select o.hold_id as id from audit_open_holds o union select l.id from unnest(latest) l) known
      where not exists (select from hold_resolutions r where r.hold_id = known.id offset 0)
    )
    select 'transfer_balance', 'transfer ' || t.id, (before.owned + t.signed)::text, t.balance_after_micro::text
    from recent t
    cross join lateral (
      select coalesce((select p.balance_after_micro from transfers p where (p.account_id, p.id) < (t.account_id, t.id) and p.account_id >= t.account_id
                       order by p.account_id desc, p.id desc limit 1), 0)::bigint as owned
    ) before
    where before.owned + t.signed <> t.balance_after_micro
    union all
    select 'transfer_account', 'transfer ' || t.id, 'account ' || t.account_id, coalesce('account ' || b.account_id, 'no bucket')
    from recent t left join buckets b on b.id = t.bucket_id where b.account_id is distinct from t.account_id
    union all
    select 'account_posted', 'account ' || a.account_id, newest.balance_after_micro::text, account_posted_micro(a.account_id)::text
    from (select distinct t.account_id from recent t) a
    cross join lateral (
      select t.balance_after_micro from transfers t where (t.account_id, t.id) <= (a.account_id, 9007199254740992) and t.account_id >= a.account_id
      order by t.account_id desc, t.id desc limit 1
    ) newest
    where newest.balance_after_micro <> account_posted_micro(a.account_id)
    union all
    select 'hold_allocated', 'hold ' || h.id, h.reserve_micro::text, coalesce(given.micro, 0)::text
    from begun h cross join lateral (select sum(a.amount_micro) as micro from hold_allocations a where a.hold_id = h.id and not a.supplemental) given
    where coalesce(given.micro, 0) <> h.reserve_micro and not exists (select from holds_without_allocations w where w.hold_id = h.id)
    union all
    select 'capture_moved', 'hold ' || e.hold_id, e.actual_micro::text, coalesce(moved.micro, 0)::text
    from ended e left join (select t.hold_id, sum(t.amount_micro) as micro from recent t where t.kind = 'capture' group by t.hold_id) moved on moved.hold_id = e.hold_id
    where coalesce(moved.micro, 0) <> case when exists (select from holds_without_allocations w where w.hold_id = e.hold_id) then 0 else e.actual_micro end
    union all
    select 'capture_from_allocation', 'hold ' || coalesce(p.hold_id, t.hold_id) || ' bucket ' || coalesce(p.bucket_id, t.bucket_id), coalesce(p.micro, 0)::text, coalesce(t.micro, 0)::text
    from (select e.hold_id, c.bucket_id, sum(c.captured_micro) as micro from ended e cross join lateral captured_parts(e.hold_id, e.actual_micro) c
          where e.kind = 'captured' group by 1, 2) p
    full join (select r.hold_id, r.bucket_id, sum(r.amount_micro) as micro from recent r where r.kind = 'capture' group by 1, 2) t
      on t.hold_id = p.hold_id and t.bucket_id = p.bucket_id
    where coalesce(p.micro, 0) <> coalesce(t.micro, 0)
    union all
    select 'grant_of_transfer', 'transfer ' || t.id, 'a grant of ' || t.amount_micro || ' to bucket ' || t.bucket_id, coalesce(g.amount_micro || ' to bucket ' || g.bucket_id, 'none')
    from recent t left join credit_grants g on g.id = t.grant_id
    where t.kind = 'grant' and (g.amount_micro is distinct from t.amount_micro or g.bucket_id is distinct from t.bucket_id)
    union all
    select 'grant_moved', 'grant ' || g.id, g.amount_micro::text, coalesce(sum(t.amount_micro), 0)::text
    from credit_grants g left join recent t on t.grant_id = g.id and t.kind = 'grant'
    where g.created_at >= since and g.created_at < upto
    group by g.id, g.amount_micro having count(t.id) <> 1 or sum(t.amount_micro) <> g.amount_micro
    union all
    select 'refund_moved', 'refund ' || t.refund_id, 'at most ' || f.amount_micro, t.micro::text
    from (select r.refund_id, sum(r.amount_micro) as micro from recent r where r.kind = 'refund' group by 1) t left join refunds f on f.id = t.refund_id
    where f.amount_micro is distinct from t.micro
    union all
    select 'expiry_of_bucket', 'transfer ' || t.id, 'a bucket that expires', 'one that does not'
    from recent t join buckets b on b.id = t.bucket_id where t.kind = 'expiry' and b.expires_at is null
    union all
    select 'bucket_held', 'bucket ' || b.id, coalesce(kept.micro, 0)::text, b.held_micro::text
    from (select distinct a.bucket_id from (select h.id from begun h union select e.hold_id from ended e) changed
          cross join lateral (select x.bucket_id from hold_allocations x where x.hold_id = changed.id offset 0) a) touched
    join buckets b on b.id = touched.bucket_id
    left join (select a.bucket_id, sum(a.amount_micro) as micro from open o cross join lateral (select x.bucket_id, x.amount_micro from hold_allocations x where x.hold_id = o.id offset 0) a group by a.bucket_id) kept on kept.bucket_id = b.id
    where b.held_micro <> coalesce(kept.micro, 0)
    union all
    select 'open_hold_without_process', 'hold ' || o.id, 'a live process or a flag', 'neither'
    from open o left join processes p on p.id = o.process_id
    where o.process_id is not null and not exists (select from hold_flags f where f.hold_id = o.id)
      and (p.id is null or p.heartbeat_at < now() - interval '10 minutes');

  delete from audit_open_holds o where exists (select from hold_resolutions r where r.hold_id = o.hold_id offset 0);
  insert into audit_open_holds (hold_id)
  select l.id from unnest(latest) l
  where l.created_at < upto and not exists (select from hold_resolutions r where r.hold_id = l.id offset 0)
  on conflict do nothing;
  update audit_progress set audited_until = upto;
end $$;
