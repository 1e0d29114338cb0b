-- Derives everything again from the rows that never change and returns one row for each difference.
-- Healthy is empty. Run it in one REPEATABLE READ snapshot; it writes nothing.
create or replace function ledger_audit() returns table (check_name text, subject text, expected text, found text)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  with open_holds as (
    select h.* from holds h where not exists (select from hold_resolutions r where r.hold_id = h.id)
  ), captures as (
    -- each allocation with the part of it that its capture took
    select a.*, h.actor_account_id, h.key_budget_id, h.link_budget_id, h.created_at, h.reserve_micro, r.kind, r.actual_micro,
           case when r.kind = 'captured' then greatest(0, least(a.amount_micro, r.actual_micro - (sum(a.amount_micro) over (partition by a.hold_id order by a.n) - a.amount_micro))) else 0 end as captured
    from hold_allocations a join holds h on h.id = a.hold_id left join hold_resolutions r on r.hold_id = a.hold_id
  ), parts as (
    select a.*, case when f.is_verified then a.captured else 0 end as returned from captures a left join refunds f on f.call_id = a.hold_id
  ), movements as (
    select t.*, case when t.debit_id > 0 then t.debit_id else t.credit_id end as bucket_id,
           case when t.debit_id > 0 then -t.amount_micro else t.amount_micro end as signed
    from transfers t
  )
  select 'bucket_posted', 'bucket ' || b.id, coalesce(m.total, 0)::text, b.posted_micro::text
  from buckets b left join (select bucket_id, sum(signed) as total from movements group by bucket_id) m on m.bucket_id = b.id
  where b.posted_micro <> coalesce(m.total, 0)
  union all
  select 'bucket_held', 'bucket ' || b.id, coalesce(p.total, 0)::text, b.held_micro::text
  from buckets b left join (select bucket_id, sum(amount_micro) as total from parts where kind is null group by bucket_id) p on p.bucket_id = b.id
  where b.held_micro <> coalesce(p.total, 0)
  union all
  select 'hold_allocated', 'hold ' || h.id, h.reserve_micro::text, coalesce(sum(a.amount_micro) filter (where not a.supplemental), 0)::text
  from holds h left join hold_allocations a on a.hold_id = h.id
  where not exists (select from holds_without_allocations w where w.hold_id = h.id) group by h.id, h.reserve_micro
  having coalesce(sum(a.amount_micro) filter (where not a.supplemental), 0) <> h.reserve_micro
  union all
  select 'hold_supplemented', 'hold ' || a.hold_id, r.actual_micro::text, sum(a.amount_micro)::text
  from hold_allocations a left join hold_resolutions r on r.hold_id = a.hold_id
  group by a.hold_id, r.actual_micro, r.kind having bool_or(a.supplemental) and (r.kind is distinct from 'captured' or sum(a.amount_micro) <> r.actual_micro)
  union all
  select 'capture_moved', 'hold ' || r.hold_id, r.actual_micro::text, coalesce(t.total, 0)::text
  from hold_resolutions r left join (select hold_id, sum(amount_micro) as total from transfers where kind = 'capture' group by hold_id) t on t.hold_id = r.hold_id
  where coalesce(t.total, 0) <> case when exists (select from holds_without_allocations w where w.hold_id = r.hold_id) then 0 else r.actual_micro end
  union all
  select 'capture_from_allocation', 'hold ' || p.hold_id || ' bucket ' || p.bucket_id, p.captured::text, coalesce(t.total, 0)::text
  from (select hold_id, bucket_id, sum(captured) as captured from parts group by hold_id, bucket_id) p
  full join (select hold_id, debit_id as bucket_id, sum(amount_micro) as total from transfers where kind = 'capture' group by hold_id, debit_id) t using (hold_id, bucket_id)
  where coalesce(p.captured, 0) <> coalesce(t.total, 0)
  union all
  select 'resolution_of_hold', 'hold ' || r.hold_id, 'a hold', 'none' from hold_resolutions r where not exists (select from holds h where h.id = r.hold_id)
  union all
  select 'allocation_of_payer', 'hold ' || a.hold_id, 'bucket of account ' || a.payer_account_id, coalesce('account ' || b.account_id, 'no bucket')
  from hold_allocations a left join buckets b on b.id = a.bucket_id where b.account_id is distinct from a.payer_account_id
  union all
  select 'transfer_account', 'transfer ' || m.id, 'account ' || m.account_id, coalesce('account ' || b.account_id, 'no bucket')
  from movements m left join buckets b on b.id = m.bucket_id where b.account_id is distinct from m.account_id
  union all
  select 'transfer_balance', 'transfer ' || m.id, m.running::text, m.balance_after_micro::text
  from (select id, balance_after_micro, sum(signed) over (partition by account_id order by id) as running from movements) m
  where m.running <> m.balance_after_micro or m.running < 0
  union all
  select 'grant_moved', 'grant ' || g.id, g.amount_micro::text, coalesce(sum(m.signed), 0)::text
  from credit_grants g left join movements m on m.grant_id = g.id and m.kind = 'grant' and m.bucket_id = g.bucket_id
  group by g.id, g.amount_micro having coalesce(sum(m.signed), 0) <> g.amount_micro or count(m.id) <> 1
  union all
  select 'grant_of_transfer', 'transfer ' || t.id, 'a grant', 'none'
  from transfers t where t.kind = 'grant' and not exists (select from credit_grants g where g.id = t.grant_id)
  union all
  select * from payment_audit()
  union all
  select 'budget_window', 'budget ' || coalesce(w.budget_id, e.budget_id) || ' ' || coalesce(w.window_kind, e.window_kind) || ' ' || coalesce(w.starts_on, e.starts_on),
         'spent ' || coalesce(e.spent, 0) || ' held ' || coalesce(e.held, 0), 'spent ' || coalesce(w.spent_micro, 0) || ' held ' || coalesce(w.held_micro, 0)
  from budget_windows w
  full join (
    select x.budget_id, at.window_kind, at.starts_on, sum(x.spent) as spent, sum(x.held) as held
    from (
      select key_budget_id as budget_id, created_at, captured - returned as spent, case when kind is null then amount_micro else 0 end as held from parts where key_budget_id is not null
      union all
      select link_budget_id, created_at, captured - returned, case when kind is null then amount_micro else 0 end from parts where link_budget_id is not null and payer_account_id <> actor_account_id
    ) x cross join lateral budget_windows_at(x.created_at) at group by x.budget_id, at.window_kind, at.starts_on
  ) e on e.budget_id = w.budget_id and e.window_kind = w.window_kind and e.starts_on = w.starts_on
  where coalesce(w.spent_micro, 0) <> coalesce(e.spent, 0) or coalesce(w.held_micro, 0) <> coalesce(e.held, 0)
  union all
  select 'flag_in_settlements', 'hold ' || f.hold_id, 'a settlements row', 'none'
  from hold_flags f where not exists (select from settlements s where s.hold_id = f.hold_id)
  union all
  select 'settlement_of_flag', 'hold ' || s.hold_id, 'a flag', 'none'
  from settlements s where not exists (select from hold_flags f where f.hold_id = s.hold_id)
  union all
  -- whose list an item is on: who made the call and who paid its hold, and nobody else's
  select 'settlement_parties', 'settlement ' || coalesce(p.settlement_id, e.settlement_id), coalesce('account ' || e.account_id, 'nobody'), coalesce('account ' || p.account_id, 'nobody')
  from settlement_parties p
  full join (
    select s.id as settlement_id, h.actor_account_id as account_id from settlements s join holds h on h.id = s.hold_id
    union
    select s.id, a.payer_account_id from settlements s join hold_allocations a on a.hold_id = s.hold_id
  ) e on e.settlement_id = p.settlement_id and e.account_id = p.account_id
  where p.account_id is null or e.account_id is null
  union all
  -- nobody pays more than its hold unless it agreed; the actor's own account alone does so by itself
  select 'supplement_authorized', 'hold ' || coalesce(s.hold_id, a.hold_id) || ' account ' || coalesce(s.payer_account_id, a.payer_account_id),
         coalesce(a.amount_micro::text, 'its own account only'), coalesce(s.amount, 0)::text
  from (select hold_id, payer_account_id, actor_account_id, sum(amount_micro) as amount from parts where supplemental group by 1, 2, 3) s
  full join settlement_authorizations a on a.hold_id = s.hold_id and a.payer_account_id = s.payer_account_id
  where case when a.hold_id is not null then a.amount_micro <> coalesce(s.amount, 0)
             else s.payer_account_id <> s.actor_account_id or exists (select from settlement_authorizations o where o.hold_id = s.hold_id) end
  union all
  select 'authorization_whole', 'hold ' || a.hold_id, coalesce(f.actual_micro - h.reserve_micro, 0)::text, sum(a.amount_micro)::text
  from settlement_authorizations a
  left join holds h on h.id = a.hold_id
  left join hold_flags f on f.hold_id = a.hold_id and f.flag = 'shortfall'
  left join hold_resolutions r on r.hold_id = a.hold_id
  group by a.hold_id, f.actual_micro, h.reserve_micro, r.actual_micro
  having sum(a.amount_micro) is distinct from f.actual_micro - h.reserve_micro or r.actual_micro is distinct from f.actual_micro
  union all
  select 'refund_of_call', 'refund ' || f.id, 'account ' || coalesce(h.actor_account_id::text, 'of no call') || ', ' || coalesce(r.actual_micro::text || ' ' || r.outcome, 'no charge'), 'account ' || f.account_id || ', ' || f.amount_micro || ' failed'
  from refunds f left join holds h on h.id = f.call_id left join hold_resolutions r on r.hold_id = f.call_id
  where h.actor_account_id is distinct from f.account_id or r.actual_micro is distinct from f.amount_micro::bigint or r.outcome is distinct from 'failed' or r.kind is distinct from 'captured'
  union all
  -- what a refund moved: each bucket's part of the capture, or, where an operator approved it, all to one bucket
  select 'refund_moved', 'refund ' || coalesce(e.refund_id, m.refund_id) || ' bucket ' || coalesce(e.bucket_id, m.bucket_id), coalesce(e.amount, 0)::text, coalesce(m.amount, 0)::text
  from (
    select f.id as refund_id, p.bucket_id, sum(p.captured) as amount from refunds f join parts p on p.hold_id = f.call_id where f.is_verified group by 1, 2 having sum(p.captured) > 0
    union all
    select f.id, b.id, f.amount_micro from refunds f join refund_decisions d on d.refund_id = f.id and d.decision = 'approved'
    left join buckets b on b.account_id = f.account_id and b.kind = 'refunded' and b.expires_at is null
  ) e
  full join (select refund_id, bucket_id, sum(signed) as amount from movements where kind = 'refund' group by 1, 2) m on m.refund_id = e.refund_id and m.bucket_id = e.bucket_id
  where coalesce(e.amount, 0) <> coalesce(m.amount, 0)
  union all
  select 'refund_decided', 'refund ' || d.refund_id, 'a refund in review', 'one that was verified'
  from refund_decisions d join refunds f on f.id = d.refund_id where f.is_verified
  union all
  select 'without_allocations', 'hold ' || w.hold_id, 'no allocations', count(a.n)::text
  from holds_without_allocations w join hold_allocations a on a.hold_id = w.hold_id group by w.hold_id
  union all
  select 'bucket_closed', 'bucket ' || b.id, 'empty and expired', 'posted ' || b.posted_micro from buckets b where b.closed_at is not null and (b.posted_micro <> 0 or b.expires_at is null)
  union all
  select 'expiry_of_bucket', 'transfer ' || m.id, 'a bucket that expires', 'one that does not'
  from movements m join buckets b on b.id = m.bucket_id where m.kind = 'expiry' and b.expires_at is null
  union all
  select 'flag_above_reserve', 'hold ' || f.hold_id, 'more than ' || h.reserve_micro, f.actual_micro::text
  from hold_flags f join holds h on h.id = f.hold_id where f.flag = 'shortfall' and f.actual_micro <= h.reserve_micro
  union all
  select 'family_of_account', 'account ' || a.id, coalesce(l.owner_account_id, a.id)::text, a.family_id::text
  from accounts a left join agent_links l on l.agent_account_id = a.id where a.family_id <> coalesce(l.owner_account_id, a.id)
  union all
  select 'open_hold_without_process', 'hold ' || h.id, 'a live process or a flag', 'neither'
  from open_holds h left join processes p on p.id = h.process_id
  -- without a process id it is detached: its work is carried on from process to process
  where h.process_id is not null and not exists (select from hold_flags f where f.hold_id = h.id)
    and (p.id is null or p.heartbeat_at < now() - interval '10 minutes')
$$;
