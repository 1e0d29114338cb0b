import { type Insertable, sql } from 'kysely'
import type { Database, Tx } from '../../../db/database.ts'
import type { DB } from '../../../db/schema.ts'
import type { Order } from '../store.ts'

/** Puts the making of orders of one account in line: its open orders are counted by one request at a time. */
export async function lockPayer(tx: Tx, accountId: bigint): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended('orders of account ' || ${accountId}::text, 0))`.execute(tx)
}

/** The order that this key made. */
export function findByKey(db: Database | Tx, payerAccountId: bigint, key: string): Promise<Order | undefined> {
  return db
    .selectFrom('orders')
    .selectAll()
    .where('payer_account_id', '=', payerAccountId)
    .where('idempotency_key', '=', key)
    .executeTakeFirst()
}

/** Writes a new order. Its first event is the caller's to record. */
export function insert(tx: Tx, order: Insertable<DB['orders']>): Promise<Order> {
  return tx.insertInto('orders').values(order).returningAll().executeTakeFirstOrThrow()
}

/** How many orders of the account wait for payment at this moment. */
export async function countOpen(tx: Tx, payerAccountId: bigint, now: Date): Promise<number> {
  const { open } = await tx
    .selectFrom('orders')
    .select((eb) => eb.fn.countAll<bigint>().as('open'))
    .where('payer_account_id', '=', payerAccountId)
    .where((eb) =>
      eb.or([eb('status', '=', 'confirming'), eb.and([eb('status', '=', 'pending'), eb('expires_at', '>', now)])]),
    )
    .executeTakeFirstOrThrow()
  return Number(open)
}

/** An order of the account that is in review, oldest first. */
export async function inReview(tx: Tx, payerAccountId: bigint): Promise<string | undefined> {
  const found = await tx
    .selectFrom('orders')
    .select('id')
    .where('payer_account_id', '=', payerAccountId)
    .where('status', '=', 'review_required')
    .orderBy('review_opened_at')
    .limit(1)
    .executeTakeFirst()
  return found?.id
}

/**
 * Locks pending orders whose time is over, leaving those that another sweeper has. One that was once paid or
 * attempted waits until its chain's own time is past its expiry too: while a chain stands still, nothing is late.
 */
export function lockLapsed(tx: Tx, now: Date, limit: number): Promise<Order[]> {
  return tx
    .selectFrom('orders')
    .selectAll()
    .where('status', '=', 'pending')
    .where('expires_at', '<=', now)
    .where(({ or, not, exists, selectFrom }) =>
      or([
        not(
          exists(
            selectFrom('order_attempts')
              .select('order_attempts.id')
              .whereRef('order_attempts.order_id', '=', 'orders.id'),
          ),
        ),
        not(
          exists(
            selectFrom('chain_cursors')
              .select('chain_cursors.chain_id')
              .whereRef('chain_cursors.chain_id', '=', 'orders.chain_id')
              .whereRef('chain_cursors.head_at', '<', 'orders.expires_at'),
          ),
        ),
      ]),
    )
    .orderBy('expires_at')
    .limit(limit)
    .forUpdate()
    .skipLocked()
    .execute()
}
