import { sql } from 'kysely'
import type { Database, Tx } from '../../db/database.ts'
import type { AttemptState, OrderStatus } from '../../db/schema.ts'
import type { Attempt, Move, Order, RegisteredHash } from './model.ts'
import type { Event } from './states.ts'

/** An account has at most as many open orders (OPEN_ORDERS_MAX); confirming ones may be a few more. */
const WAITING_MAX = 100

/** An order as the database keeps it. */
export type { Order } from './model.ts'

/** The order with this id, without a lock. */
export function find(db: Database | Tx, id: string): Promise<Order | undefined> {
  return db.selectFrom('orders').selectAll().where('id', '=', id).executeTakeFirst()
}

/** The order with its row locked until the transaction ends: moves of one order are serial. */
export function lock(tx: Tx, id: string): Promise<Order | undefined> {
  return tx.selectFrom('orders').selectAll().where('id', '=', id).forUpdate().executeTakeFirst()
}

/** Moves a locked order and records the event. Only a row that is still in its status moves. */
export async function move(tx: Tx, order: Order, made: Move): Promise<Order> {
  await record(tx, order.id, order.status, made)
  return tx
    .updateTable('orders')
    .set({ ...made.change, status: made.to })
    .where('id', '=', order.id)
    .where('status', '=', order.status)
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** Writes an order's event, numbered after its last. The order's row is locked or new. */
export async function record(
  tx: Tx,
  orderId: string,
  from: OrderStatus | null,
  made: Omit<Move, 'event'> & { readonly event: Event | 'create' },
): Promise<void> {
  await tx
    .insertInto('order_events')
    .values((eb) => ({
      order_id: orderId,
      n: eb
        .selectFrom('order_events')
        .select(sql<number>`coalesce(max(n), 0) + 1`.as('n'))
        .where('order_id', '=', orderId),
      from_status: from,
      to_status: made.to,
      event: made.event,
      actor: made.actor,
      data: JSON.stringify(made.data ?? {}),
      at: made.at,
    }))
    .execute()
}

/** What a transfer shows of itself, to find the order that asked for it. Addresses and hash are lower-case. */
export interface TransferShown {
  readonly chainId: bigint
  readonly tokenAddress: string
  readonly recipientAddress: string
  readonly payerAddress: string
  readonly amountMicro: bigint
  readonly txHash: string
}

/**
 * Orders that asked for exactly this transfer and are not bound to another one, best first: the one that registered
 * its hash, then the oldest active attempt, then the oldest order. Lock the order before it is moved.
 */
export async function matching(db: Database | Tx, shown: TransferShown): Promise<Order[]> {
  return db
    .selectFrom('orders')
    .selectAll('orders')
    .leftJoin('order_hashes', (join) =>
      join
        .onRef('order_hashes.order_id', '=', 'orders.id')
        .on('order_hashes.tx_hash', '=', shown.txHash)
        .on('order_hashes.refused', 'is', null),
    )
    .leftJoin('order_attempts', (join) =>
      join.onRef('order_attempts.order_id', '=', 'orders.id').on('order_attempts.state', '=', 'active'),
    )
    .where('orders.status', 'in', ['pending', 'confirming', 'expired'])
    .where('orders.chain_id', '=', shown.chainId)
    .where('payer_address', '=', shown.payerAddress)
    .where('amount_micro', '=', shown.amountMicro)
    .where('token_address', '=', shown.tokenAddress)
    .where('recipient_address', '=', shown.recipientAddress)
    .where((eb) => eb.or([eb('orders.tx_hash', 'is', null), eb('orders.tx_hash', '=', shown.txHash)]))
    .orderBy((eb) => eb.case().when('order_hashes.tx_hash', 'is not', null).then(0).else(1).end())
    .orderBy('order_attempts.created_at', (order) => order.asc().nullsLast())
    .orderBy('orders.created_at')
    .orderBy('orders.id')
    .limit(50)
    .execute()
}

/** The payer's orders that wait for payment, on any chain, oldest first: where a transfer that nobody asked for is looked into. */
export function waitingOf(db: Database | Tx, payerAddress: string, now: Date): Promise<Order[]> {
  return db
    .selectFrom('orders')
    .selectAll()
    .where('payer_address', '=', payerAddress)
    .where('tx_hash', 'is', null)
    .where((eb) =>
      eb.or([eb('status', '=', 'confirming'), eb.and([eb('status', '=', 'pending'), eb('expires_at', '>', now)])]),
    )
    .orderBy('created_at')
    .orderBy('id')
    .limit(WAITING_MAX)
    .execute()
}

/** Whether somebody waits for a payment on this chain: decides between watching closely and idling. */
export async function someoneWaits(db: Database, chainId: bigint): Promise<boolean> {
  const found = await db
    .selectFrom('orders')
    .select('id')
    .where('status', 'in', ['pending', 'confirming'])
    .where('chain_id', '=', chainId)
    .limit(1)
    .executeTakeFirst()
  return found !== undefined
}

/** Confirming orders of a chain whose expiry is before this moment and that no transfer is bound to, oldest first. */
export function confirmingBefore(db: Database | Tx, chainId: bigint, before: Date, limit: number): Promise<Order[]> {
  return db
    .selectFrom('orders')
    .selectAll()
    .where('status', '=', 'confirming')
    .where('chain_id', '=', chainId)
    .where('expires_at', '<', before)
    .where('tx_hash', 'is', null)
    .orderBy('expires_at')
    .limit(limit)
    .execute()
}

/** Starts an attempt. A second active one of the same order violates a unique key, whoever forgot to look. */
export async function startAttempt(
  tx: Tx,
  attempt: {
    readonly id: string
    readonly orderId: string
    readonly source: 'reserved' | 'registered' | 'watched'
    readonly at: Date
  },
): Promise<void> {
  await tx
    .insertInto('order_attempts')
    .values({
      id: attempt.id,
      order_id: attempt.orderId,
      source: attempt.source,
      created_at: attempt.at,
    })
    .execute()
}

/** Ends the order's active attempt, if it has one. */
export async function endAttempt(
  tx: Tx,
  orderId: string,
  state: Exclude<AttemptState, 'active'>,
  at: Date,
): Promise<void> {
  await tx
    .updateTable('order_attempts')
    .set({ state, ended_at: at })
    .where('order_id', '=', orderId)
    .where('state', '=', 'active')
    .execute()
}

/** All attempts of an order, oldest first. */
export function attempts(db: Database | Tx, orderId: string): Promise<Attempt[]> {
  return db
    .selectFrom('order_attempts')
    .selectAll()
    .where('order_id', '=', orderId)
    .orderBy('created_at')
    .orderBy('id')
    .execute()
}

/** Remembers a hash. The same one again changes nothing. */
export async function addHash(tx: Tx, order: Order, txHash: string, at: Date): Promise<void> {
  await tx
    .insertInto('order_hashes')
    .values({ order_id: order.id, tx_hash: txHash, chain_id: order.chain_id, registered_at: at })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

/** The hashes of an order, oldest first. */
export function hashes(db: Database | Tx, orderId: string): Promise<RegisteredHash[]> {
  return db
    .selectFrom('order_hashes')
    .selectAll()
    .where('order_id', '=', orderId)
    .orderBy('registered_at')
    .orderBy('tx_hash')
    .execute()
}

/** Says why a registered hash is no payment of its order: `failed`, `replaced`, `wrong_recipient`, ... */
export async function refuseHash(tx: Tx, orderId: string, txHash: string, why: string): Promise<void> {
  await tx
    .updateTable('order_hashes')
    .set({ refused: why })
    .where('order_id', '=', orderId)
    .where('tx_hash', '=', txHash)
    .execute()
}

/** Remembers the nonce of a registered transaction that was seen waiting: its replacement is told by it. */
export async function noteNonce(db: Database | Tx, orderId: string, txHash: string, nonce: bigint): Promise<void> {
  await db
    .updateTable('order_hashes')
    .set({ seen_nonce: nonce })
    .where('order_id', '=', orderId)
    .where('tx_hash', '=', txHash)
    .execute()
}

/** Hashes of a chain to look at: not refused, of confirming orders that no transfer is bound to, newest first. */
export function hashesToLookAt(
  db: Database | Tx,
  chainId: bigint,
  limit: number,
): Promise<Array<RegisteredHash & { readonly payer_address: string }>> {
  return db
    .selectFrom('order_hashes')
    .innerJoin('orders', 'orders.id', 'order_hashes.order_id')
    .selectAll('order_hashes')
    .select('orders.payer_address')
    .where('orders.status', '=', 'confirming')
    .where('orders.tx_hash', 'is', null)
    .where('order_hashes.chain_id', '=', chainId)
    .where('refused', 'is', null)
    .orderBy('registered_at', 'desc')
    .limit(limit)
    .execute()
}

/** Whether a verified transfer of this hash belongs to another order, or Credits were given for it on any rail. */
export async function isBoundElsewhere(
  db: Database | Tx,
  chainId: bigint,
  txHash: string,
  orderId: string,
): Promise<boolean> {
  const { rows } = await sql<{ bound: boolean }>`
    select exists (select from orders where chain_id = ${chainId} and tx_hash = ${txHash} and id <> ${orderId})
        or exists (select from chain_receipts r join credit_grants g on g.id = r.grant_id
                   where r.chain_id = ${chainId} and r.tx_hash = ${txHash} and (g.source <> 'order' or g.source_id <> ${orderId})) as bound`.execute(
    db,
  )
  return rows[0]?.bound === true
}

/** Whether the chain shows a transfer that was joined to this order and was not taken away again. */
export async function hasTransfer(db: Database | Tx, orderId: string): Promise<boolean> {
  const found = await db
    .selectFrom('chain_transfers')
    .select('tx_hash')
    .where('order_id', '=', orderId)
    .where('state', 'not in', ['orphaned', 'ignored'])
    .limit(1)
    .executeTakeFirst()
  return found !== undefined
}
