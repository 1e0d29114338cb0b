-- Who exists, who pays for whom, and the credentials that may spend.

create type account_type as enum ('owner', 'agent');
create type account_status as enum ('active', 'banned', 'deactivated');
create type account_role as enum ('user', 'admin');
create type billing_mode as enum ('self_only', 'self_then_owner', 'owner_only');
create type credential_kind as enum ('api_key', 'session', 'operator');

-- The lock row of an owner and the Agents it funds. Money only moves between accounts of one family, so one
-- row lock orders everything that can touch their balances, budgets, links and bans.
create table families (
  id bigint primary key,
  version bigint not null default 0
) with (fillfactor = 50);

create table accounts (
  id bigint generated always as identity primary key,
  account_type account_type not null,
  status account_status not null default 'active',
  role account_role not null default 'user',
  wallet_address text unique check (wallet_address = lower(wallet_address) and wallet_address ~ '^0x[0-9a-f]{40}$'),
  email text,
  label text,
  -- the owner's id, or the account's own id while nobody owns it
  family_id bigint not null references families (id),
  created_at timestamptz not null default now()
);
create index accounts_family on accounts (family_id);

-- Limits of spending; null is no limit. Windows are UTC days and months.
create table budgets (
  id bigint generated always as identity primary key,
  per_call_micro microcredits,
  daily_micro microcredits,
  monthly_micro microcredits,
  total_micro microcredits,
  created_at timestamptz not null default now()
);

create type budget_window as enum ('daily', 'monthly', 'total');

-- What a budget's window has spent and holds. A row appears with the first hold in its window.
create table budget_windows (
  budget_id bigint not null references budgets (id),
  window_kind budget_window not null,
  starts_on date not null,
  spent_micro microcredits not null default 0,
  held_micro microcredits not null default 0,
  primary key (budget_id, window_kind, starts_on)
) with (fillfactor = 50);

-- The one owner an Agent may have.
create table agent_links (
  agent_account_id bigint primary key references accounts (id),
  owner_account_id bigint not null references accounts (id),
  billing_mode billing_mode not null default 'self_then_owner',
  -- the owner's kill switch: while true the owner funds nothing for this Agent
  funding_paused boolean not null default false,
  budget_id bigint references budgets (id),
  created_at timestamptz not null default now(),
  check (agent_account_id <> owner_account_id)
);
create index agent_links_owner on agent_links (owner_account_id);

create table api_keys (
  id bigint generated always as identity primary key,
  account_id bigint not null references accounts (id),
  -- HMAC-SHA256 of the whole key under the server's pepper: the key itself is nowhere at rest
  secret_hash bytea not null unique,
  name text not null default '',
  prefix text not null,
  last4 text not null,
  budget_id bigint references budgets (id),
  created_at timestamptz not null default now(),
  last_used_at timestamptz,
  expires_at timestamptz,
  revoked_at timestamptz
);
create index api_keys_account on api_keys (account_id, id);

-- A running server. Holds name the process that made them: when it is gone, their usage is unknown.
create table processes (
  id bigint generated always as identity primary key,
  host text not null,
  pid integer not null,
  -- no open hold of this process has a smaller id: where a search for what it left behind begins
  oldest_hold_id bigint not null default 0,
  started_at timestamptz not null default now(),
  heartbeat_at timestamptz not null default now(),
  ended_at timestamptz
);
create index processes_alive on processes (id) where ended_at is null;

grant insert, update on families, accounts, budgets, agent_links, api_keys, processes to farebox_app;
grant delete on agent_links to farebox_app;
