import { type RawBuilder, sql } from 'kysely'
import type { Database, Tx } from '../../../db/database.ts'

/** A token and a recipient, lower case, and from which block on its transfers are ours. */
export interface Watchable {
  readonly token: string
  readonly recipient: string
}

/** Up to which block a chain was read for a token and recipient. */
export interface Read extends Watchable {
  readonly readTo: bigint
}

/** What a chain was read for. */
export async function reads(db: Database | Tx, chainId: bigint): Promise<Read[]> {
  const rows = await db.selectFrom('chain_reads').selectAll().where('chain_id', '=', chainId).execute()
  return rows.map(({ token_address: token, recipient, read_to: readTo }) => ({ token, recipient, readTo }))
}

/** Begins to read a chain for these, after their blocks. What another process began goes on as it is. */
export async function begin(db: Database | Tx, chainId: bigint, begun: readonly Read[]): Promise<void> {
  if (begun.length === 0) return
  await db
    .insertInto('chain_reads')
    .values(
      begun.map(({ token, recipient, readTo }) => ({
        chain_id: chainId,
        token_address: token,
        recipient,
        read_to: readTo,
      })),
    )
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

/** Moves those of these that were read to `from` on to `to`: what a process did not ask for stays where it is. Gives how many moved. */
export async function advance(
  tx: Tx,
  chainId: bigint,
  these: readonly Watchable[],
  { from, to }: { from: bigint; to: bigint },
): Promise<number> {
  const { numAffectedRows } = await sql`
    update chain_reads r set read_to = ${to} from ${listed(these)}
    where r.chain_id = ${chainId} and r.token_address = w.token and r.recipient = w.recipient and r.read_to = ${from}`.execute(
    tx,
  )
  return Number(numAffectedRows ?? 0n)
}

/** Goes back to a height: what was read above it is read again. */
export async function goBack(tx: Tx, chainId: bigint, height: bigint): Promise<void> {
  await tx
    .updateTable('chain_reads')
    .set({ read_to: height })
    .where('chain_id', '=', chainId)
    .where('read_to', '>', height)
    .execute()
}

/** Whether the chain's cursor still is at this block; it stays there until the transaction ends. */
export async function cursorStays(tx: Tx, chainId: bigint, at: { block: bigint; hash: string }): Promise<boolean> {
  const found = await tx
    .selectFrom('chain_cursors')
    .select('chain_id')
    .where('chain_id', '=', chainId)
    .where('block', '=', at.block)
    .where('hash', '=', at.hash)
    .forUpdate()
    .executeTakeFirst()
  return found !== undefined
}

function listed(these: readonly Watchable[]): RawBuilder<unknown> {
  return sql`unnest(${these.map(({ token }) => token)}::text[], ${these.map(({ recipient }) => recipient)}::text[]) w (token, recipient)`
}
