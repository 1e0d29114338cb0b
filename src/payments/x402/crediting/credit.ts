import type { Database, Tx } from '../../../db/database.ts'
import type { Clock } from '../../../kernel/clock.ts'
import type { Payment } from '../model.ts'
import { type ReviewReason, stepOf } from '../states.ts'
import * as payments from '../store.ts'
import * as store from './store.ts'

/** Gives the Credits for a transfer that is deep enough: with the ledger's row, the payment's status and the notice in one transaction. */
export async function credit(
  { db, clock }: { readonly db: Database; readonly clock: Clock },
  { id }: Pick<Payment, 'id'>,
  found: { readonly txHash: string; readonly position: number; readonly block: bigint },
): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const payment = await payments.lock(tx, id)
    const to = stepOf(payment.status, 'credit')
    if (to === 'stale') return
    const at = clock.now()
    const { txHash, block } = found
    if (await store.isDecided(tx, payment, found))
      return doubtLocked(tx, payment, { reason: 'decided_by_operator', txHash, at })
    const { outcome, grantId, by } = await store.grantForTransfer(tx, payment, found)
    if (outcome === 'taken')
      return doubtLocked(tx, payment, { reason: 'credited_elsewhere', txHash, at, data: { taken_by: by ?? '' } })
    const change = {
      tx_hash: txHash,
      log_position: found.position,
      block,
      grant_id: grantId,
      credited_at: payment.credited_at ?? at,
      reason: null,
    }
    await payments.move(tx, payment, { event: 'credit', to, at, change, data: { tx_hash: txHash } })
    await store.markTransfer(tx, payment, found)
    if (outcome === 'granted') await store.tell(tx, 'payment.credited', payment, { at, txHash })
  })
}

/** Puts a locked payment up for an operator, if it is still open. */
export async function doubtLocked(
  tx: Tx,
  payment: Payment,
  {
    reason,
    txHash,
    at,
    data = {},
  }: { reason: ReviewReason; txHash: string | undefined; at: Date; data?: { taken_by?: string } },
): Promise<void> {
  const to = stepOf(payment.status, 'doubt')
  if (to === 'stale') return
  const change = { reason, ...(txHash === undefined ? {} : { tx_hash: txHash }) }
  await payments.move(tx, payment, { event: 'doubt', to, at, change, data: { reason, ...data } })
  await store.tell(tx, 'payment.review_required', payment, { at, txHash: txHash ?? '', reason })
}
