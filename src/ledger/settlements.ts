import { sql } from 'kysely'
import type { Tx } from '../db/database.ts'

/** What became of an authorization. `settled`: there was nothing left to agree to. */
export type Authorized =
  | { readonly kind: 'authorized' | 'settled' | 'usage_unknown' | 'running' }
  /** This payer cannot pay its part, so nothing was written. */
  | {
      readonly kind: 'insufficient'
      readonly payerAccountId: bigint
      readonly requiredMicro: bigint
      readonly availableMicro: bigint
    }

/**
 * Settles a call that cost more than its hold: every account that paid the hold pays its part of the rest, all of them
 * or none. Who may ask for it is the caller's matter. Repeats change nothing. Can fail with a serialization failure:
 * call it inside `ledgerTransaction`.
 */
export async function authorizeSettlement(tx: Tx, holdId: bigint, accountId: bigint): Promise<Authorized> {
  const { rows } = await sql<{
    outcome: 'authorized' | 'settled' | 'usage_unknown' | 'running' | 'insufficient'
    payer_account_id: bigint
    required_micro: bigint
    available_micro: bigint
  }>`select * from ledger_authorize(${holdId}, ${accountId})`.execute(tx)
  const { outcome, ...lacking } = rows[0] as (typeof rows)[number]
  if (outcome !== 'insufficient') return { kind: outcome }
  return {
    kind: 'insufficient',
    payerAccountId: lacking.payer_account_id,
    requiredMicro: lacking.required_micro,
    availableMicro: lacking.available_micro,
  }
}
