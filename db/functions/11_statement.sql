-- Where a moment lies in an account's movements: smaller ids are before it, the others after.
--
-- A movement's time is the start of its transaction, which may have waited for the family's lock, so times are not
-- exactly in the order of ids. A statement must be a run of ids all the same: only so do opening and closing balance
-- fit. The id is therefore searched by halving, always at the same places. Near a moment around which times are out of
-- order the answer is one of the crossings there; it is the same each time once the moment is closed, and a later
-- moment never gives a smaller id: adjacent ranges neither share a movement nor lose one. Between two moments with no
-- movement of the account stamped in between it is the same id. Some 25 look-ups, whatever the size of the history.
create or replace function statement_cut(account bigint, moment timestamptz) returns bigint language plpgsql stable as $$
declare
  newest bigint;
  low bigint := 0;
  high bigint := 1;
  middle bigint;
  stamped timestamptz;
begin
  -- pairs are compared as a whole, so that only the index (account_id, id) will do
  select t.id into newest from transfers t
  where (t.account_id, t.id) <= (account, 9007199254740992) and t.account_id >= account order by t.account_id desc, t.id desc limit 1;
  -- a power of two above every id: the places that are looked at stay the same while the history grows
  while high < coalesce(newest, 0) + 2 loop
    high := high * 2;
  end loop;
  while low < high loop
    middle := (low + high) / 2;
    select t.moved_at into stamped from transfers t
    where (t.account_id, t.id) >= (account, middle) and t.account_id <= account order by t.account_id, t.id limit 1;
    if stamped < moment then
      low := middle + 1;
    else
      high := middle;
    end if;
  end loop;
  return low;
end $$;

-- Moves the moment before which nothing can be stamped any more, and gives it. Every transaction holds a lock on its own
-- virtual id from its beginning to its end: the candidate of one call becomes closed at a later one, when none of those
-- that ran are left. The margin covers what lies between reading the clock and taking that lock. A clock that goes back
-- by more than the margin is not covered: the full audits find what it did.
create or replace function ledger_close_time(margin interval default interval '1 minute') returns timestamptz
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
  state closed_time;
begin
  select * into state from closed_time for update skip locked;
  if not found then
    -- another process is at it
    return (select closed_until from closed_time);
  end if;
  if state.candidate is not null
     and not exists (select from pg_locks l where l.locktype = 'virtualxid' and l.virtualxid = any (state.waits_for)) then
    state.closed_until := greatest(state.closed_until, state.candidate);
    state.candidate := null;
  end if;
  if state.candidate is null then
    state.candidate := clock_timestamp() - margin;
    state.waits_for := array(
      select l.virtualxid from pg_locks l join pg_stat_activity a on a.pid = l.pid
      where l.locktype = 'virtualxid' and l.pid <> pg_backend_pid() and a.datid = (select oid from pg_database where datname = current_database()));
  end if;
  update closed_time set closed_until = state.closed_until, candidate = state.candidate, waits_for = state.waits_for;
  return state.closed_until;
end $$;
