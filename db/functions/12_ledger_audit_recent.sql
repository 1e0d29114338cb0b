-- What was written in a span of time, whoever it belongs to: by the summary of the rows' times, since the indexes by account
-- or hold would be walked from end to end.
create or replace function holds_begun(since timestamptz, upto timestamptz) returns setof holds language sql stable
set enable_indexscan = off
set enable_indexonlyscan = off
set enable_seqscan = off
as $$
  select * from holds h where h.created_at >= since and h.created_at < upto
$$;
create or replace function transfers_moved(since timestamptz, upto timestamptz) returns setof transfers language sql stable
set enable_indexscan = off
set enable_indexonlyscan = off
set enable_seqscan = off
as $$
  select * from transfers t where t.moved_at >= since and t.moved_at < upto
$$;

-- Summarises the full block ranges of the indexes by time that nobody has summarised yet, from the newest backwards, and
-- says how many there were. Autovacuum does it too, but in its own time: until then every search by time reads all that was
-- written since. The last range, which is not full yet, stays without a summary, so that no call pays for keeping it.
-- It stands back where a vacuum has the table, which does the same; call it in a transaction of its own.
create or replace function ledger_summarize_times() returns integer
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
set lock_timeout = '100ms'
as $$
declare
  by_time record;
  summarized integer := 0;
begin
  for by_time in
    select i.indexrelid, pages.per_range, pg_relation_size(i.indrelid) / current_setting('block_size')::bigint / pages.per_range - 1 as last_full
    from pg_index i join pg_class c on c.oid = i.indexrelid
    cross join lateral (select o.option_value::bigint as per_range from pg_options_to_table(c.reloptions) o where o.option_name = 'pages_per_range') pages
    where i.indexrelid in ('transfers_time'::regclass, 'holds_time'::regclass, 'credit_grants_time'::regclass)
    order by i.indexrelid
  loop
    for n in reverse by_time.last_full .. greatest(0, by_time.last_full - 999) loop
      exit when brin_summarize_range(by_time.indexrelid, n * by_time.per_range) = 0;
      summarized := summarized + 1;
    end loop;
  end loop;
  return summarized;
exception when lock_not_available then
  return summarized;
end $$;

-- Audits what was stamped since the last call, up to where time is closed, at most a day of it: costs the new rows,
-- whatever the size of the ledger. It finds what went wrong now; ledger_audit() derives everything again and finds what
-- was changed long after. Rows of one transaction carry one time, so a hold's end and its movements are always seen
-- together. Run it in one REPEATABLE READ snapshot. Of several at once one works, the others find nothing to do.
--
-- Each of the new rows' neighbours is read once, by the index and by a list of ids: ids that follow each other lie on one
-- page, which is found once for all of them, so how deep the index of a large ledger is does not count for each row.
create or replace function ledger_audit_recent() returns table (check_name text, subject text, expected text, found text)
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
-- what is new is little and its neighbours are found by index (`offset 0` keeps it so), the rest is joined by hashing:
-- tables that were small when they were looked at last must not look like a reason to read all of the others
set enable_seqscan = off
set enable_mergejoin = off
set enable_nestloop = off
set jit = off
as $$
#variable_conflict use_column
declare
  since timestamptz;
  upto timestamptz;
  -- holds that were begun since, whenever they were
  latest bigint[];
  latest_at timestamptz[];
  latest_micro bigint[];
  -- what was open where the last audit ended, and all that was begun since
  known bigint[];
  -- what of it is ended now, what was ended in the span, and what is open now
  finished bigint[];
  ended bigint[];
  ended_kind resolution_kind[];
  ended_micro bigint[];
  open bigint[];
begin
  select audited_until into since from audit_progress for update skip locked;
  select least(closed_until, since + interval '1 day') into upto from closed_time;
  if since is null or upto <= since then
    return;
  end if;

  select array_agg(h.id), array_agg(h.created_at), array_agg(h.reserve_micro) into latest, latest_at, latest_micro from holds_begun(since, 'infinity') h;
  known := array(select o.hold_id from audit_open_holds o union select l.id from unnest(latest) l (id) order by 1);
  -- whatever ended in the span had been open before or began since: its end is found by its id. A search by time would meet
  -- the pages all over the table in which a vacuum had found room for one more short row.
  select array_agg(r.hold_id),
         array_agg(r.hold_id) filter (where r.resolved_at < upto),
         array_agg(r.kind) filter (where r.resolved_at < upto),
         array_agg(r.actual_micro) filter (where r.resolved_at < upto)
  into finished, ended, ended_kind, ended_micro
  from hold_resolutions r where r.hold_id = any (known);
  open := array(select k.id from unnest(known) k (id) except select f.id from unnest(finished) f (id));

  return query
    with recent as materialized (
      select t.id, t.kind, t.account_id, t.amount_micro, t.balance_after_micro, t.hold_id, t.grant_id, t.refund_id, greatest(t.debit_id, t.credit_id) as bucket_id,
             case when t.debit_id > 0 then -t.amount_micro else t.amount_micro end as signed
      from transfers_moved(since, upto) t
    ), moved as materialized (
      -- of each account all since its first new movement, and the one before that: some may be younger than the span
      select m.account_id, m.id, m.balance_after_micro, lag(m.balance_after_micro, 1, 0) over account as owned, lead(m.id) over account is null as is_newest
      from (select r.account_id, min(r.id) as id from recent r group by r.account_id) first
      cross join lateral (
        select t.account_id, t.id, t.balance_after_micro::bigint from transfers t where (t.account_id, t.id) >= (first.account_id, first.id) and t.account_id <= first.account_id
        union all
        (select t.account_id, t.id, t.balance_after_micro::bigint from transfers t where (t.account_id, t.id) < (first.account_id, first.id) and t.account_id >= first.account_id
         order by t.account_id desc, t.id desc limit 1)
      ) m
      window account as (partition by m.account_id order by m.id)
    ), begun as materialized (
      select l.id, l.reserve_micro from unnest(latest, latest_at, latest_micro) l (id, created_at, reserve_micro) where l.created_at < upto
    ), ends as materialized (
      select e.hold_id, e.kind, e.actual_micro from unnest(ended, ended_kind, ended_micro) e (hold_id, kind, actual_micro)
    ), changed as materialized (
      select h.id as hold_id from begun h union select e.hold_id from ends e
    ), kept as materialized (
      select o.hold_id, (select h.process_id from holds h where h.id = o.hold_id offset 0) as process_id from unnest(open) o (hold_id)
    ), parts as materialized (
      select a.hold_id, a.bucket_id, a.amount_micro, a.supplemental, sum(a.amount_micro) over (partition by a.hold_id order by a.n) - a.amount_micro as used_before
      from hold_allocations a where a.hold_id = any (array(select c.hold_id from changed c union select k.hold_id from kept k order by 1))
    ), wallets as materialized (
      select b.id, b.account_id, b.held_micro, b.expires_at from buckets b
      where b.id = any (array(select r.bucket_id from recent r union select p.bucket_id from parts p order by 1))
    )
    select 'transfer_balance', 'transfer ' || t.id, (m.owned + t.signed)::text, t.balance_after_micro::text
    from recent t join moved m on m.id = t.id where m.owned + t.signed <> t.balance_after_micro
    union all
    select 'transfer_account', 'transfer ' || t.id, 'account ' || t.account_id, coalesce('account ' || b.account_id, 'no bucket')
    from recent t left join wallets b on b.id = t.bucket_id where b.account_id is distinct from t.account_id
    union all
    select 'account_posted', 'account ' || m.account_id, m.balance_after_micro::text, account_posted_micro(m.account_id)::text
    from moved m where m.is_newest and m.balance_after_micro <> account_posted_micro(m.account_id)
    union all
    select 'hold_allocated', 'hold ' || h.id, h.reserve_micro::text, coalesce(given.micro, 0)::text
    from begun h left join (select p.hold_id, sum(p.amount_micro) as micro from parts p where not p.supplemental group by p.hold_id) given on given.hold_id = h.id
    where coalesce(given.micro, 0) <> h.reserve_micro and not exists (select from holds_without_allocations w where w.hold_id = h.id offset 0)
    union all
    select 'capture_moved', 'hold ' || e.hold_id, e.actual_micro::text, coalesce(taken.micro, 0)::text
    from ends e left join (select t.hold_id, sum(t.amount_micro) as micro from recent t where t.kind = 'capture' group by t.hold_id) taken on taken.hold_id = e.hold_id
    where coalesce(taken.micro, 0) <> case when exists (select from holds_without_allocations w where w.hold_id = e.hold_id offset 0) then 0 else e.actual_micro end
    union all
    select 'capture_from_allocation', 'hold ' || coalesce(p.hold_id, t.hold_id) || ' bucket ' || coalesce(p.bucket_id, t.bucket_id), coalesce(p.micro, 0)::text, coalesce(t.micro, 0)::text
    from (select a.hold_id, a.bucket_id, sum(least(a.amount_micro, e.actual_micro - a.used_before)) as micro from ends e join parts a on a.hold_id = e.hold_id
          where e.kind = 'captured' and a.used_before < e.actual_micro group by 1, 2) p
    full join (select r.hold_id, r.bucket_id, sum(r.amount_micro) as micro from recent r where r.kind = 'capture' group by 1, 2) t
      on t.hold_id = p.hold_id and t.bucket_id = p.bucket_id
    where coalesce(p.micro, 0) <> coalesce(t.micro, 0)
    union all
    select 'grant_of_transfer', 'transfer ' || t.id, 'a grant of ' || t.amount_micro || ' to bucket ' || t.bucket_id, coalesce(g.amount_micro || ' to bucket ' || g.bucket_id, 'none')
    from recent t left join lateral (select g.* from credit_grants g where g.id = t.grant_id offset 0) g on true
    where t.kind = 'grant' and (g.amount_micro is distinct from t.amount_micro or g.bucket_id is distinct from t.bucket_id)
    union all
    select 'grant_moved', 'grant ' || g.id, g.amount_micro::text, coalesce(sum(t.amount_micro), 0)::text
    from credit_grants g left join recent t on t.grant_id = g.id and t.kind = 'grant'
    where g.created_at >= since and g.created_at < upto
    group by g.id, g.amount_micro having count(t.id) <> 1 or sum(t.amount_micro) <> g.amount_micro
    union all
    select 'refund_moved', 'refund ' || t.refund_id, 'at most ' || f.amount_micro, t.micro::text
    from (select r.refund_id, sum(r.amount_micro) as micro from recent r where r.kind = 'refund' group by 1) t
    left join lateral (select f.amount_micro from refunds f where f.id = t.refund_id offset 0) f on true
    where f.amount_micro is distinct from t.micro
    union all
    select 'expiry_of_bucket', 'transfer ' || t.id, 'a bucket that expires', 'one that does not'
    from recent t join wallets b on b.id = t.bucket_id where t.kind = 'expiry' and b.expires_at is null
    union all
    select 'bucket_held', 'bucket ' || b.id, coalesce(held.micro, 0)::text, b.held_micro::text
    from (select distinct p.bucket_id from changed c join parts p on p.hold_id = c.hold_id) touched
    join wallets b on b.id = touched.bucket_id
    left join (select p.bucket_id, sum(p.amount_micro) as micro from kept k join parts p on p.hold_id = k.hold_id group by p.bucket_id) held on held.bucket_id = b.id
    where b.held_micro <> coalesce(held.micro, 0)
    union all
    select 'open_hold_without_process', 'hold ' || k.hold_id, 'a live process or a flag', 'neither'
    from kept k left join processes p on p.id = k.process_id
    where k.process_id is not null and not exists (select from hold_flags f where f.hold_id = k.hold_id offset 0)
      and (p.id is null or p.heartbeat_at < now() - interval '10 minutes');

  -- what ends after this moment is looked for next time, though it may be ended already
  delete from audit_open_holds o where o.hold_id = any (ended);
  insert into audit_open_holds (hold_id)
  select l.id from unnest(latest, latest_at) l (id, created_at) where l.created_at < upto
  except select e.id from unnest(ended) e (id)
  on conflict do nothing;
  update audit_progress set audited_until = upto;
end $$;
