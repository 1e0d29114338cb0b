-- The hot path: everything that one flush of the server brings, in one transaction. Ends of holds come first,
-- so that what they release can be held again at once; then reserves, each group in the order given.
-- Takes a JSON array of operations, gives one row for each. Sent again after a lost connection, it
-- changes nothing twice and gives the same answers.
create or replace function ledger_apply(operations json)
returns table (ordinal int, status text, amount_micro bigint, available_micro bigint, detail json)
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
declare
  reservations ledger_reservation[];
  resolutions ledger_resolution[];
  account_ids bigint[];
  results ledger_result[];
begin
  select
    array_agg((o.n, o.id, o.request_id, o.actor_account_id, o.credential_kind, o.credential_id, o.wanted_micro, o.minimum_micro,
               o.category, o.subject, o.process_id, o.detail)::ledger_reservation) filter (where o.operation = 'reserve'),
    array_agg((o.n, o.id, o.operation, o.actual_micro, o.outcome, o.usage, o.reason, o.resolved_by)::ledger_resolution) filter (where o.operation <> 'reserve')
  into reservations, resolutions
  from (
    select row_number() over ()::int as n, x.*
    from json_to_recordset(operations) as x (
      operation text, id bigint, request_id text, actor_account_id bigint, credential_kind credential_kind, credential_id bigint,
      wanted_micro bigint, minimum_micro bigint, category text, subject text, process_id bigint, detail json,
      actual_micro bigint, outcome call_outcome, usage json, reason text, resolved_by text)
  ) o;

  -- an owner's account is always in its own family, so an actor's family is the owner's too
  select array_agg(distinct account_id) into account_ids from (
    select r.actor_account_id as account_id from unnest(reservations) r
    union all
    select h.actor_account_id from unnest(resolutions) c join holds h on h.id = c.id
    union all
    select a.payer_account_id from unnest(resolutions) c join hold_allocations a on a.hold_id = c.id
  ) touched;
  perform ledger_lock_families(account_ids);

  if resolutions is not null then
    results := ledger_resolve(resolutions);
  end if;
  if reservations is not null then
    results := coalesce(results, '{}') || ledger_reserve(reservations);
  end if;

  return query
    with actors as (
      select distinct r.actor_account_id as id from unnest(results) r
    ), view as (
      select actors.id, account_spendable_micro(actors.id) as available from actors
    )
    select r.ordinal, r.status, r.amount_micro, view.available, r.detail
    from unnest(results) r left join view on view.id = r.actor_account_id
    order by r.ordinal;
end $$;
