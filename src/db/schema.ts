/**
 * Generated from the migrated database by `npm run generate` (kysely-codegen). Do not edit: write a migration.
 */

import type { ColumnType } from "kysely";

export type AccountRole = "admin" | "user";

export type AccountStatus = "active" | "banned" | "deactivated";

export type AccountType = "agent" | "owner";

export type AttemptState = "abandoned" | "active" | "failed_onchain" | "mismatch" | "rejected" | "replaced" | "settled";

export type AuditActorKind = "account" | "operator" | "system";

export type AxonClaimStatus = "closed" | "completed" | "confirming" | "failed" | "pending" | "review_required";

export type BillingMode = "owner_only" | "self_only" | "self_then_owner";

export type BucketKind = "bonus" | "promo" | "purchased" | "refunded";

export type BudgetWindow = "daily" | "monthly" | "total";

export type CallOutcome = "failed" | "success";

export type ChallengePurpose = "agent_sign_in" | "owner_wallet_binding" | "wallet_linking";

export type ConfigurationOutcome = "applied" | "refused" | "unchanged";

export type CredentialKind = "api_key" | "operator" | "session";

export type DeviceLoginStatus = "approved" | "completed" | "denied" | "pending";

export type Generated<T> = T extends ColumnType<infer S, infer I, infer U>
  ? ColumnType<S, I | undefined, U>
  : ColumnType<T, T | undefined, T>;

export type GrantSource = "axon" | "operator" | "order" | "promo" | "x402";

export type HoldFlag = "shortfall" | "usage_unknown";

export type Json = JsonValue;

export type JsonArray = JsonValue[];

export type JsonObject = {
  [x: string]: JsonValue | undefined;
};

export type JsonPrimitive = boolean | number | string | null;

export type JsonValue = JsonArray | JsonObject | JsonPrimitive;

export type Numeric = ColumnType<string, number | string, number | string>;

export type OrderStatus = "completed" | "confirming" | "expired" | "pending" | "review_required";

export type RefundDecision = "approved" | "rejected";

export type ResolutionKind = "captured" | "voided";

export type TaskAttemptState = "accepted" | "ended" | "intended" | "lost" | "refused";

export type TaskState = "canceled" | "fail" | "generating" | "queuing" | "success" | "waiting";

export type Timestamp = ColumnType<Date, Date | string, Date | string>;

export type TransferKind = "capture" | "expiry" | "grant" | "refund" | "reversal";

export type TransferState = "credited" | "final" | "ignored" | "matched" | "orphaned" | "seen" | "unmatched";

export type WebhookDeliveryState = "canceled" | "delivered" | "failed" | "pending";

export type WebhookDisabledReason = "account" | "failing" | "gone";

export type WebhookEndpointKind = "registered" | "task_host";

export type X402Status = "awaiting_settlement" | "credited" | "failed" | "pending" | "review_required";

export interface Accounts {
  account_type: AccountType;
  created_at: Generated<Timestamp>;
  email: string | null;
  family_id: bigint;
  id: Generated<bigint>;
  label: string | null;
  role: Generated<AccountRole>;
  status: Generated<AccountStatus>;
  wallet_address: string | null;
}

export interface AccountWallets {
  account_id: bigint;
  added_by: bigint;
  address: string;
  created_at: Generated<Timestamp>;
  verified_at: Timestamp | null;
}

export interface AgentLinks {
  agent_account_id: bigint;
  agent_label: Generated<string>;
  billing_mode: Generated<BillingMode>;
  budget_id: bigint | null;
  created_at: Generated<Timestamp>;
  funding_paused: Generated<boolean>;
  owner_account_id: bigint;
}

export interface ApiKeys {
  account_id: bigint;
  budget_id: bigint | null;
  created_at: Generated<Timestamp>;
  expires_at: Timestamp | null;
  id: Generated<bigint>;
  last_used_at: Timestamp | null;
  last4: string;
  name: Generated<string>;
  prefix: string;
  revoked_at: Timestamp | null;
  secret_hash: Buffer;
}

export interface AuditLog {
  action: string;
  actor: string;
  actor_kind: AuditActorKind;
  after: Json | null;
  at: Timestamp;
  before: Json | null;
  hash: Buffer;
  id: bigint;
  previous_hash: Buffer;
  reason: string | null;
  request_id: string | null;
  target_id: string;
  target_kind: string;
}

export interface AuditLogHead {
  last_hash: Buffer;
  last_id: bigint;
  only_row: Generated<boolean>;
}

export interface AuditOpenHolds {
  hold_id: bigint;
}

export interface AuditProgress {
  audited_until: Timestamp;
  only_row: Generated<boolean>;
}

export interface AxonClaims {
  account_id: bigint;
  block: bigint | null;
  block_at: Timestamp | null;
  block_hash: string | null;
  chain_id: bigint;
  claimed_at: Timestamp;
  completed_at: Timestamp | null;
  credited_micro: bigint | null;
  final: Generated<boolean>;
  grant_id: bigint | null;
  id: Generated<bigint>;
  looked_at: Timestamp | null;
  payer_address: string | null;
  quote_id: bigint | null;
  reason: string | null;
  received_wei: Numeric | null;
  recipient_address: string | null;
  review_hold_id: bigint | null;
  review_opened_at: Timestamp | null;
  status: Generated<AxonClaimStatus>;
  tx_hash: string;
}

export interface AxonEvents {
  actor: string;
  at: Timestamp;
  claim_id: bigint;
  data: Generated<Json>;
  event: string;
  from_status: AxonClaimStatus | null;
  n: number;
  to_status: AxonClaimStatus;
}

export interface AxonQuotes {
  account_id: bigint;
  chain_id: bigint;
  claim_id: bigint | null;
  closed_at: Timestamp | null;
  created_at: Timestamp;
  credit_micro: bigint;
  expected_wei: Numeric;
  expires_at: Timestamp;
  id: Generated<bigint>;
  mode: string;
  pay_to_address: string;
  payer_address: string;
  rate: Numeric;
  rate_id: bigint;
}

export interface AxonRates {
  detail: Generated<Json>;
  id: Generated<bigint>;
  observed_at: Timestamp;
  rate: Numeric;
  sampled_at: Timestamp;
  source: string;
}

export interface AxonReconciliations {
  address: string;
  at: Generated<Timestamp>;
  balance: Numeric;
  base_id: bigint | null;
  block: bigint;
  chain_id: bigint;
  credited: Numeric;
  id: Generated<bigint>;
  received: Numeric;
  sent_count: bigint;
}

export interface BalanceThresholds {
  account_id: bigint;
  below_micro: bigint;
  changed_at: Generated<Timestamp>;
}

export interface Buckets {
  account_id: bigint;
  closed_at: Timestamp | null;
  created_at: Generated<Timestamp>;
  expires_at: Timestamp | null;
  held_micro: Generated<bigint>;
  id: Generated<bigint>;
  kind: BucketKind;
  posted_micro: Generated<bigint>;
}

export interface Budgets {
  created_at: Generated<Timestamp>;
  daily_micro: bigint | null;
  id: Generated<bigint>;
  monthly_micro: bigint | null;
  per_call_micro: bigint | null;
  total_micro: bigint | null;
}

export interface BudgetWindows {
  budget_id: bigint;
  held_micro: Generated<bigint>;
  spent_micro: Generated<bigint>;
  starts_on: Timestamp;
  window_kind: BudgetWindow;
}

export interface CapabilityVersions {
  descriptor: Json;
  frozen_at: Generated<Timestamp>;
  hash: Buffer;
  slug: string;
  version: string;
}

export interface ChainBlocks {
  at: Timestamp;
  chain_id: bigint;
  hash: string;
  number: bigint;
}

export interface ChainCursors {
  block: bigint;
  chain_id: bigint;
  finalized_block: bigint;
  hash: string;
  head_at: Timestamp;
  head_block: bigint;
  rewound_at: Timestamp | null;
  rewound_to: bigint | null;
  safe_block: bigint;
  stopped: string | null;
  stopped_at: Timestamp | null;
  updated_at: Generated<Timestamp>;
}

export interface ChainLeases {
  behind: bigint;
  chain_id: bigint;
  healthy: boolean;
  holder: string;
  read_at: Timestamp | null;
  trouble: string | null;
  until: Timestamp;
}

export interface ChainReads {
  chain_id: bigint;
  read_to: bigint;
  recipient: string;
  token_address: string;
}

export interface ChainReceipts {
  chain_id: bigint;
  created_at: Generated<Timestamp>;
  grant_id: bigint;
  log_position: number;
  rail: GrantSource;
  tx_hash: string;
}

export interface ChainTransfers {
  amount: Numeric;
  block: bigint;
  block_at: Timestamp;
  block_hash: string;
  chain_id: bigint;
  log_position: number;
  note: string | null;
  order_id: string | null;
  payer: string;
  recipient: string;
  resolution: string | null;
  resolved_at: Timestamp | null;
  state: Generated<TransferState>;
  token_address: string;
  tx_hash: string;
}

export interface Challenges {
  agent_account_id: bigint | null;
  consumed_at: Timestamp | null;
  created_at: Generated<Timestamp>;
  delegation_id: bigint | null;
  expires_at: Timestamp;
  failed_attempts: Generated<number>;
  id: string;
  message: string;
  owner_account_id: bigint | null;
  purpose: ChallengePurpose;
  wallet_address: string;
}

export interface ClosedTime {
  candidate: Timestamp | null;
  closed_until: Timestamp;
  only_row: Generated<boolean>;
  waits_for: Generated<string[]>;
}

export interface ConfigurationLoads {
  id: Generated<bigint>;
  lines: string[];
  loaded_at: Generated<Timestamp>;
  outcome: ConfigurationOutcome;
  process_id: bigint;
}

export interface CreditGrants {
  account_id: bigint;
  amount_micro: bigint;
  bucket_id: bigint;
  created_at: Generated<Timestamp>;
  granted_by: string;
  id: Generated<bigint>;
  reason: string;
  source: GrantSource;
  source_id: string;
}

export interface Delegations {
  agent_account_id: bigint;
  expires_at: Timestamp;
  id: Generated<bigint>;
  owner_account_id: bigint;
  token_hash: Buffer;
}

export interface DeviceLogins {
  account_id: bigint | null;
  client_name: string;
  created_at: Generated<Timestamp>;
  device_code_hash: Buffer;
  expires_at: Timestamp;
  id: Generated<bigint>;
  interval_seconds: number;
  network: string;
  next_poll_at: Generated<Timestamp>;
  polled_too_soon: Generated<boolean>;
  status: Generated<DeviceLoginStatus>;
  user_code: string;
}

export interface Families {
  id: bigint;
  version: Generated<bigint>;
}

export interface HoldAllocations {
  amount_micro: bigint;
  bucket_id: bigint;
  hold_id: bigint;
  n: number;
  payer_account_id: bigint;
  supplemental: Generated<boolean>;
}

export interface HoldFlags {
  actual_micro: bigint | null;
  detail: string;
  evidence: Json | null;
  flag: HoldFlag;
  flagged_at: Generated<Timestamp>;
  hold_id: bigint;
  outcome: CallOutcome | null;
  usage: Json | null;
}

export interface HoldResolutions {
  actual_micro: bigint;
  hold_id: bigint;
  kind: ResolutionKind;
  outcome: CallOutcome;
  reason: string | null;
  resolved_at: Generated<Timestamp>;
  resolved_by: string | null;
  usage: Json | null;
}

export interface Holds {
  actor_account_id: bigint;
  category: string;
  created_at: Generated<Timestamp>;
  credential_id: bigint;
  credential_kind: CredentialKind;
  detail: Json | null;
  family_id: bigint;
  id: bigint;
  key_budget_id: bigint | null;
  link_budget_id: bigint | null;
  minimum_micro: bigint;
  process_id: bigint | null;
  request_id: string;
  reserve_micro: bigint;
  subject: string;
  wanted_micro: bigint;
}

export interface HoldsWithoutAllocations {
  hold_id: bigint;
  noted_at: Generated<Timestamp>;
  reason: string;
}

export interface IdempotencyKeys {
  account_id: bigint;
  body: string | null;
  completed_at: Timestamp | null;
  created_at: Generated<Timestamp>;
  fingerprint: Buffer;
  headers: Json | null;
  key: string;
  process_id: bigint;
  request_id: string;
  route: string;
  status: number | null;
}

export interface Invitations {
  code_hash: Buffer;
  created_at: Generated<Timestamp>;
  created_by: string;
  expires_at: Timestamp | null;
  id: Generated<bigint>;
  max_uses: number;
  note: Generated<string>;
  revoked_at: Timestamp | null;
  uses: Generated<number>;
}

export interface LedgerSettings {
  balance_low_micro: Generated<bigint>;
  only_row: Generated<boolean>;
}

export interface OrderAttempts {
  created_at: Timestamp;
  ended_at: Timestamp | null;
  id: string;
  order_id: string;
  source: string;
  state: Generated<AttemptState>;
}

export interface OrderEvents {
  actor: string;
  at: Timestamp;
  data: Generated<Json>;
  event: string;
  from_status: OrderStatus | null;
  n: number;
  order_id: string;
  to_status: OrderStatus;
}

export interface OrderHashes {
  chain_id: bigint;
  order_id: string;
  refused: string | null;
  registered_at: Timestamp;
  seen_nonce: bigint | null;
  tx_hash: string;
}

export interface Orders {
  account_id: bigint;
  amount_micro: bigint;
  asset_id: string;
  chain_id: bigint;
  completed_at: Timestamp | null;
  created_at: Timestamp;
  credit_micro: bigint;
  expires_at: Timestamp;
  grant_id: bigint | null;
  id: string;
  idempotency_fingerprint: Buffer;
  idempotency_key: string;
  payer_account_id: bigint;
  payer_address: string;
  payment_attempt_id: string | null;
  rate_ppm: bigint;
  received_micro: bigint | null;
  recipient_address: string;
  review_hold_id: bigint | null;
  review_opened_at: Timestamp | null;
  review_reason: string | null;
  review_resolution: string | null;
  review_resolved_at: Timestamp | null;
  status: Generated<OrderStatus>;
  token_address: string;
  tx_hash: string | null;
}

export interface Outbox {
  account_id: bigint;
  created_at: Generated<Timestamp>;
  /**
   * when its deliveries were made; the row goes when its time in the delivery log is over
   */
  delivered_at: Timestamp | null;
  event: string;
  id: Generated<bigint>;
  object_id: string;
  payload: Json;
}

export interface OwnerIdentities {
  account_id: bigint;
  created_at: Generated<Timestamp>;
  invitation_id: bigint | null;
  issuer: string;
  last_sign_in_at: Generated<Timestamp>;
  subject: string;
}

export interface OwnerLogins {
  code_verifier: string;
  created_at: Generated<Timestamp>;
  expires_at: Timestamp;
  invitation_hash: Buffer | null;
  nonce: string;
  provider: string;
  return_to: Generated<string>;
  state_hash: Buffer;
}

export interface OwnerRegistrations {
  email: string | null;
  expires_at: Timestamp;
  failed_attempts: Generated<number>;
  id_hash: Buffer;
  issuer: string;
  subject: string;
}

export interface OwnerSignInCodes {
  account_id: bigint;
  code_hash: Buffer;
  expires_at: Timestamp;
}

export interface Processes {
  ended_at: Timestamp | null;
  heartbeat_at: Generated<Timestamp>;
  host: string;
  id: Generated<bigint>;
  oldest_hold_id: Generated<bigint>;
  pid: number;
  reaped_at: Timestamp | null;
  started_at: Generated<Timestamp>;
}

export interface RateLimitWindows {
  ends_at: Timestamp;
  key: Buffer;
  leased: number;
  taken: number;
}

export interface Reconciliations {
  asset_id: string;
  at: Generated<Timestamp>;
  balance: Numeric;
  block: bigint;
  credited: Numeric;
  drift: Numeric;
  id: Generated<bigint>;
  received: Numeric;
  recipients: string | null;
  unmatched: Numeric;
}

export interface RefundDecisions {
  decided_at: Generated<Timestamp>;
  decided_by: string;
  decision: RefundDecision;
  reason: string;
  refund_id: bigint;
}

export interface Refunds {
  account_id: bigint;
  amount_micro: bigint;
  call_id: bigint;
  created_at: Generated<Timestamp>;
  id: Generated<bigint>;
  is_verified: boolean;
  reason: string;
}

export interface RelayerLanes {
  address: string;
  chain_id: bigint;
  next_nonce: bigint;
}

export interface RelayerTransactions {
  address: string;
  chain_id: bigint;
  closed_at: Timestamp | null;
  created_at: Timestamp;
  gas_limit: bigint;
  id: Generated<bigint>;
  max_fee_wei: Numeric;
  nonce: bigint;
  payment_id: bigint;
  priority_fee_wei: Numeric;
  raw: string;
  sent_at: Timestamp | null;
  tx_hash: string;
}

export interface Sessions {
  account_id: bigint;
  created_at: Generated<Timestamp>;
  device: Generated<string>;
  expires_at: Timestamp;
  generation: Generated<number>;
  id: Generated<bigint>;
  last_used_at: Generated<Timestamp>;
  revoked_at: Timestamp | null;
  sid: string;
}

export interface SettlementAuthorizations {
  amount_micro: bigint;
  authorized_at: Generated<Timestamp>;
  authorized_by: bigint;
  hold_id: bigint;
  payer_account_id: bigint;
}

export interface SettlementParties {
  account_id: bigint;
  settlement_id: bigint;
}

export interface Settlements {
  created_at: Generated<Timestamp>;
  hold_id: bigint;
  id: Generated<bigint>;
}

export interface SigningKeys {
  created_at: Generated<Timestamp>;
  kid: string;
  retired_at: Timestamp | null;
  sealed_seed: Buffer;
  verifies_until: Timestamp | null;
}

export interface SystemAccounts {
  id: bigint;
  name: string;
}

export interface TaskAttempts {
  cancel_asked_at: Timestamp | null;
  ended_at: Timestamp | null;
  id: string;
  message: string | null;
  model: string;
  n: number;
  provider: string;
  provider_job_id: string | null;
  provider_memo: string | null;
  retry_after_ms: number | null;
  retryable: boolean | null;
  state: Generated<TaskAttemptState>;
  status: number | null;
  submitted_at: Generated<Timestamp>;
  task_id: string;
}

export interface Tasks {
  account_id: bigint;
  cancel_requested_at: Timestamp | null;
  capability_slug: Generated<string>;
  capability_version: Generated<string>;
  completed_at: Timestamp | null;
  created_at: Generated<Timestamp>;
  due_at: Generated<Timestamp>;
  end_micro: bigint | null;
  end_state: TaskState | null;
  end_usage: Json | null;
  error_code: string | null;
  error_message: string | null;
  eta_seconds: number;
  held: Generated<boolean>;
  hold_id: bigint;
  id: string;
  lease_process: bigint | null;
  lease_until: Timestamp | null;
  model: string;
  outbox_id: bigint | null;
  price: Json;
  progress: Generated<number>;
  request: Json;
  request_id: string;
  reserve_micro: bigint;
  result: Json | null;
  runner: string;
  state: Generated<TaskState>;
  timeout_ms: number;
  type: string;
  unknown_at: Timestamp | null;
  updated_at: Generated<Timestamp>;
  version: Generated<number>;
  webhook_url: string | null;
}

export interface TaskUploads {
  bytes: Buffer;
  content_type: string;
  n: number;
  task_id: string;
}

export interface Transfers {
  account_id: bigint;
  amount_micro: bigint;
  balance_after_micro: bigint;
  credit_id: bigint;
  debit_id: bigint;
  grant_id: bigint | null;
  hold_id: bigint | null;
  id: Generated<bigint>;
  kind: TransferKind;
  moved_at: Generated<Timestamp>;
  refund_id: bigint | null;
}

export interface UsageCalls {
  account_id: bigint | null;
  actor_account_id: bigint | null;
  created_at: Timestamp | null;
  hold_id: bigint | null;
  input_tokens: Numeric | null;
  key_id: bigint | null;
  model: string | null;
  outcome: CallOutcome | null;
  output_tokens: Numeric | null;
  owner_charged_micro: bigint | null;
}

export interface UsageHours {
  account_id: bigint;
  actor_account_id: bigint;
  calls: bigint;
  charged_micro: bigint;
  errors: bigint;
  hour: Timestamp;
  input_tokens: bigint;
  key_id: bigint | null;
  model: string;
  output_tokens: bigint;
  owner_charged_micro: bigint;
  refunded_micro: bigint;
}

export interface UsageOpen {
  account_id: bigint;
  hold_id: bigint;
  hour: Timestamp;
}

export interface UsageRolled {
  only_row: Generated<boolean>;
  rolled_until: Timestamp;
}

export interface WebhookAttempts {
  answer: Generated<string>;
  at: Timestamp;
  delivery_id: bigint;
  duration_ms: number;
  n: number;
  outcome: string;
  status: number | null;
}

export interface WebhookDeliveries {
  attempts: Generated<number>;
  created_at: Timestamp;
  endpoint_id: bigint;
  event_id: bigint;
  finished_at: Timestamp | null;
  id: Generated<bigint>;
  last_attempt_at: Timestamp | null;
  last_outcome: string | null;
  last_status: number | null;
  leased_until: Timestamp | null;
  next_attempt_at: Timestamp;
  object: string;
  state: Generated<WebhookDeliveryState>;
  tries: Generated<number>;
  url: string | null;
}

export interface WebhookEndpoints {
  account_id: bigint;
  consecutive_failures: Generated<number>;
  created_at: Timestamp;
  description: Generated<string>;
  disabled_at: Timestamp | null;
  disabled_reason: WebhookDisabledReason | null;
  events: Generated<string[]>;
  failing_since: Timestamp | null;
  id: Generated<bigint>;
  kind: Generated<WebhookEndpointKind>;
  previous_sealed_secret: Buffer | null;
  previous_signs_until: Timestamp | null;
  sealed_secret: Buffer | null;
  updated_at: Timestamp;
  url: string;
}

export interface WebhookTaskSecrets {
  account_id: bigint;
  created_at: Timestamp;
  previous_sealed_secret: Buffer | null;
  previous_signs_until: Timestamp | null;
  sealed_secret: Buffer;
}

export interface X402Events {
  at: Timestamp;
  data: Generated<Json>;
  event: string;
  from_status: X402Status | null;
  n: number;
  payment_id: bigint;
  to_status: X402Status;
}

export interface X402Payments {
  account_id: bigint;
  amount_micro: bigint;
  asset_id: string;
  block: bigint | null;
  chain_id: bigint;
  created_at: Timestamp;
  credit_micro: bigint;
  credited_at: Timestamp | null;
  final_at: Timestamp | null;
  grant_id: bigint | null;
  id: Generated<bigint>;
  log_position: number | null;
  next_look_at: Timestamp;
  nonce: string;
  payer: string;
  rate_ppm: bigint;
  reason: string | null;
  recipient_address: string;
  request_id: string;
  settler: string;
  signature: string;
  status: Generated<X402Status>;
  token_address: string;
  tx_hash: string | null;
  valid_after: bigint;
  valid_before: bigint;
  x402_version: number;
}

export interface DB {
  account_wallets: AccountWallets;
  accounts: Accounts;
  agent_links: AgentLinks;
  api_keys: ApiKeys;
  audit_log: AuditLog;
  audit_log_head: AuditLogHead;
  audit_open_holds: AuditOpenHolds;
  audit_progress: AuditProgress;
  axon_claims: AxonClaims;
  axon_events: AxonEvents;
  axon_quotes: AxonQuotes;
  axon_rates: AxonRates;
  axon_reconciliations: AxonReconciliations;
  balance_thresholds: BalanceThresholds;
  buckets: Buckets;
  budget_windows: BudgetWindows;
  budgets: Budgets;
  capability_versions: CapabilityVersions;
  chain_blocks: ChainBlocks;
  chain_cursors: ChainCursors;
  chain_leases: ChainLeases;
  chain_reads: ChainReads;
  chain_receipts: ChainReceipts;
  chain_transfers: ChainTransfers;
  challenges: Challenges;
  closed_time: ClosedTime;
  configuration_loads: ConfigurationLoads;
  credit_grants: CreditGrants;
  delegations: Delegations;
  device_logins: DeviceLogins;
  families: Families;
  hold_allocations: HoldAllocations;
  hold_flags: HoldFlags;
  hold_resolutions: HoldResolutions;
  holds: Holds;
  holds_without_allocations: HoldsWithoutAllocations;
  idempotency_keys: IdempotencyKeys;
  invitations: Invitations;
  ledger_settings: LedgerSettings;
  order_attempts: OrderAttempts;
  order_events: OrderEvents;
  order_hashes: OrderHashes;
  orders: Orders;
  outbox: Outbox;
  owner_identities: OwnerIdentities;
  owner_logins: OwnerLogins;
  owner_registrations: OwnerRegistrations;
  owner_sign_in_codes: OwnerSignInCodes;
  processes: Processes;
  rate_limit_windows: RateLimitWindows;
  reconciliations: Reconciliations;
  refund_decisions: RefundDecisions;
  refunds: Refunds;
  relayer_lanes: RelayerLanes;
  relayer_transactions: RelayerTransactions;
  sessions: Sessions;
  settlement_authorizations: SettlementAuthorizations;
  settlement_parties: SettlementParties;
  settlements: Settlements;
  signing_keys: SigningKeys;
  system_accounts: SystemAccounts;
  task_attempts: TaskAttempts;
  task_uploads: TaskUploads;
  tasks: Tasks;
  transfers: Transfers;
  usage_calls: UsageCalls;
  usage_hours: UsageHours;
  usage_open: UsageOpen;
  usage_rolled: UsageRolled;
  webhook_attempts: WebhookAttempts;
  webhook_deliveries: WebhookDeliveries;
  webhook_endpoints: WebhookEndpoints;
  webhook_task_secrets: WebhookTaskSecrets;
  x402_events: X402Events;
  x402_payments: X402Payments;
}
