import { sql } from 'kysely'
import type { Database, Tx } from '../db/database.ts'
import type { BucketKind, GrantSource } from '../db/schema.ts'
import type { Microcredits } from '../kernel/money.ts'

/** Credits to give, once for each (source, sourceId). */
export interface Grant {
  readonly source: GrantSource
  readonly sourceId: string
  readonly accountId: bigint
  readonly bucket: BucketKind
  readonly amountMicro: Microcredits
  readonly expiresAt: Date | undefined
  readonly reason: string
  /** Who gave them: `operator:<name>` or the rail's own name. */
  readonly grantedBy: string
}

/** Gives Credits inside the caller's transaction; a repeat changes nothing and says so. */
export async function grantCredits(db: Database | Tx, grant: Grant): Promise<{ grantId: bigint; repeated: boolean }> {
  const { rows } = await sql<{ grant_id: bigint; repeated: boolean }>`
    select grant_id, repeated from ledger_grant(${grant.source}, ${grant.sourceId}, ${grant.accountId}, ${grant.bucket},
      ${grant.amountMicro}, ${grant.expiresAt ?? null}, ${grant.reason}, ${grant.grantedBy})`.execute(db)
  const row = rows[0] as { grant_id: bigint; repeated: boolean }
  return { grantId: row.grant_id, repeated: row.repeated }
}
