import { sql } from 'kysely'
import type { Database, Tx } from '../../db/database.ts'
import type { ChallengePurpose } from '../../db/schema.ts'

/** A challenge that can still be answered. */
export interface OpenChallenge {
  readonly id: string
  readonly wallet_address: string
  readonly message: string
  readonly owner_account_id: bigint | null
  readonly agent_account_id: bigint | null
  readonly delegation_id: bigint | null
}

/** Wrong signatures that a challenge takes; with the last of them it is closed (decisions 2). */
const FAILED_ATTEMPTS_MAX = 5
/** Lapsed challenges that each new one clears away: more than come in, so that the table stays small by itself. */
const CLEARED_BY_EACH = 4

const open = sql<boolean>`consumed_at is null and expires_at > now() and failed_attempts < ${sql.lit(FAILED_ATTEMPTS_MAX)}`

/** Lets only one challenge of a wallet be made at a time until the transaction ends. Gives the database's time. */
export async function lockWallet(tx: Tx, walletAddress: string): Promise<Date> {
  const { rows } = await sql<{
    now: Date
  }>`select now(), pg_advisory_xact_lock(hashtextextended(${`challenge:${walletAddress}`}, 0))`.execute(tx)
  return rows[0]?.now as Date
}

/** Stores a challenge and takes away the wallet's oldest open ones of this purpose above `openMax`. The wallet is locked. */
export async function insert(
  tx: Tx,
  challenge: {
    id: string
    purpose: ChallengePurpose
    walletAddress: string
    message: string
    expiresAt: Date
    ownerAccountId?: bigint
    agentAccountId?: bigint
    delegationId?: bigint
  },
  openMax: number,
): Promise<void> {
  await sql`with lapsed as (
      select id from challenges where expires_at < now() order by expires_at limit ${CLEARED_BY_EACH} for update skip locked
    ), surplus as (
      select id from challenges where wallet_address = ${challenge.walletAddress} and purpose = ${challenge.purpose} and ${open}
      order by created_at desc, id desc offset ${openMax - 1}
    )
    delete from challenges where id in (select id from lapsed union all select id from surplus)`.execute(tx)
  await tx
    .insertInto('challenges')
    .values({
      id: challenge.id,
      purpose: challenge.purpose,
      wallet_address: challenge.walletAddress,
      message: challenge.message,
      expires_at: challenge.expiresAt,
      owner_account_id: challenge.ownerAccountId ?? null,
      agent_account_id: challenge.agentAccountId ?? null,
      delegation_id: challenge.delegationId ?? null,
    })
    .execute()
}

/** The challenge with this id, if it is of one of these purposes and can still be answered. */
export async function findOpen(
  db: Database,
  id: string,
  purposes: readonly ChallengePurpose[],
): Promise<OpenChallenge | undefined> {
  return db
    .selectFrom('challenges')
    .select(['id', 'wallet_address', 'message', 'owner_account_id', 'agent_account_id', 'delegation_id'])
    .where('id', '=', id)
    .where('purpose', 'in', purposes)
    .where(open)
    .executeTakeFirst()
}

/** Uses a challenge up: of any number of answers at once, one is told true. */
export async function consume(tx: Tx, id: string): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('challenges')
    .set({ consumed_at: sql<Date>`now()` })
    .where('id', '=', id)
    .where(open)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

/** Counts a wrong signature. */
export async function countFailure(db: Database, id: string): Promise<void> {
  await db
    .updateTable('challenges')
    .set(({ eb }) => ({ failed_attempts: eb('failed_attempts', '+', 1) }))
    .where('id', '=', id)
    .where(open)
    .execute()
}
