import { sql } from 'kysely'
import type { Database, Tx } from '../../db/database.ts'

/** The row that a key's hash finds, with the account's state. */
export interface KeyRow {
  readonly id: bigint
  readonly account_id: bigint
  readonly alive: boolean
  readonly status: 'active' | 'banned' | 'deactivated'
}

/** The key with this hash, alive or not. Times are the database's. */
export async function findByHash(db: Database, hash: Buffer): Promise<KeyRow | undefined> {
  return db
    .selectFrom('api_keys')
    .innerJoin('accounts', 'accounts.id', 'api_keys.account_id')
    .select(['api_keys.id', 'api_keys.account_id', 'accounts.status'])
    .select(sql<boolean>`revoked_at is null and (expires_at is null or expires_at > now())`.as('alive'))
    .where('secret_hash', '=', hash)
    .executeTakeFirst()
}

/** Limits of a budget in microcredits; null is none. */
export interface BudgetLimits {
  readonly per_call_micro: bigint | null
  readonly daily_micro: bigint | null
  readonly monthly_micro: bigint | null
  readonly total_micro: bigint | null
}

/** Stores a key by its hash, with its budget if it has limits. */
export async function insert(
  tx: Tx,
  key: { accountId: bigint; hash: Buffer; name: string; prefix: string; last4: string; expiresAt: Date | undefined; budget: BudgetLimits | undefined },
): Promise<bigint> {
  const budget = key.budget ? await tx.insertInto('budgets').values(key.budget).returning('id').executeTakeFirstOrThrow() : undefined
  const row = await tx
    .insertInto('api_keys')
    .values({
      account_id: key.accountId,
      secret_hash: key.hash,
      name: key.name,
      prefix: key.prefix,
      last4: key.last4,
      expires_at: key.expiresAt ?? null,
      budget_id: budget?.id ?? null,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  return row.id
}

/** Revokes a key now; false when there is no such key. A key revoked before stays as it was. */
export async function revoke(db: Database, id: bigint): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('api_keys')
    .set({ revoked_at: sql<Date>`coalesce(revoked_at, now())` })
    .where('id', '=', id)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Notes when keys were last used: in bulk and seldom, off the hot path. */
export async function touch(db: Database, ids: readonly bigint[]): Promise<void> {
  await db.updateTable('api_keys').set({ last_used_at: sql<Date>`now()` }).where('id', 'in', ids).execute()
}
