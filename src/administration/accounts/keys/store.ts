import { sql } from 'kysely'
import type { Database } from '../../../db/database.ts'

/** What is known of a key besides its secret, which is nowhere. */
export interface KeyMetadata {
  readonly id: bigint
  readonly account_id: bigint
  readonly name: string
  readonly prefix: string
  readonly last4: string
  readonly status: 'active' | 'revoked' | 'expired'
  readonly created_at: Date
  readonly last_used_at: Date | null
  readonly expires_at: Date | null
  readonly revoked_at: Date | null
  readonly per_call_micro: bigint | null
  readonly daily_micro: bigint | null
  readonly monthly_micro: bigint | null
  readonly total_micro: bigint | null
}

/** The key with this id. */
export async function find(db: Database, id: bigint): Promise<KeyMetadata | undefined> {
  return metadata(db).where('api_keys.id', '=', id).executeTakeFirst()
}

/** The newest keys of an account, at most `limit`. */
export async function ofAccount(db: Database, accountId: bigint, limit: number): Promise<KeyMetadata[]> {
  return metadata(db).where('account_id', '=', accountId).orderBy('api_keys.id', 'desc').limit(limit).execute()
}

function metadata(db: Database) {
  return db
    .selectFrom('api_keys')
    .leftJoin('budgets', 'budgets.id', 'api_keys.budget_id')
    .select([
      'api_keys.id',
      'account_id',
      'name',
      'prefix',
      'last4',
      'api_keys.created_at',
      'last_used_at',
      'expires_at',
      'revoked_at',
    ])
    .select(['per_call_micro', 'daily_micro', 'monthly_micro', 'total_micro'])
    .select(
      sql<
        KeyMetadata['status']
      >`case when revoked_at is not null then 'revoked' when expires_at <= now() then 'expired' else 'active' end`.as(
        'status',
      ),
    )
}
