-- Derives everything again from the rows that never change and returns one row for each difference.
-- Healthy is empty. Run it in one REPEATABLE READ snapshot; it writes nothing.
create or replace function ledger_audit() returns table (check_name text, subject text, expected text, found text)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  with open_holds as (
    select h.* from holds h where not exists (select from hold_resolutions r where r.hold_id = h.id)
  ), parts as (
    -- each allocation with the part of it that its capture took
    select a.*, h.actor_account_id, h.key_budget_id, h.link_budget_id, h.created_at, h.reserve_micro, r.kind, r.actual_micro,
           case when r.kind = 'captured' then greatest(0, least(a.amount_micro, r.actual_micro - (sum(a.amount_micro) over (partition by a.hold_id order by a.n) - a.amount_micro))) else 0 end as captured
    from hold_allocations a join holds h on h.id = a.hold_id left join hold_resolutions r on r.hold_id = a.hold_id
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
  from holds h left join hold_allocations a on a.hold_id = h.id group by h.id, h.reserve_micro
  having coalesce(sum(a.amount_micro) filter (where not a.supplemental), 0) <> h.reserve_micro
  union all
  select 'hold_supplemented', 'hold ' || a.hold_id, r.actual_micro::text, sum(a.amount_micro)::text
  from hold_allocations a left join hold_resolutions r on r.hold_id = a.hold_id
  group by a.hold_id, r.actual_micro, r.kind having bool_or(a.supplemental) and (r.kind is distinct from 'captured' or sum(a.amount_micro) <> r.actual_micro)
  union all
  select 'capture_moved', 'hold ' || r.hold_id, r.actual_micro::text, coalesce(t.total, 0)::text
  from hold_resolutions r left join (select hold_id, sum(amount_micro) as total from transfers where kind = 'capture' group by hold_id) t on t.hold_id = r.hold_id
  where coalesce(t.total, 0) <> r.actual_micro
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
  select 'grant_receipt', 'grant ' || g.id, 'one transfer on a chain, by ' || g.source, coalesce('one by ' || r.rail, 'none')
  from credit_grants g left join chain_receipts r on r.grant_id = g.id
  where g.source in ('order', 'x402', 'axon') and r.rail is distinct from g.source
    -- an operator may credit what the chain cannot show
    and not (r.rail is null and g.source = 'order' and exists (select from order_events e where e.order_id::text = g.source_id and e.event = 'operator_credit'))
  union all
  select 'order_credited', 'order ' || coalesce(o.id::text, g.source_id),
         coalesce(o.credited || ' to account ' || o.account_id || ' by grant ' || coalesce(o.grant_id::text, 'none'), 'no Credits'),
         coalesce(g.amount_micro || ' to account ' || g.account_id || ' by grant ' || g.id, 'no Credits')
  from (
    select o.id, o.account_id, o.grant_id,
           -- an operator credits what arrived, which may be less than what was asked for
           coalesce((select (e.data ->> 'credited_micro')::bigint from order_events e where e.order_id = o.id and e.event in ('settle', 'operator_credit') order by e.n limit 1), o.credit_micro) as credited
    from orders o where o.status = 'completed' or o.grant_id is not null
  ) o full join (select * from credit_grants where source = 'order') g on g.source_id = o.id::text
  where o.id is null or g.id is null or o.grant_id is distinct from g.id or o.account_id <> g.account_id or o.credited <> g.amount_micro
  union all
  select 'order_settled', 'order ' || e.order_id, o.credit_micro::text, coalesce(e.data ->> 'credited_micro', 'nothing')
  from order_events e join orders o on o.id = e.order_id where e.event = 'settle' and e.data ->> 'credited_micro' is distinct from o.credit_micro::text
  union all
  select 'budget_window', 'budget ' || coalesce(w.budget_id, e.budget_id) || ' ' || coalesce(w.window_kind, e.window_kind) || ' ' || coalesce(w.starts_on, e.starts_on),
         'spent ' || coalesce(e.spent, 0) || ' held ' || coalesce(e.held, 0), 'spent ' || coalesce(w.spent_micro, 0) || ' held ' || coalesce(w.held_micro, 0)
  from budget_windows w
  full join (
    select x.budget_id, at.window_kind, at.starts_on, sum(x.spent) as spent, sum(x.held) as held
    from (
      select key_budget_id as budget_id, created_at, captured as spent, case when kind is null then amount_micro else 0 end as held from parts where key_budget_id is not null
      union all
      select link_budget_id, created_at, captured, case when kind is null then amount_micro else 0 end from parts where link_budget_id is not null and payer_account_id <> actor_account_id
    ) x cross join lateral budget_windows_at(x.created_at) at group by x.budget_id, at.window_kind, at.starts_on
  ) e on e.budget_id = w.budget_id and e.window_kind = w.window_kind and e.starts_on = w.starts_on
  where coalesce(w.spent_micro, 0) <> coalesce(e.spent, 0) or coalesce(w.held_micro, 0) <> coalesce(e.held, 0)
  union all
  select 'flag_in_settlements', 'hold ' || f.hold_id, 'a settlements row', 'none'
  from hold_flags f where not exists (select from settlements s where s.hold_id = f.hold_id)
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
