import type { Database } from '../../db/database.ts'
import type { RefundDecision } from '../../db/schema.ts'
import { operatorName, recordAction } from '../../identity/audit-log/service.ts'
import { assert } from '../../kernel/assert.ts'
import { Fault } from '../../kernel/errors.ts'
import { decideRefund } from '../../ledger/refunds.ts'
import { ledgerTransaction } from '../../ledger/transaction.ts'
import type { By } from '../by.ts'
import * as store from './store.ts'

/**
 * Approves or rejects a refund that waits: approved, the account that made the call gets the amount. The first decision
 * stands; the same one again changes nothing and is not recorded. Refuses with `refund_not_found`, `refund_not_in_review`
 * and `refund_decided`.
 */
export async function decide(
  db: Database,
  wanted: { readonly refundId: bigint; readonly word: RefundDecision },
  { operator, reason, requestId }: By,
): Promise<{ readonly refund: store.RefundRow; readonly changed: boolean }> {
  const { refundId, word } = wanted
  const answer = await ledgerTransaction(db, async (tx) => {
    const decided = await decideRefund(tx, { refundId, word, actor: operatorName(operator), reason })
    if (decided === word)
      await recordAction(tx, {
        actor: operator,
        action: word === 'approved' ? 'approve.refund' : 'reject.refund',
        targetId: refundId,
        reason,
        requestId,
      })
    return decided
  })
  const refund = await store.find(db, refundId)
  if (answer === 'refund_not_found' || refund === undefined) throw new Fault('refund_not_found')
  if (answer === 'not_in_review')
    throw new Fault('refund_not_in_review', {
      message: `Refund ${refundId} was verified and is completed; nothing was changed.`,
    })
  if (answer === 'decided_otherwise')
    throw new Fault('refund_decided', {
      message: `Refund ${refundId} was ${refund.decision} before, by ${refund.decided_by}; nothing was changed.`,
    })
  assert(answer === word || answer === 'repeated', `refund ${refundId} cannot be ${answer}`)
  return { refund, changed: answer === word }
}

/** Where a refund stands, as people read it. */
export function statusOf({
  is_verified,
  decision,
}: Pick<store.RefundRow, 'is_verified' | 'decision'>): 'completed' | 'rejected' | 'review_required' {
  if (is_verified || decision === 'approved') return 'completed'
  return decision ?? 'review_required'
}
