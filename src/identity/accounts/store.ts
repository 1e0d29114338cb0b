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

/** The account with this id. */
export async function find(db: Database | Tx, id: bigint): Promise<AccountRow | undefined> {
  return db
    .selectFrom('accounts')
    .leftJoin('agent_links', 'agent_links.agent_account_id', 'accounts.id')
    .select(['accounts.id', 'account_type', 'status', 'role', 'wallet_address', 'email', 'label', 'accounts.created_at', 'owner_account_id', 'billing_mode'])
    .where('accounts.id', '=', id)
    .executeTakeFirst()
}

/** Creates an account in a family of its own. The wallet address is stored lower-case; a taken one violates a unique key. */
export async function insert(
  tx: Tx,
  account: { accountType: 'owner' | 'agent'; walletAddress: string | undefined; email: string | undefined; label: string | undefined },
): Promise<bigint> {
  const { id } = await sql<{ id: bigint }>`select nextval(pg_get_serial_sequence('accounts', 'id')) as id`.execute(tx).then(({ rows }) => rows[0] as { id: bigint })
  await tx.insertInto('families').values({ id }).execute()
  await sql`insert into accounts (id, account_type, wallet_address, email, label, family_id) overriding system value
    values (${id}, ${account.accountType}, ${account.walletAddress?.toLowerCase() ?? null}, ${account.email ?? null}, ${account.label ?? null}, ${id})`.execute(tx)
  return id
}

/** Sets the status under the family's lock, so that money that is being held is decided before or after, never halfway. */
export async function setStatus(tx: Tx, id: bigint, status: AccountRow['status']): Promise<boolean> {
  await sql`select ledger_lock_families(array[${id}::bigint])`.execute(tx)
  const { numUpdatedRows } = await tx.updateTable('accounts').set({ status }).where('id', '=', id).executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Puts an Agent under an owner. Both families are locked: a hold sees the link before or after, never half. */
export async function link(
  tx: Tx,
  wanted: { agentId: bigint; ownerId: bigint; billingMode: 'self_only' | 'self_then_owner' | 'owner_only'; budgetId: bigint | null },
): Promise<void> {
  await sql`select ledger_lock_families(array[${wanted.agentId}::bigint, ${wanted.ownerId}::bigint])`.execute(tx)
  await tx
    .insertInto('agent_links')
    .values({ agent_account_id: wanted.agentId, owner_account_id: wanted.ownerId, billing_mode: wanted.billingMode, budget_id: wanted.budgetId })
    .execute()
  await tx.updateTable('accounts').set({ family_id: wanted.ownerId }).where('id', '=', wanted.agentId).execute()
}

/** The account that this wallet belongs to. Addresses are compared lower-case. */
export async function findByWallet(db: Database | Tx, walletAddress: string): Promise<{ id: bigint } | undefined> {
  return db.selectFrom('accounts').select('id').where('wallet_address', '=', walletAddress.toLowerCase()).executeTakeFirst()
}
