-- Webhooks (decisions 6): who wants to hear of events, and what became of each delivery. The events are rows of outbox.

-- registered: an account asked for it. task_host: where URLs that came with tasks of an account lead, with no secret of its own
create type webhook_endpoint_kind as enum ('registered', 'task_host');
create type webhook_disabled_reason as enum ('account', 'gone', 'failing');
create type webhook_delivery_state as enum ('pending', 'delivered', 'failed', 'canceled');

create table webhook_endpoints (
  id bigint generated always as identity primary key,
  account_id bigint not null references accounts (id),
  kind webhook_endpoint_kind not null default 'registered',
  -- of a task_host: scheme, host and port alone
  url text not null,
  -- none: every type of event, also those to come
  events text[] not null default '{}',
  description text not null default '',
  -- sealed under the server's pepper: signing needs the secret itself
  sealed_secret bytea,
  previous_sealed_secret bytea,
  previous_signs_until timestamptz,
  disabled_at timestamptz,
  disabled_reason webhook_disabled_reason,
  failing_since timestamptz,
  consecutive_failures integer not null default 0,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  check ((kind = 'registered') = (sealed_secret is not null)),
  check ((previous_sealed_secret is null) = (previous_signs_until is null)),
  check ((disabled_at is null) = (disabled_reason is null))
);
create index webhook_endpoints_account on webhook_endpoints (account_id, id);
create unique index webhook_endpoints_task_host on webhook_endpoints (account_id, url) where kind = 'task_host';

-- What deliveries to URLs of tasks are signed with: one for each account that has such tasks.
create table webhook_task_secrets (
  account_id bigint primary key references accounts (id),
  sealed_secret bytea not null,
  previous_sealed_secret bytea,
  previous_signs_until timestamptz,
  created_at timestamptz not null,
  check ((previous_sealed_secret is null) = (previous_signs_until is null))
);

create table webhook_deliveries (
  id bigint generated always as identity primary key,
  endpoint_id bigint not null references webhook_endpoints (id) on delete cascade,
  event_id bigint not null references outbox (id) on delete cascade,
  -- what the event is about, such as task:t_12: deliveries of one object to one endpoint go out in the order of event_id
  object text not null,
  -- the URL of a task; otherwise the endpoint's, as it is when the attempt is made
  url text,
  state webhook_delivery_state not null default 'pending',
  -- all attempts there were, and those since the delivery began or was replayed
  attempts integer not null default 0,
  tries integer not null default 0,
  next_attempt_at timestamptz not null,
  -- while an attempt runs: after this time whoever made it is taken for dead
  leased_until timestamptz,
  last_attempt_at timestamptz,
  last_outcome text,
  last_status integer,
  created_at timestamptz not null,
  finished_at timestamptz,
  unique (endpoint_id, event_id),
  check ((state = 'pending') = (finished_at is null))
);
create index webhook_deliveries_waiting on webhook_deliveries (endpoint_id, next_attempt_at, event_id) where state = 'pending';
create index webhook_deliveries_order on webhook_deliveries (endpoint_id, object, event_id) where state = 'pending';
create index webhook_deliveries_log on webhook_deliveries (endpoint_id, id desc);
create index webhook_deliveries_event on webhook_deliveries (event_id);
-- what a task says of its own URL
create index webhook_deliveries_task on webhook_deliveries (object) where url is not null;

create table webhook_attempts (
  delivery_id bigint not null references webhook_deliveries (id) on delete cascade,
  n integer not null,
  at timestamptz not null,
  duration_ms integer not null,
  outcome text not null,
  status integer,
  -- the beginning of the answer's body, for whoever looks for the reason
  answer text not null default '' check (length(answer) <= 500),
  primary key (delivery_id, n)
);

create index outbox_account on outbox (account_id, created_at);
create index outbox_old on outbox (delivered_at) where delivered_at is not null;
comment on column outbox.delivered_at is 'when its deliveries were made; the row goes when its time in the delivery log is over';

grant delete on outbox to farebox_app;
grant insert, update, delete on webhook_endpoints, webhook_deliveries, webhook_attempts to farebox_app;
grant insert, update on webhook_task_secrets to farebox_app;
