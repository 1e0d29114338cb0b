import { type Selectable, sql } from 'kysely'
import type { Database, Tx } from '../../../db/database.ts'
import type { DB, JsonObject } from '../../../db/schema.ts'
import type { Receipt } from '../crediting/store.ts'
import type { Order } from '../store.ts'

/** A transfer to us as the chain shows it. `amount` is an integer in the token's smallest unit, as text. */
export type Transfer = Selectable<DB['chain_transfers']>

/** Orders that wait for a decision, longest first. */
export function ordersInReview(db: Database, limit: number): Promise<Order[]> {
  return db
    .selectFrom('orders')
    .selectAll()
    .where('status', '=', 'review_required')
    .orderBy('review_opened_at')
    .limit(limit)
    .execute()
}

/** Transfers that belong to no order and wait for a decision, oldest first. */
export function unmatchedTransfers(db: Database, limit: number): Promise<Transfer[]> {
  return db
    .selectFrom('chain_transfers')
    .selectAll()
    .where('state', '=', 'unmatched')
    .where('resolved_at', 'is', null)
    .orderBy('block_at')
    .limit(limit)
    .execute()
}

/** How much waits for an operator: orders in review, and transfers without an order. */
export async function queue(db: Database): Promise<{
  readonly orders: number
  readonly transfers: number
  readonly oldestSeconds: number
}> {
  const { rows } = await sql<{ orders: number; transfers: number; oldest: number }>`
    select o.n as orders, t.n as transfers, extract(epoch from greatest(interval '0', now() - least(o.since, t.since)))::float8 as oldest
    from (select count(*)::int as n, coalesce(min(review_opened_at), now()) as since from orders where status = 'review_required') o,
         (select count(*)::int as n, coalesce(min(block_at), now()) as since
          from chain_transfers where state = 'unmatched' and resolved_at is null) t`.execute(db)
  const { orders = 0, transfers = 0, oldest = 0 } = rows[0] ?? {}
  return { orders, transfers, oldestSeconds: oldest }
}

/** The transfer that an order is in review for: the one whose hash it names, while the chain has it. */
export function transferOf(db: Database | Tx, orderId: string): Promise<Transfer | undefined> {
  return db
    .selectFrom('chain_transfers')
    .innerJoin('orders', (join) =>
      join.onRef('orders.id', '=', 'chain_transfers.order_id').onRef('orders.tx_hash', '=', 'chain_transfers.tx_hash'),
    )
    .selectAll('chain_transfers')
    .where('chain_transfers.order_id', '=', orderId)
    .where('chain_transfers.state', 'not in', ['orphaned', 'ignored'])
    .orderBy('chain_transfers.log_position')
    .limit(1)
    .executeTakeFirst()
}

/** One transfer, without a lock. */
export function findTransfer(db: Database | Tx, key: Receipt): Promise<Transfer | undefined> {
  return whereKey(db.selectFrom('chain_transfers').selectAll(), key).executeTakeFirst()
}

/** One transfer, its row locked: before its order's, as the watcher does it. */
export function lockTransfer(tx: Tx, key: Receipt): Promise<Transfer | undefined> {
  return whereKey(tx.selectFrom('chain_transfers').selectAll(), key).forUpdate().executeTakeFirst()
}

/** Writes an operator's decision on a transfer, or the proposal of one while `resolvedAt` is null. */
export async function resolveTransfer(
  tx: Tx,
  key: Receipt,
  decided: {
    readonly resolution: JsonObject
    readonly resolvedAt: Date | null
    readonly credited: boolean
  },
): Promise<void> {
  await whereKey(
    tx.updateTable('chain_transfers').set({
      resolution: JSON.stringify(decided.resolution),
      resolved_at: decided.resolvedAt,
      ...(decided.credited ? { state: 'credited' as const } : {}),
    }),
    key,
  ).execute()
}

/** The newest proposal of a decision on an order, made in the review that is open. */
export function newestProposal(db: Database | Tx, order: Order): Promise<Selectable<DB['order_events']> | undefined> {
  return db
    .selectFrom('order_events')
    .selectAll()
    .where('order_id', '=', order.id)
    .where('event', '=', 'operator_propose')
    .where('at', '>=', order.review_opened_at ?? order.created_at)
    .orderBy('n', 'desc')
    .limit(1)
    .executeTakeFirst()
}

/** The rate of the newest order that asked for this token: what a transfer that nobody asked for is worth. */
export async function lastRate(db: Database | Tx, chainId: bigint, tokenAddress: string): Promise<bigint | undefined> {
  const order = await db
    .selectFrom('orders')
    .select('rate_ppm')
    .where('chain_id', '=', chainId)
    .where('token_address', '=', tokenAddress)
    .orderBy('created_at', 'desc')
    .limit(1)
    .executeTakeFirst()
  return order?.rate_ppm
}

/** Tells the world later that a transfer without an order was credited. */
export async function tellCredited(
  tx: Tx,
  transferId: string,
  accountId: bigint,
  creditMicro: bigint,
  at: Date,
): Promise<void> {
  const payload = {
    transfer_id: transferId,
    account_id: Number(accountId),
    credit_micro: String(creditMicro),
    at: at.toISOString(),
  }
  await tx
    .insertInto('outbox')
    .values({
      event: 'payment.credited',
      account_id: accountId,
      object_id: transferId,
      payload: JSON.stringify(payload),
    })
    .execute()
}

function whereKey<
  Query extends {
    where(column: 'chain_id' | 'tx_hash' | 'log_position', is: '=', value: bigint | string | number): Query
  },
>(query: Query, key: Receipt): Query {
  return query
    .where('chain_id', '=', key.chainId)
    .where('tx_hash', '=', key.txHash)
    .where('log_position', '=', key.logPosition)
}
