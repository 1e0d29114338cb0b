import { type Selectable, sql } from 'kysely'
import type { Header, TransferLog } from '../../chains/chain.ts'
import type { ChainDepth } from '../../chains/depth.ts'
import type { Database, Tx } from '../../db/database.ts'
import type { DB, TransferState } from '../../db/schema.ts'

/** How far a chain has been read. */
export type Cursor = Selectable<DB['chain_cursors']>
/** A transfer to one of our recipients. `amount` is in the token's smallest unit, in digits. */
export type Transfer = Selectable<DB['chain_transfers']>
/** A block whose hash was read. */
export type KnownBlock = Pick<Selectable<DB['chain_blocks']>, 'number' | 'hash'>
/** What names a transfer. */
export type TransferKey = Pick<Transfer, 'chain_id' | 'tx_hash' | 'log_position'>

/** How deep the chain is, with the time of its head. */
export interface ReadHead extends ChainDepth {
  readonly at: Date
}

/** Where the chain was read to; undefined before the first time. */
export function cursor(db: Database | Tx, chainId: bigint): Promise<Cursor | undefined> {
  return db.selectFrom('chain_cursors').selectAll().where('chain_id', '=', chainId).executeTakeFirst()
}

/** Begins to read a chain after this block. Does nothing when another process was faster. */
export async function startCursor(tx: Tx, chainId: bigint, block: Header, head: ReadHead): Promise<void> {
  await tx
    .insertInto('chain_cursors')
    .values({ chain_id: chainId, block: block.number, hash: block.hash, ...headColumns(head) })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  await rememberBlock(tx, chainId, block)
}

/** Moves the cursor, if it still is where this process saw it. False: another process moved or stopped it, and nothing may be written. */
export async function moveCursor(
  tx: Tx,
  from: KnownBlock,
  to: Header | KnownBlock,
  chainId: bigint,
  head: ReadHead,
): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('chain_cursors')
    .set({ block: to.number, hash: to.hash, ...headColumns(head), updated_at: sql<Date>`now()` })
    .where('chain_id', '=', chainId)
    .where('block', '=', from.number)
    .where('hash', '=', from.hash)
    .where('stopped', 'is', null)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

/** Remembers why a chain is read no more, where it is. Every process reads it, until the cursor is moved. */
export async function stopAt(db: Database, chainId: bigint, why: string): Promise<void> {
  await db
    .updateTable('chain_cursors')
    .set({ stopped: why, stopped_at: sql<Date>`now()` })
    .where('chain_id', '=', chainId)
    .where('stopped', 'is', null)
    .execute()
}

/** The columns of a cursor that say how deep its chain is. */
export function headColumns(head: ReadHead) {
  return {
    head_block: head.latest,
    head_at: head.at,
    safe_block: head.safe,
    finalized_block: head.finalized,
  }
}

/** Remembers the hash of a block that was read. */
export async function rememberBlock(tx: Tx, chainId: bigint, block: Header): Promise<void> {
  await tx
    .insertInto('chain_blocks')
    .values({ chain_id: chainId, number: block.number, hash: block.hash, at: block.at })
    .onConflict((conflict) => conflict.columns(['chain_id', 'number']).doUpdateSet({ hash: block.hash, at: block.at }))
    .execute()
}

/** Remembered blocks below or at a height, highest first. */
export function knownBlocks(db: Database | Tx, chainId: bigint, upTo: bigint, limit: number): Promise<KnownBlock[]> {
  return db
    .selectFrom('chain_blocks')
    .select(['number', 'hash'])
    .where('chain_id', '=', chainId)
    .where('number', '<=', upTo)
    .orderBy('number', 'desc')
    .limit(limit)
    .execute()
}

/** Forgets blocks that are final and older than the newest `keep`. */
export async function forgetBlocks(tx: Tx, chainId: bigint, finalized: bigint, keep: number): Promise<void> {
  await sql`delete from chain_blocks where chain_id = ${chainId} and number < ${finalized} and number < (
    select min(number) from (select number from chain_blocks where chain_id = ${chainId} order by number desc limit ${keep}) newest)`.execute(
    tx,
  )
}

/** Forgets the blocks above a height: another branch has other ones there. */
export async function forgetBlocksAbove(tx: Tx, chainId: bigint, height: bigint): Promise<void> {
  await tx.deleteFrom('chain_blocks').where('chain_id', '=', chainId).where('number', '>', height).execute()
}

/**
 * Writes down transfers that were found. One that a reorganisation took away is seen again, in its new block;
 * what an operator decided about it stays decided.
 */
export async function writeTransfers(
  tx: Tx,
  chainId: bigint,
  found: readonly TransferLog[],
  timeOf: (block: bigint) => Date,
): Promise<void> {
  for (const transfer of found) {
    const place = {
      block: transfer.block,
      block_hash: transfer.blockHash,
      block_at: timeOf(transfer.block),
    }
    await tx
      .insertInto('chain_transfers')
      .values({
        ...place,
        chain_id: chainId,
        tx_hash: transfer.txHash,
        log_position: transfer.position,
        token_address: transfer.token,
        payer: transfer.payer,
        recipient: transfer.recipient,
        amount: String(transfer.amount),
      })
      .onConflict((conflict) =>
        conflict
          .columns(['chain_id', 'tx_hash', 'log_position'])
          .doUpdateSet({
            ...place,
            state: sql<TransferState>`case when chain_transfers.resolved_at is not null then 'unmatched'::transfer_state else 'seen'::transfer_state end`,
          })
          // a backfill may find again what is known
          .where('chain_transfers.state', '=', 'orphaned'),
      )
      .execute()
  }
}

/** The transfers above a height, with their rows locked, in a fixed order. */
export function lockTransfersAbove(tx: Tx, chainId: bigint, height: bigint): Promise<Transfer[]> {
  return tx
    .selectFrom('chain_transfers')
    .selectAll()
    .where('chain_id', '=', chainId)
    .where('block', '>', height)
    .where('state', '<>', 'orphaned')
    .orderBy('tx_hash')
    .orderBy('log_position')
    .forUpdate()
    .execute()
}

/** Transfers in one state up to a block, oldest first. */
export function transfersIn(
  db: Database,
  chainId: bigint,
  state: TransferState,
  upTo: bigint,
  limit: number,
): Promise<Transfer[]> {
  return db
    .selectFrom('chain_transfers')
    .selectAll()
    .where('chain_id', '=', chainId)
    .where('state', '=', state)
    .where('block', '<=', upTo)
    .orderBy('block')
    .orderBy('tx_hash')
    .orderBy('log_position')
    .limit(limit)
    .execute()
}

/** Transfers that are joined to an order which still waits for them, oldest first. */
export function transfersToSettle(db: Database, chainId: bigint, limit: number): Promise<Transfer[]> {
  return db
    .selectFrom('chain_transfers')
    .innerJoin('orders', 'orders.id', 'chain_transfers.order_id')
    .selectAll('chain_transfers')
    .where('chain_transfers.chain_id', '=', chainId)
    .where('chain_transfers.state', '=', 'matched')
    .where((eb) =>
      eb.or([
        eb('orders.status', '=', 'confirming'),
        eb.and([eb('orders.status', '=', 'review_required'), eb('orders.review_reason', '=', 'reorged_after_credit')]),
      ]),
    )
    .orderBy('chain_transfers.block')
    .orderBy('chain_transfers.tx_hash')
    .limit(limit)
    .execute()
}

/** The transfer with its row locked, if it still is as it was read; undefined: another process was faster, or is at it now. */
export function lockTransfer(tx: Tx, seen: Transfer): Promise<Transfer | undefined> {
  return tx
    .selectFrom('chain_transfers')
    .selectAll()
    .where('chain_id', '=', seen.chain_id)
    .where('tx_hash', '=', seen.tx_hash)
    .where('log_position', '=', seen.log_position)
    .where('state', '=', seen.state)
    .where('block_hash', '=', seen.block_hash)
    .forUpdate()
    .skipLocked()
    .executeTakeFirst()
}

/**
 * Whether a transfer is an x402 payment's: `credited` for one, or `open`, because one of exactly these terms is under way
 * and says soon whether this is it. Such a transfer is no order's, and nobody has to look at it.
 */
export async function otherRail(tx: Tx, transfer: Transfer): Promise<'credited' | 'open' | undefined> {
  const { rows } = await sql<{ credited: boolean }>`
    select grant_id is not null as credited from x402_payments
    where (chain_id = ${transfer.chain_id} and tx_hash = ${transfer.tx_hash} and log_position = ${transfer.log_position} and grant_id is not null)
       or (chain_id = ${transfer.chain_id} and payer = ${transfer.payer} and token_address = ${transfer.token_address}
         and recipient_address = ${transfer.recipient} and amount_micro = ${transfer.amount} and status in ('awaiting_settlement', 'pending'))
    order by grant_id is not null desc limit 1`.execute(tx)
  return rows[0] && (rows[0].credited ? 'credited' : 'open')
}

/** What becomes of a locked transfer. */
export async function mark(
  tx: Tx,
  key: TransferKey,
  change: { state: TransferState; order_id?: string | null; note?: string | null },
): Promise<void> {
  await tx
    .updateTable('chain_transfers')
    .set(change)
    .where('chain_id', '=', key.chain_id)
    .where('tx_hash', '=', key.tx_hash)
    .where('log_position', '=', key.log_position)
    .execute()
}

/** Credited transfers that the finalized chain has passed: a reorganisation takes no more of them. */
export async function finish(db: Database, chainId: bigint, finalized: bigint): Promise<void> {
  await db
    .updateTable('chain_transfers')
    .set({ state: 'final' })
    .where('chain_id', '=', chainId)
    .where('state', '=', 'credited')
    .where('block', '<=', finalized)
    .execute()
}

/** Orders that registered this hash for another payer's wallet, and wait for it. */
export function claimsByOthers(tx: Tx, transfer: Transfer): Promise<{ id: string; payer_account_id: bigint }[]> {
  return tx
    .selectFrom('order_hashes')
    .innerJoin('orders', 'orders.id', 'order_hashes.order_id')
    .select(['orders.id', 'orders.payer_account_id'])
    .where('order_hashes.chain_id', '=', transfer.chain_id)
    .where('order_hashes.tx_hash', '=', transfer.tx_hash)
    .where('order_hashes.refused', 'is', null)
    .where('orders.status', '=', 'confirming')
    .where('orders.tx_hash', 'is', null)
    .where('orders.payer_address', '<>', transfer.payer)
    .orderBy('order_hashes.registered_at')
    .orderBy('orders.id')
    .limit(20)
    .execute()
}

/** Whether a transfer waits to be joined or settled: then the chain is watched closely. */
export async function transfersWait(db: Database, chainId: bigint): Promise<boolean> {
  const found = await db
    .selectFrom('chain_transfers')
    .select('tx_hash')
    .where('chain_id', '=', chainId)
    .where('state', 'in', ['seen', 'matched'])
    .limit(1)
    .executeTakeFirst()
  return found !== undefined
}
