import type { Database } from '../../db/database.ts'
import type { BucketKind, GrantSource } from '../../db/schema.ts'

/** A grant as it was given. */
export interface GrantRow {
  readonly id: bigint
  readonly account_id: bigint
  readonly amount_micro: bigint
  readonly bucket: BucketKind
  readonly expires_at: Date | null
  readonly reason: string
  readonly granted_by: string
  readonly created_at: Date
}

const grants = (db: Database) =>
  db
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

/** The grant that an operator gave under this id of theirs. */
export function find(db: Database, sourceId: string): Promise<GrantRow | undefined> {
  return grants(db).where('source', '=', 'operator').where('source_id', '=', sourceId).executeTakeFirst()
}

/** What an account was given, by whatever way, newest first; with `beforeId`, what came before that grant. */
export function list(
  db: Database,
  page: { accountId: bigint; beforeId: bigint | undefined; limit: number },
): Promise<Array<GrantRow & { readonly source: GrantSource; readonly source_id: string }>> {
  let select = grants(db)
    .select(['source', 'source_id'])
    .where('credit_grants.account_id', '=', page.accountId)
    .orderBy('credit_grants.id', 'desc')
    .limit(page.limit)
  if (page.beforeId !== undefined) select = select.where('credit_grants.id', '<', page.beforeId)
  return select.execute()
}

/** True for the error of a grant whose id was used for another account at the same moment. */
export function isIdTaken(error: unknown): boolean {
  const { code, constraint } = (error ?? {}) as { code?: unknown; constraint?: unknown }
  return code === '23505' && constraint === 'credit_grants_source_source_id_key'
}

/** True for the error of a balance that would be larger than any may be. */
export function isTooMuch(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === '23514'
}
