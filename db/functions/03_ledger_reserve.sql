-- Holds: all reserves of one flush. Families whose whole wish fits are served by one set-based statement;
-- where anything binds (funds, a budget, a second leg) the family's reserves are decided one by one, in
-- order. Both ways give the same result; a test compares them.

create type ledger_reservation as (
  ordinal int, id bigint, request_id text, actor_account_id bigint, credential_kind credential_kind, credential_id bigint,
  wanted_micro bigint, minimum_micro bigint, category text, subject text, process_id bigint, detail json
);

-- A reservation with everything that decides it, read under the family lock.
create type ledger_candidate as (
  op ledger_reservation, family_id bigint, refusal text,
  own_pays boolean, owner_account_id bigint, key_budget_id bigint, link_budget_id bigint, payer_account_id bigint
);

-- One reservation, exactly: own Credits before the owner's, within the budgets, at most what was wanted and
-- at least the minimum, or a refusal that names what binds, with numbers.
create or replace function ledger_reserve_one(c ledger_candidate) returns ledger_result language plpgsql as $$
declare
  op ledger_reservation := c.op;
  own bigint := case when c.own_pays then account_available_micro(op.actor_account_id) else 0 end;
  owners bigint := case when c.owner_account_id is null then 0 else account_available_micro(c.owner_account_id) end;
  key_bound record;
  link_bound record;
  funds bigint;
  granted bigint;
  remaining bigint;
  owner_left bigint;
  part record;
  n_next smallint := 0;
begin
  select * into key_bound from budget_rooms(c.key_budget_id) where c.key_budget_id is not null limit 1;
  select * into link_bound from budget_rooms(c.link_budget_id) where c.link_budget_id is not null limit 1;
  owner_left := least(owners, coalesce(link_bound.room_micro, owners));
  funds := own + owner_left;
  granted := least(op.wanted_micro, funds, coalesce(key_bound.room_micro, op.wanted_micro));

  if granted < op.minimum_micro then
    if key_bound.room_micro < op.minimum_micro then
      return (op.ordinal, op.actor_account_id, 'budget_exceeded', granted, json_build_object('budget', 'key', 'limit', key_bound.name,
        'limit_micro', key_bound.limit_micro, 'spent_micro', key_bound.spent_micro, 'held_micro', key_bound.held_micro, 'required_micro', op.minimum_micro))::ledger_result;
    elsif own + owners >= op.minimum_micro then
      return (op.ordinal, op.actor_account_id, 'budget_exceeded', granted, json_build_object('budget', 'link', 'limit', link_bound.name,
        'limit_micro', link_bound.limit_micro, 'spent_micro', link_bound.spent_micro, 'held_micro', link_bound.held_micro, 'required_micro', op.minimum_micro))::ledger_result;
    end if;
    return (op.ordinal, op.actor_account_id, 'insufficient_credits', funds, json_build_object('available_micro', funds, 'required_micro', op.minimum_micro,
      'held_micro', (select coalesce(sum(held_micro), 0) from buckets where account_id = op.actor_account_id)
        + coalesce((select w.held_micro from budget_windows w where c.owner_account_id is not null and w.budget_id = c.link_budget_id and w.window_kind = 'total'), 0)))::ledger_result;
  end if;

  insert into holds (id, request_id, actor_account_id, family_id, credential_kind, credential_id, key_budget_id, link_budget_id,
                     category, subject, reserve_micro, wanted_micro, minimum_micro, process_id, detail)
  values (op.id, op.request_id, op.actor_account_id, c.family_id, op.credential_kind, op.credential_id, c.key_budget_id, c.link_budget_id,
          op.category, op.subject, granted, op.wanted_micro, op.minimum_micro, op.process_id, op.detail);

  remaining := granted;
  for part in
    select b.id, b.account_id, (b.posted_micro - b.held_micro)::bigint as available
    from buckets b
    where ((c.own_pays and b.account_id = op.actor_account_id) or b.account_id = c.owner_account_id)
      and b.posted_micro > b.held_micro and (b.expires_at is null or b.expires_at > now())
    order by b.account_id <> op.actor_account_id, b.expires_at nulls last, b.kind, b.id
  loop
    exit when remaining = 0;
    part.available := least(part.available, remaining);
    insert into hold_allocations (hold_id, n, bucket_id, payer_account_id, amount_micro)
    values (op.id, n_next, part.id, part.account_id, part.available);
    update buckets set held_micro = held_micro + part.available where id = part.id;
    remaining := remaining - part.available;
    n_next := n_next + 1;
  end loop;
  if remaining <> 0 then
    raise exception 'hold % lacks % of its allocations', op.id, remaining using errcode = 'data_corrupted';
  end if;

  if coalesce(c.key_budget_id, c.link_budget_id) is not null then
    insert into budget_windows (budget_id, window_kind, starts_on, held_micro)
    select x.budget_id, at.window_kind, at.starts_on, x.held
    from (values (c.key_budget_id, granted), (c.link_budget_id, greatest(granted - own, 0))) x (budget_id, held)
    cross join budget_windows_at(now()) at
    where x.budget_id is not null and x.held > 0
    on conflict (budget_id, window_kind, starts_on) do update set held_micro = budget_windows.held_micro + excluded.held_micro;
  end if;

  return (op.ordinal, op.actor_account_id, 'reserved', granted, null)::ledger_result;
end $$;

-- The set-based way. Every candidate has one payer and the caller has proved that all of them fit.
create or replace function ledger_reserve_fitting(candidates ledger_candidate[]) returns void language plpgsql as $$
begin
  with c as (
    select (x.op).*, x.family_id, x.key_budget_id, x.link_budget_id, x.payer_account_id,
           sum((x.op).wanted_micro) over (partition by x.payer_account_id order by (x.op).ordinal)::bigint as upto
    from unnest(candidates) x
  ), placed as (
    insert into holds (id, request_id, actor_account_id, family_id, credential_kind, credential_id, key_budget_id, link_budget_id,
                       category, subject, reserve_micro, wanted_micro, minimum_micro, process_id, detail)
    select id, request_id, actor_account_id, family_id, credential_kind, credential_id, key_budget_id, link_budget_id,
           category, subject, wanted_micro, wanted_micro, minimum_micro, process_id, detail
    from c
  ), b as (
    select b.id, b.account_id, (b.posted_micro - b.held_micro)::bigint as available,
           sum(b.posted_micro - b.held_micro) over (partition by b.account_id order by b.expires_at nulls last, b.kind, b.id)::bigint as upto
    from (select distinct payer_account_id from c) p join buckets b on b.account_id = p.payer_account_id
    where b.posted_micro > b.held_micro and (b.expires_at is null or b.expires_at > now())
  ), allocated as (
    -- wishes and buckets laid end to end on one line: where two ranges overlap, that bucket carries that wish
    insert into hold_allocations (hold_id, n, bucket_id, payer_account_id, amount_micro)
    select c.id, row_number() over (partition by c.id order by b.upto) - 1, b.id, b.account_id,
           least(b.upto, c.upto) - greatest(b.upto - b.available, c.upto - c.wanted_micro)
    from c join b on b.account_id = c.payer_account_id
    where least(b.upto, c.upto) > greatest(b.upto - b.available, c.upto - c.wanted_micro)
    returning bucket_id, amount_micro
  ), budgeted as (
    insert into budget_windows (budget_id, window_kind, starts_on, held_micro)
    select x.budget_id, at.window_kind, at.starts_on, sum(x.wanted_micro)::bigint
    from (select key_budget_id as budget_id, wanted_micro from c where key_budget_id is not null
          union all
          select link_budget_id, wanted_micro from c where link_budget_id is not null and payer_account_id <> actor_account_id) x
    cross join budget_windows_at(now()) at
    group by x.budget_id, at.window_kind, at.starts_on
    on conflict (budget_id, window_kind, starts_on) do update set held_micro = budget_windows.held_micro + excluded.held_micro
  )
  update buckets set held_micro = held_micro + a.amount
  from (select bucket_id, sum(amount_micro)::bigint as amount from allocated group by bucket_id) a
  where buckets.id = a.bucket_id;
end $$;

create or replace function ledger_reserve(operations ledger_reservation[]) returns ledger_result[] language plpgsql as $$
declare
  candidates ledger_candidate[];
  fitting ledger_candidate[];
  fitting_families bigint[] := '{}';
  candidate ledger_candidate;
  known holds;
  results ledger_result[];
begin
  -- who asks, whether it may, and who may pay; a repeated id is answered from its row
  select array_agg((op.self, a.family_id,
      case
        when repeated.id is not null then
          case when repeated.request_id = op.request_id and repeated.actor_account_id = op.actor_account_id
                and repeated.wanted_micro = op.wanted_micro and repeated.minimum_micro = op.minimum_micro then 'repeated' else 'conflict' end
        -- a flush that a dead server sent and that was stuck on its way: nobody works for it any more
        when (select p.ended_at is not null from processes p where p.id = (select max(u.process_id) from unnest(operations) u)) and op.process_id is not null then 'process_ended'
        when a.id is null then 'unauthorized'
        when op.credential_kind = 'api_key' and (k.id is null or k.revoked_at is not null or k.expires_at <= now()) then 'unauthorized'
        when op.credential_kind = 'session' and (s.id is null or s.revoked_at is not null or s.expires_at <= now()) then 'unauthorized'
        when a.status = 'banned' then 'account_banned'
        when a.status = 'deactivated' then 'account_deactivated'
        when op.nth > 1 then 'repeated'
      end,
      l.agent_account_id is null or l.billing_mode <> 'owner_only',
      case when l.billing_mode <> 'self_only' and not l.funding_paused and o.status = 'active' then o.id end,
      k.budget_id, l.budget_id, null)::ledger_candidate order by op.ordinal) into candidates
  from (select r as self, r.*, row_number() over (partition by r.id order by r.ordinal) as nth from unnest(operations) r) op
  left join holds repeated on repeated.id = op.id
  left join accounts a on a.id = op.actor_account_id
  left join agent_links l on l.agent_account_id = a.id
  left join accounts o on o.id = l.owner_account_id
  left join api_keys k on op.credential_kind = 'api_key' and k.id = op.credential_id and k.account_id = a.id
  left join sessions s on op.credential_kind = 'session' and s.id = op.credential_id and s.account_id = a.id;

  -- for one or two, deciding them one by one is quicker than asking whether all fit
  if cardinality(candidates) > 2 then
    with c as (
      select x as candidate, (x.op).actor_account_id as actor, (x.op).wanted_micro as wanted, x.* from unnest(candidates) x where x.refusal is null
    ), available as (
      select p.account_id, coalesce(sum(b.posted_micro - b.held_micro) filter (where b.expires_at is null or b.expires_at > now()), 0)::bigint as micro
      from (select actor as account_id from c union select owner_account_id from c where owner_account_id is not null) p
      left join buckets b on b.account_id = p.account_id group by p.account_id
    ), payer as (
      -- one payer for all of an actor's wishes, or none: then the family is decided one by one
      select w.actor, case when w.own_pays and own.micro >= w.wanted then w.actor
                           when w.owner_account_id is not null and (not w.own_pays or own.micro = 0) then w.owner_account_id end as account_id
      from (select actor, own_pays, owner_account_id, sum(wanted)::bigint as wanted from c group by actor, own_pays, owner_account_id) w
      join available own on own.account_id = w.actor
    ), misfit as (
      select family_id from c join payer using (actor) where payer.account_id is null
      union
      select c.family_id from c join payer using (actor) join available f on f.account_id = payer.account_id
      group by c.family_id, f.account_id, f.micro having sum(c.wanted) > f.micro
      union
      select x.family_id
      from (select c.family_id, c.key_budget_id as budget_id, max(c.wanted) as largest, sum(c.wanted) as wanted from c where c.key_budget_id is not null group by c.family_id, c.key_budget_id
            union all
            select c.family_id, c.link_budget_id, max(c.wanted), sum(c.wanted) from c join payer using (actor)
            where c.link_budget_id is not null and payer.account_id <> c.actor group by c.family_id, c.link_budget_id) x
      cross join lateral budget_rooms(x.budget_id) room
      where case when room.name = 'per_call' then x.largest else x.wanted end > room.room_micro
    )
    select array_agg((c.op, c.family_id, null, c.own_pays, c.owner_account_id, c.key_budget_id, c.link_budget_id, payer.account_id)::ledger_candidate)
             filter (where c.family_id not in (select family_id from misfit)) into fitting
    from c join payer using (actor);
  end if;

  if fitting is not null then
    perform ledger_reserve_fitting(fitting);
    select array_agg(((f.op).ordinal, (f.op).actor_account_id, 'reserved', (f.op).wanted_micro, null)::ledger_result), array_agg(distinct f.family_id)
    into results, fitting_families from unnest(fitting) f;
  end if;

  if coalesce(cardinality(fitting), 0) < cardinality(candidates) then
    foreach candidate in array candidates loop
      if candidate.refusal is null then
        if candidate.family_id = any (fitting_families) then continue; end if;
        results := results || ledger_reserve_one(candidate);
      elsif candidate.refusal = 'repeated' then
        select * into known from holds where id = (candidate.op).id;
        if known.id is null then -- the first of this flush was refused
          results := results || ledger_reserve_one(candidate);
        elsif known.request_id = (candidate.op).request_id and known.actor_account_id = (candidate.op).actor_account_id
          and known.wanted_micro = (candidate.op).wanted_micro and known.minimum_micro = (candidate.op).minimum_micro then
          results := results || ((candidate.op).ordinal, (candidate.op).actor_account_id, 'reserved', known.reserve_micro, null)::ledger_result;
        else
          results := results || ((candidate.op).ordinal, (candidate.op).actor_account_id, 'conflict', null, null)::ledger_result;
        end if;
      else
        results := results || ((candidate.op).ordinal, (candidate.op).actor_account_id, candidate.refusal, null, null)::ledger_result;
      end if;
    end loop;
  end if;
  return results;
end $$;
