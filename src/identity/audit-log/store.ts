import { sql } from 'kysely'
import type { Database, Tx } from '../../db/database.ts'
import type { LogEntry, LogRow } from './chain.ts'

/** The end of the chain. */
export interface Head {
  readonly id: bigint
  readonly hash: Buffer
}

const microseconds = sql.raw(`'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'`)

/** Locks the end of the chain until the transaction ends: entries are appended one after another. */
export async function lockHead(tx: Tx): Promise<Head & { at: string }> {
  const { rows } = await sql<Head & { at: string }>`
    select last_id as id, last_hash as hash, to_char(clock_timestamp() at time zone 'UTC', ${microseconds}) as at
    from audit_log_head for update`.execute(tx)
  return rows[0] as Head & { at: string }
}

/** Appends a row and moves the end of the chain to it. */
export async function append(tx: Tx, { id, hash, ...row }: LogRow): Promise<void> {
  await sql`
    with head as (update audit_log_head set last_id = ${id}, last_hash = ${hash})
    insert into audit_log (id, at, actor_kind, actor, action, target_kind, target_id, before, after, reason, request_id, previous_hash, hash)
    values (${id}, ${row.at}, ${row.actor_kind}, ${row.actor}, ${row.action}, ${row.target_kind}, ${row.target_id},
      ${row.before}, ${row.after}, ${row.reason}, ${row.request_id}, ${row.previous_hash}, ${hash})`.execute(tx)
}

/** The end of the chain, as it is noted. */
export async function head(db: Database | Tx): Promise<Head | undefined> {
  const { rows } = await sql<Head>`select last_id as id, last_hash as hash from audit_log_head`.execute(db)
  return rows[0]
}

/** Which rows to read: after a row, in the order of the chain. */
export interface Page {
  readonly after: bigint
  readonly limit: number
}

/** Rows of the chain, oldest first. `before` and `after` as their text. */
export async function rows(db: Database | Tx, { after, limit }: Page): Promise<LogRow[]> {
  const page =
    await sql<LogRow>`select ${columns} from audit_log where id > ${after} order by id limit ${limit}`.execute(db)
  return page.rows
}

/** The hash of one row. */
export async function hashAt(db: Database | Tx, id: bigint): Promise<Buffer | undefined> {
  const row = await db.selectFrom('audit_log').select('hash').where('id', '=', id).executeTakeFirst()
  return row?.hash
}

/** What to look for. */
export interface Filter {
  readonly actor: string | undefined
  readonly action: string | undefined
  readonly targetKind: string | undefined
  readonly targetId: string | undefined
  readonly limit: number
  /** Only entries that are older than this one. */
  readonly beforeId?: bigint | undefined
}

/** The newest rows that match, newest first. */
export async function newest(
  db: Database,
  { actor, action, targetKind, targetId, limit, beforeId }: Filter,
): Promise<LogRow[]> {
  const { rows: found } = await sql<LogRow>`
    select ${columns} from audit_log
    where (${actor ?? null}::text is null or actor = ${actor ?? null})
      and (${action ?? null}::text is null or action = ${action ?? null})
      and (${targetKind ?? null}::text is null or target_kind = ${targetKind ?? null})
      and (${targetId ?? null}::text is null or target_id = ${targetId ?? null})
      and (${beforeId ?? null}::bigint is null or id < ${beforeId ?? null})
    order by id desc limit ${limit}`.execute(db)
  return found
}

const columns = sql<LogEntry>`id, to_char(at at time zone 'UTC', ${microseconds}) as at, actor_kind::text, actor, action, target_kind, target_id,
  before::text, after::text, reason, request_id, previous_hash, hash`

/** Lifts the limits of request-sized statements for the rest of a transaction that reads everything. */
export async function takeYourTime(tx: Tx): Promise<void> {
  await sql`set local statement_timeout = 0`.execute(tx)
}
