import { sql } from 'kysely'
import type { Database, Tx } from '../../db/database.ts'
import type { LiveSession } from '../sign-in.ts'

/** A session in its account's list. */
export interface ListedSession {
  readonly id: bigint
  readonly sid: string
  readonly device: string
  readonly created_at: Date
  readonly last_used_at: Date
  readonly expires_at: Date
}

/** A session and whether it may still be used, with the account's state. */
export interface SessionRow {
  readonly id: bigint
  readonly account_id: bigint
  readonly generation: number
  readonly alive: boolean
  readonly status: 'active' | 'banned' | 'deactivated'
  readonly role: 'user' | 'admin'
}

const alive = sql<boolean>`revoked_at is null and expires_at > now()`

/** Begins a session of this many seconds. */
export async function insert(
  tx: Tx,
  session: { sid: string; accountId: bigint; device: string; lifetimeSeconds: number },
): Promise<LiveSession> {
  const row = await tx
    .insertInto('sessions')
    .values({
      sid: session.sid,
      account_id: session.accountId,
      device: session.device,
      expires_at: sql<Date>`now() + make_interval(secs => ${session.lifetimeSeconds})`,
    })
    .returning(['created_at', 'expires_at'])
    .executeTakeFirstOrThrow()
  return {
    sid: session.sid,
    accountId: session.accountId,
    generation: 0,
    now: row.created_at,
    expiresAt: row.expires_at,
  }
}

/** The session with this sid, alive or not. Times are the database's. */
export async function findBySid(db: Database, sid: string): Promise<SessionRow | undefined> {
  return db
    .selectFrom('sessions')
    .innerJoin('accounts', 'accounts.id', 'sessions.account_id')
    .select(['sessions.id', 'sessions.account_id', 'generation', 'accounts.status', 'role', alive.as('alive')])
    .where('sid', '=', sid)
    .executeTakeFirst()
}

/** Moves a session on from this generation: of any number of exchanges at once, one gets the row and the others nothing. */
export async function advance(
  db: Database,
  session: { sid: string; accountId: bigint; generation: number },
): Promise<LiveSession | undefined> {
  const row = await db
    .updateTable('sessions')
    .from('accounts')
    .set(({ eb }) => ({ generation: eb('generation', '+', 1), last_used_at: sql<Date>`now()` }))
    .whereRef('accounts.id', '=', 'sessions.account_id')
    .where('accounts.status', '=', 'active')
    .where('sid', '=', session.sid)
    .where('account_id', '=', session.accountId)
    .where('generation', '=', session.generation)
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', sql<Date>`now()`)
    .returning(['sessions.generation', 'sessions.last_used_at', 'sessions.expires_at'])
    .executeTakeFirst()
  return (
    row && {
      sid: session.sid,
      accountId: session.accountId,
      generation: row.generation,
      now: row.last_used_at,
      expiresAt: row.expires_at,
    }
  )
}

/** Ends sessions of an account: one, or all. A session that ended before stays as it was. Gives how many there are. */
export async function revoke(
  db: Database | Tx,
  which: { accountId: bigint; sid?: string; id?: bigint },
): Promise<bigint> {
  let update = db
    .updateTable('sessions')
    .set({ revoked_at: sql<Date>`coalesce(revoked_at, now())` })
    .where('account_id', '=', which.accountId)
  if (which.sid !== undefined) update = update.where('sid', '=', which.sid)
  if (which.id !== undefined) update = update.where('id', '=', which.id)
  const { numUpdatedRows } = await update.executeTakeFirst()
  return numUpdatedRows
}

/** Ends the sessions of an account that may still be used. Gives how many this call ended, each session to one caller only. */
export async function revokeAlive(tx: Tx, accountId: bigint): Promise<bigint> {
  const { numUpdatedRows } = await tx
    .updateTable('sessions')
    .set({ revoked_at: sql<Date>`now()` })
    .where('account_id', '=', accountId)
    .where(alive)
    .executeTakeFirst()
  return numUpdatedRows
}

/** Sessions of an account that may still be used, newest first; with `beforeId`, those that are older than that one. */
export async function listAlive(
  db: Database,
  page: { accountId: bigint; beforeId: bigint | undefined; limit: number },
): Promise<ListedSession[]> {
  let select = db
    .selectFrom('sessions')
    .select(['id', 'sid', 'device', 'created_at', 'last_used_at', 'expires_at'])
    .where('account_id', '=', page.accountId)
    .where(alive)
  if (page.beforeId !== undefined) select = select.where('id', '<', page.beforeId)
  return select.orderBy('id', 'desc').limit(page.limit).execute()
}

/** Notes when sessions were last used: in bulk and seldom, off the hot path. */
export async function touch(db: Database, ids: readonly bigint[]): Promise<void> {
  await db.updateTable('sessions').set({ last_used_at: sql<Date>`now()` }).where('id', 'in', ids).execute()
}
