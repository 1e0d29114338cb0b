import { reservedAttempt } from '../../../test/orders.ts'
import type { Setting } from '../../../test/payment-setting.ts'
import { ORDER_LIFETIME_MS } from '../orders/states.ts'

/** What is paid about when its order ends: in the last block that is in time, or after it, with a send attempt of before or without. */
export const LATE = [
  { late: false, attempted: false, status: 'completed' },
  { late: true, attempted: false, status: 'review_required' },
  { late: true, attempted: true, status: 'completed' },
] as const

/** An order that is over at the time of a block that is there, and was paid in it; nobody has read that block. */
export async function paidWhenOver(setting: Setting, { late, attempted }: (typeof LATE)[number]) {
  const { chain, database, accountId } = setting
  const amount = 800_000_000n + (await chain.height())
  const txHash = await chain.pay({ from: setting.payer, amount })
  await chain.mine(3)
  const { blockHash } = (await chain.rpc('eth_getTransactionReceipt', txHash)) as { blockHash: string }
  const { timestamp } = (await chain.rpc('eth_getBlockByHash', blockHash, false)) as { timestamp: string }
  const paidAt = Number(timestamp) * 1000
  const expiresAt = new Date(late ? paidAt - 1 : paidAt)
  const createdAt = new Date(expiresAt.getTime() - ORDER_LIFETIME_MS)
  const { id } = await setting.order({ accountId, amount, createdAt, expiresAt })
  if (attempted) {
    await reservedAttempt(database, id, createdAt)
    await database.sql(`update order_attempts set state = 'rejected', ended_at = $2 where order_id = $1`, [
      id,
      createdAt,
    ])
    await database.sql(`update orders set status = 'pending', payment_attempt_id = null where id = $1`, [id])
  }
  return { id, amount, txHash, expiresAt }
}
