-- Top-up with a chain's own coin, "axon" (spec 2.7, 4.6): what it was worth, what was quoted, who claims which hash.

create type axon_claim_status as enum ('pending', 'confirming', 'completed', 'review_required', 'failed', 'closed');

-- Wei of the coin: more than a bigint holds.
create domain wei as numeric(78, 0) check (value >= 0);
-- Millionths of a millionth of a millionth of a dollar for one whole coin: 18 decimals, exactly.
create domain usd_e18 as numeric(78, 0) check (value > 0);

-- Every rate that was used, with what each source said.
create table axon_rates (
  id bigint generated always as identity primary key,
  source text not null check (source in ('fixed', 'http', 'feed')),
  rate usd_e18 not null,
  -- how old the rate itself is: what its source says, or when it was asked
  observed_at timestamptz not null,
  sampled_at timestamptz not null,
  detail jsonb not null default '{}'
);
create index axon_rates_newest on axon_rates (sampled_at desc, id desc);

-- A rate, locked for a while, and the exact amount that stands for it. An order is the same thing, read by its number.
create table axon_quotes (
  id bigint generated always as identity primary key,
  account_id bigint not null references accounts (id),
  mode text not null check (mode in ('credit_usd', 'pay_axon')),
  chain_id bigint not null,
  payer_address text not null check (payer_address = lower(payer_address)),
  pay_to_address text not null check (pay_to_address = lower(pay_to_address)),
  expected_wei wei not null check (expected_wei > 0),
  credit_micro microcredits not null check (credit_micro > 0),
  rate_id bigint not null references axon_rates (id),
  rate usd_e18 not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  -- the claim that paid it
  claim_id bigint,
  -- set once a payment of this amount no longer means this quote
  closed_at timestamptz
);
-- Two quotes that a payment could mean at the same time never ask for the same amount: dust makes them distinct.
create unique index axon_quotes_distinct on axon_quotes (account_id, chain_id, pay_to_address, expected_wei)
  where claim_id is null and closed_at is null;
create index axon_quotes_open on axon_quotes (expires_at) where claim_id is null and closed_at is null;

-- A hash that an account says is its payment. Several may claim one hash; at most one gets Credits for it.
create table axon_claims (
  id bigint generated always as identity primary key,
  account_id bigint not null references accounts (id),
  chain_id bigint not null,
  tx_hash text not null check (tx_hash ~ '^0x[0-9a-f]{64}$'),
  status axon_claim_status not null default 'pending',
  -- why it failed or is in review: a word of src/payments/axon/judge.ts
  reason text,
  claimed_at timestamptz not null,
  looked_at timestamptz,
  -- what every node showed, once the value is deep enough to be ours
  payer_address text,
  recipient_address text,
  received_wei wei,
  block bigint,
  block_hash text,
  block_at timestamptz,
  -- true when there is nothing more to look at: refused for good, or out of reach of any reorganisation
  final boolean not null default false,
  quote_id bigint references axon_quotes (id),
  grant_id bigint unique references credit_grants (id),
  credited_micro microcredits,
  completed_at timestamptz,
  review_opened_at timestamptz,
  unique (account_id, chain_id, tx_hash),
  check (status <> 'completed' or grant_id is not null),
  check ((grant_id is null) = (credited_micro is null))
);
alter table axon_quotes add foreign key (claim_id) references axon_claims (id);
create unique index axon_quotes_claim on axon_quotes (claim_id) where claim_id is not null;
create index axon_claims_work on axon_claims (looked_at nulls first) where not final;
create index axon_claims_undone on axon_claims (account_id, status) where status in ('pending', 'confirming', 'failed');
create index axon_claims_review on axon_claims (review_opened_at) where status = 'review_required';
create index axon_claims_quote on axon_claims (quote_id) where quote_id is not null;
create index axon_claims_hash on axon_claims (chain_id, tx_hash);

-- Every move of a claim, in the transaction that made it.
create table axon_events (
  claim_id bigint not null references axon_claims (id),
  n integer not null,
  event text not null,
  from_status axon_claim_status,
  to_status axon_claim_status not null,
  actor text not null,
  data jsonb not null default '{}',
  at timestamptz not null,
  primary key (claim_id, n)
);

-- What the recipient holds against what was credited for it. A coin leaves no log, so balances are all there is.
create table axon_reconciliations (
  id bigint generated always as identity primary key,
  chain_id bigint not null,
  address text not null,
  block bigint not null,
  balance wei not null,
  -- transactions that the recipient has sent: when it grows, the comparison begins anew
  sent_count bigint not null,
  -- the row that this one is compared with; its own for a beginning
  base_id bigint,
  received numeric(78, 0) not null,
  credited numeric(78, 0) not null,
  at timestamptz not null default now()
);
create index axon_reconciliations_latest on axon_reconciliations (chain_id, address, id desc);

create trigger append_only before update or delete or truncate on axon_events for each statement execute function refuse_change();
create trigger append_only before update or delete or truncate on axon_reconciliations for each statement execute function refuse_change();

grant insert, update on axon_quotes, axon_claims to farebox_app;
grant insert, delete on axon_rates to farebox_app;
grant insert on axon_events, axon_reconciliations to farebox_app;
