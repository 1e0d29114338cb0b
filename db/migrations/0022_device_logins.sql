-- Owners log programs in: a program shows a short code, its owner approves it in the console (RFC 8628).

create type device_login_status as enum ('pending', 'approved', 'denied', 'completed');

create table device_logins (
  id bigint generated always as identity primary key,
  -- what the program asks with: a secret, of which only the hash is kept
  device_code_hash bytea not null unique,
  -- what a person types; it does nothing without an owner's session
  user_code text not null unique check (user_code ~ '^[BCDFGHJKLMNPQRSTVWXZ]{8}$'),
  -- what the program calls itself, and the network that it asked from: for the owner to recognise it by
  client_name text not null,
  network text not null,
  status device_login_status not null default 'pending',
  -- who decided
  account_id bigint references accounts (id),
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  -- a program that asks before this moment is told to slow down, and its pace gets longer
  next_poll_at timestamptz not null default now(),
  interval_seconds smallint not null,
  polled_too_soon boolean not null default false,
  check ((status = 'pending') = (account_id is null))
);
create index device_logins_expiry on device_logins (expires_at);

grant insert, update, delete on device_logins to farebox_app;
