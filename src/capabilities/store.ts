import { sql } from 'kysely'
import type { Database } from '../db/database.ts'

/** What a version promised when it was first served. */
export interface FrozenRow {
  readonly slug: string
  readonly version: string
  /** SHA-256. */
  readonly hash: Buffer
  readonly descriptor: unknown
}

/** Freezes versions that are served for the first time; what was frozen before stays as it is. */
export async function freeze(
  db: Database,
  versions: ReadonlyArray<{ slug: string; version: string; hash: Buffer; descriptor: object }>,
): Promise<void> {
  if (versions.length === 0) return
  await db
    .insertInto('capability_versions')
    .values(versions.map(({ descriptor, ...row }) => ({ ...row, descriptor: JSON.stringify(descriptor) })))
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

/** Everything that was ever frozen of these capabilities, oldest first. */
export async function frozen(db: Database, slugs: readonly string[]): Promise<FrozenRow[]> {
  if (slugs.length === 0) return []
  return db
    .selectFrom('capability_versions')
    .select(['slug', 'version', 'hash', 'descriptor'])
    .where('slug', 'in', slugs)
    .orderBy('frozen_at')
    .orderBy('version')
    .execute()
}

/** Who pays for a call, with what each holds for it, in the order of use, and the Agent's owner at that time. */
export interface CallPayers {
  /** Undefined where the caller has none. */
  readonly ownerAccountId: bigint | undefined
  readonly payers: ReadonlyArray<{ readonly accountId: bigint; readonly reservedMicro: bigint }>
}

/** The payers of a hold. */
export async function payersOf(db: Database, holdId: bigint): Promise<CallPayers> {
  const { rows } = await sql<{ actor: bigint; family: bigint; payer: bigint; micro: bigint }>`
    select h.actor_account_id as actor, h.family_id as family, a.payer_account_id as payer, sum(a.amount_micro)::bigint as micro
    from holds h join hold_allocations a on a.hold_id = h.id
    where h.id = ${holdId}
    group by 1, 2, 3 order by min(a.n)`.execute(db)
  const [first] = rows
  return {
    ownerAccountId: first && first.family !== first.actor ? first.family : undefined,
    payers: rows.map(({ payer, micro }) => ({ accountId: payer, reservedMicro: micro })),
  }
}

/** The billing mode of a linked Agent; undefined for owners and for Agents of their own. */
export async function billingMode(
  db: Database,
  accountId: bigint,
): Promise<'self_only' | 'self_then_owner' | 'owner_only' | undefined> {
  const row = await db
    .selectFrom('agent_links')
    .select('billing_mode')
    .where('agent_account_id', '=', accountId)
    .executeTakeFirst()
  return row?.billing_mode
}
