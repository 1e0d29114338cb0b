import { type Selectable, sql } from 'kysely'
import type { Database } from '../../../db/database.ts'
import type { DB } from '../../../db/schema.ts'
import type { ChainStatus } from '../status.ts'

/** Which process reads a chain, until when, and how the chain is. `stopped`: nobody reads it until it is rewound. */
export type Lease = Selectable<DB['chain_leases']> & { readonly stopped: string | null; readonly head_at: Date | null }

const after = (ms: number) => sql<Date>`now() + ${ms}::float8 * interval '1 millisecond'`

/**
 * Takes the lease of a chain for a while, when nobody has it, its holder is silent, or this process has it already.
 * `anyway`: also from a holder that is well. Gives whether this process has it now.
 */
export async function take(
  db: Database,
  chainId: bigint,
  wanted: { readonly holder: string; readonly ms: number; readonly anyway: boolean },
): Promise<boolean> {
  const { holder, ms, anyway } = wanted
  const taken = await db
    .insertInto('chain_leases')
    .values({ chain_id: chainId, holder, until: after(ms), healthy: false, trouble: 'not read yet', behind: 0n })
    .onConflict((conflict) =>
      conflict
        .column('chain_id')
        .doUpdateSet({ holder, until: after(ms) })
        .where((eb) =>
          eb.or([
            eb.val(anyway),
            eb('chain_leases.holder', '=', holder),
            eb('chain_leases.until', '<', sql<Date>`now()`),
          ]),
        ),
    )
    .returning('chain_id')
    .executeTakeFirst()
  return taken !== undefined
}

/** Tells those who follow how the chain is, and keeps the lease for a while. Does nothing when another process has it by now. */
export async function keep(
  db: Database,
  { chainId, healthy, trouble, behind, lastReadAt }: ChainStatus,
  { holder, ms }: { readonly holder: string; readonly ms: number },
): Promise<void> {
  await db
    .updateTable('chain_leases')
    .set({ until: after(ms), healthy, trouble: trouble ?? null, behind, read_at: lastReadAt ?? null })
    .where('chain_id', '=', chainId)
    .where('holder', '=', holder)
    .execute()
}

/** Who reads the chain, and what it found. */
export function lease(db: Database, chainId: bigint): Promise<Lease | undefined> {
  return db
    .selectFrom('chain_leases')
    .leftJoin('chain_cursors', 'chain_cursors.chain_id', 'chain_leases.chain_id')
    .selectAll('chain_leases')
    .select(['chain_cursors.stopped', 'chain_cursors.head_at'])
    .where('chain_leases.chain_id', '=', chainId)
    .executeTakeFirst()
}

/** Gives the lease up, so that another process takes over at once. */
export async function release(db: Database, chainId: bigint, holder: string): Promise<void> {
  await db
    .updateTable('chain_leases')
    .set({ until: sql<Date>`now()` })
    .where('chain_id', '=', chainId)
    .where('holder', '=', holder)
    .execute()
}
