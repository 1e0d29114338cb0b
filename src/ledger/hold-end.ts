import { sql } from 'kysely'
import type { Tx } from '../db/database.ts'
import { type Applied, type Capture, type Status, type Void, wireForm } from './operations.ts'

/** Ends of holds name no process. */
const NO_PROCESS = 0n

/**
 * Ends a hold inside the caller's transaction, for people who decide: what they decided and the record of it become
 * true together. Call it inside `ledgerTransaction`. Servers end holds on the ledger's lane instead.
 */
export async function endHold(
  tx: Tx,
  end: (Capture | Void) & { resolvedBy: string; reason: string },
): Promise<Applied> {
  const { rows } = await sql<{ status: Status; amount_micro: bigint | null; available_micro: bigint | null }>`
    select status, amount_micro, available_micro from ledger_apply(${JSON.stringify([wireForm(end, NO_PROCESS)])})`.execute(
    tx,
  )
  const row = rows[0] as (typeof rows)[number]
  return {
    status: row.status,
    amountMicro: row.amount_micro ?? undefined,
    availableMicro: row.available_micro ?? undefined,
    detail: undefined,
  }
}
