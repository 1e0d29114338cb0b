-- The money core. Balances (buckets) are written by the ledger functions alone and can always be derived
-- again from the rows below; ledger_audit() does so and returns no rows while all is well.

-- in the order in which they are consumed
create type bucket_kind as enum ('promo', 'bonus', 'refunded', 'purchased');
create type grant_source as enum ('order', 'x402', 'axon', 'promo', 'operator');
create type resolution_kind as enum ('captured', 'voided');
create type call_outcome as enum ('success', 'failed');
create type hold_flag as enum ('usage_unknown', 'shortfall');
create type transfer_kind as enum ('grant', 'capture', 'refund', 'expiry');

-- The other side of every movement. They have no balance row, which would be the hottest row of all: their
-- balance is the sum of their transfers.
create table system_accounts (
  id bigint primary key check (id < 0),
  name text not null unique
);
insert into system_accounts (id, name) values
  (-1, 'issued_for_payment'), (-2, 'issued_without_payment'), (-3, 'revenue'), (-4, 'expired');

-- Credits of one kind and expiry of one account. posted is owned, held is the part that open holds may take.
create table buckets (
  id bigint generated always as identity primary key,
  account_id bigint not null references accounts (id),
  kind bucket_kind not null,
  expires_at timestamptz,
  created_at timestamptz not null default now(),
  posted_micro microcredits not null default 0,
  held_micro microcredits not null default 0,
  check (held_micro <= posted_micro)
) with (fillfactor = 50);
create index buckets_account on buckets (account_id);
create unique index buckets_without_expiry on buckets (account_id, kind) where expires_at is null;

-- Credits given: one row for each reason, ever.
create table credit_grants (
  id bigint generated always as identity primary key,
  source grant_source not null,
  source_id text not null,
  account_id bigint not null references accounts (id),
  bucket_id bigint not null references buckets (id),
  amount_micro microcredits not null check (amount_micro > 0),
  reason text not null,
  granted_by text not null,
  created_at timestamptz not null default now(),
  unique (source, source_id)
);

-- Money set aside for one call before it is made. The id is the call id, chosen by the caller before the
-- insert so that an unknown commit can be sent again.
create sequence hold_ids increment by 1000;
create table holds (
  id bigint primary key,
  request_id text not null unique,
  actor_account_id bigint not null,
  family_id bigint not null,
  credential_kind credential_kind not null,
  credential_id bigint not null,
  key_budget_id bigint,
  link_budget_id bigint,
  category text not null,
  subject text not null,
  reserve_micro microcredits not null check (reserve_micro > 0),
  -- what was asked for, so that a repeat can be told from another request under the same id
  wanted_micro microcredits not null,
  minimum_micro microcredits not null,
  process_id bigint,
  detail json,
  created_at timestamptz not null default now()
);
create index holds_actor on holds (actor_account_id, id);
create index holds_family on holds (family_id, id);

-- Which bucket of which payer carries which part, in the order it is consumed.
create table hold_allocations (
  hold_id bigint not null,
  n smallint not null,
  bucket_id bigint not null,
  payer_account_id bigint not null,
  amount_micro microcredits not null check (amount_micro > 0),
  -- added after the call, when it cost more than was held
  supplemental boolean not null default false,
  primary key (hold_id, n)
);

-- The end of a hold, once.
create table hold_resolutions (
  hold_id bigint primary key,
  kind resolution_kind not null,
  outcome call_outcome not null,
  actual_micro microcredits not null,
  usage json,
  resolved_by text,
  reason text,
  resolved_at timestamptz not null default now(),
  check (kind = 'captured' or actual_micro = 0)
);

-- Why a hold is still open.
create table hold_flags (
  hold_id bigint not null,
  flag hold_flag not null,
  actual_micro microcredits,
  outcome call_outcome,
  usage json,
  detail text not null,
  flagged_at timestamptz not null default now(),
  primary key (hold_id, flag),
  check ((flag = 'shortfall') = (actual_micro is not null))
);

-- The exceptional holds, in the order in which they became so: their id is the API's cursor.
create table settlements (
  id bigint generated always as identity primary key,
  hold_id bigint not null unique,
  created_at timestamptz not null default now()
);

-- Every movement, from debit to credit. One side is a bucket (positive id), the other a system account
-- (negative id), so an unbalanced movement cannot be written down.
create table transfers (
  id bigint generated always as identity primary key,
  kind transfer_kind not null,
  debit_id bigint not null,
  credit_id bigint not null,
  amount_micro microcredits not null check (amount_micro > 0),
  -- the customer's side, and what that account owned right after
  account_id bigint not null,
  balance_after_micro microcredits not null,
  hold_id bigint,
  grant_id bigint,
  refund_id bigint,
  moved_at timestamptz not null default now(),
  check ((debit_id < 0) <> (credit_id < 0))
);
create index transfers_account on transfers (account_id, id);

do $$
declare t text;
begin
  foreach t in array array['system_accounts', 'credit_grants', 'holds', 'hold_allocations', 'hold_resolutions', 'hold_flags', 'settlements', 'transfers'] loop
    execute format('create trigger append_only before update or delete or truncate on %I for each statement execute function refuse_change()', t);
  end loop;
end $$;
