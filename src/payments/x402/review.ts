import type { Database } from '../../db/database.ts'
import { type Operator, operatorName, recordAction } from '../../identity/audit-log/service.ts'
import type { Clock } from '../../kernel/clock.ts'
import { stepOf } from './states.ts'
import * as store from './store.ts'

/**
 * Closes a payment in review without Credits: an operator saw that nothing is owed, or gave back what arrived. The reason
 * and who said so are in the audit log. A payment whose Credits were given is not closed this way.
 */
export function closeReview(
  { db, clock }: { readonly db: Database; readonly clock: Clock },
  decided: {
    readonly id: bigint
    readonly operator: Operator
    readonly reason: string
    readonly requestId?: string | undefined
  },
): Promise<'closed' | 'missing' | 'not in review' | 'credited'> {
  return db.transaction().execute(async (tx) => {
    if (!(await store.find(tx, decided.id))) return 'missing'
    const payment = await store.lock(tx, decided.id)
    if (payment.grant_id !== null) return 'credited'
    const to = stepOf(payment.status, 'operator_dismiss')
    if (to === 'stale') return 'not in review'
    const { reason, operator, requestId } = decided
    const change = { reason: 'dismissed' }
    await store.move(tx, payment, {
      event: 'operator_dismiss',
      to,
      at: clock.now(),
      change,
      data: { reason, operator: operatorName(operator) },
    })
    await recordAction(tx, {
      actor: operator,
      action: 'dismiss.payment',
      targetId: payment.id,
      reason,
      requestId,
      before: { status: payment.status, reason: payment.reason },
      after: { status: to },
    })
    return 'closed'
  })
}
