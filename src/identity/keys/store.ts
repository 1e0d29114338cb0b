import { sql } from 'kysely'
import type { Database, Tx } from '../../db/database.ts'
import type { BudgetLimits } from '../accounts/store.ts'

/** The row that a key's hash finds, with the account's state. */
export interface KeyRow {
  readonly id: bigint
  readonly account_id: bigint
  readonly alive: boolean
  readonly status: 'active' | 'banned' | 'deactivated'
}

const alive = sql<boolean>`revoked_at is null and (expires_at is null or expires_at > now())`

/** The key with this hash, alive or not. Times are the database's. */
export async function findByHash(db: Database, hash: Buffer): Promise<KeyRow | undefined> {
  return db
    .selectFrom('api_keys')
    .innerJoin('accounts', 'accounts.id', 'api_keys.account_id')
    .select(['api_keys.id', 'api_keys.account_id', 'accounts.status'])
    .select(alive.as('alive'))
    .where('secret_hash', '=', hash)
    .executeTakeFirst()
}

/** A key as lists show it: everything but the secret, which is nowhere. */
export interface ListedKey extends BudgetLimits {
  readonly id: bigint
  readonly account_id: bigint
  readonly name: string
  readonly prefix: string
  readonly last4: string
  readonly created_at: Date
  readonly last_used_at: Date | null
  readonly expires_at: Date | null
  readonly revoked_at: Date | null
  readonly budget_id: bigint | null
  readonly status: 'active' | 'revoked' | 'expired'
}

const status = sql<ListedKey['status']>`case when revoked_at is not null then 'revoked'
  when expires_at <= now() then 'expired' else 'active' end`

/** Keys, revoked and expired ones too, newest first: of an account, one by its id, or that one only if it is the account's. At most `limit` of them. */
export async function list(
  db: Database | Tx,
  which: (
    | { readonly accountId: bigint; readonly id?: bigint }
    | { readonly accountId?: never; readonly id: bigint }
  ) & {
    readonly limit?: number
  },
): Promise<ListedKey[]> {
  let select = db
    .selectFrom('api_keys')
    .leftJoin('budgets', 'budgets.id', 'api_keys.budget_id')
    .select([
      'api_keys.id',
      'account_id',
      'name',
      'prefix',
      'last4',
      'api_keys.created_at',
      'last_used_at',
      'expires_at',
      'revoked_at',
      'budget_id',
    ])
    .select(['per_call_micro', 'daily_micro', 'monthly_micro', 'total_micro'])
    .select(status.as('status'))
  if (which.accountId !== undefined) select = select.where('account_id', '=', which.accountId)
  if (which.id !== undefined) select = select.where('api_keys.id', '=', which.id)
  if (which.limit !== undefined) select = select.limit(which.limit)
  return select.orderBy('api_keys.id', 'desc').execute()
}

/** Whether the account has or had a key. */
export async function hasAny(tx: Tx, accountId: bigint): Promise<boolean> {
  const row = await tx
    .selectFrom('api_keys')
    .select('id')
    .where('account_id', '=', accountId)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/** Stores a key by its hash, with its budget if it has limits. */
export async function insert(
  tx: Tx,
  key: {
    accountId: bigint
    hash: Buffer
    name: string
    prefix: string
    last4: string
    expiresAt: Date | undefined
    budget: BudgetLimits | undefined
  },
): Promise<bigint> {
  const budget = key.budget
    ? await tx.insertInto('budgets').values(key.budget).returning('id').executeTakeFirstOrThrow()
    : undefined
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

/** Revokes keys of an account now: one, or all. A key revoked before stays as it was. Gives how many there are. */
export async function revokeOf(db: Database | Tx, which: { accountId: bigint; id?: bigint }): Promise<bigint> {
  let update = db
    .updateTable('api_keys')
    .set({ revoked_at: sql<Date>`coalesce(revoked_at, now())` })
    .where('account_id', '=', which.accountId)
  if (which.id !== undefined) update = update.where('id', '=', which.id)
  const { numUpdatedRows } = await update.executeTakeFirst()
  return numUpdatedRows
}

/** The same for keys that are not revoked yet: gives how many this call revoked, each key to one caller only. */
export async function revokeAlive(tx: Tx, which: { accountId: bigint; id?: bigint }): Promise<bigint> {
  let update = tx
    .updateTable('api_keys')
    .set({ revoked_at: sql<Date>`now()` })
    .where('account_id', '=', which.accountId)
    .where('revoked_at', 'is', null)
  if (which.id !== undefined) update = update.where('id', '=', which.id)
  const { numUpdatedRows } = await update.executeTakeFirst()
  return numUpdatedRows
}

/** Notes when keys were last used: in bulk and seldom, off the hot path. */
export async function touch(db: Database, ids: readonly bigint[]): Promise<void> {
  await db.updateTable('api_keys').set({ last_used_at: sql<Date>`now()` }).where('id', 'in', ids).execute()
}
