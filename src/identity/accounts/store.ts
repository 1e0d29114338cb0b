import { sql } from 'kysely'
import type { Database, Tx } from '../../db/database.ts'

/** An account as others see it, with its link when it is an owned Agent. */
export interface AccountRow {
  readonly id: bigint
  readonly account_type: 'owner' | 'agent'
  readonly status: 'active' | 'banned' | 'deactivated'
  readonly role: 'user' | 'admin'
  readonly wallet_address: string | null
  readonly email: string | null
  readonly label: string | null
  readonly created_at: Date
  readonly owner_account_id: bigint | null
  readonly billing_mode: 'self_only' | 'self_then_owner' | 'owner_only' | null
}

/** Limits of a budget in microcredits; null is none. Windows are UTC days and months. */
export interface BudgetLimits {
  readonly per_call_micro: bigint | null
  readonly daily_micro: bigint | null
  readonly monthly_micro: bigint | null
  readonly total_micro: bigint | null
}

/** A budget that limits nothing. */
export const UNLIMITED: BudgetLimits = {
  per_call_micro: null,
  daily_micro: null,
  monthly_micro: null,
  total_micro: null,
}

/** The account with this id. */
export async function find(db: Database | Tx, id: bigint): Promise<AccountRow | undefined> {
  return db
    .selectFrom('accounts')
    .leftJoin('agent_links', 'agent_links.agent_account_id', 'accounts.id')
    .select([
      'accounts.id',
      'account_type',
      'status',
      'role',
      'wallet_address',
      'email',
      'label',
      'accounts.created_at',
      'owner_account_id',
      'billing_mode',
    ])
    .where('accounts.id', '=', id)
    .executeTakeFirst()
}

/** Creates an account in a family of its own. The wallet address is stored lower-case; a taken one is the error that `isWalletTaken` knows. */
export async function insert(
  tx: Tx,
  account: {
    accountType: 'owner' | 'agent'
    walletAddress: string | undefined
    email: string | undefined
    label: string | undefined
  },
): Promise<bigint> {
  const { id } = await sql<{
    id: bigint
  }>`select nextval(pg_get_serial_sequence('accounts', 'id')) as id`
    .execute(tx)
    .then(({ rows }) => rows[0] as { id: bigint })
  await tx.insertInto('families').values({ id }).execute()
  await sql`insert into accounts (id, account_type, wallet_address, email, label, family_id) overriding system value
    values (${id}, ${account.accountType}, ${account.walletAddress?.toLowerCase() ?? null}, ${account.email ?? null}, ${account.label ?? null}, ${id})`.execute(
    tx,
  )
  return id
}

/** Sets the status under the family's lock, so that money that is being held is decided before or after, never halfway. */
export async function setStatus(tx: Tx, id: bigint, status: AccountRow['status']): Promise<boolean> {
  await sql`select ledger_lock_families(array[${id}::bigint])`.execute(tx)
  const { numUpdatedRows } = await tx.updateTable('accounts').set({ status }).where('id', '=', id).executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Puts an Agent under an owner; gives the id of the link's budget. Both families are locked: a hold sees the link before or after, never half. */
export async function link(
  tx: Tx,
  wanted: {
    agentId: bigint
    ownerId: bigint
    billingMode: 'self_only' | 'self_then_owner' | 'owner_only'
    budget: BudgetLimits
    label?: string
  },
): Promise<bigint> {
  await sql`select ledger_lock_families(array[${wanted.agentId}::bigint, ${wanted.ownerId}::bigint])`.execute(tx)
  // a budget without limits still counts what the owner's money was held and spent for
  const budget = await tx.insertInto('budgets').values(wanted.budget).returning('id').executeTakeFirstOrThrow()
  await tx
    .insertInto('agent_links')
    .values({
      agent_account_id: wanted.agentId,
      owner_account_id: wanted.ownerId,
      billing_mode: wanted.billingMode,
      budget_id: budget.id,
      agent_label: wanted.label ?? '',
    })
    .execute()
  await tx.updateTable('accounts').set({ family_id: wanted.ownerId }).where('id', '=', wanted.agentId).execute()
  return budget.id
}

/** Whose wallet this is: an Agent's that signs in with it, or an owner's that pays with it. Addresses are compared lower-case. */
export async function accountOfWallet(
  db: Database | Tx,
  walletAddress: string,
): Promise<Pick<AccountRow, 'id' | 'account_type' | 'status'> | undefined> {
  return db
    .selectFrom('account_wallets')
    .innerJoin('accounts', 'accounts.id', 'account_wallets.account_id')
    .select(['accounts.id', 'account_type', 'status'])
    .where('address', '=', walletAddress.toLowerCase())
    .executeTakeFirst()
}

/** Notes that a wallet's key has proved itself: until then an account may know it by its address alone. */
export async function noteProof(tx: Tx, walletAddress: string): Promise<void> {
  await tx
    .updateTable('account_wallets')
    .set({ verified_at: sql<Date>`now()` })
    .where('address', '=', walletAddress.toLowerCase())
    .where('verified_at', 'is', null)
    .execute()
}

/** True for the error of a wallet that belongs to an account already: whoever meets it looks again and finds that account. */
export function isWalletTaken(error: unknown): boolean {
  const { code, constraint } = (error ?? {}) as { code?: unknown; constraint?: unknown }
  return code === '23505' && constraint === 'account_wallets_pkey'
}
