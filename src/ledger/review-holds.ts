import { sql } from 'kysely'
import type { Tx } from '../db/database.ts'

/**
 * Sets aside what the account still has of a grant whose payment is in doubt: at most what was given, at most what is
 * available. Nobody can spend it until `endGrantHold`. `holdId` is null when there was nothing left.
 */
export async function holdGrant(
  tx: Tx,
  grantId: bigint,
): Promise<{ readonly holdId: bigint | null; readonly heldMicro: bigint }> {
  const { rows } = await sql<{
    hold_id: bigint | null
    held_micro: bigint
  }>`select hold_id, held_micro from ledger_hold_grant(${grantId})`.execute(tx)
  const row = rows[0] as (typeof rows)[number]
  return { holdId: row.hold_id, heldMicro: row.held_micro }
}

/** Gives back what `holdGrant` set aside, or takes it from its account for good. Gives what was taken, in microcredits. */
export async function endGrantHold(
  tx: Tx,
  hold: { readonly holdId: bigint; readonly grantId: bigint },
  ending: { readonly take: boolean; readonly by: string; readonly reason: string },
): Promise<bigint> {
  const { rows } = await sql<{ taken: bigint }>`
    select ledger_end_grant_hold(${hold.holdId}, ${hold.grantId}, ${ending.take}, ${ending.by}, ${ending.reason}) as taken`.execute(
    tx,
  )
  return (rows[0] as (typeof rows)[number]).taken
}
