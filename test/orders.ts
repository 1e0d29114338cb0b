import { randomUUID } from 'node:crypto'
import type { AcceptedAsset } from '../src/chains/assets.ts'
import * as accounts from '../src/identity/accounts/store.ts'
import type { TestDatabase } from './database.ts'

/** An account that pays from a wallet. */
export async function payerAccount(database: TestDatabase, wallet: string): Promise<bigint> {
  return database.db.transaction().execute((tx) =>
    accounts.insert(tx, {
      accountType: 'agent',
      walletAddress: wallet,
      email: undefined,
      label: undefined,
    }),
  )
}

/** What an order in a test says beside its asset. */
export interface TestOrder {
  readonly accountId: bigint
  readonly payer: string
  readonly amount: bigint
  readonly createdAt?: Date
  readonly expiresAt?: Date
  readonly chainId?: bigint
  readonly recipient?: string
}

/** A pending order as POST /v1/payments/orders makes it, without the endpoint. */
export async function pendingOrder(database: TestDatabase, asset: AcceptedAsset, order: TestOrder): Promise<string> {
  const id = randomUUID()
  const createdAt = order.createdAt ?? new Date()
  await database.db
    .insertInto('orders')
    .values({
      id,
      payer_account_id: order.accountId,
      account_id: order.accountId,
      payer_address: order.payer,
      asset_id: asset.assetId,
      chain_id: order.chainId ?? BigInt(asset.chainId),
      token_address: asset.tokenAddress,
      recipient_address: order.recipient ?? asset.recipientAddress,
      amount_micro: order.amount,
      credit_micro: order.amount,
      rate_ppm: 1_000_000n,
      idempotency_key: id,
      idempotency_fingerprint: Buffer.alloc(32),
      created_at: createdAt,
      expires_at: order.expiresAt ?? new Date(createdAt.getTime() + 30 * 60_000),
    })
    .execute()
  return id
}

/** An order's send attempt, reserved as POST .../attempts does it. */
export async function reservedAttempt(database: TestDatabase, orderId: string, at = new Date()): Promise<void> {
  const id = randomUUID()
  await database.db
    .insertInto('order_attempts')
    .values({ id, order_id: orderId, source: 'reserved', created_at: at })
    .execute()
  await database.db
    .updateTable('orders')
    .set({ status: 'confirming', payment_attempt_id: id })
    .where('id', '=', orderId)
    .execute()
}

/** A hash, registered as POST .../transactions does it. */
export async function registeredHash(database: TestDatabase, orderId: string, txHash: string): Promise<void> {
  const order = await database.db.selectFrom('orders').selectAll().where('id', '=', orderId).executeTakeFirstOrThrow()
  if (order.status !== 'confirming') await reservedAttempt(database, orderId)
  await database.db
    .insertInto('order_hashes')
    .values({
      order_id: orderId,
      tx_hash: txHash,
      chain_id: order.chain_id,
      registered_at: new Date(),
    })
    .execute()
}

/** What an order has become. */
export function orderOf(database: TestDatabase, id: string) {
  return database.db.selectFrom('orders').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
}
