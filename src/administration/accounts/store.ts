import { sql } from 'kysely'
import type { Tx } from '../../db/database.ts'
import type { AccountStatus } from '../../db/schema.ts'

/** The status of an account, under its family's lock until the transaction ends. Absent where there is none. */
export async function lockStatus(tx: Tx, accountId: bigint): Promise<AccountStatus | undefined> {
  await sql`select ledger_lock_families(array[${accountId}::bigint])`.execute(tx)
  const row = await tx.selectFrom('accounts').select('status').where('id', '=', accountId).executeTakeFirst()
  return row?.status
}
