import type { Database } from '../../db/database.ts'

/** A grant as it was given. */
export interface GrantRow {
  readonly id: bigint
  readonly account_id: bigint
  readonly amount_micro: bigint
  readonly bucket: string
  readonly expires_at: Date | null
  readonly reason: string
  readonly granted_by: string
  readonly created_at: Date
}

/** The grant with this id; it must exist. */
export async function read(db: Database, id: bigint): Promise<GrantRow> {
  return db
    .selectFrom('credit_grants')
    .innerJoin('buckets', 'buckets.id', 'bucket_id')
    .select([
      'credit_grants.id',
      'credit_grants.account_id',
      'amount_micro',
      'buckets.kind as bucket',
      'buckets.expires_at',
      'reason',
      'granted_by',
      'credit_grants.created_at',
    ])
    .where('credit_grants.id', '=', id)
    .executeTakeFirstOrThrow()
}
