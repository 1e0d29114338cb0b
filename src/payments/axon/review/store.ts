import type { Selectable } from 'kysely'
import type { Database, Tx } from '../../../db/database.ts'
import type { DB } from '../../../db/schema.ts'
import type { Claim } from '../store.ts'

/** An entry of a claim's history. */
export type ClaimEvent = Selectable<DB['axon_events']>

/**
 * Claims that wait for a decision, longest first: those in review, and those that failed although their value came to
 * us. What another purchase has got Credits for is not among them.
 */
export function waiting(db: Database, limit: number): Promise<Claim[]> {
  return db
    .selectFrom('axon_claims')
    .selectAll()
    .where((eb) =>
      eb.or([
        eb('status', '=', 'review_required'),
        eb.and([eb('status', '=', 'failed'), eb('received_wei', 'is not', null)]),
      ]),
    )
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('chain_receipts')
            .select('chain_receipts.grant_id')
            .whereRef('chain_receipts.chain_id', '=', 'axon_claims.chain_id')
            .whereRef('chain_receipts.tx_hash', '=', 'axon_claims.tx_hash')
            .whereRef('chain_receipts.grant_id', 'is distinct from', 'axon_claims.grant_id'),
        ),
      ),
    )
    .orderBy('claimed_at')
    .limit(limit)
    .execute()
}

/** What happened to a claim, oldest first. */
export function events(db: Database, claimId: bigint, limit: number): Promise<ClaimEvent[]> {
  return db.selectFrom('axon_events').selectAll().where('claim_id', '=', claimId).orderBy('n').limit(limit).execute()
}

/** The newest proposal of a decision. */
export function newestProposal(db: Database | Tx, claimId: bigint): Promise<ClaimEvent | undefined> {
  return db
    .selectFrom('axon_events')
    .selectAll()
    .where('claim_id', '=', claimId)
    .where('event', '=', 'operator_propose')
    .orderBy('n', 'desc')
    .limit(1)
    .executeTakeFirst()
}

/** The rate to value a payment at: the sample nearest before its block, else the newest there is. */
export async function rateAt(db: Database | Tx, blockAt: Date): Promise<bigint | undefined> {
  const samples = db.selectFrom('axon_rates').select('rate').orderBy('sampled_at', 'desc').limit(1)
  const row =
    (await samples.where('sampled_at', '<=', blockAt).executeTakeFirst()) ?? (await samples.executeTakeFirst())
  return row && BigInt(row.rate)
}
