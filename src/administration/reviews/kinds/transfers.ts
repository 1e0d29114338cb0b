import type { Database } from '../../../db/database.ts'
import type { JsonObject } from '../../../db/schema.ts'
import { Fault } from '../../../kernel/errors.ts'
import { MICROCREDITS_PER_CREDIT } from '../../../kernel/money.ts'
import type { Receipt } from '../../../payments/orders/crediting/store.ts'
import { receivedWorth } from '../../../payments/orders/review/decision.ts'
import { decideTransfer } from '../../../payments/orders/review/service.ts'
import * as store from '../../../payments/orders/review/store.ts'
import { parseTransferId, transferId } from '../../../payments/orders/review/transfer-id.ts'
import { tokenAmount } from './amounts.ts'
import { proposalOf, shownOf } from './orders.ts'
import type { Review, ReviewKind, Waiting } from './review.ts'

/** Transfers that no order asked for. */
export const transferReviews: ReviewKind = {
  waiting: async (db, limit) => (await store.unmatchedTransfers(db, limit)).map(inList),
  read,
  decide: (deps, name, decision) => decideTransfer(deps, keyOf(name), decision),
}

function keyOf(name: string): Receipt {
  const key = parseTransferId(name)
  if (!key) throw new Fault('review_not_found')
  return key
}

const inList = (transfer: store.Transfer): Waiting => ({
  id: transferId({ chainId: transfer.chain_id, txHash: transfer.tx_hash, logPosition: transfer.log_position }),
  kind: 'transfer',
  reason: 'unmatched',
  openedAt: transfer.block_at,
  accountId: undefined,
  chainId: transfer.chain_id,
  expected: undefined,
  received: tokenAmount(BigInt(transfer.amount), transfer.chain_id, transfer.token_address),
})

async function read(db: Database, name: string): Promise<Review | undefined> {
  const transfer = await store.findTransfer(db, keyOf(name))
  if (!transfer) return undefined
  const { received: _, expected: __, ...waiting } = inList(transfer)
  const rate = await store.lastRate(db, transfer.chain_id, transfer.token_address)
  const resolution = transfer.resolution === null ? undefined : (JSON.parse(transfer.resolution) as JsonObject)
  const decidedAt = new Date(String(resolution?.at))
  return {
    ...waiting,
    status: transfer.state,
    waits: transfer.state === 'unmatched' && transfer.resolved_at === null,
    expected: undefined,
    shown: shownOf(transfer),
    txHash: transfer.tx_hash,
    worthMicro: receivedWorth(BigInt(transfer.amount), rate ?? MICROCREDITS_PER_CREDIT),
    granted: false,
    heldMicro: undefined,
    proposal:
      resolution && transfer.resolved_at === null
        ? proposalOf(String(resolution.by), decidedAt, resolution)
        : undefined,
    events: resolution
      ? [{ at: decidedAt, event: String(resolution.action), status: transfer.state, by: String(resolution.by) }]
      : [],
    actions: ['credit', 'refund', 'dismiss'],
  }
}
