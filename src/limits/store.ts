import { sql } from 'kysely'
import type { Database } from '../db/database.ts'

/** What a process asks for. */
export interface LeaseRequest {
  readonly key: Buffer
  readonly endsAt: Date
  /** All that may be taken in the window. */
  readonly requests: number
  /** Requests that wait for this lease: they get what is left, up to all of it. */
  readonly waiting: number
  /** What to take ahead of demand, at most; never more than a quarter of what is left. */
  readonly ahead: number
}

/**
 * Takes requests out of a window in one atomic statement. Gives how many were leased (0: the window is used up)
 * and how many have been taken in all.
 */
export async function lease(db: Database, wanted: LeaseRequest): Promise<{ leased: number; taken: number }> {
  const { key, endsAt, requests, waiting, ahead } = wanted
  const first = Math.min(requests, Math.max(waiting, Math.min(Math.floor(requests / 4), ahead)))
  const { rows } = await sql<{ leased: number; taken: number }>`
    insert into rate_limit_windows as w (ends_at, key, taken, leased) values (${endsAt}, ${key}, ${first}, ${first})
    on conflict (ends_at, key) do update set
      leased = least(${requests} - w.taken, greatest(${waiting}, least((${requests} - w.taken) / 4, ${ahead}))),
      taken = w.taken + least(${requests} - w.taken, greatest(${waiting}, least((${requests} - w.taken) / 4, ${ahead})))
    where w.taken < ${requests}
    returning leased, taken`.execute(db)
  return rows[0] ?? { leased: 0, taken: requests }
}

/** Forgets windows that ended before this moment. */
export async function prune(db: Database, before: Date): Promise<void> {
  await sql`delete from rate_limit_windows where ends_at < ${before}`.execute(db)
}
