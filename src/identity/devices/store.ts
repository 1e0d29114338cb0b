import { sql } from 'kysely'
import type { Database, Tx } from '../../db/database.ts'
import type { AccountStatus, DeviceLoginStatus } from '../../db/schema.ts'
import { movedFrom, type Standing } from './states.ts'

/** A login of a program as its owner sees it. */
export interface DeviceLogin {
  readonly id: bigint
  readonly user_code: string
  readonly client_name: string
  readonly network: string
  readonly status: DeviceLoginStatus
  readonly account_id: bigint | null
  readonly created_at: Date
  readonly expires_at: Date
}

/** By how much a program that asked too soon has to wait longer (RFC 8628, 3.5). */
const SLOWER_SECONDS = 5
const INTERVAL_SECONDS_MAX = 60
/** A program's timer may be a little fast. */
const EARLY_SECONDS = 0.5
/** As many lapsed rows go in one statement. */
const PRUNED_BY_EACH = 5_000

const shown = ['id', 'user_code', 'client_name', 'network', 'status', 'account_id', 'created_at', 'expires_at'] as const
const alive = sql<boolean>`expires_at > now()`

/** Begins a login. False when the user code is taken: then another one is made. */
export async function insert(
  db: Database,
  login: {
    deviceCodeHash: Buffer
    userCode: string
    clientName: string
    network: string
    lifetimeSeconds: number
    intervalSeconds: number
  },
): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('device_logins')
    .values({
      device_code_hash: login.deviceCodeHash,
      user_code: login.userCode,
      client_name: login.clientName,
      network: login.network,
      expires_at: sql<Date>`now() + make_interval(secs => ${login.lifetimeSeconds})`,
      interval_seconds: login.intervalSeconds,
    })
    .onConflict((conflict) => conflict.column('user_code').doNothing())
    .executeTakeFirst()
  return numInsertedOrUpdatedRows === 1n
}

/** The login with this user code, if its time is not over and it is nobody else's. */
export async function find(
  db: Database | Tx,
  which: { userCode: string; ownerId: bigint },
): Promise<DeviceLogin | undefined> {
  return db
    .selectFrom('device_logins')
    .select(shown)
    .where('user_code', '=', which.userCode)
    .where(alive)
    .where(nobodyElses(which.ownerId))
    .executeTakeFirst()
}

/** Decides a login: of any number of decisions at once, each moves it only from where its table allows. undefined: nothing moved. */
export async function decide(
  tx: Tx,
  which: { userCode: string; ownerId: bigint; event: 'approve' | 'deny' },
): Promise<DeviceLogin | undefined> {
  const to = which.event === 'approve' ? 'approved' : 'denied'
  return tx
    .updateTable('device_logins')
    .set({ status: to, account_id: which.ownerId })
    .where('user_code', '=', which.userCode)
    .where('status', 'in', movedFrom(which.event, to))
    .where(alive)
    .where(nobodyElses(which.ownerId))
    .returning(shown)
    .executeTakeFirst()
}

/** Notes that the program of a pending login asked, and how soon it may again. undefined: it is not pending. */
export async function notePoll(
  db: Database,
  deviceCodeHash: Buffer,
): Promise<{ tooSoon: boolean; intervalSeconds: number } | undefined> {
  const tooSoon = sql<boolean>`next_poll_at > now() + make_interval(secs => ${EARLY_SECONDS})`
  const interval = sql<number>`case when ${tooSoon} then least(interval_seconds + ${SLOWER_SECONDS}, ${INTERVAL_SECONDS_MAX}) else interval_seconds end`
  const row = await db
    .updateTable('device_logins')
    .set({
      polled_too_soon: tooSoon,
      interval_seconds: interval,
      next_poll_at: sql<Date>`now() + make_interval(secs => ${interval})`,
    })
    .where('device_code_hash', '=', deviceCodeHash)
    .where('status', '=', 'pending')
    .where(alive)
    .returning(['polled_too_soon', 'interval_seconds'])
    .executeTakeFirst()
  return row && { tooSoon: row.polled_too_soon, intervalSeconds: row.interval_seconds }
}

/** Uses an approved login up: of any number of programs at once, one gets the account. */
export async function complete(
  tx: Tx,
  deviceCodeHash: Buffer,
): Promise<{ accountId: bigint; status: AccountStatus; clientName: string } | undefined> {
  const row = await tx
    .updateTable('device_logins')
    .from('accounts')
    .set({ status: 'completed' })
    .whereRef('accounts.id', '=', 'device_logins.account_id')
    .where('device_code_hash', '=', deviceCodeHash)
    .where('device_logins.status', 'in', movedFrom('poll', 'completed'))
    .where('expires_at', '>', sql<Date>`now()`)
    .returning(['accounts.id', 'accounts.status', 'client_name'])
    .executeTakeFirst()
  return row && { accountId: row.id, status: row.status, clientName: row.client_name }
}

/** How the login of a device code stands; `lapsed` also when there is none. */
export async function standing(db: Database | Tx, deviceCodeHash: Buffer): Promise<Standing> {
  const row = await db
    .selectFrom('device_logins')
    .select('status')
    .where('device_code_hash', '=', deviceCodeHash)
    .where(alive)
    .executeTakeFirst()
  return row?.status ?? 'lapsed'
}

/** Forgets logins whose time is over. Gives how many. */
export async function prune(db: Database): Promise<number> {
  const { numAffectedRows } = await sql`delete from device_logins where id in (
    select id from device_logins where expires_at < now() order by expires_at limit ${sql.lit(PRUNED_BY_EACH)} for update skip locked)`.execute(
    db,
  )
  return Number(numAffectedRows ?? 0n)
}

const nobodyElses = (ownerId: bigint) => sql<boolean>`(account_id is null or account_id = ${ownerId})`
