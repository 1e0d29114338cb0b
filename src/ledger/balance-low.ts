import { sql } from 'kysely'
import type { Database, Tx } from '../db/database.ts'
import type { Microcredits } from '../kernel/money.ts'

/** Sets below which balance accounts are told (`balance.low`) that have no threshold of their own; 0 tells nobody. */
export async function setBalanceLow(db: Database, belowMicro: Microcredits): Promise<void> {
  await sql`update ledger_settings set balance_low_micro = ${belowMicro} where balance_low_micro <> ${belowMicro}`.execute(
    db,
  )
}

/** Sets an account's own threshold; `undefined` takes it away, so that the one for all applies. Says what was there. */
export async function setAccountBalanceLow(
  tx: Tx,
  accountId: bigint,
  belowMicro: Microcredits | undefined,
): Promise<bigint | undefined> {
  const before = await tx
    .selectFrom('balance_thresholds')
    .select('below_micro')
    .where('account_id', '=', accountId)
    .forUpdate()
    .executeTakeFirst()
  if (belowMicro === undefined) {
    await tx.deleteFrom('balance_thresholds').where('account_id', '=', accountId).execute()
  } else {
    await tx
      .insertInto('balance_thresholds')
      .values({ account_id: accountId, below_micro: belowMicro })
      .onConflict((conflict) =>
        conflict.column('account_id').doUpdateSet({ below_micro: belowMicro, changed_at: sql<Date>`now()` }),
      )
      .execute()
  }
  return before === undefined ? undefined : BigInt(before.below_micro)
}
