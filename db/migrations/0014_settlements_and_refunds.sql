-- What happens to money after a call: settlements that somebody authorizes, refunds, expired Credits, low balances.

-- Whose settlements list shows an item: who made the call, and who paid a part of it. The key is the list's order.
create table settlement_parties (
  account_id bigint not null,
  settlement_id bigint not null,
  primary key (account_id, settlement_id)
);
insert into settlement_parties (account_id, settlement_id)
select h.actor_account_id, s.id from settlements s join holds h on h.id = s.hold_id
union
select a.payer_account_id, s.id from settlements s join hold_allocations a on a.hold_id = s.hold_id;

-- The rest of a cost above its hold, authorized at once for all that had paid the hold, each for its own part.
create table settlement_authorizations (
  hold_id bigint not null,
  payer_account_id bigint not null,
  amount_micro microcredits not null,
  authorized_by bigint not null references accounts (id),
  authorized_at timestamptz not null default now(),
  primary key (hold_id, payer_account_id)
);

-- What is known of a call whose usage is not: what to look it up by at its provider.
alter table hold_flags add column evidence json;

-- Calls from before this ledger: what they cost is known, from which buckets it was paid is not.
create table holds_without_allocations (
  hold_id bigint primary key,
  reason text not null,
  noted_at timestamptz not null default now()
);

-- The one refund that a failed call may have.
create table refunds (
  id bigint generated always as identity primary key,
  call_id bigint not null unique,
  account_id bigint not null references accounts (id),
  amount_micro microcredits not null check (amount_micro > 0),
  reason text not null check (length(reason) between 1 and 1000),
  -- true: every captured microcredit has the allocation that it goes back to. Otherwise an operator decides
  is_verified boolean not null,
  created_at timestamptz not null default now()
);
create index refunds_account on refunds (account_id, id);
create index refunds_review on refunds (id) where not is_verified;

create type refund_decision as enum ('approved', 'rejected');
create table refund_decisions (
  refund_id bigint primary key references refunds (id),
  decision refund_decision not null,
  decided_by text not null,
  reason text not null,
  decided_at timestamptz not null default now()
);

-- Set once a bucket has expired and nothing is left in it, so that the search for expired ones is short. Neither this
-- nor the expiry changes while a bucket is spent from: the index costs the path of a call nothing.
alter table buckets add column closed_at timestamptz;
create index buckets_expiring on buckets (expires_at) where expires_at is not null and closed_at is null;

-- Below which balance an account is told (balance.low); without a row here, below the one for all.
create table balance_thresholds (
  account_id bigint primary key references accounts (id),
  below_micro microcredits not null,
  changed_at timestamptz not null default now()
);
create table ledger_settings (
  only_row boolean primary key default true check (only_row),
  -- 0 tells nobody
  balance_low_micro microcredits not null default 0
);
insert into ledger_settings default values;

-- When what an ended process left was looked at for the last time: a flush of it that was stuck on its way to the
-- database may be committed a little after its end.
alter table processes add column reaped_at timestamptz;
update processes set reaped_at = ended_at where ended_at is not null;
create index processes_unreaped on processes (id) where reaped_at is null;

do $$
declare t text;
begin
  foreach t in array array['settlement_parties', 'settlement_authorizations', 'holds_without_allocations', 'refunds', 'refund_decisions'] loop
    execute format('create trigger append_only before update or delete or truncate on %I for each statement execute function refuse_change()', t);
  end loop;
end $$;

grant insert, update, delete on balance_thresholds to farebox_app;
grant update on ledger_settings to farebox_app;
