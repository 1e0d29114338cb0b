import { Type } from 'typebox'
import { getAddress } from 'viem/utils'
import type { CallRow } from '../../billing/calls/store.ts'
import { Closed, Integer, integer, Micro, Nullable, Time } from '../../http/fields.ts'
import type { ListedKey } from '../../identity/keys/store.ts'
import type { ReadOrder } from '../../payments/orders/reading/store.ts'
import type { AccountLine } from './search/store.ts'
import type { ShownAccount } from './show.ts'
import type { AccountFacts } from './store.ts'

/** The status of an account. */
export const Status = Type.Enum(['active', 'banned', 'deactivated'])

const BillingMode = Type.Enum(['self_only', 'self_then_owner', 'owner_only'])
const Bucket = Type.Enum(['promo', 'bonus', 'refunded', 'purchased'])

const who = {
  id: Integer('Account id'),
  account_type: Type.Enum(['owner', 'agent']),
  status: Status,
  role: Type.Enum(['user', 'admin']),
  wallet_address: Type.String({ description: 'EIP-55 checksummed; "" when there is none' }),
  email: Type.String({ description: '"" when there is none' }),
  label: Type.String({ description: '"" when there is none' }),
  owner_account_id: Nullable(Integer('Of an Agent: who may pay for it')),
  created_at: Time(),
}

const sums = {
  balance_micro: Micro('Owned, in microcredits: 1 Credit = 1000000'),
  available_micro: Micro('What its next call may take of its own Credits'),
  held_micro: Micro('Set aside for open calls'),
}

/** An account in the list. */
export const AccountInList = Closed({
  ...who,
  ...sums,
  last_call_at: Nullable(Time('Of its newest call; null when it never called')),
})

const Key = Closed({
  id: Integer('Key id'),
  name: Type.String(),
  prefix: Type.String({ description: 'What the key begins with; the rest is nowhere' }),
  last4: Type.String({ description: 'What it ends with' }),
  status: Type.Enum(['active', 'revoked', 'expired']),
  created_at: Time(),
  last_used_at: Nullable(Time()),
  expires_at: Nullable(Time()),
  revoked_at: Nullable(Time()),
  budget: Closed({
    per_call_micro: Nullable(Micro()),
    daily_micro: Nullable(Micro()),
    monthly_micro: Nullable(Micro()),
    total_micro: Nullable(Micro()),
  }),
})

const Call = Closed({
  call_id: Integer(),
  call_request_id: Type.String(),
  account_id: Integer('Who called: the account itself, or an Agent that it paid for'),
  model: Type.String(),
  status: Type.Enum(['running', 'success', 'failed', 'usage_unknown', 'pending_settlement']),
  reserve_micro: Micro('What was held'),
  actual_micro: Nullable(Micro('What it cost; null while that is open')),
  created_at: Time(),
})

const Order = Closed({
  id: Type.String(),
  status: Type.String(),
  asset_id: Type.String(),
  amount_micro: Type.String({ description: 'Micro units of the asset' }),
  credit_micro: Type.String(),
  account_id: Integer('Who is credited'),
  created_at: Time(),
})

/** An account with everything that an operator is shown of it. Lists hold the newest rows only. */
export const AccountInFull = Closed({
  account: Closed({ ...who, billing_mode: Nullable(BillingMode) }),
  ...sums,
  buckets: Type.Array(
    Closed({
      kind: Bucket,
      balance_micro: Micro(),
      held_micro: Micro(),
      expires_at: Nullable(Time()),
      expired: Type.Boolean(),
    }),
    { description: 'In the order of use; empty ones are left out' },
  ),
  agents: Type.Array(Closed({ account_id: Integer(), billing_mode: BillingMode, funding_paused: Type.Boolean() }), {
    description: 'At most 100',
  }),
  keys: Type.Array(Key, { description: 'The newest 100' }),
  holds: Closed({
    open: Integer('Calls of this account that are open'),
    waiting: Integer('How many of them wait for a person'),
    held_micro: Micro('What all of them hold, whoever pays'),
  }),
  sessions: Closed({ open: Integer('Sessions that may still be used') }),
  alert: Closed({
    below_micro: Nullable(Micro('Its own threshold of balance.low; null: the one for all')),
    default_below_micro: Micro('The threshold for all; 0 tells nobody'),
  }),
  calls: Type.Array(Call, { description: 'The newest 10 that it made or paid' }),
  orders: Type.Array(Order, { description: 'The newest 10 that it made' }),
  request_id: Type.String(),
})

const whoView = (row: Omit<AccountFacts | AccountLine, 'held_micro'>) => ({
  id: integer(row.id),
  account_type: row.account_type,
  status: row.status,
  role: row.role,
  wallet_address: row.wallet_address === null ? '' : getAddress(row.wallet_address),
  email: row.email ?? '',
  label: row.label ?? '',
  owner_account_id: row.owner_account_id === null ? null : integer(row.owner_account_id),
  created_at: row.created_at.toISOString(),
})

const sumsView = (row: { balance_micro: bigint; available_micro: bigint; held_micro: bigint }) => ({
  balance_micro: integer(row.balance_micro),
  available_micro: integer(row.available_micro),
  held_micro: integer(row.held_micro),
})

/** The wire form of a line. */
export const lineView = (row: AccountLine) => ({
  ...whoView(row),
  ...sumsView(row),
  last_call_at: row.last_call_at?.toISOString() ?? null,
})

/** The wire form of an account in full, without the request's id. */
export const fullView = ({ facts, balance, ...shown }: ShownAccount) => ({
  account: { ...whoView(facts), billing_mode: facts.billing_mode },
  ...sumsView(balance),
  buckets: shown.buckets.map((bucket) => ({
    kind: bucket.kind,
    balance_micro: integer(bucket.posted_micro),
    held_micro: integer(bucket.held_micro),
    expires_at: bucket.expires_at?.toISOString() ?? null,
    expired: bucket.expired,
  })),
  agents: shown.agents.map(({ agent_account_id, ...agent }) => ({ account_id: integer(agent_account_id), ...agent })),
  keys: shown.keys.map(keyView),
  holds: { open: integer(facts.open), waiting: integer(facts.flagged), held_micro: integer(facts.held_micro) },
  sessions: { open: integer(facts.sessions) },
  alert: {
    below_micro: micro(facts.below_micro),
    default_below_micro: integer(facts.default_below_micro),
  },
  calls: shown.calls.map(callView),
  orders: shown.orders.map(orderView),
})

const micro = (value: bigint | null) => (value === null ? null : integer(value))

const keyView = (key: ListedKey) => ({
  id: integer(key.id),
  name: key.name,
  prefix: key.prefix,
  last4: key.last4,
  status: key.status,
  created_at: key.created_at.toISOString(),
  last_used_at: key.last_used_at?.toISOString() ?? null,
  expires_at: key.expires_at?.toISOString() ?? null,
  revoked_at: key.revoked_at?.toISOString() ?? null,
  budget: {
    per_call_micro: micro(key.per_call_micro),
    daily_micro: micro(key.daily_micro),
    monthly_micro: micro(key.monthly_micro),
    total_micro: micro(key.total_micro),
  },
})

const callView = (call: CallRow) => ({
  call_id: integer(call.id),
  call_request_id: call.request_id,
  account_id: integer(call.actor_account_id),
  model: call.subject,
  status: call.status,
  reserve_micro: integer(call.reserve_micro),
  actual_micro: micro(call.actual_micro),
  created_at: call.created_at.toISOString(),
})

const orderView = (order: ReadOrder) => ({
  id: order.id,
  status: order.status,
  asset_id: order.asset_id,
  amount_micro: String(order.amount_micro),
  credit_micro: String(order.credit_micro),
  account_id: integer(order.account_id),
  created_at: order.created_at.toISOString(),
})
