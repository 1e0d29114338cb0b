import { sql } from 'kysely'
import type { Database, Tx } from '../../db/database.ts'
import type { AccountStatus, BillingMode, BucketKind } from '../../db/schema.ts'
import type { AccountRow } from '../../identity/accounts/store.ts'

/** The status of an account, under its family's lock until the transaction ends. Absent where there is none. */
export async function lockStatus(tx: Tx, accountId: bigint): Promise<AccountStatus | undefined> {
  await sql`select ledger_lock_families(array[${accountId}::bigint])`.execute(tx)
  const row = await tx.selectFrom('accounts').select('status').where('id', '=', accountId).executeTakeFirst()
  return row?.status
}

/** Whether there is such an account. */
export async function exists(db: Database | Tx, accountId: bigint): Promise<boolean> {
  const row = await db.selectFrom('accounts').select('id').where('id', '=', accountId).executeTakeFirst()
  return row !== undefined
}

/** At most `limit` ids of accounts with this e-mail address, which need not be unique. Case does not matter. */
export async function idsByEmail(db: Database, email: string, limit: number): Promise<bigint[]> {
  const rows = await db
    .selectFrom('accounts')
    .select('id')
    .where(sql<string>`lower(email)`, '=', email.toLowerCase())
    .orderBy('id')
    .limit(limit)
    .execute()
  return rows.map(({ id }) => id)
}

/** An account with its owner, if it is an Agent that has one, and what hangs on it in numbers. */
export interface AccountFacts extends AccountRow {
  /** Sessions that may still be used. */
  readonly sessions: bigint
  /** Below which balance it is told: its own threshold, and the one for all. */
  readonly below_micro: bigint | null
  readonly default_below_micro: bigint
  /** Holds that are open, how many of them wait for a person, and how much all of them hold. */
  readonly open: bigint
  readonly flagged: bigint
  readonly held_micro: bigint
}

/** What is to be known of an account besides its lists. */
export async function facts(db: Database, accountId: bigint): Promise<AccountFacts | undefined> {
  const { rows } = await sql<AccountFacts>`
    select a.id, a.account_type, a.status, a.role, a.wallet_address, a.email, a.label, a.created_at,
           l.owner_account_id, l.billing_mode, sessions.alive as sessions, t.below_micro::bigint as below_micro,
           coalesce((select balance_low_micro from ledger_settings), 0)::bigint as default_below_micro, holds.*
    from accounts a
    left join agent_links l on l.agent_account_id = a.id
    left join balance_thresholds t on t.account_id = a.id
    cross join lateral (
      select count(*) as alive from sessions s
      where s.account_id = a.id and s.revoked_at is null and s.expires_at > now()
    ) sessions
    cross join lateral (
      select count(*) as open,
             count(*) filter (where exists (select from hold_flags f where f.hold_id = h.id)) as flagged,
             coalesce(sum(h.reserve_micro), 0)::bigint as held_micro
      from holds h
      where h.actor_account_id = a.id and not exists (select from hold_resolutions r where r.hold_id = h.id)
    ) holds
    where a.id = ${accountId}`.execute(db)
  return rows[0]
}

/** Credits of one kind and expiry. */
export interface BucketRow {
  readonly id: bigint
  readonly kind: BucketKind
  readonly posted_micro: bigint
  readonly held_micro: bigint
  readonly expires_at: Date | null
  readonly expired: boolean
}

/** The buckets of an account that have or hold anything, in the order in which they are consumed. Whether one is expired is decided by the database's clock. */
export async function buckets(db: Database, accountId: bigint): Promise<BucketRow[]> {
  return db
    .selectFrom('buckets')
    .select(['id', 'kind', 'posted_micro', 'held_micro', 'expires_at'])
    .select(sql<boolean>`expires_at is not null and expires_at <= now()`.as('expired'))
    .where('account_id', '=', accountId)
    .where('posted_micro', '>', 0n)
    .orderBy(sql`expires_at nulls last`)
    .orderBy('kind')
    .orderBy('id')
    .execute()
}

/** An Agent that an owner may pay for. */
export interface AgentRow {
  readonly agent_account_id: bigint
  readonly billing_mode: BillingMode
  readonly funding_paused: boolean
}

/** At most `limit` Agents of an owner, oldest first. */
export async function agents(db: Database, ownerId: bigint, limit: number): Promise<AgentRow[]> {
  return db
    .selectFrom('agent_links')
    .select(['agent_account_id', 'billing_mode', 'funding_paused'])
    .where('owner_account_id', '=', ownerId)
    .orderBy('agent_account_id')
    .limit(limit)
    .execute()
}
