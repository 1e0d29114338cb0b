import { sql } from 'kysely'
import type { Database } from '../../db/database.ts'
import type { BucketKind } from '../../db/schema.ts'

/** Credits of one kind and expiry. */
export interface BucketRow {
  readonly id: bigint
  readonly kind: BucketKind
  readonly posted_micro: bigint
  readonly held_micro: bigint
  readonly expires_at: Date | null
  readonly expired: boolean
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
  readonly billing_mode: 'self_only' | 'self_then_owner' | 'owner_only'
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

/** How many holds of this actor are open, and how much they hold. Flagged ones are those that wait for a person. */
export async function openHolds(
  db: Database,
  accountId: bigint,
): Promise<{ open: bigint; flagged: bigint; held_micro: bigint }> {
  const { rows } = await sql<{ open: bigint; flagged: bigint; held_micro: bigint }>`
    select count(*) as open,
           count(*) filter (where exists (select from hold_flags f where f.hold_id = h.id)) as flagged,
           coalesce(sum(h.reserve_micro), 0)::bigint as held_micro
    from holds h
    where h.actor_account_id = ${accountId} and not exists (select from hold_resolutions r where r.hold_id = h.id)`.execute(
    db,
  )
  return rows[0] as { open: bigint; flagged: bigint; held_micro: bigint }
}
