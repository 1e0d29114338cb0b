import type { Tx } from '../../../db/database.ts'
import type { JsonObject, OrderStatus } from '../../../db/schema.ts'
import { recordAction } from '../../../identity/audit-log/service.ts'
import { Fault } from '../../../kernel/errors.ts'
import { MICROCREDITS_PER_CREDIT } from '../../../kernel/money.ts'
import * as crediting from '../crediting/store.ts'
import { endHold } from '../lifecycle.ts'
import { advance } from '../states.ts'
import * as orders from '../store.ts'
import { agreement } from './agreement.ts'
import { actorOf, type Decided, type Decision, type ReviewDeps, termsOf, worthOf } from './decision.ts'
import * as store from './store.ts'
import { transferId } from './transfer-id.ts'

/** Decides on an order in review. Whatever is credited has the transfer's own receipt: never twice, on no rail. */
export async function decideOrder(deps: ReviewDeps, orderId: string, decision: Decision): Promise<Decided> {
  const joined = await store.transferOf(deps.db, orderId)
  return deps.db.transaction().execute(async (tx) => {
    const transfer = joined && (await store.lockTransfer(tx, keyOf(joined)))
    const order = await orders.lock(tx, orderId)
    if (!order) throw new Fault('order_not_found')
    const now = deps.clock.now()
    const to = advance(order, `operator_${decision.action}`, now)
    // Credits that were given before their block was lost are left as they are, whole
    const { creditMicro: _, ...rest } = decision
    const value = worthOf(order.received_micro ?? 0n, order.rate_ppm, order.grant_id === null ? decision : rest)
    const terms = termsOf(decision, value)
    const proposal = await store.newestProposal(tx, order)
    const agreed = agreement(
      deps.aloneLimitMicro,
      actorOf(decision),
      terms,
      value,
      proposal && { by: proposal.actor, at: proposal.at, terms: proposal.data as JsonObject },
      now,
    )
    if (!agreed.done) {
      if (agreed.isNew)
        await orders.move(tx, order, {
          event: 'operator_propose',
          to: advance(order, 'operator_propose', now),
          actor: actorOf(decision),
          at: now,
          data: { ...terms, reason: decision.reason },
        })
      return { outcome: 'proposed', creditMicro: value, until: agreed.until }
    }

    const taken = await resolveOrder(tx, order, transfer, {
      decision,
      to,
      value,
      terms,
      proposedBy: agreed.proposedBy,
      now,
    })
    return { outcome: 'done', creditMicro: value, ...(taken === undefined ? {} : { takenMicro: taken }) }
  })
}

const resolutions = { credit: 'credited', refund: 'refunded', dismiss: 'dismissed' } as const

interface Agreed {
  readonly decision: Decision
  readonly to: OrderStatus
  readonly value: bigint
  readonly terms: JsonObject
  readonly proposedBy: string | undefined
  readonly now: Date
}

/** What an agreed decision does: Credits, the transfer, the attempt, the order, the notice, the audit log. Gives what was taken back. */
async function resolveOrder(
  tx: Tx,
  order: orders.Order,
  transfer: store.Transfer | undefined,
  agreed: Agreed,
): Promise<bigint | undefined> {
  const { decision, to, value, terms, proposedBy, now } = agreed
  let grantId = order.grant_id
  if (decision.action === 'credit' && grantId === null) {
    if (transfer?.order_id !== order.id)
      throw new Fault('order_not_in_review', {
        message: `No transfer on the chain is joined to order ${order.id}, so there is nothing to credit. Dismiss it, or refund what arrived.`,
      })
    grantId = await credited(tx, keyOf(transfer), {
      source: 'order',
      sourceId: order.id,
      accountId: order.account_id,
      amountMicro: value,
      reason: `${actorOf(decision)}: ${decision.reason}`,
    })
  }
  const taken = order.grant_id === null ? undefined : await takenBack(tx, order, decision)
  const data = {
    ...terms,
    reason: decision.reason,
    ...(proposedBy ? { proposed_by: proposedBy } : {}),
    ...(taken === undefined ? {} : { taken_micro: String(taken) }),
  }
  if (transfer)
    await store.resolveTransfer(tx, keyOf(transfer), {
      resolution: data,
      resolvedAt: now,
      credited: decision.action === 'credit',
    })
  await orders.endAttempt(tx, order.id, decision.action === 'credit' ? 'settled' : 'abandoned', now)
  const moved = await orders.move(tx, order, {
    event: `operator_${decision.action}`,
    to,
    actor: actorOf(decision),
    at: now,
    data,
    change: {
      review_resolved_at: now,
      review_resolution: resolutions[decision.action],
      review_hold_id: null,
      ...(decision.action === 'credit' ? { grant_id: grantId, completed_at: order.completed_at ?? now } : {}),
    },
  })
  if (decision.action === 'credit') await crediting.tell(tx, 'order.completed', moved, now)
  await record(tx, decision, order.id, data)
  return taken
}

/**
 * The Credits of an order were given before its block was lost. `credit` leaves them with the account; without it what
 * is still held of them is taken back, and what was spent meanwhile is the operator's loss.
 */
async function takenBack(tx: Tx, order: orders.Order, decision: Decision): Promise<bigint | undefined> {
  const take = decision.action !== 'credit'
  const taken = await endHold(tx, order, { take, by: actorOf(decision), reason: decision.reason })
  return take ? taken : undefined
}

/** Decides on a transfer that belongs to no order. Crediting names the account. */
export async function decideTransfer(deps: ReviewDeps, key: crediting.Receipt, decision: Decision): Promise<Decided> {
  return deps.db.transaction().execute(async (tx) => {
    const transfer = await store.lockTransfer(tx, key)
    if (transfer?.state !== 'unmatched' || transfer.resolved_at !== null) {
      throw new Fault('order_not_in_review', {
        message: 'There is no such unmatched transfer that waits for a decision.',
      })
    }
    const { accountId } = decision
    if (decision.action === 'credit' && accountId === undefined)
      throw new Fault('invalid_field', { message: 'Name the account to credit.' })
    const now = deps.clock.now()
    const rate = (await store.lastRate(tx, transfer.chain_id, transfer.token_address)) ?? MICROCREDITS_PER_CREDIT
    const value = worthOf(BigInt(transfer.amount), rate, decision)
    const terms = {
      ...termsOf(decision, value),
      account_id: accountId === undefined ? null : String(accountId),
    }
    const before = transfer.resolution === null ? undefined : (JSON.parse(transfer.resolution) as JsonObject)
    const proposal = before && {
      by: String(before.by),
      at: new Date(String(before.at)),
      terms: before,
    }
    const agreed = agreement(deps.aloneLimitMicro, actorOf(decision), terms, value, proposal, now)
    const written = {
      ...terms,
      reason: decision.reason,
      by: actorOf(decision),
      at: now.toISOString(),
      ...(agreed.done && agreed.proposedBy ? { proposed_by: agreed.proposedBy } : {}),
    }
    if (!agreed.done) {
      if (agreed.isNew)
        await store.resolveTransfer(tx, key, {
          resolution: written,
          resolvedAt: null,
          credited: false,
        })
      return { outcome: 'proposed', creditMicro: value, until: agreed.until }
    }
    const id = transferId(key)
    if (decision.action === 'credit' && accountId !== undefined) {
      await credited(tx, key, {
        source: 'operator',
        sourceId: `transfer:${id}`,
        accountId,
        amountMicro: value,
        reason: `${actorOf(decision)}: ${decision.reason}`,
      })
      await store.tellCredited(tx, id, accountId, value, now)
    }
    await store.resolveTransfer(tx, key, {
      resolution: written,
      resolvedAt: now,
      credited: decision.action === 'credit',
    })
    await record(tx, decision, id, written)
    return { outcome: 'done', creditMicro: value }
  })
}

const keyOf = (transfer: store.Transfer): crediting.Receipt => ({
  chainId: transfer.chain_id,
  txHash: transfer.tx_hash,
  logPosition: transfer.log_position,
})

/** The audit log's row, last in its transaction. */
function record(
  tx: Tx,
  { action, operator, reason, requestId }: Decision,
  targetId: string,
  after: JsonObject,
): Promise<void> {
  return recordAction(tx, {
    actor: operator,
    action: `${action}.order`,
    targetId,
    after: { ...after },
    reason,
    requestId,
  })
}

async function credited(
  tx: Tx,
  receipt: crediting.Receipt,
  grant: Parameters<typeof crediting.grantForReceipt>[2],
): Promise<bigint> {
  const given = await crediting.grantForReceipt(tx, receipt, grant)
  if (given.outcome === 'taken')
    throw new Fault('tx_already_used', {
      message: 'Credits were given for this transfer before, for another purchase. Dismiss it.',
    })
  if (given.outcome === 'paid_before')
    throw new Fault('order_completed', {
      message: 'This order got its Credits for another transfer. Refund this one.',
    })
  return given.grantId
}
