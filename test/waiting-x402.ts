import { randomBytes } from 'node:crypto'
import type { AcceptedAsset } from '../src/chains/assets.ts'
import type { Tx } from '../src/db/database.ts'
import type { Payment } from '../src/payments/x402/model.ts'
import * as store from '../src/payments/x402/store.ts'

/** An x402 payment that waits for this transaction's first transfer, as if it was sent with its proof just now. */
export async function waitingX402(
  tx: Tx,
  asset: AcceptedAsset,
  wanted: { readonly wallet: string; readonly accountId: bigint; readonly txHash: string; readonly amount: bigint },
): Promise<Payment> {
  const now = new Date()
  const payment = await store.insert(tx, {
    chain_id: BigInt(asset.chainId),
    token_address: asset.tokenAddress,
    payer: wanted.wallet,
    nonce: `0x${randomBytes(32).toString('hex')}`,
    asset_id: asset.assetId,
    recipient_address: asset.recipientAddress,
    amount_micro: wanted.amount,
    credit_micro: wanted.amount,
    rate_ppm: 1_000_000n,
    valid_after: 0n,
    valid_before: 9_999_999_999n,
    signature: `0x${'11'.repeat(65)}`,
    x402_version: 2,
    settler: 'payer',
    account_id: wanted.accountId,
    tx_hash: wanted.txHash,
    log_position: 0,
    block: 1n,
    request_id: 'req_test',
    created_at: now,
    next_look_at: now,
  })
  if (!payment) throw new Error('the payment is new')
  return payment
}
