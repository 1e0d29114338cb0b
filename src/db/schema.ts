/**
 * Generated from the migrated database by `npm run generate` (kysely-codegen). Do not edit: write a migration.
 */

import type { ColumnType } from "kysely";

export type AccountRole = "admin" | "user";

export type AccountStatus = "active" | "banned" | "deactivated";

export type AccountType = "agent" | "owner";

export type BillingMode = "owner_only" | "self_only" | "self_then_owner";

export type BucketKind = "bonus" | "promo" | "purchased" | "refunded";

export type BudgetWindow = "daily" | "monthly" | "total";

export type CallOutcome = "failed" | "success";

export type CredentialKind = "api_key" | "operator" | "session";

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

export type ResolutionKind = "captured" | "voided";

export type Timestamp = ColumnType<Date, Date | string, Date | string>;

export type TransferKind = "capture" | "expiry" | "grant" | "refund";

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

export interface AgentLinks {
  agent_account_id: bigint;
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

export interface Buckets {
  account_id: bigint;
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

export interface Processes {
  ended_at: Timestamp | null;
  heartbeat_at: Generated<Timestamp>;
  host: string;
  id: Generated<bigint>;
  oldest_hold_id: Generated<bigint>;
  pid: number;
  started_at: Generated<Timestamp>;
}

export interface Settlements {
  created_at: Generated<Timestamp>;
  hold_id: bigint;
  id: Generated<bigint>;
}

export interface SystemAccounts {
  id: bigint;
  name: string;
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

export interface DB {
  accounts: Accounts;
  agent_links: AgentLinks;
  api_keys: ApiKeys;
  buckets: Buckets;
  budget_windows: BudgetWindows;
  budgets: Budgets;
  credit_grants: CreditGrants;
  families: Families;
  hold_allocations: HoldAllocations;
  hold_flags: HoldFlags;
  hold_resolutions: HoldResolutions;
  holds: Holds;
  idempotency_keys: IdempotencyKeys;
  processes: Processes;
  settlements: Settlements;
  system_accounts: SystemAccounts;
  transfers: Transfers;
}
