import { type CallRow, list as listCalls } from '../../billing/calls/store.ts'
import type { Database } from '../../db/database.ts'
import { type ListedKey, list as listKeys } from '../../identity/keys/store.ts'
import { list as listOrders, type ReadOrder } from '../../payments/orders/reading/store.ts'
import * as store from './store.ts'

/** Keys and Agents of one account that are shown at most. */
const SHOWN_MAX = 100
/** The newest calls and orders beside them. */
const LATEST = 10

/** An account with everything that an operator is shown of it. */
export interface ShownAccount {
  readonly facts: store.AccountFacts
  readonly balance: Balance
  readonly buckets: readonly store.BucketRow[]
  readonly agents: readonly store.AgentRow[]
  readonly keys: readonly ListedKey[]
  /** Calls that it made or paid, newest first. */
  readonly calls: readonly CallRow[]
  readonly orders: readonly ReadOrder[]
}

/** What an account owns, may spend and has set aside. */
export interface Balance {
  readonly balance_micro: bigint
  readonly available_micro: bigint
  readonly held_micro: bigint
}

/** Reads an account whole, in six statements whatever it has. undefined where there is none. */
export async function showAccount(db: Database, accountId: bigint): Promise<ShownAccount | undefined> {
  const facts = await store.facts(db, accountId)
  if (facts === undefined) return undefined
  const buckets = await store.buckets(db, accountId)
  return {
    facts,
    balance: balanceOf(buckets),
    buckets,
    agents: await store.agents(db, accountId, SHOWN_MAX),
    keys: await listKeys(db, { accountId, limit: SHOWN_MAX }),
    calls: await listCalls(db, accountId, EVERY_CALL, LATEST),
    orders: await listOrders(db, accountId, undefined, LATEST),
  }
}

const EVERY_CALL = {
  model: undefined,
  status: undefined,
  keyId: undefined,
  requestId: undefined,
  from: undefined,
  to: undefined,
  before: undefined,
}

/** An expired bucket still has its Credits until they are swept, but nobody can spend them. */
function balanceOf(buckets: readonly store.BucketRow[]): Balance {
  let balance = 0n
  let held = 0n
  let available = 0n
  for (const bucket of buckets) {
    balance += bucket.posted_micro
    held += bucket.held_micro
    if (!bucket.expired) available += bucket.posted_micro - bucket.held_micro
  }
  return { balance_micro: balance, available_micro: available, held_micro: held }
}
