import { type Selectable, sql } from 'kysely'
import type { Database, Tx } from '../../../db/database.ts'
import type { DB } from '../../../db/schema.ts'
import type { Order } from '../store.ts'

/** An order with what its reader is shown besides: the credited account's name, and how deep its transfer is. */
export type ReadOrder = Order & {
  readonly account_label: string | null
  /** The block of the transfer that is joined to it, while the canonical chain has it. */
  readonly block: bigint | null
  readonly head_block: bigint | null
  /** What its review holds of the Credits that it gave. */
  readonly review_held_micro: bigint | null
}

/** One move of an order, as its reader sees it. */
export type OrderEvent = Selectable<DB['order_events']>

const shown = (db: Database | Tx) =>
  db
    .selectFrom('orders')
    .innerJoin('accounts', 'accounts.id', 'orders.account_id')
    .leftJoin('chain_cursors', 'chain_cursors.chain_id', 'orders.chain_id')
    .leftJoin('holds', 'holds.id', 'orders.review_hold_id')
    .selectAll('orders')
    .select(['accounts.label as account_label', 'chain_cursors.head_block', 'holds.reserve_micro as review_held_micro'])
    .select((eb) =>
      eb
        .selectFrom('chain_transfers')
        .select((max) => max.fn.max('block').as('block'))
        .whereRef('chain_transfers.order_id', '=', 'orders.id')
        .whereRef('chain_transfers.tx_hash', '=', 'orders.tx_hash')
        .where('chain_transfers.state', 'not in', ['orphaned', 'ignored'])
        .as('block'),
    )

/** One order as it is shown. */
export function read(db: Database | Tx, id: string): Promise<ReadOrder | undefined> {
  return shown(db).where('orders.id', '=', id).executeTakeFirst()
}

/** Orders that the account made, newest first, after `after`. */
export function list(
  db: Database,
  payerAccountId: bigint,
  after: Pick<Order, 'created_at' | 'id'> | undefined,
  limit: number,
): Promise<ReadOrder[]> {
  return shown(db)
    .where('orders.payer_account_id', '=', payerAccountId)
    .$if(after !== undefined, (query) =>
      query.where((eb) =>
        eb.or([
          eb('orders.created_at', '<', after?.created_at ?? sql<Date>`now()`),
          eb.and([
            eb('orders.created_at', '=', after?.created_at ?? sql<Date>`now()`),
            eb('orders.id', '>', after?.id ?? ''),
          ]),
        ]),
      ),
    )
    .orderBy('orders.created_at', 'desc')
    .orderBy('orders.id')
    .limit(limit)
    .execute()
}

/** The newest moves of an order, oldest first. */
export async function events(db: Database | Tx, orderId: string, limit: number): Promise<OrderEvent[]> {
  const newest = await db
    .selectFrom('order_events')
    .selectAll()
    .where('order_id', '=', orderId)
    .orderBy('n', 'desc')
    .limit(limit)
    .execute()
  return newest.reverse()
}

/** The newest registered hash of each order that is not refused. */
export async function newestHashes(db: Database, orderIds: readonly string[]): Promise<ReadonlyMap<string, string>> {
  if (orderIds.length === 0) return new Map()
  const rows = await db
    .selectFrom('order_hashes')
    .select(['order_id', 'tx_hash'])
    .where('order_id', 'in', orderIds)
    .where('refused', 'is', null)
    .orderBy('registered_at')
    .orderBy('tx_hash')
    .execute()
  return new Map(rows.map((row) => [row.order_id, row.tx_hash]))
}
