import { sql } from 'kysely'
import type { Database } from '../db/database.ts'

/** After this long without a sign of life a process counts as gone, wherever it ran. */
const SILENT_AFTER_SECONDS = 30

/**
 * How long after its end a process is still looked at: a flush that was stuck on its way to the database can be
 * committed until its statement times out. One that begins later is refused (`process_ended`).
 */
const LATE_FLUSH_SECONDS = 120

/** A process that is gone. */
export interface Gone {
  readonly id: bigint
  readonly oldest_hold_id: bigint
  /** True once its end was noted, by itself or by others; a flush of it may still be on its way. */
  readonly ended: boolean
  /** True when no flush of it can come any more: what is there now is all that it leaves. */
  readonly is_final: boolean
}

/** Registers this process: its holds carry the id that this gives. */
export async function register(
  db: Database,
  process: { host: string; pid: number; oldest_hold_id: bigint },
): Promise<bigint> {
  const row = await db.insertInto('processes').values(process).returning('id').executeTakeFirstOrThrow()
  return row.id
}

/** A sign of life: whoever took this process for gone, while the database was away say, was wrong. `oldestHoldId`: no hold of this process that is still open has a smaller id. */
export async function beat(db: Database, id: bigint, oldestHoldId: bigint): Promise<void> {
  await db
    .updateTable('processes')
    .set({ heartbeat_at: sql<Date>`now()`, ended_at: null, reaped_at: null, oldest_hold_id: oldestHoldId })
    .where('id', '=', id)
    .execute()
}

/** A server process that gives signs of life. */
export interface RunningProcess {
  readonly id: bigint
  readonly host: string
  readonly pid: number
}

/** The servers that run on this database, oldest first. */
export async function running(db: Database): Promise<RunningProcess[]> {
  return db
    .selectFrom('processes')
    .select(['id', 'host', 'pid'])
    .where('ended_at', 'is', null)
    .where('heartbeat_at', '>', sql<Date>`now() - make_interval(secs => ${SILENT_AFTER_SECONDS})`)
    .orderBy('id')
    .execute()
}

/** Says goodbye: from here on no hold of this process can be made. */
export async function end(db: Database, id: bigint): Promise<void> {
  await db
    .updateTable('processes')
    .set({ ended_at: sql<Date>`now()` })
    .where('id', '=', id)
    .where('ended_at', 'is', null)
    .execute()
}

/** Notes that what an ended process left was looked at; for the last time, once no flush of it can come any more. */
export async function reaped(db: Database, id: bigint): Promise<void> {
  await db
    .updateTable('processes')
    .set({ reaped_at: sql<Date>`now()` })
    .where('id', '=', id)
    .where(sql<boolean>`ended_at < now() - make_interval(secs => ${LATE_FLUSH_SECONDS})`)
    .execute()
}

/**
 * Processes that are gone and were not looked at for the last time: ended, silent for SILENT_AFTER_SECONDS, or on
 * `host` with a pid that `isRunning` denies.
 * A mistake is harmless: a hold that is marked too early is still settled by its process's own capture.
 */
export async function gone(
  db: Database,
  here: { self: bigint; host: string; isRunning: (pid: number) => boolean },
): Promise<Gone[]> {
  const rows = await db
    .selectFrom('processes')
    .select(['id', 'host', 'pid', 'oldest_hold_id'])
    .select(sql<boolean>`heartbeat_at < now() - make_interval(secs => ${SILENT_AFTER_SECONDS})`.as('silent'))
    .select(sql<boolean>`ended_at is not null`.as('ended'))
    .select(
      sql<boolean>`coalesce(ended_at < now() - make_interval(secs => ${LATE_FLUSH_SECONDS}), false)`.as('is_final'),
    )
    .where('reaped_at', 'is', null)
    .where('id', '<>', here.self)
    .execute()
  return rows.filter((row) => row.ended || row.silent || (row.host === here.host && !here.isRunning(row.pid)))
}

/** Open holds of a process without a flag: what it had begun and not finished. At most `limit`, oldest first. */
export async function leftBehind(db: Database, process: Gone, limit: number): Promise<bigint[]> {
  const rows = await db
    .selectFrom('holds')
    .select('id')
    .where('id', '>=', process.oldest_hold_id)
    .where('process_id', '=', process.id)
    .where(({ not, exists, selectFrom }) =>
      not(exists(selectFrom('hold_resolutions').select('hold_id').whereRef('hold_id', '=', 'holds.id'))),
    )
    .where(({ not, exists, selectFrom }) =>
      not(exists(selectFrom('hold_flags').select('hold_id').whereRef('hold_id', '=', 'holds.id'))),
    )
    .orderBy('id')
    .limit(limit)
    .execute()
  return rows.map((row) => row.id)
}
