import { sql } from 'kysely'
import type { Database } from '../../db/database.ts'

/** A request that named itself. */
export interface Claim {
  readonly accountId: bigint
  readonly route: string
  readonly key: string
  /** The request that holds the key: whoever writes late, since a line broke, touches no claim that came after its own. */
  readonly requestId: string
}

interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** The row of a claim. `completed_at` is null while the first request runs. */
export interface ClaimRow {
  readonly fingerprint: Buffer
  readonly request_id: string
  readonly completed_at: Date | null
  readonly status: number | null
  readonly headers: unknown
  readonly body: string | null
}

/** Claims the key; undefined when this request is the first, else the first one's row. */
export async function claim(
  db: Database,
  wanted: Claim & { fingerprint: Buffer; processId: bigint },
): Promise<ClaimRow | undefined> {
  for (;;) {
    const inserted = await db
      .insertInto('idempotency_keys')
      .values({
        account_id: wanted.accountId,
        route: wanted.route,
        key: wanted.key,
        fingerprint: wanted.fingerprint,
        process_id: wanted.processId,
        request_id: wanted.requestId,
      })
      .onConflict((conflict) => conflict.doNothing())
      .executeTakeFirst()
    if (inserted.numInsertedOrUpdatedRows === 1n) return undefined
    const row = await db
      .selectFrom('idempotency_keys')
      .select(['fingerprint', 'request_id', 'completed_at', 'status', 'headers', 'body'])
      .where('account_id', '=', wanted.accountId)
      .where('route', '=', wanted.route)
      .where('key', '=', wanted.key)
      .executeTakeFirst()
    // the first one may have freed the key in between: then nobody holds it, and it must be claimed before anything is done
    if (row) return row
  }
}

/** Stores the answer that repeats get. */
export async function complete(db: Database, claim: Claim, answer: Answer): Promise<void> {
  await answering(db, claim, answer).execute()
}

function answering(db: Database, { accountId, route, key, requestId }: Claim, answer: Answer) {
  return db
    .updateTable('idempotency_keys')
    .set({
      completed_at: sql<Date>`now()`,
      status: answer.status,
      headers: JSON.stringify(answer.headers),
      body: answer.body,
    })
    .where('account_id', '=', accountId)
    .where('route', '=', route)
    .where('key', '=', key)
    .where('request_id', '=', requestId)
}

/** Forgets a claim whose request was refused before anything was done: the same key may be used again. */
export async function forget(db: Database, { accountId, route, key, requestId }: Claim): Promise<void> {
  await db
    .deleteFrom('idempotency_keys')
    .where('account_id', '=', accountId)
    .where('route', '=', route)
    .where('key', '=', key)
    .where('request_id', '=', requestId)
    .where('completed_at', 'is', null)
    .execute()
}

/**
 * Claims that a dead process left open: those whose call was begun get `answer`, the others are forgotten if
 * `freesUnbegun`. One that was only taken for dead may answer meanwhile: what it says of its call stays.
 */
export async function settleLeftBehind(
  db: Database,
  { processId, freesUnbegun }: { readonly processId: bigint; readonly freesUnbegun: boolean },
  answer: (requestId: string) => { status: number; body: string },
): Promise<void> {
  const rows = await db
    .selectFrom('idempotency_keys')
    .leftJoin('holds', 'holds.request_id', 'idempotency_keys.request_id')
    .select(['account_id', 'route', 'key', 'idempotency_keys.request_id', 'holds.id as hold_id'])
    .where('idempotency_keys.process_id', '=', processId)
    .where('completed_at', 'is', null)
    .execute()
  for (const row of rows) {
    const one = { accountId: row.account_id, route: row.route, key: row.key, requestId: row.request_id }
    if (row.hold_id === null) {
      if (freesUnbegun) await forget(db, one)
    } else {
      const headers = { 'content-type': 'application/json; charset=utf-8' }
      await answering(db, one, { ...answer(row.request_id), headers })
        .where('completed_at', 'is', null)
        .execute()
    }
  }
}

/** Deletes claims older than the retention, answered or not; gives how many. */
export async function prune(db: Database, olderThanHours: number): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('idempotency_keys')
    .where('created_at', '<', sql<Date>`now() - make_interval(hours => ${olderThanHours})`)
    .executeTakeFirst()
  return Number(numDeletedRows)
}
