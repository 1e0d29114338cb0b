-- A billed request that named itself by Idempotency-Key: claimed before the hold, answered once, replayed after.
create table idempotency_keys (
  account_id bigint not null references accounts (id),
  route text not null,
  key text not null,
  fingerprint bytea not null,
  process_id bigint not null,
  request_id text not null,
  created_at timestamptz not null default now(),
  completed_at timestamptz,
  status smallint,
  headers jsonb,
  body text,
  primary key (account_id, route, key),
  check ((completed_at is null) = (status is null))
);
create index idempotency_keys_age on idempotency_keys (created_at);

grant insert, update, delete on idempotency_keys to farebox_app;
