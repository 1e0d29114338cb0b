-- What was counted against rate limits, and who changed what.

-- Requests that processes have taken out of a limit's window, ahead of serving them. Losing these rows (a
-- crash empties the table) starts the windows anew and costs nothing else, so they are never written to the log.
create unlogged table rate_limit_windows (
  ends_at timestamptz not null,
  -- the beginning of a SHA-256 of what is limited: no address is stored in the clear
  key bytea not null,
  taken integer not null,
  -- how much of taken the last statement took: its answer
  leased integer not null,
  -- time first, so that windows that are over are one range
  primary key (ends_at, key)
) with (fillfactor = 70);

grant insert, update, delete on rate_limit_windows to farebox_app;

create type audit_actor_kind as enum ('operator', 'account', 'system');

-- Who did what to whom, and why. Each row's hash covers the whole row and the hash before it, so that a row
-- that is changed, removed, inserted or moved breaks the chain (docs/limits.md says how to check it).
create table audit_log (
  -- its place in the chain: 1, 2, 3, without gaps
  id bigint primary key check (id > 0),
  at timestamptz not null,
  actor_kind audit_actor_kind not null,
  actor text not null,
  action text not null check (action ~ '^[a-z_]+\.[a-z_]+$'),
  target_kind text not null,
  target_id text not null,
  -- json, not jsonb: the text is kept as it was hashed
  before json,
  after json,
  reason text check (length(reason) <= 2000),
  request_id text,
  previous_hash bytea not null unique check (length(previous_hash) = 32),
  hash bytea not null unique check (length(hash) = 32)
);
create index audit_log_target on audit_log (target_kind, target_id, id);

create trigger append_only before update or delete or truncate on audit_log
  for each statement execute function refuse_change();

-- The end of the chain: locked by whoever appends, and how a missing last row is noticed.
create table audit_log_head (
  only_row boolean primary key default true check (only_row),
  last_id bigint not null,
  last_hash bytea not null
);
insert into audit_log_head (last_id, last_hash) values (0, decode(repeat('00', 32), 'hex'));

grant insert on audit_log to farebox_app;
grant update on audit_log_head to farebox_app;
