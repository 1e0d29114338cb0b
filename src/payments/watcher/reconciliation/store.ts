import { type Selectable, sql } from 'kysely'
import type { Database } from '../../../db/database.ts'
import type { DB } from '../../../db/schema.ts'

/** One comparison. Amounts are in the token's smallest unit, in digits. */
export type Reconciliation = Selectable<DB['reconciliations']>

/** What is recorded as received up to a block: what Credits were given for, and everything else. */
export interface Recorded {
  readonly credited: bigint
  readonly unmatched: bigint
}

/**
 * The comparison to go on from: the newest that no reorganisation can reach, else the first. One of other recipients
 * is none, and neither is one above the block that an operator went back to.
 */
export async function base(
  db: Database,
  of: { readonly assetId: string; readonly chainId: bigint; readonly recipients: readonly string[] },
  finalized: bigint,
): Promise<Reconciliation | undefined> {
  const usable = db
    .selectFrom('reconciliations')
    .selectAll('reconciliations')
    .leftJoin('chain_cursors', (join) => join.on('chain_cursors.chain_id', '=', of.chainId))
    .where('asset_id', '=', of.assetId)
    .where((eb) => eb.or([eb('recipients', '=', joined(of.recipients)), eb('recipients', 'is', null)]))
    .where((eb) =>
      eb.or([
        eb('rewound_to', 'is', null),
        eb('reconciliations.block', '<=', eb.ref('rewound_to')),
        eb('reconciliations.at', '>', eb.ref('rewound_at')),
      ]),
    )
  const settled = await usable
    .where('reconciliations.block', '<=', finalized)
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
  return settled ?? usable.orderBy('id').limit(1).executeTakeFirst()
}

/** The newest comparison of each asset. */
export function newest(db: Database, assetIds: readonly string[]): Promise<Reconciliation[]> {
  if (assetIds.length === 0) return Promise.resolve([])
  return db
    .selectFrom('reconciliations')
    .distinctOn('asset_id')
    .selectAll()
    .where('asset_id', 'in', assetIds)
    .orderBy('asset_id')
    .orderBy('id', 'desc')
    .execute()
}

/** Sums what is recorded for a token and its recipients up to a block. */
export async function recorded(
  db: Database,
  of: { chainId: bigint; token: string; recipients: readonly string[]; upTo: bigint },
): Promise<Recorded> {
  const { rows } = await sql<{ credited: string; unmatched: string }>`
    select coalesce(sum(amount) filter (where state in ('credited', 'final')), 0) as credited,
           coalesce(sum(amount) filter (where state not in ('credited', 'final')), 0) as unmatched
    from chain_transfers
    where chain_id = ${of.chainId} and token_address = ${of.token} and recipient = any(${[...of.recipients]}) and block <= ${of.upTo} and state <> 'orphaned'`.execute(
    db,
  )
  return { credited: BigInt(rows[0]?.credited ?? 0), unmatched: BigInt(rows[0]?.unmatched ?? 0) }
}

/** Keeps a comparison. */
export async function insert(
  db: Database,
  row: { assetId: string; recipients: readonly string[]; block: bigint; balance: bigint; received: bigint } & Recorded,
): Promise<void> {
  await db
    .insertInto('reconciliations')
    .values({
      asset_id: row.assetId,
      recipients: joined(row.recipients),
      block: row.block,
      balance: String(row.balance),
      received: String(row.received),
      credited: String(row.credited),
      unmatched: String(row.unmatched),
      drift: String(row.received - row.credited - row.unmatched),
    })
    .execute()
}

const joined = (recipients: readonly string[]): string => recipients.toSorted().join(' ')
