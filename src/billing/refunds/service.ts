import type { Database } from '../../db/database.ts'
import { assert } from '../../kernel/assert.ts'
import type { Caller } from '../../kernel/caller.ts'
import { Fault } from '../../kernel/errors.ts'
import { type RefundRefused, refundCall } from '../../ledger/refunds.ts'
import { ledgerTransaction } from '../../ledger/transaction.ts'
import * as store from './store.ts'

/** What refunds need from outside. */
export interface RefundDeps {
  readonly db: Database
}

/**
 * Gives back what a failed call of the caller cost: to the accounts, buckets and budget windows that it came from.
 * A repeat gives the same refund. Refuses with `call_not_found`, `not_original_account`, `call_not_refundable`.
 */
export async function applyRefund(
  deps: RefundDeps,
  caller: Caller,
  wanted: { callId: bigint; reason: string },
): Promise<store.RefundRow> {
  return ledgerTransaction(deps.db, async (tx) => {
    const answer = await refundCall(tx, { accountId: caller.accountId, ...wanted })
    if (answer.kind !== 'refunded' && answer.kind !== 'repeated') throw refusal(answer.kind)
    const refund = await store.find(tx, answer.refundId)
    assert(refund, `refund ${answer.refundId} was made and is not there`)
    return refund
  })
}

/** A page of the caller's refunds, newest first, by page number. */
export async function listRefunds(
  deps: RefundDeps,
  caller: Caller,
  wanted: { page: number; perPage: number; status: store.RefundStatus | undefined },
): Promise<{ rows: store.RefundRow[]; total: number }> {
  const { page, perPage, status } = wanted
  return store.page(deps.db, caller.accountId, { status, offset: (page - 1) * perPage, limit: perPage })
}

/** Why a call of the caller cannot be refunded, in words; the names are those of `refund_reason_not` of a call. */
const because: Readonly<Record<Exclude<RefundRefused, 'call_not_found' | 'not_original_account'>, string>> = {
  call_running: 'The call is still running.',
  usage_unknown: 'What the call cost is unknown, so nothing was charged yet. The operator resolves it.',
  pending_settlement: 'The call waits for its settlement, so nothing was charged yet.',
  call_successful: 'The call was successful. Only failed calls can be refunded.',
  nothing_charged: 'Nothing was charged for the call.',
}

function refusal(why: RefundRefused): Fault {
  if (why === 'call_not_found' || why === 'not_original_account') return new Fault(why)
  return new Fault('call_not_refundable', { message: because[why], fields: { refund_reason_not: why } })
}
