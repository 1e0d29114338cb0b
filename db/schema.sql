-- Generated from the migrated database by `npm run generate`. Do not edit: write a migration.
-- What all migrations together make, for people who review a change. Function bodies stand in db/functions.

create domain microcredits as bigint CHECK (((VALUE >= 0) AND (VALUE <= '9000000000000000'::bigint)));
create domain usd_e18 as numeric(78,0) CHECK ((VALUE > (0)::numeric));
create domain wei as numeric(78,0) CHECK ((VALUE >= (0)::numeric));

create type account_role as enum ('user', 'admin');
create type account_status as enum ('active', 'banned', 'deactivated');
create type account_type as enum ('owner', 'agent');
create type attempt_state as enum ('active', 'rejected', 'failed_onchain', 'replaced', 'mismatch', 'abandoned', 'settled');
create type audit_actor_kind as enum ('operator', 'account', 'system');
create type axon_claim_status as enum ('pending', 'confirming', 'completed', 'review_required', 'failed', 'closed');
create type billing_mode as enum ('self_only', 'self_then_owner', 'owner_only');
create type bucket_kind as enum ('promo', 'bonus', 'refunded', 'purchased');
create type budget_window as enum ('daily', 'monthly', 'total');
create type call_outcome as enum ('success', 'failed');
create type challenge_purpose as enum ('agent_sign_in', 'owner_wallet_binding', 'wallet_linking');
create type configuration_outcome as enum ('applied', 'unchanged', 'refused');
create type credential_kind as enum ('api_key', 'session', 'operator');
create type device_login_status as enum ('pending', 'approved', 'denied', 'completed');
create type grant_source as enum ('order', 'x402', 'axon', 'promo', 'operator');
create type hold_flag as enum ('usage_unknown', 'shortfall');
create type order_status as enum ('pending', 'confirming', 'completed', 'expired', 'review_required');
create type refund_decision as enum ('approved', 'rejected');
create type resolution_kind as enum ('captured', 'voided');
create type task_attempt_state as enum ('intended', 'refused', 'accepted', 'lost', 'ended');
create type task_state as enum ('waiting', 'queuing', 'generating', 'success', 'fail', 'canceled');
create type transfer_kind as enum ('grant', 'capture', 'refund', 'expiry', 'reversal');
create type transfer_state as enum ('seen', 'orphaned', 'matched', 'credited', 'unmatched', 'ignored', 'final');
create type webhook_delivery_state as enum ('pending', 'delivered', 'failed', 'canceled');
create type webhook_disabled_reason as enum ('account', 'gone', 'failing');
create type webhook_endpoint_kind as enum ('registered', 'task_host');
create type x402_status as enum ('awaiting_settlement', 'pending', 'credited', 'review_required', 'failed');

create type ledger_candidate as (
  op ledger_reservation,
  family_id bigint,
  refusal text,
  own_pays boolean,
  owner_account_id bigint,
  key_budget_id bigint,
  link_budget_id bigint,
  payer_account_id bigint
);
create type ledger_reservation as (
  ordinal integer,
  id bigint,
  request_id text,
  actor_account_id bigint,
  credential_kind credential_kind,
  credential_id bigint,
  wanted_micro bigint,
  minimum_micro bigint,
  category text,
  subject text,
  process_id bigint,
  detail json
);
create type ledger_resolution as (
  ordinal integer,
  id bigint,
  operation text,
  actual_micro bigint,
  outcome call_outcome,
  usage json,
  reason text,
  resolved_by text
);
create type ledger_result as (
  ordinal integer,
  actor_account_id bigint,
  status text,
  amount_micro bigint,
  detail json
);

create sequence hold_ids as bigint increment by 1000 start with 1;

create table account_wallets (
  address text not null,
  account_id bigint not null,
  created_at timestamp with time zone default now() not null,
  added_by bigint not null,
  verified_at timestamp with time zone,
  constraint account_wallets_pkey PRIMARY KEY (address),
  constraint account_wallets_account_id_address_key UNIQUE (account_id, address),
  constraint account_wallets_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint account_wallets_added_by_fkey FOREIGN KEY (added_by) REFERENCES accounts(id),
  constraint account_wallets_address_check CHECK ((address ~ '^0x[0-9a-f]{40}$'::text))
);
CREATE INDEX account_wallets_address ON account_wallets USING btree (address text_pattern_ops);

create table accounts (
  id bigint generated always as identity not null,
  account_type account_type not null,
  status account_status default 'active'::account_status not null,
  role account_role default 'user'::account_role not null,
  wallet_address text,
  email text,
  label text,
  family_id bigint not null,
  created_at timestamp with time zone default now() not null,
  constraint accounts_pkey PRIMARY KEY (id),
  constraint accounts_family_id_fkey FOREIGN KEY (family_id) REFERENCES families(id),
  constraint accounts_id_wallet_address_fkey FOREIGN KEY (id, wallet_address) REFERENCES account_wallets(account_id, address) DEFERRABLE INITIALLY DEFERRED,
  constraint accounts_wallet_address_check CHECK (((wallet_address = lower(wallet_address)) AND (wallet_address ~ '^0x[0-9a-f]{40}$'::text)))
);
CREATE INDEX accounts_admins ON accounts USING btree (id) WHERE role = 'admin'::account_role;
CREATE INDEX accounts_email ON accounts USING btree (lower(email) text_pattern_ops) WHERE email IS NOT NULL;
CREATE INDEX accounts_family ON accounts USING btree (family_id);
CREATE INDEX accounts_label ON accounts USING gin (to_tsvector('simple'::regconfig, label)) WHERE label IS NOT NULL;
CREATE INDEX accounts_not_active ON accounts USING btree (status, id) WHERE status <> 'active'::account_status;
CREATE INDEX accounts_type ON accounts USING btree (account_type, id);
CREATE TRIGGER first_wallet AFTER INSERT ON accounts FOR EACH ROW WHEN (new.wallet_address IS NOT NULL) EXECUTE FUNCTION account_wallets_first();

create table agent_links (
  agent_account_id bigint not null,
  owner_account_id bigint not null,
  billing_mode billing_mode default 'self_then_owner'::billing_mode not null,
  funding_paused boolean default false not null,
  budget_id bigint,
  created_at timestamp with time zone default now() not null,
  agent_label text default ''::text not null,
  constraint agent_links_pkey PRIMARY KEY (agent_account_id),
  constraint agent_links_agent_account_id_fkey FOREIGN KEY (agent_account_id) REFERENCES accounts(id),
  constraint agent_links_budget_id_fkey FOREIGN KEY (budget_id) REFERENCES budgets(id),
  constraint agent_links_owner_account_id_fkey FOREIGN KEY (owner_account_id) REFERENCES accounts(id),
  constraint agent_links_check CHECK ((agent_account_id <> owner_account_id))
);
CREATE INDEX agent_links_label ON agent_links USING gin (to_tsvector('simple'::regconfig, agent_label)) WHERE agent_label <> ''::text;
CREATE INDEX agent_links_owner ON agent_links USING btree (owner_account_id, agent_account_id);

create table api_keys (
  id bigint generated always as identity not null,
  account_id bigint not null,
  secret_hash bytea not null,
  name text default ''::text not null,
  prefix text not null,
  last4 text not null,
  budget_id bigint,
  created_at timestamp with time zone default now() not null,
  last_used_at timestamp with time zone,
  expires_at timestamp with time zone,
  revoked_at timestamp with time zone,
  constraint api_keys_pkey PRIMARY KEY (id),
  constraint api_keys_secret_hash_key UNIQUE (secret_hash),
  constraint api_keys_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint api_keys_budget_id_fkey FOREIGN KEY (budget_id) REFERENCES budgets(id)
);
CREATE INDEX api_keys_account ON api_keys USING btree (account_id, id);

create table audit_log (
  id bigint not null,
  at timestamp with time zone not null,
  actor_kind audit_actor_kind not null,
  actor text not null,
  action text not null,
  target_kind text not null,
  target_id text not null,
  before json,
  after json,
  reason text,
  request_id text,
  previous_hash bytea not null,
  hash bytea not null,
  constraint audit_log_pkey PRIMARY KEY (id),
  constraint audit_log_hash_key UNIQUE (hash),
  constraint audit_log_previous_hash_key UNIQUE (previous_hash),
  constraint audit_log_action_check CHECK ((action ~ '^[a-z_]+\.[a-z_]+$'::text)),
  constraint audit_log_hash_check CHECK ((length(hash) = 32)),
  constraint audit_log_id_check CHECK ((id > 0)),
  constraint audit_log_previous_hash_check CHECK ((length(previous_hash) = 32)),
  constraint audit_log_reason_check CHECK ((length(reason) <= 2000))
);
CREATE INDEX audit_log_action ON audit_log USING btree (action, id);
CREATE INDEX audit_log_actor ON audit_log USING btree (actor, id);
CREATE INDEX audit_log_target ON audit_log USING btree (target_kind, target_id, id);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON audit_log FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

create table audit_log_head (
  only_row boolean default true not null,
  last_id bigint not null,
  last_hash bytea not null,
  constraint audit_log_head_pkey PRIMARY KEY (only_row),
  constraint audit_log_head_only_row_check CHECK (only_row)
);

create table audit_open_holds (
  hold_id bigint not null,
  constraint audit_open_holds_pkey PRIMARY KEY (hold_id)
);

create table audit_progress (
  only_row boolean default true not null,
  audited_until timestamp with time zone not null,
  constraint audit_progress_pkey PRIMARY KEY (only_row),
  constraint audit_progress_only_row_check CHECK (only_row)
);

create table axon_claims (
  id bigint generated always as identity not null,
  account_id bigint not null,
  chain_id bigint not null,
  tx_hash text not null,
  status axon_claim_status default 'pending'::axon_claim_status not null,
  reason text,
  claimed_at timestamp with time zone not null,
  looked_at timestamp with time zone,
  payer_address text,
  recipient_address text,
  received_wei wei,
  block bigint,
  block_hash text,
  block_at timestamp with time zone,
  final boolean default false not null,
  quote_id bigint,
  grant_id bigint,
  credited_micro microcredits,
  completed_at timestamp with time zone,
  review_opened_at timestamp with time zone,
  review_hold_id bigint,
  constraint axon_claims_pkey PRIMARY KEY (id),
  constraint axon_claims_account_id_chain_id_tx_hash_key UNIQUE (account_id, chain_id, tx_hash),
  constraint axon_claims_grant_id_key UNIQUE (grant_id),
  constraint axon_claims_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint axon_claims_grant_id_fkey FOREIGN KEY (grant_id) REFERENCES credit_grants(id),
  constraint axon_claims_quote_id_fkey FOREIGN KEY (quote_id) REFERENCES axon_quotes(id),
  constraint axon_claims_check CHECK (((status <> 'completed'::axon_claim_status) OR (grant_id IS NOT NULL))),
  constraint axon_claims_check1 CHECK (((grant_id IS NULL) = (credited_micro IS NULL))),
  constraint axon_claims_tx_hash_check CHECK ((tx_hash ~ '^0x[0-9a-f]{64}$'::text))
);
CREATE INDEX axon_claims_hash ON axon_claims USING btree (chain_id, tx_hash);
CREATE INDEX axon_claims_quote ON axon_claims USING btree (quote_id) WHERE quote_id IS NOT NULL;
CREATE INDEX axon_claims_review ON axon_claims USING btree (review_opened_at) WHERE status = 'review_required'::axon_claim_status;
CREATE INDEX axon_claims_undone ON axon_claims USING btree (account_id, status) WHERE status = ANY (ARRAY['pending'::axon_claim_status, 'confirming'::axon_claim_status, 'failed'::axon_claim_status]);
CREATE INDEX axon_claims_work ON axon_claims USING btree (looked_at NULLS FIRST) WHERE NOT final;

create table axon_events (
  claim_id bigint not null,
  n integer not null,
  event text not null,
  from_status axon_claim_status,
  to_status axon_claim_status not null,
  actor text not null,
  data jsonb default '{}'::jsonb not null,
  at timestamp with time zone not null,
  constraint axon_events_pkey PRIMARY KEY (claim_id, n),
  constraint axon_events_claim_id_fkey FOREIGN KEY (claim_id) REFERENCES axon_claims(id)
);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON axon_events FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

create table axon_quotes (
  id bigint generated always as identity not null,
  account_id bigint not null,
  mode text not null,
  chain_id bigint not null,
  payer_address text not null,
  pay_to_address text not null,
  expected_wei wei not null,
  credit_micro microcredits not null,
  rate_id bigint not null,
  rate usd_e18 not null,
  created_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  claim_id bigint,
  closed_at timestamp with time zone,
  constraint axon_quotes_pkey PRIMARY KEY (id),
  constraint axon_quotes_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint axon_quotes_claim_id_fkey FOREIGN KEY (claim_id) REFERENCES axon_claims(id),
  constraint axon_quotes_rate_id_fkey FOREIGN KEY (rate_id) REFERENCES axon_rates(id),
  constraint axon_quotes_credit_micro_check CHECK (((credit_micro)::bigint > 0)),
  constraint axon_quotes_expected_wei_check CHECK (((expected_wei)::numeric > (0)::numeric)),
  constraint axon_quotes_mode_check CHECK ((mode = ANY (ARRAY['credit_usd'::text, 'pay_axon'::text]))),
  constraint axon_quotes_pay_to_address_check CHECK ((pay_to_address = lower(pay_to_address))),
  constraint axon_quotes_payer_address_check CHECK ((payer_address = lower(payer_address)))
);
CREATE UNIQUE INDEX axon_quotes_claim ON axon_quotes USING btree (claim_id) WHERE claim_id IS NOT NULL;
CREATE UNIQUE INDEX axon_quotes_distinct ON axon_quotes USING btree (account_id, chain_id, pay_to_address, expected_wei) WHERE claim_id IS NULL AND closed_at IS NULL;
CREATE INDEX axon_quotes_open ON axon_quotes USING btree (expires_at) WHERE claim_id IS NULL AND closed_at IS NULL;

create table axon_rates (
  id bigint generated always as identity not null,
  source text not null,
  rate usd_e18 not null,
  observed_at timestamp with time zone not null,
  sampled_at timestamp with time zone not null,
  detail jsonb default '{}'::jsonb not null,
  constraint axon_rates_pkey PRIMARY KEY (id),
  constraint axon_rates_source_check CHECK ((source = ANY (ARRAY['fixed'::text, 'http'::text, 'feed'::text])))
);
CREATE INDEX axon_rates_newest ON axon_rates USING btree (sampled_at DESC, id DESC);

create table axon_reconciliations (
  id bigint generated always as identity not null,
  chain_id bigint not null,
  address text not null,
  block bigint not null,
  balance wei not null,
  sent_count bigint not null,
  base_id bigint,
  received numeric(78,0) not null,
  credited numeric(78,0) not null,
  at timestamp with time zone default now() not null,
  constraint axon_reconciliations_pkey PRIMARY KEY (id)
);
CREATE INDEX axon_reconciliations_latest ON axon_reconciliations USING btree (chain_id, address, id DESC);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON axon_reconciliations FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

create table balance_thresholds (
  account_id bigint not null,
  below_micro microcredits not null,
  changed_at timestamp with time zone default now() not null,
  constraint balance_thresholds_pkey PRIMARY KEY (account_id),
  constraint balance_thresholds_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id)
);

create table buckets (
  id bigint generated always as identity not null,
  account_id bigint not null,
  kind bucket_kind not null,
  expires_at timestamp with time zone,
  created_at timestamp with time zone default now() not null,
  posted_micro microcredits default 0 not null,
  held_micro microcredits default 0 not null,
  closed_at timestamp with time zone,
  constraint buckets_pkey PRIMARY KEY (id),
  constraint buckets_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint buckets_check CHECK (((held_micro)::bigint <= (posted_micro)::bigint))
) with (fillfactor=50);
CREATE INDEX buckets_account ON buckets USING btree (account_id);
CREATE INDEX buckets_expiring ON buckets USING btree (expires_at) WHERE expires_at IS NOT NULL AND closed_at IS NULL;
CREATE UNIQUE INDEX buckets_without_expiry ON buckets USING btree (account_id, kind) WHERE expires_at IS NULL;

create table budget_windows (
  budget_id bigint not null,
  window_kind budget_window not null,
  starts_on date not null,
  spent_micro microcredits default 0 not null,
  held_micro microcredits default 0 not null,
  constraint budget_windows_pkey PRIMARY KEY (budget_id, window_kind, starts_on),
  constraint budget_windows_budget_id_fkey FOREIGN KEY (budget_id) REFERENCES budgets(id)
) with (fillfactor=50);

create table budgets (
  id bigint generated always as identity not null,
  per_call_micro microcredits,
  daily_micro microcredits,
  monthly_micro microcredits,
  total_micro microcredits,
  created_at timestamp with time zone default now() not null,
  constraint budgets_pkey PRIMARY KEY (id)
);

create table capability_versions (
  slug text not null,
  version text not null,
  hash bytea not null,
  descriptor json not null,
  frozen_at timestamp with time zone default now() not null,
  constraint capability_versions_pkey PRIMARY KEY (slug, version),
  constraint capability_versions_hash_check CHECK ((octet_length(hash) = 32)),
  constraint capability_versions_slug_check CHECK ((slug ~ '^[a-z0-9-]{1,40}$'::text)),
  constraint capability_versions_version_check CHECK ((version ~ '^[A-Za-z0-9._-]{1,32}$'::text))
);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON capability_versions FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

create table chain_blocks (
  chain_id bigint not null,
  number bigint not null,
  hash text not null,
  at timestamp with time zone not null,
  constraint chain_blocks_pkey PRIMARY KEY (chain_id, number)
);

create table chain_cursors (
  chain_id bigint not null,
  block bigint not null,
  hash text not null,
  head_block bigint not null,
  head_at timestamp with time zone not null,
  safe_block bigint not null,
  finalized_block bigint not null,
  updated_at timestamp with time zone default now() not null,
  stopped text,
  stopped_at timestamp with time zone,
  rewound_to bigint,
  rewound_at timestamp with time zone,
  constraint chain_cursors_pkey PRIMARY KEY (chain_id)
);

create table chain_leases (
  chain_id bigint not null,
  holder text not null,
  until timestamp with time zone not null,
  healthy boolean not null,
  trouble text,
  behind bigint not null,
  read_at timestamp with time zone,
  constraint chain_leases_pkey PRIMARY KEY (chain_id)
);

create table chain_reads (
  chain_id bigint not null,
  token_address text not null,
  recipient text not null,
  read_to bigint not null,
  constraint chain_reads_pkey PRIMARY KEY (chain_id, token_address, recipient),
  constraint chain_reads_recipient_check CHECK ((recipient = lower(recipient))),
  constraint chain_reads_token_address_check CHECK ((token_address = lower(token_address)))
);

create table chain_receipts (
  chain_id bigint not null,
  tx_hash text not null,
  log_position integer not null,
  grant_id bigint not null,
  rail grant_source not null,
  created_at timestamp with time zone default now() not null,
  constraint chain_receipts_pkey PRIMARY KEY (chain_id, tx_hash, log_position),
  constraint chain_receipts_grant_id_key UNIQUE (grant_id),
  constraint chain_receipts_grant_id_fkey FOREIGN KEY (grant_id) REFERENCES credit_grants(id),
  constraint chain_receipts_tx_hash_check CHECK ((tx_hash ~ '^0x[0-9a-f]{64}$'::text))
);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON chain_receipts FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

create table chain_transfers (
  chain_id bigint not null,
  tx_hash text not null,
  log_position integer not null,
  block bigint not null,
  block_hash text not null,
  block_at timestamp with time zone not null,
  token_address text not null,
  payer text not null,
  recipient text not null,
  amount numeric(78,0) not null,
  state transfer_state default 'seen'::transfer_state not null,
  order_id uuid,
  note text,
  resolution text,
  resolved_at timestamp with time zone,
  constraint chain_transfers_pkey PRIMARY KEY (chain_id, tx_hash, log_position),
  constraint chain_transfers_order_id_fkey FOREIGN KEY (order_id) REFERENCES orders(id),
  constraint chain_transfers_tx_hash_check CHECK ((tx_hash ~ '^0x[0-9a-f]{64}$'::text))
);
CREATE INDEX chain_transfers_open ON chain_transfers USING btree (chain_id, block) WHERE state = ANY (ARRAY['seen'::transfer_state, 'matched'::transfer_state, 'credited'::transfer_state]);
CREATE INDEX chain_transfers_order ON chain_transfers USING btree (order_id);
CREATE INDEX chain_transfers_unmatched ON chain_transfers USING btree (state) WHERE state = 'unmatched'::transfer_state AND resolved_at IS NULL;

create table challenges (
  id text not null,
  purpose challenge_purpose not null,
  wallet_address text not null,
  message text not null,
  owner_account_id bigint,
  agent_account_id bigint,
  delegation_id bigint,
  created_at timestamp with time zone default now() not null,
  expires_at timestamp with time zone not null,
  consumed_at timestamp with time zone,
  failed_attempts smallint default 0 not null,
  constraint challenges_pkey PRIMARY KEY (id),
  constraint challenges_agent_account_id_fkey FOREIGN KEY (agent_account_id) REFERENCES accounts(id),
  constraint challenges_owner_account_id_fkey FOREIGN KEY (owner_account_id) REFERENCES accounts(id),
  constraint challenges_wallet_address_check CHECK ((wallet_address ~ '^0x[0-9a-f]{40}$'::text))
);
CREATE INDEX challenges_expiry ON challenges USING btree (expires_at);
CREATE INDEX challenges_wallet ON challenges USING btree (wallet_address, created_at);

create table closed_time (
  only_row boolean default true not null,
  closed_until timestamp with time zone not null,
  candidate timestamp with time zone,
  waits_for text[] default '{}'::text[] not null,
  constraint closed_time_pkey PRIMARY KEY (only_row),
  constraint closed_time_only_row_check CHECK (only_row)
);

create table configuration_loads (
  id bigint generated always as identity not null,
  process_id bigint not null,
  outcome configuration_outcome not null,
  lines text[] not null,
  loaded_at timestamp with time zone default now() not null,
  constraint configuration_loads_pkey PRIMARY KEY (id),
  constraint configuration_loads_process_id_fkey FOREIGN KEY (process_id) REFERENCES processes(id)
);
CREATE INDEX configuration_loads_process ON configuration_loads USING btree (process_id, id);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON configuration_loads FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

create table credit_grants (
  id bigint generated always as identity not null,
  source grant_source not null,
  source_id text not null,
  account_id bigint not null,
  bucket_id bigint not null,
  amount_micro microcredits not null,
  reason text not null,
  granted_by text not null,
  created_at timestamp with time zone default now() not null,
  constraint credit_grants_pkey PRIMARY KEY (id),
  constraint credit_grants_source_source_id_key UNIQUE (source, source_id),
  constraint credit_grants_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint credit_grants_bucket_id_fkey FOREIGN KEY (bucket_id) REFERENCES buckets(id),
  constraint credit_grants_amount_micro_check CHECK (((amount_micro)::bigint > 0))
);
CREATE INDEX credit_grants_account ON credit_grants USING btree (account_id, id);
CREATE INDEX credit_grants_axon ON credit_grants USING btree (id) WHERE source = 'axon'::grant_source;
CREATE INDEX credit_grants_time ON credit_grants USING brin (created_at) WITH (pages_per_range='64', autosummarize='on');
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON credit_grants FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

create table delegations (
  agent_account_id bigint not null,
  owner_account_id bigint not null,
  id bigint generated by default as identity not null,
  token_hash bytea not null,
  expires_at timestamp with time zone not null,
  constraint delegations_pkey PRIMARY KEY (agent_account_id),
  constraint delegations_id_key UNIQUE (id),
  constraint delegations_agent_account_id_fkey FOREIGN KEY (agent_account_id) REFERENCES accounts(id),
  constraint delegations_owner_account_id_fkey FOREIGN KEY (owner_account_id) REFERENCES accounts(id)
);

create table device_logins (
  id bigint generated always as identity not null,
  device_code_hash bytea not null,
  user_code text not null,
  client_name text not null,
  network text not null,
  status device_login_status default 'pending'::device_login_status not null,
  account_id bigint,
  created_at timestamp with time zone default now() not null,
  expires_at timestamp with time zone not null,
  next_poll_at timestamp with time zone default now() not null,
  interval_seconds smallint not null,
  polled_too_soon boolean default false not null,
  constraint device_logins_pkey PRIMARY KEY (id),
  constraint device_logins_device_code_hash_key UNIQUE (device_code_hash),
  constraint device_logins_user_code_key UNIQUE (user_code),
  constraint device_logins_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint device_logins_check CHECK (((status = 'pending'::device_login_status) = (account_id IS NULL))),
  constraint device_logins_user_code_check CHECK ((user_code ~ '^[BCDFGHJKLMNPQRSTVWXZ]{8}$'::text))
);
CREATE INDEX device_logins_expiry ON device_logins USING btree (expires_at);

create table families (
  id bigint not null,
  version bigint default 0 not null,
  constraint families_pkey PRIMARY KEY (id)
) with (fillfactor=50);

create table hold_allocations (
  hold_id bigint not null,
  n smallint not null,
  bucket_id bigint not null,
  payer_account_id bigint not null,
  amount_micro microcredits not null,
  supplemental boolean default false not null,
  constraint hold_allocations_pkey PRIMARY KEY (hold_id, n),
  constraint hold_allocations_amount_micro_check CHECK (((amount_micro)::bigint > 0))
);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON hold_allocations FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

create table hold_flags (
  hold_id bigint not null,
  flag hold_flag not null,
  actual_micro microcredits,
  outcome call_outcome,
  usage json,
  detail text not null,
  flagged_at timestamp with time zone default now() not null,
  evidence json,
  constraint hold_flags_pkey PRIMARY KEY (hold_id, flag),
  constraint hold_flags_check CHECK (((flag = 'shortfall'::hold_flag) = (actual_micro IS NOT NULL)))
);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON hold_flags FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

create table hold_resolutions (
  hold_id bigint not null,
  kind resolution_kind not null,
  outcome call_outcome not null,
  actual_micro microcredits not null,
  usage json,
  resolved_by text,
  reason text,
  resolved_at timestamp with time zone default now() not null,
  constraint hold_resolutions_pkey PRIMARY KEY (hold_id),
  constraint hold_resolutions_check CHECK (((kind = 'captured'::resolution_kind) OR ((actual_micro)::bigint = 0)))
);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON hold_resolutions FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

create table holds (
  id bigint not null,
  request_id text not null,
  actor_account_id bigint not null,
  family_id bigint not null,
  credential_kind credential_kind not null,
  credential_id bigint not null,
  key_budget_id bigint,
  link_budget_id bigint,
  category text not null,
  subject text not null,
  reserve_micro microcredits not null,
  wanted_micro microcredits not null,
  minimum_micro microcredits not null,
  process_id bigint,
  detail json,
  created_at timestamp with time zone default now() not null,
  constraint holds_pkey PRIMARY KEY (id),
  constraint holds_request_id_key UNIQUE (request_id),
  constraint holds_reserve_micro_check CHECK (((reserve_micro)::bigint > 0))
);
CREATE INDEX holds_actor_time ON holds USING btree (actor_account_id, created_at);
CREATE INDEX holds_funded_time ON holds USING btree (family_id, created_at) WHERE family_id <> actor_account_id;
CREATE INDEX holds_review ON holds USING btree (id) WHERE category = 'review'::text;
CREATE INDEX holds_time ON holds USING brin (created_at) WITH (pages_per_range='64', autosummarize='on');
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON holds FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

create table holds_without_allocations (
  hold_id bigint not null,
  reason text not null,
  noted_at timestamp with time zone default now() not null,
  constraint holds_without_allocations_pkey PRIMARY KEY (hold_id)
);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON holds_without_allocations FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

create table idempotency_keys (
  account_id bigint not null,
  route text not null,
  key text not null,
  fingerprint bytea not null,
  process_id bigint not null,
  request_id text not null,
  created_at timestamp with time zone default now() not null,
  completed_at timestamp with time zone,
  status smallint,
  headers jsonb,
  body text,
  constraint idempotency_keys_pkey PRIMARY KEY (account_id, route, key),
  constraint idempotency_keys_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint idempotency_keys_check CHECK (((completed_at IS NULL) = (status IS NULL)))
);
CREATE INDEX idempotency_keys_age ON idempotency_keys USING btree (created_at);

create table invitations (
  id bigint generated always as identity not null,
  code_hash bytea not null,
  note text default ''::text not null,
  max_uses integer not null,
  uses integer default 0 not null,
  created_by text not null,
  created_at timestamp with time zone default now() not null,
  expires_at timestamp with time zone,
  revoked_at timestamp with time zone,
  constraint invitations_pkey PRIMARY KEY (id),
  constraint invitations_code_hash_key UNIQUE (code_hash),
  constraint invitations_check CHECK (((uses >= 0) AND (uses <= max_uses))),
  constraint invitations_max_uses_check CHECK ((max_uses > 0))
);

create table ledger_settings (
  only_row boolean default true not null,
  balance_low_micro microcredits default 0 not null,
  constraint ledger_settings_pkey PRIMARY KEY (only_row),
  constraint ledger_settings_only_row_check CHECK (only_row)
);

create table order_attempts (
  id uuid not null,
  order_id uuid not null,
  state attempt_state default 'active'::attempt_state not null,
  source text not null,
  created_at timestamp with time zone not null,
  ended_at timestamp with time zone,
  constraint order_attempts_pkey PRIMARY KEY (id),
  constraint order_attempts_order_id_fkey FOREIGN KEY (order_id) REFERENCES orders(id),
  constraint order_attempts_source_check CHECK ((source = ANY (ARRAY['reserved'::text, 'registered'::text, 'watched'::text])))
);
CREATE UNIQUE INDEX order_attempts_active ON order_attempts USING btree (order_id) WHERE state = 'active'::attempt_state;
CREATE INDEX order_attempts_order ON order_attempts USING btree (order_id);

create table order_events (
  order_id uuid not null,
  n integer not null,
  from_status order_status,
  to_status order_status not null,
  event text not null,
  actor text not null,
  data jsonb default '{}'::jsonb not null,
  at timestamp with time zone not null,
  constraint order_events_pkey PRIMARY KEY (order_id, n),
  constraint order_events_order_id_fkey FOREIGN KEY (order_id) REFERENCES orders(id)
);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON order_events FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

create table order_hashes (
  order_id uuid not null,
  tx_hash text not null,
  chain_id bigint not null,
  registered_at timestamp with time zone not null,
  refused text,
  seen_nonce bigint,
  constraint order_hashes_pkey PRIMARY KEY (order_id, tx_hash),
  constraint order_hashes_order_id_fkey FOREIGN KEY (order_id) REFERENCES orders(id),
  constraint order_hashes_tx_hash_check CHECK ((tx_hash ~ '^0x[0-9a-f]{64}$'::text))
);
CREATE INDEX order_hashes_hash ON order_hashes USING btree (chain_id, tx_hash);

create table orders (
  id uuid not null,
  payer_account_id bigint not null,
  account_id bigint not null,
  payer_address text not null,
  asset_id text not null,
  chain_id bigint not null,
  token_address text not null,
  recipient_address text not null,
  amount_micro microcredits not null,
  credit_micro microcredits not null,
  rate_ppm bigint not null,
  status order_status default 'pending'::order_status not null,
  payment_attempt_id uuid,
  tx_hash text,
  idempotency_key text not null,
  idempotency_fingerprint bytea not null,
  created_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  completed_at timestamp with time zone,
  grant_id bigint,
  review_reason text,
  review_opened_at timestamp with time zone,
  review_resolved_at timestamp with time zone,
  review_resolution text,
  received_micro microcredits,
  review_hold_id bigint,
  constraint orders_pkey PRIMARY KEY (id),
  constraint orders_payer_account_id_idempotency_key_key UNIQUE (payer_account_id, idempotency_key),
  constraint orders_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint orders_grant_id_fkey FOREIGN KEY (grant_id) REFERENCES credit_grants(id),
  constraint orders_payer_account_id_fkey FOREIGN KEY (payer_account_id) REFERENCES accounts(id),
  constraint orders_amount_micro_check CHECK (((amount_micro)::bigint > 0)),
  constraint orders_credit_micro_check CHECK (((credit_micro)::bigint > 0)),
  constraint orders_payer_address_check CHECK ((payer_address = lower(payer_address))),
  constraint orders_rate_ppm_check CHECK ((rate_ppm > 0)),
  constraint orders_recipient_address_check CHECK ((recipient_address = lower(recipient_address))),
  constraint orders_token_address_check CHECK ((token_address = lower(token_address))),
  constraint orders_tx_hash_check CHECK ((tx_hash ~ '^0x[0-9a-f]{64}$'::text))
);
CREATE INDEX orders_account ON orders USING btree (payer_account_id, created_at DESC, id);
CREATE INDEX orders_open ON orders USING btree (chain_id, payer_address, amount_micro) WHERE status = ANY (ARRAY['pending'::order_status, 'confirming'::order_status, 'expired'::order_status]);
CREATE INDEX orders_review ON orders USING btree (payer_account_id) WHERE status = 'review_required'::order_status;
CREATE INDEX orders_watched ON orders USING btree (status, expires_at) WHERE status = ANY (ARRAY['pending'::order_status, 'confirming'::order_status]);

create table outbox (
  id bigint generated always as identity not null,
  event text not null,
  account_id bigint not null,
  object_id text not null,
  payload jsonb not null,
  created_at timestamp with time zone default now() not null,
  delivered_at timestamp with time zone,
  constraint outbox_pkey PRIMARY KEY (id),
  constraint outbox_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id)
);
CREATE INDEX outbox_account ON outbox USING btree (account_id, created_at);
CREATE INDEX outbox_old ON outbox USING btree (delivered_at) WHERE delivered_at IS NOT NULL;
CREATE INDEX outbox_waiting ON outbox USING btree (id) WHERE delivered_at IS NULL;

create table owner_identities (
  issuer text not null,
  subject text not null,
  account_id bigint not null,
  invitation_id bigint,
  created_at timestamp with time zone default now() not null,
  last_sign_in_at timestamp with time zone default now() not null,
  constraint owner_identities_pkey PRIMARY KEY (issuer, subject),
  constraint owner_identities_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint owner_identities_invitation_id_fkey FOREIGN KEY (invitation_id) REFERENCES invitations(id)
);
CREATE INDEX owner_identities_account ON owner_identities USING btree (account_id);
CREATE INDEX owner_identities_invitation ON owner_identities USING btree (invitation_id) WHERE invitation_id IS NOT NULL;

create table owner_logins (
  state_hash bytea not null,
  provider text not null,
  code_verifier text not null,
  nonce text not null,
  invitation_hash bytea,
  return_to text default ''::text not null,
  created_at timestamp with time zone default now() not null,
  expires_at timestamp with time zone not null,
  constraint owner_logins_pkey PRIMARY KEY (state_hash)
);
CREATE INDEX owner_logins_expiry ON owner_logins USING btree (expires_at);

create table owner_registrations (
  id_hash bytea not null,
  issuer text not null,
  subject text not null,
  email text,
  failed_attempts smallint default 0 not null,
  expires_at timestamp with time zone not null,
  constraint owner_registrations_pkey PRIMARY KEY (id_hash)
);
CREATE INDEX owner_registrations_expiry ON owner_registrations USING btree (expires_at);

create table owner_sign_in_codes (
  code_hash bytea not null,
  account_id bigint not null,
  expires_at timestamp with time zone not null,
  constraint owner_sign_in_codes_pkey PRIMARY KEY (code_hash),
  constraint owner_sign_in_codes_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id)
);
CREATE INDEX owner_sign_in_codes_expiry ON owner_sign_in_codes USING btree (expires_at);

create table processes (
  id bigint generated always as identity not null,
  host text not null,
  pid integer not null,
  oldest_hold_id bigint default 0 not null,
  started_at timestamp with time zone default now() not null,
  heartbeat_at timestamp with time zone default now() not null,
  ended_at timestamp with time zone,
  reaped_at timestamp with time zone,
  constraint processes_pkey PRIMARY KEY (id)
);
CREATE INDEX processes_alive ON processes USING btree (id) WHERE ended_at IS NULL;
CREATE INDEX processes_unreaped ON processes USING btree (id) WHERE reaped_at IS NULL;

create table rate_limit_windows (
  ends_at timestamp with time zone not null,
  key bytea not null,
  taken integer not null,
  leased integer not null,
  constraint rate_limit_windows_pkey PRIMARY KEY (ends_at, key)
) with (fillfactor=70);

create table reconciliations (
  id bigint generated always as identity not null,
  asset_id text not null,
  block bigint not null,
  balance numeric(78,0) not null,
  received numeric(78,0) not null,
  credited numeric(78,0) not null,
  unmatched numeric(78,0) not null,
  drift numeric(78,0) not null,
  at timestamp with time zone default now() not null,
  recipients text,
  constraint reconciliations_pkey PRIMARY KEY (id)
);
CREATE INDEX reconciliations_latest ON reconciliations USING btree (asset_id, id DESC);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON reconciliations FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

create table refund_decisions (
  refund_id bigint not null,
  decision refund_decision not null,
  decided_by text not null,
  reason text not null,
  decided_at timestamp with time zone default now() not null,
  constraint refund_decisions_pkey PRIMARY KEY (refund_id),
  constraint refund_decisions_refund_id_fkey FOREIGN KEY (refund_id) REFERENCES refunds(id)
);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON refund_decisions FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

create table refunds (
  id bigint generated always as identity not null,
  call_id bigint not null,
  account_id bigint not null,
  amount_micro microcredits not null,
  reason text not null,
  is_verified boolean not null,
  created_at timestamp with time zone default now() not null,
  constraint refunds_pkey PRIMARY KEY (id),
  constraint refunds_call_id_key UNIQUE (call_id),
  constraint refunds_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint refunds_amount_micro_check CHECK (((amount_micro)::bigint > 0)),
  constraint refunds_reason_check CHECK (((length(reason) >= 1) AND (length(reason) <= 1000)))
);
CREATE INDEX refunds_account ON refunds USING btree (account_id, id);
CREATE INDEX refunds_review ON refunds USING btree (id) WHERE NOT is_verified;
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON refunds FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

create table relayer_lanes (
  chain_id bigint not null,
  address text not null,
  next_nonce bigint not null,
  constraint relayer_lanes_pkey PRIMARY KEY (chain_id, address),
  constraint relayer_lanes_address_check CHECK ((address = lower(address)))
);

create table relayer_transactions (
  id bigint generated always as identity not null,
  chain_id bigint not null,
  address text not null,
  nonce bigint not null,
  payment_id bigint not null,
  tx_hash text not null,
  raw text not null,
  gas_limit bigint not null,
  max_fee_wei numeric(78,0) not null,
  priority_fee_wei numeric(78,0) not null,
  created_at timestamp with time zone not null,
  sent_at timestamp with time zone,
  closed_at timestamp with time zone,
  constraint relayer_transactions_pkey PRIMARY KEY (id),
  constraint relayer_transactions_tx_hash_key UNIQUE (tx_hash),
  constraint relayer_transactions_payment_id_fkey FOREIGN KEY (payment_id) REFERENCES x402_payments(id),
  constraint relayer_transactions_tx_hash_check CHECK ((tx_hash ~ '^0x[0-9a-f]{64}$'::text))
);
CREATE INDEX relayer_transactions_open ON relayer_transactions USING btree (chain_id, address, nonce) WHERE closed_at IS NULL;
CREATE INDEX relayer_transactions_payment ON relayer_transactions USING btree (payment_id);

create table schema_migrations (
  name text not null,
  kind text not null,
  checksum text not null,
  applied_at timestamp with time zone default now() not null,
  constraint schema_migrations_pkey PRIMARY KEY (name)
);

create table sessions (
  id bigint generated always as identity not null,
  sid uuid not null,
  account_id bigint not null,
  generation integer default 0 not null,
  device text default ''::text not null,
  created_at timestamp with time zone default now() not null,
  last_used_at timestamp with time zone default now() not null,
  expires_at timestamp with time zone not null,
  revoked_at timestamp with time zone,
  constraint sessions_pkey PRIMARY KEY (id),
  constraint sessions_sid_key UNIQUE (sid),
  constraint sessions_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id)
) with (fillfactor=80);
CREATE INDEX sessions_account ON sessions USING btree (account_id, id);

create table settlement_authorizations (
  hold_id bigint not null,
  payer_account_id bigint not null,
  amount_micro microcredits not null,
  authorized_by bigint not null,
  authorized_at timestamp with time zone default now() not null,
  constraint settlement_authorizations_pkey PRIMARY KEY (hold_id, payer_account_id),
  constraint settlement_authorizations_authorized_by_fkey FOREIGN KEY (authorized_by) REFERENCES accounts(id)
);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON settlement_authorizations FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

create table settlement_parties (
  account_id bigint not null,
  settlement_id bigint not null,
  constraint settlement_parties_pkey PRIMARY KEY (account_id, settlement_id)
);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON settlement_parties FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

create table settlements (
  id bigint generated always as identity not null,
  hold_id bigint not null,
  created_at timestamp with time zone default now() not null,
  constraint settlements_pkey PRIMARY KEY (id),
  constraint settlements_hold_id_key UNIQUE (hold_id)
);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON settlements FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

create table signing_keys (
  kid text not null,
  sealed_seed bytea not null,
  created_at timestamp with time zone default now() not null,
  retired_at timestamp with time zone,
  verifies_until timestamp with time zone,
  constraint signing_keys_pkey PRIMARY KEY (kid),
  constraint signing_keys_check CHECK (((retired_at IS NULL) = (verifies_until IS NULL)))
);
CREATE UNIQUE INDEX signing_keys_one_active ON signing_keys USING btree ((true)) WHERE retired_at IS NULL;

create table system_accounts (
  id bigint not null,
  name text not null,
  constraint system_accounts_pkey PRIMARY KEY (id),
  constraint system_accounts_name_key UNIQUE (name),
  constraint system_accounts_id_check CHECK ((id < 0))
);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON system_accounts FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

create table task_attempts (
  id uuid not null,
  task_id uuid not null,
  n smallint not null,
  provider text not null,
  model text not null,
  state task_attempt_state default 'intended'::task_attempt_state not null,
  provider_job_id text,
  provider_memo text,
  cancel_asked_at timestamp with time zone,
  message text,
  retry_after_ms integer,
  retryable boolean,
  status smallint,
  submitted_at timestamp with time zone default now() not null,
  ended_at timestamp with time zone,
  constraint task_attempts_pkey PRIMARY KEY (id),
  constraint task_attempts_task_id_n_key UNIQUE (task_id, n),
  constraint task_attempts_task_id_fkey FOREIGN KEY (task_id) REFERENCES tasks(id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX task_attempts_open ON task_attempts USING btree (task_id) WHERE state = ANY (ARRAY['intended'::task_attempt_state, 'accepted'::task_attempt_state, 'lost'::task_attempt_state]);

create table task_uploads (
  task_id uuid not null,
  n smallint not null,
  content_type text not null,
  bytes bytea not null,
  constraint task_uploads_pkey PRIMARY KEY (task_id, n),
  constraint task_uploads_task_id_fkey FOREIGN KEY (task_id) REFERENCES tasks(id) ON DELETE CASCADE
);

create table tasks (
  id uuid not null,
  account_id bigint not null,
  request_id text not null,
  hold_id bigint not null,
  runner text not null,
  type text not null,
  model text not null,
  capability_slug text default ''::text not null,
  capability_version text default ''::text not null,
  request jsonb not null,
  price jsonb not null,
  reserve_micro microcredits not null,
  eta_seconds integer not null,
  timeout_ms integer not null,
  webhook_url text,
  held boolean default false not null,
  state task_state default 'waiting'::task_state not null,
  progress smallint default 0 not null,
  version integer default 1 not null,
  cancel_requested_at timestamp with time zone,
  unknown_at timestamp with time zone,
  end_state task_state,
  end_micro microcredits,
  end_usage jsonb,
  result jsonb,
  error_code text,
  error_message text,
  created_at timestamp with time zone default now() not null,
  updated_at timestamp with time zone default now() not null,
  completed_at timestamp with time zone,
  outbox_id bigint,
  due_at timestamp with time zone default now() not null,
  lease_process bigint,
  lease_until timestamp with time zone,
  constraint tasks_pkey PRIMARY KEY (id),
  constraint tasks_hold_id_key UNIQUE (hold_id),
  constraint tasks_request_id_key UNIQUE (request_id),
  constraint tasks_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint tasks_outbox_id_fkey FOREIGN KEY (outbox_id) REFERENCES outbox(id) ON DELETE SET NULL,
  constraint tasks_check CHECK (((completed_at IS NULL) = (state = ANY (ARRAY['waiting'::task_state, 'queuing'::task_state, 'generating'::task_state])))),
  constraint tasks_check1 CHECK (((completed_at IS NULL) OR (state = end_state))),
  constraint tasks_end_state_check CHECK ((end_state = ANY (ARRAY['success'::task_state, 'fail'::task_state, 'canceled'::task_state]))),
  constraint tasks_progress_check CHECK (((progress >= 0) AND (progress <= 100))),
  constraint tasks_reserve_micro_check CHECK (((reserve_micro)::bigint > 0))
) with (fillfactor=70);
CREATE INDEX tasks_account ON tasks USING btree (account_id, id) WHERE held;
CREATE INDEX tasks_due ON tasks USING btree (due_at) WHERE completed_at IS NULL;
CREATE INDEX tasks_leased ON tasks USING btree (lease_until) WHERE lease_until IS NOT NULL;
CREATE INDEX tasks_outbox ON tasks USING btree (outbox_id) WHERE outbox_id IS NOT NULL;
CREATE INDEX tasks_with_request ON tasks USING btree (completed_at) WHERE completed_at IS NOT NULL AND request <> '{}'::jsonb;

create table transfers (
  id bigint generated always as identity not null,
  kind transfer_kind not null,
  debit_id bigint not null,
  credit_id bigint not null,
  amount_micro microcredits not null,
  account_id bigint not null,
  balance_after_micro microcredits not null,
  hold_id bigint,
  grant_id bigint,
  refund_id bigint,
  moved_at timestamp with time zone default now() not null,
  constraint transfers_pkey PRIMARY KEY (id),
  constraint transfers_amount_micro_check CHECK (((amount_micro)::bigint > 0)),
  constraint transfers_check CHECK (((debit_id < 0) <> (credit_id < 0)))
);
CREATE INDEX transfers_account ON transfers USING btree (account_id, id);
CREATE INDEX transfers_time ON transfers USING brin (moved_at) WITH (pages_per_range='64', autosummarize='on');
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON transfers FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

create table usage_hours (
  account_id bigint not null,
  hour timestamp with time zone not null,
  model text not null,
  actor_account_id bigint not null,
  key_id bigint,
  charged_micro bigint not null,
  refunded_micro bigint not null,
  owner_charged_micro bigint not null,
  calls bigint not null,
  errors bigint not null,
  input_tokens bigint not null,
  output_tokens bigint not null
);
CREATE INDEX usage_hours_account ON usage_hours USING btree (account_id, hour);
CREATE INDEX usage_hours_time ON usage_hours USING btree (hour) INCLUDE (model, account_id, actor_account_id, charged_micro, refunded_micro, calls, errors, input_tokens, output_tokens);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON usage_hours FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

create table usage_open (
  account_id bigint not null,
  hour timestamp with time zone not null,
  hold_id bigint not null,
  constraint usage_open_pkey PRIMARY KEY (account_id, hour, hold_id)
);

create table usage_rolled (
  only_row boolean default true not null,
  rolled_until timestamp with time zone not null,
  constraint usage_rolled_pkey PRIMARY KEY (only_row),
  constraint usage_rolled_only_row_check CHECK (only_row)
);

create table webhook_attempts (
  delivery_id bigint not null,
  n integer not null,
  at timestamp with time zone not null,
  duration_ms integer not null,
  outcome text not null,
  status integer,
  answer text default ''::text not null,
  constraint webhook_attempts_pkey PRIMARY KEY (delivery_id, n),
  constraint webhook_attempts_delivery_id_fkey FOREIGN KEY (delivery_id) REFERENCES webhook_deliveries(id) ON DELETE CASCADE,
  constraint webhook_attempts_answer_check CHECK ((length(answer) <= 500))
);

create table webhook_deliveries (
  id bigint generated always as identity not null,
  endpoint_id bigint not null,
  event_id bigint not null,
  object text not null,
  url text,
  state webhook_delivery_state default 'pending'::webhook_delivery_state not null,
  attempts integer default 0 not null,
  tries integer default 0 not null,
  next_attempt_at timestamp with time zone not null,
  leased_until timestamp with time zone,
  last_attempt_at timestamp with time zone,
  last_outcome text,
  last_status integer,
  created_at timestamp with time zone not null,
  finished_at timestamp with time zone,
  constraint webhook_deliveries_pkey PRIMARY KEY (id),
  constraint webhook_deliveries_endpoint_id_event_id_key UNIQUE (endpoint_id, event_id),
  constraint webhook_deliveries_endpoint_id_fkey FOREIGN KEY (endpoint_id) REFERENCES webhook_endpoints(id) ON DELETE CASCADE,
  constraint webhook_deliveries_event_id_fkey FOREIGN KEY (event_id) REFERENCES outbox(id) ON DELETE CASCADE,
  constraint webhook_deliveries_check CHECK (((state = 'pending'::webhook_delivery_state) = (finished_at IS NULL)))
);
CREATE INDEX webhook_deliveries_event ON webhook_deliveries USING btree (event_id);
CREATE INDEX webhook_deliveries_log ON webhook_deliveries USING btree (endpoint_id, id DESC);
CREATE INDEX webhook_deliveries_order ON webhook_deliveries USING btree (endpoint_id, object, event_id) WHERE state = 'pending'::webhook_delivery_state;
CREATE INDEX webhook_deliveries_task ON webhook_deliveries USING btree (object) WHERE url IS NOT NULL;
CREATE INDEX webhook_deliveries_waiting ON webhook_deliveries USING btree (endpoint_id, next_attempt_at, event_id) WHERE state = 'pending'::webhook_delivery_state;

create table webhook_endpoints (
  id bigint generated always as identity not null,
  account_id bigint not null,
  kind webhook_endpoint_kind default 'registered'::webhook_endpoint_kind not null,
  url text not null,
  events text[] default '{}'::text[] not null,
  description text default ''::text not null,
  sealed_secret bytea,
  previous_sealed_secret bytea,
  previous_signs_until timestamp with time zone,
  disabled_at timestamp with time zone,
  disabled_reason webhook_disabled_reason,
  failing_since timestamp with time zone,
  consecutive_failures integer default 0 not null,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  constraint webhook_endpoints_pkey PRIMARY KEY (id),
  constraint webhook_endpoints_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint webhook_endpoints_check CHECK (((kind = 'registered'::webhook_endpoint_kind) = (sealed_secret IS NOT NULL))),
  constraint webhook_endpoints_check1 CHECK (((previous_sealed_secret IS NULL) = (previous_signs_until IS NULL))),
  constraint webhook_endpoints_check2 CHECK (((disabled_at IS NULL) = (disabled_reason IS NULL)))
);
CREATE INDEX webhook_endpoints_account ON webhook_endpoints USING btree (account_id, id);
CREATE UNIQUE INDEX webhook_endpoints_task_host ON webhook_endpoints USING btree (account_id, url) WHERE kind = 'task_host'::webhook_endpoint_kind;

create table webhook_task_secrets (
  account_id bigint not null,
  sealed_secret bytea not null,
  previous_sealed_secret bytea,
  previous_signs_until timestamp with time zone,
  created_at timestamp with time zone not null,
  constraint webhook_task_secrets_pkey PRIMARY KEY (account_id),
  constraint webhook_task_secrets_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint webhook_task_secrets_check CHECK (((previous_sealed_secret IS NULL) = (previous_signs_until IS NULL)))
);

create table x402_events (
  payment_id bigint not null,
  n integer not null,
  from_status x402_status,
  to_status x402_status not null,
  event text not null,
  data jsonb default '{}'::jsonb not null,
  at timestamp with time zone not null,
  constraint x402_events_pkey PRIMARY KEY (payment_id, n),
  constraint x402_events_payment_id_fkey FOREIGN KEY (payment_id) REFERENCES x402_payments(id)
);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON x402_events FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

create table x402_payments (
  id bigint generated always as identity not null,
  chain_id bigint not null,
  token_address text not null,
  payer text not null,
  nonce text not null,
  asset_id text not null,
  recipient_address text not null,
  amount_micro microcredits not null,
  credit_micro microcredits not null,
  rate_ppm bigint not null,
  valid_after bigint not null,
  valid_before bigint not null,
  signature text not null,
  x402_version smallint not null,
  settler text not null,
  account_id bigint not null,
  status x402_status default 'awaiting_settlement'::x402_status not null,
  tx_hash text,
  log_position integer,
  block bigint,
  grant_id bigint,
  reason text,
  request_id text not null,
  created_at timestamp with time zone not null,
  credited_at timestamp with time zone,
  final_at timestamp with time zone,
  next_look_at timestamp with time zone not null,
  constraint x402_payments_pkey PRIMARY KEY (id),
  constraint x402_payments_chain_id_token_address_payer_nonce_key UNIQUE (chain_id, token_address, payer, nonce),
  constraint x402_payments_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  constraint x402_payments_grant_id_fkey FOREIGN KEY (grant_id) REFERENCES credit_grants(id),
  constraint x402_payments_amount_micro_check CHECK (((amount_micro)::bigint > 0)),
  constraint x402_payments_credit_micro_check CHECK (((credit_micro)::bigint > 0)),
  constraint x402_payments_nonce_check CHECK ((nonce ~ '^0x[0-9a-f]{64}$'::text)),
  constraint x402_payments_payer_check CHECK ((payer ~ '^0x[0-9a-f]{40}$'::text)),
  constraint x402_payments_rate_ppm_check CHECK ((rate_ppm > 0)),
  constraint x402_payments_recipient_address_check CHECK ((recipient_address = lower(recipient_address))),
  constraint x402_payments_settler_check CHECK ((settler = ANY (ARRAY['relayer'::text, 'facilitator'::text, 'payer'::text]))),
  constraint x402_payments_signature_check CHECK ((signature ~ '^0x[0-9a-f]{130}$'::text)),
  constraint x402_payments_token_address_check CHECK ((token_address = lower(token_address))),
  constraint x402_payments_tx_hash_check CHECK ((tx_hash ~ '^0x[0-9a-f]{64}$'::text)),
  constraint x402_payments_x402_version_check CHECK ((x402_version = ANY (ARRAY[1, 2])))
);
CREATE INDEX x402_payments_account ON x402_payments USING btree (account_id, id DESC);
CREATE INDEX x402_payments_open ON x402_payments USING btree (next_look_at) WHERE final_at IS NULL AND status <> 'failed'::x402_status;
CREATE INDEX x402_payments_payer ON x402_payments USING btree (payer, created_at);
CREATE INDEX x402_payments_transfer ON x402_payments USING btree (chain_id, tx_hash);
CREATE INDEX x402_payments_undone ON x402_payments USING btree (status) WHERE status = ANY (ARRAY['awaiting_settlement'::x402_status, 'pending'::x402_status, 'review_required'::x402_status]);

-- function account_available_micro(account bigint) returns bigint; sql, stable
-- function account_posted_micro(account bigint) returns bigint; sql, stable
-- function account_spendable_micro(account bigint) returns bigint; plpgsql, stable
-- function account_wallets_first() returns trigger; plpgsql, volatile
-- function balance_low_payload(account bigint, balance bigint, below bigint) returns jsonb; sql, stable
-- function budget_rooms(budget bigint, moment timestamp with time zone DEFAULT now()) returns TABLE(name text, limit_micro bigint, spent_micro bigint, held_micro bigint, room_micro bigint); sql, stable
-- function budget_windows_at(moment timestamp with time zone) returns TABLE(window_kind budget_window, starts_on date); sql, immutable
-- function captured_parts(hold bigint, actual bigint) returns TABLE(bucket_id bigint, payer_account_id bigint, captured_micro bigint); sql, stable
-- function holds_begun(since timestamp with time zone, upto timestamp with time zone) returns SETOF holds; sql, stable, enable_indexscan=off, enable_indexonlyscan=off, enable_seqscan=off
-- function ledger_apply(operations json) returns TABLE(ordinal integer, status text, amount_micro bigint, available_micro bigint, detail json); plpgsql, volatile, security definer, search_path=pg_catalog, public, pg_temp, plan_cache_mode=force_generic_plan, enable_seqscan=off, enable_hashjoin=off, enable_mergejoin=off, jit=off
-- function ledger_audit() returns TABLE(check_name text, subject text, expected text, found text); sql, stable, security definer, search_path=pg_catalog, public, pg_temp
-- function ledger_audit_recent() returns TABLE(check_name text, subject text, expected text, found text); plpgsql, volatile, security definer, search_path=pg_catalog, public, pg_temp, enable_seqscan=off, enable_mergejoin=off, enable_nestloop=off, jit=off
-- function ledger_authorize(hold bigint, authorizing_account bigint) returns TABLE(outcome text, payer_account_id bigint, required_micro bigint, available_micro bigint); plpgsql, volatile, security definer, search_path=pg_catalog, public, pg_temp
-- function ledger_capture_above(op ledger_resolution) returns void; plpgsql, volatile
-- function ledger_close_time(margin interval DEFAULT '00:01:00'::interval) returns timestamp with time zone; plpgsql, volatile, security definer, search_path=pg_catalog, public, pg_temp
-- function ledger_decide_refund(refund bigint, word refund_decision, actor text, why text) returns text; plpgsql, volatile, security definer, search_path=pg_catalog, public, pg_temp
-- function ledger_end_grant_hold(of_hold bigint, of_grant bigint, take boolean, ended_by text, why text) returns bigint; plpgsql, volatile, security definer, search_path=pg_catalog, public, pg_temp
-- function ledger_expire(account bigint) returns bigint; plpgsql, volatile, security definer, search_path=pg_catalog, public, pg_temp
-- function ledger_grant(grant_source grant_source, grant_source_id text, account bigint, bucket bucket_kind, amount bigint, expiry timestamp with time zone, grant_reason text, actor text) returns TABLE(grant_id bigint, repeated boolean); plpgsql, volatile, security definer, search_path=pg_catalog, public, pg_temp
-- function ledger_grant_receipt(receipt_chain_id bigint, receipt_tx_hash text, receipt_log_position integer, grant_source grant_source, grant_source_id text, account bigint, amount bigint, grant_reason text) returns TABLE(outcome text, grant_id bigint, taken_by text); plpgsql, volatile, security definer, search_path=pg_catalog, public, pg_temp
-- function ledger_hold_grant(of_grant bigint) returns TABLE(hold_id bigint, held_micro bigint); plpgsql, volatile, security definer, search_path=pg_catalog, public, pg_temp
-- function ledger_hold_in_windows(budget bigint, moment timestamp with time zone, amount bigint) returns void; sql, volatile
-- function ledger_lock_families(account_ids bigint[]) returns void; plpgsql, volatile
-- function ledger_move_budgets(operations ledger_resolution[]) returns void; sql, volatile
-- function ledger_open_settlements(hold_ids bigint[]) returns void; sql, volatile
-- function ledger_refund(call bigint, account bigint, why text) returns TABLE(outcome text, refund_id bigint); plpgsql, volatile, security definer, search_path=pg_catalog, public, pg_temp
-- function ledger_reserve(operations ledger_reservation[]) returns ledger_result[]; plpgsql, volatile
-- function ledger_reserve_fitting(candidates ledger_candidate[]) returns void; plpgsql, volatile
-- function ledger_reserve_one(c ledger_candidate) returns ledger_result; plpgsql, volatile
-- function ledger_resolve(operations ledger_resolution[]) returns ledger_result[]; plpgsql, volatile
-- function ledger_resolve_in_order(operations ledger_resolution[]) returns ledger_result[]; plpgsql, volatile
-- function ledger_return_captured(refund bigint, made holds, actual bigint) returns void; plpgsql, volatile
-- function ledger_summarize_times() returns integer; plpgsql, volatile, security definer, search_path=pg_catalog, public, pg_temp, lock_timeout=100ms
-- function ledger_supplement(hold bigint, payer bigint, amount bigint) returns void; plpgsql, volatile
-- function ledger_tell_refund(refund bigint) returns void; sql, volatile
-- function payment_audit() returns TABLE(check_name text, subject text, expected text, found text); sql, stable, security definer, search_path=pg_catalog, public, pg_temp
-- function refuse_change() returns trigger; plpgsql, volatile
-- function settlement_parts(hold bigint, missing bigint) returns TABLE(n smallint, payer_account_id bigint, reserved_micro bigint, part_micro bigint); sql, stable
-- function statement_cut(account bigint, moment timestamp with time zone) returns bigint; plpgsql, stable
-- function transfers_moved(since timestamp with time zone, upto timestamp with time zone) returns SETOF transfers; sql, stable, enable_indexscan=off, enable_indexonlyscan=off, enable_seqscan=off

grant delete, insert, select, update on account_wallets to farebox_app;
grant insert, select, update on accounts to farebox_app;
grant delete, insert, select, update on agent_links to farebox_app;
grant insert, select, update on api_keys to farebox_app;
grant insert, select on audit_log to farebox_app;
grant select, update on audit_log_head to farebox_app;
grant select on audit_open_holds to farebox_app;
grant select on audit_progress to farebox_app;
grant insert, select, update on axon_claims to farebox_app;
grant insert, select on axon_events to farebox_app;
grant insert, select, update on axon_quotes to farebox_app;
grant delete, insert, select on axon_rates to farebox_app;
grant insert, select on axon_reconciliations to farebox_app;
grant delete, insert, select, update on balance_thresholds to farebox_app;
grant select on buckets to farebox_app;
grant select on budget_windows to farebox_app;
grant insert, select, update on budgets to farebox_app;
grant insert, select on capability_versions to farebox_app;
grant delete, insert, select, update on chain_blocks to farebox_app;
grant insert, select, update on chain_cursors to farebox_app;
grant delete, insert, select, update on chain_leases to farebox_app;
grant insert, select, update on chain_reads to farebox_app;
grant select on chain_receipts to farebox_app;
grant insert, select, update on chain_transfers to farebox_app;
grant delete, insert, select, update on challenges to farebox_app;
grant select on closed_time to farebox_app;
grant insert, select on configuration_loads to farebox_app;
grant select on credit_grants to farebox_app;
grant delete, insert, select, update on delegations to farebox_app;
grant delete, insert, select, update on device_logins to farebox_app;
grant insert, select, update on families to farebox_app;
grant execute on function account_available_micro(account bigint) to farebox_app;
grant execute on function account_posted_micro(account bigint) to farebox_app;
grant execute on function account_spendable_micro(account bigint) to farebox_app;
grant execute on function account_wallets_first() to farebox_app;
grant execute on function balance_low_payload(account bigint, balance bigint, below bigint) to farebox_app;
grant execute on function budget_rooms(budget bigint, moment timestamp with time zone) to farebox_app;
grant execute on function budget_windows_at(moment timestamp with time zone) to farebox_app;
grant execute on function captured_parts(hold bigint, actual bigint) to farebox_app;
grant execute on function holds_begun(since timestamp with time zone, upto timestamp with time zone) to farebox_app;
grant execute on function ledger_apply(operations json) to farebox_app;
grant execute on function ledger_audit() to farebox_app;
grant execute on function ledger_audit_recent() to farebox_app;
grant execute on function ledger_authorize(hold bigint, authorizing_account bigint) to farebox_app;
grant execute on function ledger_capture_above(op ledger_resolution) to farebox_app;
grant execute on function ledger_close_time(margin interval) to farebox_app;
grant execute on function ledger_decide_refund(refund bigint, word refund_decision, actor text, why text) to farebox_app;
grant execute on function ledger_end_grant_hold(of_hold bigint, of_grant bigint, take boolean, ended_by text, why text) to farebox_app;
grant execute on function ledger_expire(account bigint) to farebox_app;
grant execute on function ledger_grant(grant_source grant_source, grant_source_id text, account bigint, bucket bucket_kind, amount bigint, expiry timestamp with time zone, grant_reason text, actor text) to farebox_app;
grant execute on function ledger_grant_receipt(receipt_chain_id bigint, receipt_tx_hash text, receipt_log_position integer, grant_source grant_source, grant_source_id text, account bigint, amount bigint, grant_reason text) to farebox_app;
grant execute on function ledger_hold_grant(of_grant bigint) to farebox_app;
grant execute on function ledger_hold_in_windows(budget bigint, moment timestamp with time zone, amount bigint) to farebox_app;
grant execute on function ledger_lock_families(account_ids bigint[]) to farebox_app;
grant execute on function ledger_move_budgets(operations ledger_resolution[]) to farebox_app;
grant execute on function ledger_open_settlements(hold_ids bigint[]) to farebox_app;
grant execute on function ledger_refund(call bigint, account bigint, why text) to farebox_app;
grant execute on function ledger_reserve(operations ledger_reservation[]) to farebox_app;
grant execute on function ledger_reserve_fitting(candidates ledger_candidate[]) to farebox_app;
grant execute on function ledger_reserve_one(c ledger_candidate) to farebox_app;
grant execute on function ledger_resolve(operations ledger_resolution[]) to farebox_app;
grant execute on function ledger_resolve_in_order(operations ledger_resolution[]) to farebox_app;
grant execute on function ledger_return_captured(refund bigint, made holds, actual bigint) to farebox_app;
grant execute on function ledger_summarize_times() to farebox_app;
grant execute on function ledger_supplement(hold bigint, payer bigint, amount bigint) to farebox_app;
grant execute on function ledger_tell_refund(refund bigint) to farebox_app;
grant execute on function payment_audit() to farebox_app;
grant execute on function refuse_change() to farebox_app;
grant execute on function settlement_parts(hold bigint, missing bigint) to farebox_app;
grant execute on function statement_cut(account bigint, moment timestamp with time zone) to farebox_app;
grant execute on function transfers_moved(since timestamp with time zone, upto timestamp with time zone) to farebox_app;
grant select on hold_allocations to farebox_app;
grant select on hold_flags to farebox_app;
grant select on hold_resolutions to farebox_app;
grant select on holds to farebox_app;
grant select on holds_without_allocations to farebox_app;
grant delete, insert, select, update on idempotency_keys to farebox_app;
grant insert, select, update on invitations to farebox_app;
grant select, update on ledger_settings to farebox_app;
grant insert, select, update on order_attempts to farebox_app;
grant insert, select on order_events to farebox_app;
grant insert, select, update on order_hashes to farebox_app;
grant insert, select, update on orders to farebox_app;
grant delete, insert, select, update on outbox to farebox_app;
grant insert, select, update on owner_identities to farebox_app;
grant delete, insert, select, update on owner_logins to farebox_app;
grant delete, insert, select, update on owner_registrations to farebox_app;
grant delete, insert, select, update on owner_sign_in_codes to farebox_app;
grant insert, select, update on processes to farebox_app;
grant delete, insert, select, update on rate_limit_windows to farebox_app;
grant insert, select on reconciliations to farebox_app;
grant select on refund_decisions to farebox_app;
grant select on refunds to farebox_app;
grant insert, select, update on relayer_lanes to farebox_app;
grant insert, select, update on relayer_transactions to farebox_app;
grant usage on schema public to farebox_app;
grant usage on schema public to public;
grant select on schema_migrations to farebox_app;
grant usage on sequence accounts_id_seq to farebox_app;
grant usage on sequence api_keys_id_seq to farebox_app;
grant usage on sequence axon_claims_id_seq to farebox_app;
grant usage on sequence axon_quotes_id_seq to farebox_app;
grant usage on sequence axon_rates_id_seq to farebox_app;
grant usage on sequence axon_reconciliations_id_seq to farebox_app;
grant usage on sequence buckets_id_seq to farebox_app;
grant usage on sequence budgets_id_seq to farebox_app;
grant usage on sequence configuration_loads_id_seq to farebox_app;
grant usage on sequence credit_grants_id_seq to farebox_app;
grant usage on sequence delegations_id_seq to farebox_app;
grant usage on sequence device_logins_id_seq to farebox_app;
grant usage on sequence hold_ids to farebox_app;
grant usage on sequence invitations_id_seq to farebox_app;
grant usage on sequence outbox_id_seq to farebox_app;
grant usage on sequence processes_id_seq to farebox_app;
grant usage on sequence reconciliations_id_seq to farebox_app;
grant usage on sequence refunds_id_seq to farebox_app;
grant usage on sequence relayer_transactions_id_seq to farebox_app;
grant usage on sequence sessions_id_seq to farebox_app;
grant usage on sequence settlements_id_seq to farebox_app;
grant usage on sequence transfers_id_seq to farebox_app;
grant usage on sequence webhook_deliveries_id_seq to farebox_app;
grant usage on sequence webhook_endpoints_id_seq to farebox_app;
grant usage on sequence x402_payments_id_seq to farebox_app;
grant insert, select, update on sessions to farebox_app;
grant select on settlement_authorizations to farebox_app;
grant select on settlement_parties to farebox_app;
grant select on settlements to farebox_app;
grant insert, select, update on signing_keys to farebox_app;
grant select on system_accounts to farebox_app;
grant delete, insert, select, update on task_attempts to farebox_app;
grant delete, insert, select, update on task_uploads to farebox_app;
grant delete, insert, select, update on tasks to farebox_app;
grant select on transfers to farebox_app;
grant select on usage_calls to farebox_app;
grant insert, select on usage_hours to farebox_app;
grant delete, insert, select on usage_open to farebox_app;
grant select, update on usage_rolled to farebox_app;
grant delete, insert, select, update on webhook_attempts to farebox_app;
grant delete, insert, select, update on webhook_deliveries to farebox_app;
grant delete, insert, select, update on webhook_endpoints to farebox_app;
grant insert, select, update on webhook_task_secrets to farebox_app;
grant insert, select on x402_events to farebox_app;
grant insert, select, update on x402_payments to farebox_app;
