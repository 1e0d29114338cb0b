import { sql } from 'kysely'
import type { Database, Tx } from '../../db/database.ts'
import type { BillingMode } from '../../db/schema.ts'
import { type BudgetLimits, insert } from '../accounts/store.ts'

/** An Agent as its owner reads it: the link, its limits, and what the owner's money was spent and is held for. */
export interface LinkedAgent extends BudgetLimits {
  readonly id: bigint
  readonly wallet_address: string | null
  readonly label: string
  readonly billing_mode: BillingMode
  readonly funding_paused: boolean
  readonly created_at: Date
  readonly daily_spent_micro: bigint
  readonly daily_held_micro: bigint
  readonly daily_resets_at: Date
  readonly monthly_spent_micro: bigint
  readonly monthly_held_micro: bigint
  readonly monthly_resets_at: Date
  readonly total_spent_micro: bigint
  readonly total_held_micro: bigint
}

/** Which Agents of an owner to read: one of them, or a page, newest first. */
export interface Selection {
  readonly ownerId: bigint
  readonly agentId?: bigint
  readonly beforeId?: bigint
  readonly limit: number
}

/** The owner's Agents. Windows are those of now, by the database's clock. */
export async function list(
  db: Database | Tx,
  { ownerId, agentId, beforeId, limit }: Selection,
): Promise<LinkedAgent[]> {
  const { rows } = await sql<LinkedAgent>`
    select a.id, a.wallet_address, l.agent_label as label, l.billing_mode, l.funding_paused, l.created_at,
      b.per_call_micro, b.daily_micro, b.monthly_micro, b.total_micro,
      coalesce(daily.spent_micro, 0) as daily_spent_micro, coalesce(daily.held_micro, 0) as daily_held_micro,
      (date_trunc('day', now() at time zone 'UTC') + interval '1 day') at time zone 'UTC' as daily_resets_at,
      coalesce(monthly.spent_micro, 0) as monthly_spent_micro, coalesce(monthly.held_micro, 0) as monthly_held_micro,
      (date_trunc('month', now() at time zone 'UTC') + interval '1 month') at time zone 'UTC' as monthly_resets_at,
      coalesce(total.spent_micro, 0) as total_spent_micro, coalesce(total.held_micro, 0) as total_held_micro
    from agent_links l
    join accounts a on a.id = l.agent_account_id
    left join budgets b on b.id = l.budget_id
    left join budget_windows daily on daily.budget_id = b.id and daily.window_kind = 'daily' and daily.starts_on = (now() at time zone 'UTC')::date
    left join budget_windows monthly on monthly.budget_id = b.id and monthly.window_kind = 'monthly' and monthly.starts_on = date_trunc('month', now() at time zone 'UTC')::date
    left join budget_windows total on total.budget_id = b.id and total.window_kind = 'total' and total.starts_on = date '1970-01-01'
    where l.owner_account_id = ${ownerId}
      and (${agentId ?? null}::bigint is null or l.agent_account_id = ${agentId ?? null})
      and (${beforeId ?? null}::bigint is null or l.agent_account_id < ${beforeId ?? null})
    order by l.agent_account_id desc limit ${limit}`.execute(db)
  return rows
}

/** Makes the account of a wallet that nobody has seen; its key can later sign in to it. `isWalletTaken` knows the error of one that somebody has. */
export async function insertAgent(
  tx: Tx,
  { walletAddress, ownerId }: { walletAddress: string; ownerId: bigint },
): Promise<bigint> {
  const id = await insert(tx, {
    accountType: 'agent',
    walletAddress,
    email: undefined,
    label: undefined,
  })
  await tx.updateTable('account_wallets').set({ added_by: ownerId }).where('account_id', '=', id).execute()
  return id
}

/**
 * Locks the families of an Agent and an owner until the transaction ends: holds of theirs are decided before or after
 * it. Changes of one Agent's link wait in line for it, so that none of them finds the link changed while it waited.
 */
export async function lockFamilies(tx: Tx, { agentId, ownerId }: { agentId: bigint; ownerId?: bigint }): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`link:${agentId}`}, 0))`.execute(tx)
  await sql`select ledger_lock_families(${ownerId === undefined ? [agentId] : [agentId, ownerId]}::bigint[])`.execute(
    tx,
  )
}

/** True for errors after which the same transaction, begun anew, can succeed. */
export function isWorthRepeating(error: unknown): boolean {
  const code = (error as { code?: unknown } | undefined)?.code
  return code === '40001' || code === '40P01'
}

/** The owner of an Agent. Stable while the Agent's family is locked. */
export async function ownerOf(db: Database | Tx, agentId: bigint): Promise<bigint | undefined> {
  const row = await db
    .selectFrom('agent_links')
    .select('owner_account_id')
    .where('agent_account_id', '=', agentId)
    .executeTakeFirst()
  return row?.owner_account_id
}

/** What of a link may change; a member that is absent stays, and so does an absent limit. */
export interface Change {
  readonly label?: string
  readonly billing_mode?: BillingMode
  readonly funding_paused?: boolean
  readonly budget?: Partial<BudgetLimits>
}

/** Changes a link. The families are locked. The budget stays the same row, so that what it has spent and holds still counts. */
export async function change(tx: Tx, agentId: bigint, { budget, label, ...others }: Change): Promise<void> {
  const members = { ...others, ...(label === undefined ? {} : { agent_label: label }) }
  if (Object.keys(members).length > 0)
    await tx.updateTable('agent_links').set(members).where('agent_account_id', '=', agentId).execute()
  if (!budget || Object.keys(budget).length === 0) return
  const { numUpdatedRows } = await tx
    .updateTable('budgets')
    .set(budget)
    .where('id', '=', tx.selectFrom('agent_links').select('budget_id').where('agent_account_id', '=', agentId))
    .executeTakeFirst()
  if (numUpdatedRows > 0n) return
  const { id } = await tx.insertInto('budgets').values(budget).returning('id').executeTakeFirstOrThrow()
  await tx.updateTable('agent_links').set({ budget_id: id }).where('agent_account_id', '=', agentId).execute()
}

/**
 * Takes an Agent from its owner. The families are locked. Open holds keep the payers and the budget that they were
 * granted by: those are in their own rows. A delegation ends with the link.
 */
export async function remove(tx: Tx, agentId: bigint): Promise<void> {
  await tx.deleteFrom('agent_links').where('agent_account_id', '=', agentId).execute()
  await tx.deleteFrom('delegations').where('agent_account_id', '=', agentId).execute()
  await tx
    .updateTable('accounts')
    .set((eb) => ({ family_id: eb.ref('id') }))
    .where('id', '=', agentId)
    .execute()
}
