import type { AcceptedAsset } from '../../../chains/assets.ts'
import { askAgreed, type Chain } from '../../../chains/chain.ts'
import type { Database } from '../../../db/database.ts'
import * as store from './store.ts'

/** How an asset stands: what the chain shows as received against what is recorded for it. */
export interface ReconciliationReport {
  readonly assetId: string
  /** False on any drift, when the last comparison is old, and before the first. */
  readonly ok: boolean
  readonly detail: string
  readonly block: bigint | undefined
  readonly received: bigint
  readonly credited: bigint
  /** Received and not credited: unmatched, under review, on its way, or dust. */
  readonly unmatched: bigint
  /** received - credited - unmatched: always 0. */
  readonly drift: bigint
  readonly at: Date | undefined
}

/** A comparison older than this proves nothing about now. */
export const STALE_AFTER_MS = 15 * 60_000
/** Blocks that outgoing transfers are asked for at once. */
const RANGE = 500n

/**
 * Compares at the block to which the chain was read. What was received comes from balances, plus what was sent on, and
 * not from the logs that payments are found by: a log that a node dropped shows as drift. The first comparison is the base line.
 */
export async function reconcile(
  db: Database,
  chain: Chain,
  asset: AcceptedAsset,
  at: { readonly block: bigint; readonly finalized: bigint },
): Promise<void> {
  const { assetId, tokenAddress: token } = asset
  const recipients = [asset.recipientAddress, ...asset.retiredRecipients]
  const base = await store.base(db, { assetId, chainId: BigInt(asset.chainId), recipients }, at.finalized)
  if (base && base.block > at.block) return
  const balance = await askAgreed(chain, `what is held of ${assetId}`, async (node) => {
    const held = await Promise.all(recipients.map((recipient) => node.balance(token, recipient, at.block)))
    return held.reduce((total, each) => total + each, 0n)
  })
  const recorded = await store.recorded(db, {
    chainId: BigInt(asset.chainId),
    token,
    recipients,
    upTo: at.block,
  })
  const received = base
    ? BigInt(base.received) +
      balance -
      BigInt(base.balance) +
      (await sentOn(chain, { token, recipients, fromBlock: base.block + 1n, toBlock: at.block }))
    : recorded.credited + recorded.unmatched
  await store.insert(db, { assetId, recipients, block: at.block, balance, received, ...recorded })
}

async function sentOn(
  chain: Chain,
  of: { token: string; recipients: readonly string[]; fromBlock: bigint; toBlock: bigint },
): Promise<bigint> {
  let total = 0n
  for (let from = of.fromBlock; from <= of.toBlock; from += RANGE) {
    const last = from + RANGE - 1n
    const query = {
      tokens: [of.token],
      parties: of.recipients,
      direction: 'from',
      fromBlock: from,
      toBlock: last < of.toBlock ? last : of.toBlock,
    } as const
    total += await askAgreed(chain, 'what was sent on', async (node) =>
      (await node.transfers(query)).reduce((sum, transfer) => sum + transfer.amount, 0n),
    )
  }
  return total
}

/** The newest comparison of each asset, judged at `now`: for the metric, the command and /readyz. */
export async function reconciliationReports(
  db: Database,
  assetIds: readonly string[],
  now: Date,
): Promise<ReconciliationReport[]> {
  const rows = new Map((await store.newest(db, assetIds)).map((row) => [row.asset_id, row]))
  return assetIds.map((assetId) => {
    const row = rows.get(assetId)
    if (!row)
      return {
        assetId,
        ok: false,
        detail: 'not compared yet',
        block: undefined,
        received: 0n,
        credited: 0n,
        unmatched: 0n,
        drift: 0n,
        at: undefined,
      }
    const drift = BigInt(row.drift)
    const stale = now.getTime() - row.at.getTime() > STALE_AFTER_MS
    const detail =
      drift !== 0n
        ? `the chain shows ${drift} more than is recorded at block ${row.block}`
        : stale
          ? `last compared at ${row.at.toISOString()}`
          : `equal at block ${row.block}`
    return {
      assetId,
      ok: drift === 0n && !stale,
      detail,
      block: row.block,
      received: BigInt(row.received),
      credited: BigInt(row.credited),
      unmatched: BigInt(row.unmatched),
      drift,
      at: row.at,
    }
  })
}
