-- Tasks: work that is answered at once with an id and outlives the process that took it (spec 2.10, 3.3, decisions 6).

create type task_state as enum ('waiting', 'queuing', 'generating', 'success', 'fail', 'canceled');
create type task_attempt_state as enum ('intended', 'refused', 'accepted', 'lost', 'ended');

create table tasks (
  id uuid primary key,
  account_id bigint not null references accounts (id),
  request_id text not null unique,
  -- chosen before the hold is made, so that the row can be written first
  hold_id bigint not null unique,
  -- who does the work: a name that every process knows
  runner text not null,
  type text not null,
  model text not null,
  capability_slug text not null default '',
  capability_version text not null default '',
  -- what was asked for, as the client reads it back; uploaded files are in task_uploads
  request jsonb not null,
  -- the price as it was when the task was made: version, unit, unit_micro, units
  price jsonb not null,
  reserve_micro microcredits not null check (reserve_micro > 0),
  eta_seconds integer not null,
  timeout_ms integer not null,
  webhook_url text,
  -- false until its money is held: nobody sees it or works on it before
  held boolean not null default false,
  state task_state not null default 'waiting',
  progress smallint not null default 0 check (progress between 0 and 100),
  -- rises with every change that a reader can see
  version integer not null default 1,
  cancel_requested_at timestamptz,
  -- our patience is over, or the submission is lost: the hold was marked usage_unknown
  unknown_at timestamptz,
  -- how it ends, decided once, before its money is moved; end_micro null: what it cost cannot be known
  end_state task_state check (end_state in ('success', 'fail', 'canceled')),
  end_micro microcredits,
  end_usage jsonb,
  result jsonb,
  error_code text,
  error_message text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  completed_at timestamptz,
  outbox_id bigint references outbox (id),
  -- when it is worked on next: never while a process works on it, unless somebody wants it sooner
  due_at timestamptz not null default now(),
  lease_process bigint,
  lease_until timestamptz,
  check ((completed_at is null) = (state in ('waiting', 'queuing', 'generating'))),
  check (completed_at is null or state = end_state)
) with (fillfactor = 70);
create index tasks_due on tasks (due_at) where completed_at is null;
create index tasks_leased on tasks (lease_until) where lease_until is not null;
create index tasks_account on tasks (account_id, id) where held;

-- Each time a provider was asked to do the work. The row is there before the provider is.
create table task_attempts (
  id uuid primary key,
  task_id uuid not null references tasks (id) on delete cascade,
  n smallint not null,
  provider text not null,
  model text not null,
  state task_attempt_state not null default 'intended',
  provider_job_id text,
  -- what the provider's adapter wants to be given back with the id
  provider_memo text,
  cancel_asked_at timestamptz,
  -- what the provider said last, without what the client sent
  message text,
  retry_after_ms integer,
  retryable boolean,
  status smallint,
  submitted_at timestamptz not null default now(),
  ended_at timestamptz,
  unique (task_id, n)
);
-- work that may exist at a provider is never begun a second time
create unique index task_attempts_open on task_attempts (task_id) where state in ('intended', 'accepted', 'lost');

-- Files that came with a task, until it has ended.
create table task_uploads (
  task_id uuid not null references tasks (id) on delete cascade,
  n smallint not null,
  content_type text not null,
  bytes bytea not null,
  primary key (task_id, n)
);

grant insert, update, delete on tasks, task_attempts, task_uploads to farebox_app;
