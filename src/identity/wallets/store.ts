import { sql } from 'kysely'
import type { Database, Tx } from '../../db/database.ts'

/** A wallet of an account. */
export interface WalletRow {
  readonly address: string
  readonly created_at: Date
  readonly added_by: bigint
  readonly verified_at: Date | null
  /** The one that the account is known by. */
  readonly is_primary: boolean
}

/** The wallets of an account, the oldest first. */
export async function list(db: Database | Tx, accountId: bigint): Promise<WalletRow[]> {
  return db
    .selectFrom('account_wallets')
    .innerJoin('accounts', 'accounts.id', 'account_wallets.account_id')
    .select(['address', 'account_wallets.created_at', 'added_by', 'verified_at'])
    .select(sql<boolean>`coalesce(accounts.wallet_address = address, false)`.as('is_primary'))
    .where('account_id', '=', accountId)
    .orderBy('account_wallets.created_at')
    .orderBy('address')
    .execute()
}

/**
 * Gives a proved wallet to an account, which is known by it from then on if it had none. False when the wallet belongs
 * to an account already: of any number of claims at once, one is told true.
 */
export async function add(tx: Tx, wallet: { address: string; accountId: bigint; addedBy: bigint }): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await tx
    .insertInto('account_wallets')
    .values({
      address: wallet.address,
      account_id: wallet.accountId,
      added_by: wallet.addedBy,
      verified_at: sql<Date>`now()`,
    })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  if (!numInsertedOrUpdatedRows) return false
  await tx
    .updateTable('accounts')
    .set({ wallet_address: wallet.address })
    .where('id', '=', wallet.accountId)
    .where('wallet_address', 'is', null)
    .execute()
  return true
}

/** Notes that the key of an account's own wallet has proved itself again. False when the wallet is another account's. */
export async function proveAgain(tx: Tx, wallet: { address: string; accountId: bigint }): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('account_wallets')
    .set({ verified_at: sql<Date>`now()` })
    .where('address', '=', wallet.address)
    .where('account_id', '=', wallet.accountId)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/**
 * Locks an account and a wallet of it until the transaction ends: one wallet is removed at a time, and nobody begins an
 * order that it pays. False when there is none.
 */
export async function lock(tx: Tx, wallet: { address: string; accountId: bigint }): Promise<boolean> {
  await tx.selectFrom('accounts').select('id').where('id', '=', wallet.accountId).forNoKeyUpdate().execute()
  const row = await tx
    .selectFrom('account_wallets')
    .select('address')
    .where('address', '=', wallet.address)
    .where('account_id', '=', wallet.accountId)
    .forUpdate()
    .executeTakeFirst()
  return row !== undefined
}

/** True while an order waits for a payment of this wallet, or a payment of it for a decision. */
export async function paysOpenOrder(tx: Tx, wallet: { address: string; accountId: bigint }): Promise<boolean> {
  const row = await tx
    .selectFrom('orders')
    .select('id')
    .where('payer_account_id', '=', wallet.accountId)
    .where('payer_address', '=', wallet.address)
    .where('status', 'in', ['pending', 'confirming', 'review_required'])
    .limit(1)
    .executeTakeFirst()
  return row !== undefined || (await paysNativeToken(tx, wallet))
}

/** True while a quote asks for a payment of this wallet, or a hash of the account is still looked for. */
async function paysNativeToken(
  tx: Tx,
  { address, accountId }: { address: string; accountId: bigint },
): Promise<boolean> {
  const { rows } = await sql<{ open: boolean }>`
    select exists (select from axon_quotes where account_id = ${accountId} and payer_address = ${address}
                   and claim_id is null and closed_at is null and expires_at > now())
        or exists (select from axon_claims where account_id = ${accountId} and status in ('pending', 'confirming')) as open`.execute(
    tx,
  )
  return rows[0]?.open === true
}

/** Takes a locked wallet from its account, which is then known by the oldest of the others. */
export async function remove(tx: Tx, wallet: { address: string; accountId: bigint }): Promise<void> {
  await sql`update accounts set wallet_address = (
      select address from account_wallets where account_id = ${wallet.accountId} and address <> ${wallet.address} order by created_at, address limit 1)
    where id = ${wallet.accountId} and wallet_address = ${wallet.address}`.execute(tx)
  await tx.deleteFrom('account_wallets').where('address', '=', wallet.address).execute()
}

/** A permission that can still be used: of whom, for whom. */
export interface Delegation {
  readonly id: bigint
  readonly owner_account_id: bigint
  readonly owner_label: string | null
}

/** The Agent with this wallet, if it is linked to this owner. */
export async function findLinkedAgent(
  db: Database,
  link: { ownerId: bigint; walletAddress: string },
): Promise<bigint | undefined> {
  const row = await db
    .selectFrom('account_wallets')
    .innerJoin('agent_links', 'agent_links.agent_account_id', 'account_wallets.account_id')
    .select('agent_account_id')
    .where('address', '=', link.walletAddress)
    .where('owner_account_id', '=', link.ownerId)
    .executeTakeFirst()
  return row?.agent_account_id
}

/** Stores a delegation in place of the Agent's older one. Its end is the database's. undefined when the link is gone. */
export async function putDelegation(
  db: Database,
  wanted: { ownerId: bigint; agentId: bigint; tokenHash: Buffer; lifetimeMinutes: number },
): Promise<Date | undefined> {
  const { rows } = await sql<{ expires_at: Date }>`
    with linked as (
      select agent_account_id, owner_account_id from agent_links where agent_account_id = ${wanted.agentId} and owner_account_id = ${wanted.ownerId} for share
    )
    insert into delegations (agent_account_id, owner_account_id, token_hash, expires_at)
    select agent_account_id, owner_account_id, ${wanted.tokenHash}, now() + make_interval(mins => ${wanted.lifetimeMinutes}) from linked
    on conflict (agent_account_id) do update
      set id = excluded.id, owner_account_id = excluded.owner_account_id, token_hash = excluded.token_hash, expires_at = excluded.expires_at
    returning expires_at`.execute(db)
  return rows[0]?.expires_at
}

/** The delegation with this token, if this Agent can use it now: unexpired, unused, still linked, the owner active. */
export async function findDelegation(
  db: Database,
  { agentId, tokenHash }: { agentId: bigint; tokenHash: Buffer },
): Promise<Delegation | undefined> {
  return usable(db, agentId).where('token_hash', '=', tokenHash).executeTakeFirst()
}

/**
 * Uses a delegation up: of any number of uses at once, one is told true. The link is locked, so that it ends before
 * this or after it.
 */
export async function consumeDelegation(tx: Tx, { agentId, id }: { agentId: bigint; id: bigint }): Promise<boolean> {
  const live = await usable(tx, agentId).where('delegations.id', '=', id).forShare('agent_links').executeTakeFirst()
  if (!live) return false
  const { numDeletedRows } = await tx
    .deleteFrom('delegations')
    .where('id', '=', id)
    .where('expires_at', '>', sql<Date>`now()`)
    .executeTakeFirst()
  return numDeletedRows === 1n
}

function usable(db: Database | Tx, agentId: bigint) {
  return db
    .selectFrom('delegations')
    .innerJoin('agent_links', (join) =>
      join
        .onRef('agent_links.agent_account_id', '=', 'delegations.agent_account_id')
        .onRef('agent_links.owner_account_id', '=', 'delegations.owner_account_id'),
    )
    .innerJoin('accounts as owner', 'owner.id', 'delegations.owner_account_id')
    .select(['delegations.id', 'delegations.owner_account_id', 'owner.label as owner_label'])
    .where('delegations.agent_account_id', '=', agentId)
    .where('owner.status', '=', 'active')
    .where('expires_at', '>', sql<Date>`now()`)
}
