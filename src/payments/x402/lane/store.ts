import { type Selectable, sql } from 'kysely'
import type { Database, Tx } from '../../../db/database.ts'
import type { DB } from '../../../db/schema.ts'

/** A transaction that a relayer signed. Wei amounts are digits. */
export type RelayerTransaction = Selectable<DB['relayer_transactions']>

/** Which lane: the account nonces of one relayer on one chain. */
export interface LaneKey {
  readonly chainId: bigint
  readonly address: string
}

/**
 * Takes the next account nonce, at least `atLeast`, which the chain says. Whoever wants the one after it waits here
 * for this transaction to end.
 */
export async function takeNonce(tx: Tx, { chainId, address }: LaneKey, atLeast: bigint): Promise<bigint> {
  const { rows } = await sql<{ nonce: bigint }>`
    insert into relayer_lanes as lane (chain_id, address, next_nonce) values (${chainId}, ${address}, ${atLeast + 1n})
    on conflict (chain_id, address) do update set next_nonce = greatest(lane.next_nonce, ${atLeast}) + 1
    returning next_nonce - 1 as nonce`.execute(tx)
  return rows[0]?.nonce ?? atLeast
}

/** Waits for whoever is giving out nonces of the lane. */
export async function lockLane(tx: Tx, { chainId, address }: LaneKey): Promise<void> {
  await tx
    .selectFrom('relayer_lanes')
    .select('next_nonce')
    .where('chain_id', '=', chainId)
    .where('address', '=', address)
    .forUpdate()
    .execute()
}

/** Stores a signed transaction. */
export async function insert(
  tx: Tx,
  row: Omit<RelayerTransaction, 'id' | 'sent_at' | 'closed_at'>,
): Promise<RelayerTransaction> {
  return tx.insertInto('relayer_transactions').values(row).returningAll().executeTakeFirstOrThrow()
}

/** Transactions of the lane whose account nonce is not final, lowest nonce first, newest of each last. */
export function open(db: Database | Tx, { chainId, address }: LaneKey, limit: number): Promise<RelayerTransaction[]> {
  return db
    .selectFrom('relayer_transactions')
    .selectAll()
    .where('chain_id', '=', chainId)
    .where('address', '=', address)
    .where('closed_at', 'is', null)
    .orderBy('nonce')
    .orderBy('id')
    .limit(limit)
    .execute()
}

/** Every transaction that was signed for a payment, oldest first. */
export function ofPayment(db: Database | Tx, paymentId: bigint): Promise<RelayerTransaction[]> {
  return db.selectFrom('relayer_transactions').selectAll().where('payment_id', '=', paymentId).orderBy('id').execute()
}

/** Notes that a transaction is handed over now, unless somebody did so since `before`: then it is theirs. */
export async function claimSending(db: Database, id: bigint, now: Date, before: Date): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('relayer_transactions')
    .set({ sent_at: now })
    .where('id', '=', id)
    .where((eb) => eb.or([eb('sent_at', 'is', null), eb('sent_at', '<', before)]))
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

/** Closes what the final chain has passed. */
export async function close(db: Database, { chainId, address }: LaneKey, below: bigint, now: Date): Promise<void> {
  await db
    .updateTable('relayer_transactions')
    .set({ closed_at: now })
    .where('chain_id', '=', chainId)
    .where('address', '=', address)
    .where('nonce', '<', below)
    .where('closed_at', 'is', null)
    .execute()
}

/** The payment that a transaction was signed for. */
export function paymentOf(
  tx: Tx,
  transaction: RelayerTransaction,
): Promise<Selectable<DB['x402_payments']> | undefined> {
  return tx.selectFrom('x402_payments').selectAll().where('id', '=', transaction.payment_id).executeTakeFirst()
}
