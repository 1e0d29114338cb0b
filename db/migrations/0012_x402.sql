-- x402 top-ups (spec 2.5, 2.6, 3.2): signed authorizations, what became of them on the chain, and the relayer's own
-- transactions, which are stored before they are sent.

create type x402_status as enum ('awaiting_settlement', 'pending', 'credited', 'review_required', 'failed');

create table x402_payments (
  id bigint generated always as identity primary key,
  chain_id bigint not null,
  token_address text not null check (token_address = lower(token_address)),
  payer text not null check (payer ~ '^0x[0-9a-f]{40}$'),
  nonce text not null check (nonce ~ '^0x[0-9a-f]{64}$'),
  asset_id text not null,
  recipient_address text not null check (recipient_address = lower(recipient_address)),
  -- what was authorized, in micro units of the asset, and what it buys
  amount_micro microcredits not null check (amount_micro > 0),
  credit_micro microcredits not null check (credit_micro > 0),
  rate_ppm bigint not null check (rate_ppm > 0),
  -- Unix seconds, as they were signed
  valid_after bigint not null,
  valid_before bigint not null,
  signature text not null check (signature ~ '^0x[0-9a-f]{130}$'),
  -- the offer that the payer took, by the version in which it came: what a facilitator is told
  x402_version smallint not null check (x402_version in (1, 2)),
  settler text not null check (settler in ('relayer', 'facilitator', 'payer')),
  -- who is credited
  account_id bigint not null references accounts (id),
  status x402_status not null default 'awaiting_settlement',
  -- the transaction and the place in it that paid, as far as the chain shows one
  tx_hash text check (tx_hash ~ '^0x[0-9a-f]{64}$'),
  log_position integer,
  block bigint,
  grant_id bigint references credit_grants (id),
  reason text,
  request_id text not null,
  created_at timestamptz not null,
  credited_at timestamptz,
  -- when no reorganisation can take the transfer away any more
  final_at timestamptz,
  -- when some process looks at the chain for it again
  next_look_at timestamptz not null,
  -- the identity of a payment (decisions 7): nonces are the payer's own
  unique (chain_id, token_address, payer, nonce)
);
create index x402_payments_open on x402_payments (next_look_at) where final_at is null and status <> 'failed';
create index x402_payments_account on x402_payments (account_id, id desc);
create index x402_payments_payer on x402_payments (payer, created_at);
create index x402_payments_transfer on x402_payments (chain_id, tx_hash);

-- Every move of a payment, in the transaction that made it.
create table x402_events (
  payment_id bigint not null references x402_payments (id),
  n integer not null,
  from_status x402_status,
  to_status x402_status not null,
  event text not null,
  data jsonb not null default '{}',
  at timestamptz not null,
  primary key (payment_id, n)
);

-- The account nonces of a relayer are given out one after another under the lock of its row.
create table relayer_lanes (
  chain_id bigint not null,
  address text not null check (address = lower(address)),
  next_nonce bigint not null,
  primary key (chain_id, address)
);

-- Signed transactions of relayers. Each is stored before it is sent, so that after a crash the very same one is sent again.
create table relayer_transactions (
  id bigint generated always as identity primary key,
  chain_id bigint not null,
  address text not null,
  nonce bigint not null,
  payment_id bigint not null references x402_payments (id),
  tx_hash text not null unique check (tx_hash ~ '^0x[0-9a-f]{64}$'),
  raw text not null,
  gas_limit bigint not null,
  max_fee_wei numeric(78, 0) not null,
  priority_fee_wei numeric(78, 0) not null,
  created_at timestamptz not null,
  -- when it was last handed to a node
  sent_at timestamptz,
  -- when the account nonce was seen used: by this transaction or by another one
  closed_at timestamptz
);
create index relayer_transactions_open on relayer_transactions (chain_id, address, nonce) where closed_at is null;
create index relayer_transactions_payment on relayer_transactions (payment_id);

create trigger append_only before update or delete or truncate on x402_events for each statement execute function refuse_change();

grant insert, update on x402_payments, relayer_lanes, relayer_transactions to farebox_app;
grant insert on x402_events to farebox_app;
