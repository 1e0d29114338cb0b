-- Units and the guard that keeps history as it was written.

-- An amount in microcredits. The upper bound keeps every amount exact as a JSON integer.
create domain microcredits as bigint check (value between 0 and 9000000000000000);

-- Rows that are facts are never changed: a correction is a new row.
create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception 'rows of % are append-only', tg_table_name using errcode = 'restrict_violation';
end $$;
