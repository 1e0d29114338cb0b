-- Who is signed in, what is being signed, and the keys that tokens are signed with.

-- One login. Its tokens carry sid; the refresh token also carries the generation, which each exchange moves on:
-- no list of used tokens is needed, since every older generation is a used one.
create table sessions (
  -- what holds name as their credential
  id bigint generated always as identity primary key,
  sid uuid not null unique,
  account_id bigint not null references accounts (id),
  generation integer not null default 0,
  device text not null default '',
  created_at timestamptz not null default now(),
  last_used_at timestamptz not null default now(),
  -- the absolute end: no exchange moves it
  expires_at timestamptz not null,
  revoked_at timestamptz
) with (fillfactor = 80);
create index sessions_account on sessions (account_id, id);

create type challenge_purpose as enum ('agent_sign_in', 'owner_wallet_binding', 'wallet_linking');

-- A text that a wallet is asked to sign. What is verified is the text stored here, never a client's copy.
create table challenges (
  id text primary key,
  purpose challenge_purpose not null,
  wallet_address text not null check (wallet_address ~ '^0x[0-9a-f]{40}$'),
  message text not null,
  -- whom it speaks of, for purposes that name somebody
  owner_account_id bigint references accounts (id),
  agent_account_id bigint references accounts (id),
  delegation_id bigint,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  consumed_at timestamptz,
  failed_attempts smallint not null default 0
);
create index challenges_wallet on challenges (wallet_address, created_at);
create index challenges_expiry on challenges (expires_at);

-- Ed25519 keys of tokens. Only the seed is kept, sealed under a key derived from the server's pepper: whoever
-- reads or even writes this table can neither sign a token nor bring in a key of their own.
create table signing_keys (
  kid text primary key,
  sealed_seed bytea not null,
  created_at timestamptz not null default now(),
  -- null: the one that signs
  retired_at timestamptz,
  -- until then it still verifies: when the last token it signed has expired
  verifies_until timestamptz,
  check ((retired_at is null) = (verifies_until is null))
);
create unique index signing_keys_one_active on signing_keys ((true)) where retired_at is null;

grant insert, update on sessions, signing_keys to farebox_app;
grant insert, update, delete on challenges to farebox_app;
