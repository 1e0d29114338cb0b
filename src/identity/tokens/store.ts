import { sql } from 'kysely'
import type { Database, Tx } from '../../db/database.ts'

/** A stored signing key. */
export interface SigningKeyRow {
  readonly kid: string
  readonly sealed_seed: Buffer
  readonly created_at: Date
  readonly retired_at: Date | null
  readonly verifies_until: Date | null
}

/** The key that signs and those that still verify, by the database's clock; newest first. */
export async function usableKeys(db: Database): Promise<SigningKeyRow[]> {
  return db
    .selectFrom('signing_keys')
    .selectAll()
    .where((is) => is.or([is('retired_at', 'is', null), is('verifies_until', '>', sql<Date>`now()`)]))
    .orderBy('created_at', 'desc')
    .execute()
}

/** Every key there ever was, newest first. */
export async function allKeys(db: Database): Promise<SigningKeyRow[]> {
  return db.selectFrom('signing_keys').selectAll().orderBy('created_at', 'desc').execute()
}

/** Stores the key that signs, unless there is one: of several servers that start at once, one brings the key. */
export async function insertFirst(db: Database, key: { kid: string; sealed_seed: Buffer }): Promise<void> {
  await db
    .insertInto('signing_keys')
    .values(key)
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

/** Retires the key that signs and puts another in its place. Rotations wait for each other. */
export async function replace(
  tx: Tx,
  key: { kid: string; sealed_seed: Buffer },
  verifiesForSeconds: number,
): Promise<void> {
  await sql`lock table signing_keys in share row exclusive mode`.execute(tx)
  await tx
    .updateTable('signing_keys')
    .set({
      retired_at: sql<Date>`now()`,
      verifies_until: sql<Date>`now() + make_interval(secs => ${verifiesForSeconds})`,
    })
    .where('retired_at', 'is', null)
    .execute()
  await tx.insertInto('signing_keys').values(key).execute()
}

/** Ends what retired keys still verify. */
export async function dropRetired(tx: Tx): Promise<void> {
  await tx
    .updateTable('signing_keys')
    .set({ verifies_until: sql<Date>`now()` })
    .where('retired_at', 'is not', null)
    .where('verifies_until', '>', sql<Date>`now()`)
    .execute()
}
