import { findUse, type Use } from '../../chains/authorizations/use.ts'
import { requiredDepth } from '../../chains/depth.ts'
import type { Database } from '../../db/database.ts'
import type { Clock } from '../../kernel/clock.ts'
import { credit, doubtLocked } from './crediting/credit.ts'
import * as crediting from './crediting/store.ts'
import * as lane from './lane/store.ts'
import { authorizationOf, NotSent, type Payment, PaymentRejected, type Settler, type TopUpSettings } from './model.ts'
import { type Event, type ReviewReason, stepOf } from './states.ts'
import * as store from './store.ts'

/** What moving payments on needs. */
export interface SettlementDeps {
  readonly db: Database
  readonly clock: Clock
  readonly settings: TopUpSettings
  readonly settler: Settler<unknown>
}

const DAY_MS = 86_400_000

/**
 * Looks at the chain for one payment and moves it as far as the chain allows. Any number of processes may do so at
 * once: each move is decided under the lock of its row. Throws what a node that does not answer throws; nothing moved then.
 */
export async function settle(deps: SettlementDeps, payment: Payment): Promise<void> {
  const use = await shownOf(deps, payment)
  if (payment.grant_id !== null) return followCredited(deps, payment, use)
  switch (use.kind) {
    case 'paid':
      if (use.confirmations >= depthFor(deps.settings, payment.amount_micro)) return credit(deps, payment, use)
      return noteSeen(deps, payment, use)
    case 'spent':
      if (use.confirmations < depthFor(deps.settings, payment.amount_micro)) return
      return doubt(deps, payment, use.canceled ? 'canceled_after_broadcast' : 'used_with_other_terms', use.txHash)
    case 'unused':
      return pushOn(deps, payment, use.confirmedAt)
  }
}

/** What the chain shows of a payment, its own transactions looked at first. */
async function shownOf({ db, settings }: SettlementDeps, payment: Payment): Promise<Use> {
  const own = await lane.ofPayment(db, payment.id)
  const hints = [...(payment.tx_hash === null ? [] : [payment.tx_hash]), ...own.map(({ tx_hash }) => tx_hash)]
  return findUse({
    nodes: settings.nodes,
    networkName: settings.asset.networkName,
    token: payment.token_address,
    authorization: authorizationOf(payment),
    confirmations: depthFor(settings, payment.amount_micro),
    hints,
  })
}

/** Blocks that a payment waits for: the configured number for small ones, and for larger ones what orders wait for, if that is more. */
export function depthFor({ asset, nodes, confirmations }: TopUpSettings, amountMicro: bigint): number {
  if (amountMicro <= asset.confirmations.blocksUpToMicro) return confirmations
  return Math.max(confirmations, requiredDepth(asset, amountMicro, nodes.length).blocks)
}

async function noteSeen(deps: SettlementDeps, payment: Payment, use: Use & { kind: 'paid' }): Promise<void> {
  if (payment.tx_hash !== use.txHash)
    await store.note(deps.db, payment.id, { tx_hash: use.txHash, log_position: use.position, block: use.block })
  await noteBroadcast(deps, payment)
}

async function pushOn(deps: SettlementDeps, payment: Payment, confirmedAt: Date): Promise<void> {
  // a block that is deep enough is past its time, and it was not used up to there: no later block takes it
  if (BigInt(confirmedAt.getTime()) >= payment.valid_before * 1000n) return moved(deps, payment, 'expire', {})
  if (deps.clock.now().getTime() - payment.created_at.getTime() > DAY_MS)
    return doubt(deps, payment, 'unsettled_for_a_day', undefined)
  try {
    if (!(await deps.settler.push(payment))) return
  } catch (error) {
    // what is stored may still land: it is looked at again until its time is over
    if (error instanceof NotSent || error instanceof PaymentRejected) return
    throw error
  }
  await noteBroadcast(deps, payment)
}

/** Notes that a transaction of the payment may be on its way. */
export async function noteBroadcast(deps: SettlementDeps, payment: Payment): Promise<void> {
  if (payment.status === 'awaiting_settlement') await moved(deps, payment, 'broadcast', {})
}

async function doubt(
  deps: SettlementDeps,
  { id }: Payment,
  reason: ReviewReason,
  txHash: string | undefined,
): Promise<void> {
  const at = deps.clock.now()
  await deps.db.transaction().execute(async (tx) => doubtLocked(tx, await store.lock(tx, id), { reason, txHash, at }))
}

/** A credited payment until its block is final: a reorganisation may take its transfer away, and bring it back. */
async function followCredited(deps: SettlementDeps, payment: Payment, use: Use): Promise<void> {
  const { db, clock } = deps
  if (use.kind === 'paid') {
    if (payment.status === 'review_required') {
      if (use.confirmations < depthFor(deps.settings, payment.amount_micro)) return
      return credit(deps, payment, use)
    }
    if (use.txHash !== payment.tx_hash || use.block !== payment.block)
      await store.note(db, payment.id, { tx_hash: use.txHash, log_position: use.position, block: use.block })
    if (use.isFinal) await store.note(db, payment.id, { final_at: clock.now() })
    return
  }
  if (use.kind === 'unused') {
    // a node that is behind has not seen the block yet: nothing follows from what it does not have
    if (payment.block !== null && use.confirmedBlock < payment.block) return
    if (BigInt(use.confirmedAt.getTime()) >= payment.valid_before * 1000n && payment.status === 'review_required')
      return store.note(db, payment.id, { final_at: clock.now() })
    await deps.settler.push(payment).catch(() => undefined)
  }
  await moved(deps, payment, 'reorganise', { reason: 'reorganised_after_credit' })
}

async function moved(
  { db, clock }: SettlementDeps,
  { id }: Payment,
  event: Event,
  change: { reason?: ReviewReason },
): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const payment = await store.lock(tx, id)
    const to = stepOf(payment.status, event)
    if (to === 'stale' || to === payment.status) return
    const at = clock.now()
    await store.move(tx, payment, { event, to, at, change })
    if (to === 'review_required')
      await crediting.tell(tx, 'payment.review_required', payment, {
        at,
        txHash: payment.tx_hash ?? '',
        reason: change.reason ?? event,
      })
  })
}
