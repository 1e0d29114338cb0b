import { type Selectable, sql } from 'kysely'
import type { Database, Tx } from '../../../db/database.ts'
import type { DB, TransferState } from '../../../db/schema.ts'
import { type Cursor, headColumns, type KnownBlock, type ReadHead } from '../store.ts'

/** Where a chain was read to, why it is stopped, and who reads it. */
export type ChainRow = Selectable<DB['chain_cursors']> & {
  readonly holder: string | null
  readonly healthy: boolean | null
  readonly trouble: string | null
  /** Whether its reader is on time. */
  readonly is_read: boolean
  readonly oldest_known_block: bigint | null
}

/** Every chain that was ever read, or the one with this id. */
export function chains(db: Database, chainId?: bigint): Promise<ChainRow[]> {
  return db
    .selectFrom('chain_cursors')
    .leftJoin('chain_leases', 'chain_leases.chain_id', 'chain_cursors.chain_id')
    .selectAll('chain_cursors')
    .select(['chain_leases.holder', 'chain_leases.healthy', 'chain_leases.trouble'])
    .select(sql<boolean>`coalesce(chain_leases.until >= now(), false)`.as('is_read'))
    .select((eb) =>
      eb
        .selectFrom('chain_blocks')
        .select((min) => min.fn.min('number').as('number'))
        .whereRef('chain_blocks.chain_id', '=', 'chain_cursors.chain_id')
        .as('oldest_known_block'),
    )
    .$if(chainId !== undefined, (query) => query.where('chain_cursors.chain_id', '=', chainId ?? 0n))
    .orderBy('chain_cursors.chain_id')
    .execute()
}

/** How many transfers of a chain are in which state, and the highest block of each. */
export function transfersByState(
  db: Database,
  chainId: bigint,
): Promise<{ state: TransferState; transfers: bigint; highest_block: bigint }[]> {
  return db
    .selectFrom('chain_transfers')
    .select((eb) => ['state', eb.fn.countAll<bigint>().as('transfers'), eb.fn.max<bigint>('block').as('highest_block')])
    .where('chain_id', '=', chainId)
    .groupBy('state')
    .orderBy('state')
    .execute()
}

/** The blocks at or below a height that transfers were found in, highest first. */
export function blocksWithTransfers(db: Database, chainId: bigint, upTo: bigint, limit: number): Promise<KnownBlock[]> {
  return db
    .selectFrom('chain_transfers')
    .select(['block as number', 'block_hash as hash'])
    .distinct()
    .where('chain_id', '=', chainId)
    .where('block', '<=', upTo)
    .where('state', '<>', 'orphaned')
    .orderBy('block', 'desc')
    .limit(limit)
    .execute()
}

/** The chain's cursor, which stays where it is until the transaction ends: whoever reads on meanwhile writes nothing. */
export function lockCursor(tx: Tx, chainId: bigint): Promise<Cursor | undefined> {
  return tx.selectFrom('chain_cursors').selectAll().where('chain_id', '=', chainId).forUpdate().executeTakeFirst()
}

/** Sets the cursor to a block that the nodes have, and lets the chain be read again. */
export async function resetCursor(tx: Tx, chainId: bigint, to: KnownBlock, head: ReadHead): Promise<void> {
  await tx
    .updateTable('chain_cursors')
    .set({
      block: to.number,
      hash: to.hash,
      ...headColumns(head),
      stopped: null,
      stopped_at: null,
      rewound_to: to.number,
      rewound_at: sql<Date>`now()`,
      updated_at: sql<Date>`now()`,
    })
    .where('chain_id', '=', chainId)
    .execute()
}

/** Forgets every block of a chain: some of them may be of another branch. */
export async function forgetAllBlocks(tx: Tx, chainId: bigint): Promise<void> {
  await tx.deleteFrom('chain_blocks').where('chain_id', '=', chainId).execute()
}
