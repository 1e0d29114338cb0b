import type { Tx } from '../../db/database.ts'
import type { JsonObject } from '../../db/schema.ts'
import { assert } from '../../kernel/assert.ts'
import { endGrantHold, holdGrant } from '../../ledger/review-holds.ts'
import * as crediting from './crediting/store.ts'
import { type Event, isMove, stepOf } from './states.ts'
import * as store from './store.ts'

/**
 * What the chain does to orders. The watcher calls these inside its own transaction with the order's row locked
 * (store.lock), a transfer's row before it. Each answers undefined when the news is overtaken or the order is not
 * there for it: the transfer then belongs to no order.
 */

/** Why an order needs an operator. */
export type ReviewReason =
  | 'amount_mismatch'
  | 'payer_mismatch'
  | 'not_direct'
  | 'wrong_chain'
  | 'old_recipient'
  | 'late_transfer'
  | 'tx_already_used'
  | 'reorged_after_credit'

/** Who moves orders when nobody asked for it. */
const WATCHER = 'watcher'

/** A matching transfer is in a block: the order waits for its depth, and names its hash from now on. */
export async function see(
  tx: Tx,
  order: store.Order,
  seen: { readonly txHash: string; readonly attemptId: string },
  now: Date,
): Promise<store.Order | undefined> {
  const to = stepOf(order, 'see', now)
  if (!isMove(to)) return undefined
  if (order.tx_hash === seen.txHash && order.status === to) return order
  // bound to another transfer: this one is somebody's second payment
  if (order.tx_hash !== null) return undefined
  const reserved = order.status === 'confirming' ? order.payment_attempt_id : null
  const attemptId = reserved ?? seen.attemptId
  if (reserved === null) await store.startAttempt(tx, { id: attemptId, orderId: order.id, source: 'watched', at: now })
  return store.move(tx, order, {
    event: 'see',
    to,
    actor: WATCHER,
    at: now,
    change: { tx_hash: seen.txHash, payment_attempt_id: attemptId },
    data: { tx_hash: seen.txHash },
  })
}

/**
 * Every check of the transfer held on every node just now: the Credits are given, once over all rails, and the
 * order is completed. A transfer that another purchase has leads to a review. undefined: nothing was given.
 */
export async function settle(
  tx: Tx,
  order: store.Order,
  receipt: crediting.Receipt,
  now: Date,
): Promise<store.Order | undefined> {
  const to = stepOf(order, 'settle', now)
  // settled by the transfer that it was seen with, or not at all
  if (!isMove(to) || order.tx_hash !== receipt.txHash) return undefined
  const given = await crediting.grantForReceipt(tx, receipt, {
    source: 'order',
    sourceId: order.id,
    accountId: order.account_id,
    amountMicro: order.credit_micro,
    reason: `order ${order.id}`,
  })
  if (given.outcome === 'taken' || given.outcome === 'paid_before') {
    return suspect(
      tx,
      order,
      {
        reason: 'tx_already_used',
        txHash: receipt.txHash,
        receivedMicro: order.amount_micro,
        ...(given.takenBy === null ? {} : { data: { taken_by: given.takenBy } }),
      },
      now,
    )
  }
  await store.endAttempt(tx, order.id, 'settled', now)
  const completed = await store.move(tx, order, {
    event: 'settle',
    to,
    actor: WATCHER,
    at: now,
    change: { grant_id: given.grantId, completed_at: now, received_micro: order.amount_micro },
    data: {
      tx_hash: receipt.txHash,
      log_position: receipt.logPosition,
      credited_micro: String(order.credit_micro),
    },
  })
  await crediting.tell(tx, 'order.completed', completed, now)
  return completed
}

/**
 * Value arrived that cannot be credited by itself: an operator decides. undefined when the order is in review for
 * another transfer already: this one is unmatched and gets a decision of its own.
 */
export async function suspect(
  tx: Tx,
  order: store.Order,
  found: {
    readonly reason: ReviewReason
    readonly txHash: string
    readonly receivedMicro: bigint
    readonly data?: JsonObject
  },
  now: Date,
): Promise<store.Order | undefined> {
  return toReview(tx, order, 'suspect', found, now)
}

/**
 * The block of a credited transfer is no longer canonical: an operator, or the transfer's return, decides. What the
 * account still has of the Credits is held until then.
 */
export async function undo(tx: Tx, order: store.Order, now: Date): Promise<store.Order | undefined> {
  if (!isMove(stepOf(order, 'undo', now))) return undefined
  assert(order.grant_id !== null, 'a completed order has its Credits')
  const { holdId, heldMicro } = await holdGrant(tx, order.grant_id)
  return toReview(
    tx,
    order,
    'undo',
    {
      reason: 'reorged_after_credit',
      txHash: order.tx_hash ?? '',
      receivedMicro: order.received_micro ?? 0n,
      holdId,
      data: { held_micro: String(heldMicro) },
    },
    now,
  )
}

async function toReview(
  tx: Tx,
  order: store.Order,
  event: Event,
  found: {
    readonly reason: ReviewReason
    readonly txHash: string
    readonly receivedMicro: bigint
    readonly holdId?: bigint | null
    readonly data?: JsonObject
  },
  now: Date,
): Promise<store.Order | undefined> {
  const to = stepOf(order, event, now)
  if (!isMove(to)) return undefined
  const opened = await store.move(tx, order, {
    event,
    to,
    actor: WATCHER,
    at: now,
    data: {
      ...found.data,
      reason: found.reason,
      tx_hash: found.txHash,
      received_micro: String(found.receivedMicro),
    },
    change: {
      review_reason: found.reason,
      review_opened_at: now,
      review_resolved_at: null,
      review_resolution: null,
      review_hold_id: found.holdId ?? null,
      received_micro: found.receivedMicro,
      tx_hash: order.tx_hash ?? found.txHash,
    },
  })
  await crediting.tell(tx, 'order.review_required', opened, now)
  return opened
}

/** The transfer of a credited order is canonical and deep again: the review ends as it began, and what was held is free. */
export async function restore(tx: Tx, order: store.Order, now: Date): Promise<store.Order | undefined> {
  const to = stepOf(order, 'restore', now)
  if (!isMove(to) || order.review_reason !== 'reorged_after_credit') return undefined
  await endHold(tx, order, { take: false, by: WATCHER, reason: 'its transfer is on the chain again' })
  return store.move(tx, order, {
    event: 'restore',
    to,
    actor: WATCHER,
    at: now,
    change: { review_resolved_at: now, review_resolution: 'restored', review_hold_id: null },
  })
}

/** Ends what a review holds of the order's Credits, if it holds any. Gives what was taken, in microcredits. */
export async function endHold(
  tx: Tx,
  order: Pick<store.Order, 'review_hold_id' | 'grant_id'>,
  ending: { readonly take: boolean; readonly by: string; readonly reason: string },
): Promise<bigint> {
  const { review_hold_id: holdId, grant_id: grantId } = order
  return holdId === null || grantId === null ? 0n : endGrantHold(tx, { holdId, grantId }, ending)
}

/** A reorganisation took a transfer away before it was credited: its hash stays a hint, and any matching transfer may pay. */
export async function orphan(tx: Tx, order: store.Order, now: Date): Promise<store.Order | undefined> {
  const to = stepOf(order, 'orphan', now)
  if (!isMove(to) || order.tx_hash === null) return undefined
  await store.addHash(tx, order, order.tx_hash, now)
  return store.move(tx, order, {
    event: 'orphan',
    to,
    actor: WATCHER,
    at: now,
    change: { tx_hash: null },
    data: { tx_hash: order.tx_hash },
  })
}

/** A registered hash is the payment of another purchase, on whatever rail: an operator decides. False: it is not. */
export async function lose(tx: Tx, order: store.Order, txHash: string, now: Date): Promise<boolean> {
  if (order.status !== 'confirming' || order.tx_hash !== null) return false
  const takenBy = await crediting.holderOf(tx, { chainId: order.chain_id, txHash })
  if (takenBy === undefined || takenBy === `order:${order.id}`) return false
  const found = { reason: 'tx_already_used', txHash, receivedMicro: 0n, data: { taken_by: takenBy } } as const
  return (await suspect(tx, order, found, now)) !== undefined
}

/** What ends a registered hash without a payment, and the attempt with the last of them. */
const ends = { fail: 'failed_onchain', replace: 'replaced', mismatch: 'mismatch' } as const

/** No value moved to us by this hash. When no other hash is left to wait for, the order may be paid again. */
export async function release(
  tx: Tx,
  order: store.Order,
  event: keyof typeof ends,
  txHash: string,
  why: string,
  now: Date,
): Promise<store.Order | undefined> {
  await store.refuseHash(tx, order.id, txHash, why)
  const to = stepOf(order, event, now)
  if (!isMove(to) || order.tx_hash !== null || (await store.hasTransfer(tx, order.id))) return undefined
  const left = (await store.hashes(tx, order.id)).filter((hash) => hash.refused === null)
  if (left.length > 0) return undefined
  await store.endAttempt(tx, order.id, ends[event], now)
  return store.move(tx, order, {
    event,
    to,
    actor: WATCHER,
    at: now,
    change: { payment_attempt_id: null },
    data: { tx_hash: txHash, why },
  })
}

/** The finalized chain is past expiry and grace (states.isPastRecovery) and read to there, and nothing came. */
export async function abandon(tx: Tx, order: store.Order, now: Date): Promise<store.Order | undefined> {
  const to = stepOf(order, 'abandon', now)
  if (!isMove(to) || order.tx_hash !== null || (await store.hasTransfer(tx, order.id))) return undefined
  await store.endAttempt(tx, order.id, 'abandoned', now)
  return store.move(tx, order, {
    event: 'abandon',
    to,
    actor: WATCHER,
    at: now,
    change: { payment_attempt_id: null },
  })
}
