-- Stablecoin orders (spec 2.2, 3.1): what was asked for, what the chain shows, and how the two were joined.

create type order_status as enum ('pending', 'confirming', 'completed', 'expired', 'review_required');
create type attempt_state as enum ('active', 'rejected', 'failed_onchain', 'replaced', 'mismatch', 'abandoned', 'settled');
create type transfer_state as enum ('seen', 'orphaned', 'matched', 'credited', 'unmatched', 'ignored', 'final');

-- The on-chain log that paid for a grant, once over all payment rails and for ever.
create table chain_receipts (
  chain_id bigint not null,
  tx_hash text not null check (tx_hash ~ '^0x[0-9a-f]{64}$'),
  -- position of the transfer among the token transfers of its transaction: log indexes move in a reorganisation
  log_position integer not null,
  grant_id bigint not null unique references credit_grants (id),
  rail grant_source not null,
  created_at timestamptz not null default now(),
  primary key (chain_id, tx_hash, log_position)
);

create table orders (
  id uuid primary key,
  -- who asked, who pays from which wallet, who gets the Credits
  payer_account_id bigint not null references accounts (id),
  account_id bigint not null references accounts (id),
  payer_address text not null check (payer_address = lower(payer_address)),
  asset_id text not null,
  chain_id bigint not null,
  token_address text not null check (token_address = lower(token_address)),
  recipient_address text not null check (recipient_address = lower(recipient_address)),
  amount_micro microcredits not null check (amount_micro > 0),
  credit_micro microcredits not null check (credit_micro > 0),
  rate_ppm bigint not null check (rate_ppm > 0),
  status order_status not null default 'pending',
  payment_attempt_id uuid,
  tx_hash text check (tx_hash ~ '^0x[0-9a-f]{64}$'),
  idempotency_key text not null,
  idempotency_fingerprint bytea not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  completed_at timestamptz,
  grant_id bigint references credit_grants (id),
  review_reason text,
  review_opened_at timestamptz,
  review_resolved_at timestamptz,
  review_resolution text,
  -- what arrived, when that is not what was asked for
  received_micro microcredits,
  unique (payer_account_id, idempotency_key)
);
create index orders_open on orders (chain_id, payer_address, amount_micro) where status in ('pending', 'confirming', 'expired');
create index orders_account on orders (payer_account_id, created_at desc, id);
create index orders_watched on orders (status, expires_at) where status in ('pending', 'confirming');
create index orders_review on orders (payer_account_id) where status = 'review_required';

create table order_attempts (
  id uuid primary key,
  order_id uuid not null references orders (id),
  state attempt_state not null default 'active',
  -- reserved by the payer, or implied by a registered hash or a transfer that was seen
  source text not null check (source in ('reserved', 'registered', 'watched')),
  created_at timestamptz not null,
  ended_at timestamptz
);
create unique index order_attempts_active on order_attempts (order_id) where state = 'active';
create index order_attempts_order on order_attempts (order_id);

-- Hashes that payers registered: hints that prove nothing and exclude nobody.
create table order_hashes (
  order_id uuid not null references orders (id),
  tx_hash text not null check (tx_hash ~ '^0x[0-9a-f]{64}$'),
  chain_id bigint not null,
  registered_at timestamptz not null,
  refused text,
  -- the nonce while the transaction was pending, to tell a replacement from a loss
  seen_nonce bigint,
  primary key (order_id, tx_hash)
);
create index order_hashes_hash on order_hashes (chain_id, tx_hash);

-- Every move of an order, in the transaction that made it.
create table order_events (
  order_id uuid not null references orders (id),
  n integer not null,
  from_status order_status,
  to_status order_status not null,
  event text not null,
  actor text not null,
  data jsonb not null default '{}',
  at timestamptz not null,
  primary key (order_id, n)
);

-- How far each chain has been read. One row for each chain covers all its tokens and recipients.
create table chain_cursors (
  chain_id bigint primary key,
  block bigint not null,
  hash text not null,
  head_block bigint not null,
  head_at timestamptz not null,
  safe_block bigint not null,
  finalized_block bigint not null,
  updated_at timestamptz not null default now()
);

-- Hashes of blocks that were read, back to the finalized one: where a reorganisation is noticed.
create table chain_blocks (
  chain_id bigint not null,
  number bigint not null,
  hash text not null,
  at timestamptz not null,
  primary key (chain_id, number)
);

-- Transfers to our recipients, as the canonical chain shows them.
create table chain_transfers (
  chain_id bigint not null,
  tx_hash text not null check (tx_hash ~ '^0x[0-9a-f]{64}$'),
  log_position integer not null,
  block bigint not null,
  block_hash text not null,
  block_at timestamptz not null,
  token_address text not null,
  payer text not null,
  recipient text not null,
  amount numeric(78, 0) not null,
  state transfer_state not null default 'seen',
  order_id uuid references orders (id),
  note text,
  -- an operator's decision on a transfer that belongs to no order
  resolution text,
  resolved_at timestamptz,
  primary key (chain_id, tx_hash, log_position)
);
create index chain_transfers_open on chain_transfers (chain_id, block) where state in ('seen', 'matched', 'credited');
create index chain_transfers_unmatched on chain_transfers (state) where state = 'unmatched' and resolved_at is null;
create index chain_transfers_order on chain_transfers (order_id);

-- What others want to hear of, written in the transaction that made it true; delivered later.
create table outbox (
  id bigint generated always as identity primary key,
  event text not null,
  account_id bigint not null references accounts (id),
  object_id text not null,
  payload jsonb not null,
  created_at timestamptz not null default now(),
  delivered_at timestamptz
);
create index outbox_waiting on outbox (id) where delivered_at is null;

-- The last comparison of what the chain shows we received with what was credited for it.
create table reconciliations (
  id bigint generated always as identity primary key,
  asset_id text not null,
  block bigint not null,
  -- what the recipients hold at this block: the next comparison goes on from it
  balance numeric(78, 0) not null,
  received numeric(78, 0) not null,
  credited numeric(78, 0) not null,
  unmatched numeric(78, 0) not null,
  drift numeric(78, 0) not null,
  at timestamptz not null default now()
);
create index reconciliations_latest on reconciliations (asset_id, id desc);

create trigger append_only before update or delete or truncate on chain_receipts for each statement execute function refuse_change();
create trigger append_only before update or delete or truncate on order_events for each statement execute function refuse_change();
create trigger append_only before update or delete or truncate on reconciliations for each statement execute function refuse_change();

grant insert, update on orders, order_attempts, order_hashes, chain_cursors, chain_transfers, outbox to farebox_app;
grant insert, update, delete on chain_blocks to farebox_app;
grant insert on order_events, reconciliations to farebox_app;
