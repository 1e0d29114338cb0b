import type { Tx } from '../../../db/database.ts'
import type { JsonObject } from '../../../db/schema.ts'
import { recordAction } from '../../../identity/audit-log/service.ts'
import { Fault } from '../../../kernel/errors.ts'
import { agreement } from '../../orders/review/agreement.ts'
import {
  actorOf,
  type Decided,
  type Decision,
  type ReviewDeps,
  termsOf,
  worthOf,
} from '../../orders/review/decision.ts'
import * as crediting from '../crediting/store.ts'
import type { Payment } from '../model.ts'
import { stepOf } from '../states.ts'
import * as payments from '../store.ts'
import * as store from './store.ts'

/** How each decision ends a payment: `reason` is what it keeps of it. */
const endings = {
  credit: { event: 'operator_credit', reason: null },
  refund: { event: 'operator_refund', reason: 'refunded' },
  dismiss: { event: 'operator_dismiss', reason: 'dismissed' },
} as const

/**
 * Decides on a payment that the chain left in doubt. Whatever is credited has the transfer's own receipt: never twice,
 * on no rail; and at most what arrived is worth at the payment's own rate. Credits that were given before their block was
 * lost can only be left as they are: nothing is held of them that could be taken back.
 */
export async function decidePayment(deps: ReviewDeps, id: bigint, decision: Decision): Promise<Decided> {
  return deps.db.transaction().execute(async (tx) => {
    if (!(await payments.find(tx, id)))
      throw new Fault('payment_not_found', { message: `There is no x402 payment ${id}.` })
    const payment = await payments.lock(tx, id)
    const { event } = endings[decision.action]
    if (stepOf(payment.status, event) === 'stale')
      throw new Fault('order_not_in_review', {
        message: `Payment ${id} is not in review. Open ones end by what the chain shows.`,
      })
    if (payment.grant_id !== null && decision.action !== 'credit')
      throw new Fault('order_not_in_review', {
        message: `The Credits of payment ${id} were given before its block was lost. It ends by itself when the transfer is back; \`credit\` leaves them with the account for good.`,
      })
    const now = deps.clock.now()
    const transfer = payment.grant_id === null ? await transferOf(tx, payment, decision) : undefined
    const value = worthDecided(payment, transfer, decision)
    const terms = termsOf(decision, value)
    const proposal = await store.newestProposal(tx, id)
    const proposed = proposal && { by: byOf(proposal.data), at: proposal.at, terms: proposal.data as JsonObject }
    const agreed = agreement(deps.aloneLimitMicro, actorOf(decision), terms, value, proposed, now)
    const data = { ...terms, reason: decision.reason, by: actorOf(decision) }
    if (!agreed.done) {
      if (agreed.isNew)
        await payments.move(tx, payment, { event: 'operator_propose', to: 'review_required', at: now, data })
      return { outcome: 'proposed', creditMicro: value, until: agreed.until }
    }
    await resolve(tx, payment, transfer, {
      decision,
      value,
      data: { ...data, ...(agreed.proposedBy ? { proposed_by: agreed.proposedBy } : {}) },
      now,
    })
    return { outcome: 'done', creditMicro: value }
  })
}

const byOf = (data: unknown): string => String((data as JsonObject).by)

/** The one transfer that is decided over. Crediting refuses when there is none, or when it cannot be told which. */
async function transferOf(tx: Tx, payment: Payment, { action }: Decision): Promise<store.Arrived | undefined> {
  const all = await store.arrived(tx, payment)
  const waiting = all.filter(({ state, resolved_at, credited }) => state === 'unmatched' && !resolved_at && !credited)
  const [transfer, second] = waiting
  if (action !== 'credit') return second ? undefined : transfer
  const refuse = (code: 'order_not_in_review' | 'tx_already_used', message: string): never => {
    throw new Fault(code, { message })
  }
  if (second)
    return refuse(
      'order_not_in_review',
      `Transaction ${payment.tx_hash} brought several transfers that were not credited: decide about each with \`farebox review\`, and dismiss this payment.`,
    )
  if (transfer) return transfer
  if (all.some(({ credited }) => credited))
    return refuse('tx_already_used', 'Credits were given for this transfer before, for another purchase. Dismiss it.')
  if (all.some(({ resolved_at }) => resolved_at))
    return refuse('order_not_in_review', 'An operator has decided about this transfer before. Dismiss the payment.')
  return refuse(
    'order_not_in_review',
    all.length > 0
      ? `The transfer of payment ${payment.id} is not deep enough yet, or belongs to an order. Look again later.`
      : `The chain shows no transfer to us by payment ${payment.id}, so there is nothing to credit. Dismiss it.`,
  )
}

function worthDecided(payment: Payment, transfer: store.Arrived | undefined, decision: Decision): bigint {
  if (payment.grant_id !== null) return payment.credit_micro
  return transfer ? worthOf(BigInt(transfer.amount), payment.rate_ppm, decision) : 0n
}

/** What an agreed decision does: Credits, the transfer, the payment, the notice, the audit log. */
async function resolve(
  tx: Tx,
  payment: Payment,
  transfer: store.Arrived | undefined,
  agreed: { decision: Decision; value: bigint; data: JsonObject; now: Date },
): Promise<void> {
  const { decision, value, data, now } = agreed
  const { event, reason } = endings[decision.action]
  const to = decision.action === 'credit' ? 'credited' : 'failed'
  const given =
    decision.action === 'credit' && transfer ? await credited(tx, payment, transfer, decision, value) : undefined
  await payments.move(tx, payment, {
    event,
    to,
    at: now,
    data: { ...data, ...(payment.tx_hash === null ? {} : { tx_hash: payment.tx_hash }) },
    // what is decided for good is not followed on the chain any more
    change: { reason, final_at: now, ...given, ...(given ? { credit_micro: value, credited_at: now } : {}) },
  })
  // what is dismissed waits on as a transfer without an order: it may be somebody's
  if (transfer && decision.action !== 'dismiss')
    await store.resolveTransfer(tx, payment, transfer, { resolution: data, credited: given !== undefined, at: now })
  if (given)
    await crediting.tell(
      tx,
      'payment.credited',
      { ...payment, credit_micro: value },
      { at: now, txHash: given.tx_hash },
    )
  await recordAction(tx, {
    actor: decision.operator,
    action: `${decision.action}.payment`,
    targetId: payment.id,
    reason: decision.reason,
    requestId: decision.requestId,
    before: { status: payment.status, reason: payment.reason },
    after: { status: to, ...data },
  })
}

async function credited(tx: Tx, payment: Payment, transfer: store.Arrived, decision: Decision, creditMicro: bigint) {
  const place = { txHash: payment.tx_hash ?? '', position: transfer.log_position }
  const { outcome, grantId } = await crediting.grantForTransfer(tx, payment, place, {
    creditMicro,
    reason: `${actorOf(decision)}: ${decision.reason}`,
  })
  if (outcome === 'taken')
    throw new Fault('tx_already_used', {
      message: 'Credits were given for this transfer before, for another purchase. Dismiss it.',
    })
  if (outcome === 'paid_before')
    throw new Fault('order_completed', {
      message: 'This payment got its Credits for another transfer. Refund this one.',
    })
  return { tx_hash: place.txHash, log_position: place.position, block: transfer.block, grant_id: grantId }
}
