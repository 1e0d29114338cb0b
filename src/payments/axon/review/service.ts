import type { Database, Tx } from '../../../db/database.ts'
import type { JsonObject } from '../../../db/schema.ts'
import { recordAction } from '../../../identity/audit-log/service.ts'
import { Fault } from '../../../kernel/errors.ts'
import { agreement } from '../../orders/review/agreement.ts'
import { actorOf, type Decided, type Decision, type ReviewDeps, termsOf } from '../../orders/review/decision.ts'
import { creditFor } from '../amounts.ts'
import { NO_FACTS } from '../moves.ts'
import { advance } from '../states.ts'
import * as claims from '../store.ts'
import * as store from './store.ts'

/**
 * Decides on a payment that could not be credited by itself. Whatever is credited has the transaction's own receipt:
 * never twice, on no rail; and at most what every node showed as received is worth.
 */
export async function decideClaim(deps: ReviewDeps, id: bigint, decision: Decision): Promise<Decided> {
  return deps.db.transaction().execute(async (tx) => {
    const claim = await claims.lock(tx, id)
    if (!claim) throw new Fault('order_not_found', { message: `There is no native payment ${id}.` })
    const now = deps.clock.now()
    const to = advance(claim.status, `operator_${decision.action}`)
    const value = claim.credited_micro ?? (await worthOf(tx, claim, decision))
    const terms = termsOf(decision, value)
    const proposal = await store.newestProposal(tx, id)
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
        await claims.move(tx, claim, {
          event: 'operator_propose',
          to: advance(claim.status, 'operator_propose'),
          actor: actorOf(decision),
          at: now,
          data: { ...terms, reason: decision.reason },
        })
      return { outcome: 'proposed', creditMicro: value, until: agreed.until }
    }
    const data = { ...terms, reason: decision.reason, ...(agreed.proposedBy ? { proposed_by: agreed.proposedBy } : {}) }
    const taken = await resolve(tx, claim, { decision, to, value, data, now })
    return { outcome: 'done', creditMicro: value, ...(taken === undefined ? {} : { takenMicro: taken }) }
  })
}

/** What an agreed decision does: Credits, the claim, the notice, the audit log. Gives what was taken back. */
async function resolve(
  tx: Tx,
  claim: claims.Claim,
  agreed: { decision: Decision; to: ReturnType<typeof advance>; value: bigint; data: JsonObject; now: Date },
): Promise<bigint | undefined> {
  const { decision, to, value, now } = agreed
  const taken = claim.grant_id === null ? undefined : await takenBack(tx, claim, decision)
  const data = { ...agreed.data, ...(taken === undefined ? {} : { taken_micro: String(taken) }) }
  const credits = decision.action === 'credit' && claim.grant_id === null
  const grantId = credits ? await credited(tx, claim, decision, value) : claim.grant_id
  const moved = await claims.move(tx, claim, {
    event: `operator_${decision.action}`,
    to,
    actor: actorOf(decision),
    at: now,
    data,
    change: {
      review_hold_id: null,
      ...(to === 'completed'
        ? { grant_id: grantId, credited_micro: value, completed_at: claim.completed_at ?? now, reason: null }
        : { final: true }),
      // what is decided for good must not be undone again by the block that was lost
      ...(claim.grant_id === null ? {} : NO_FACTS),
    },
  })
  if (credits) await claims.tell(tx, 'payment.credited', moved, now)
  await recordAction(tx, {
    actor: decision.operator,
    action: `${decision.action}.native_payment`,
    targetId: claim.id,
    after: data,
    reason: decision.reason,
    requestId: decision.requestId,
  })
  return taken
}

/**
 * The Credits of a claim were given before its block was lost. `credit` leaves them with the account; without it what
 * is still held of them is taken back, and what was spent meanwhile is the operator's loss.
 */
async function takenBack(tx: Tx, claim: claims.Claim, decision: Decision): Promise<bigint | undefined> {
  const take = decision.action !== 'credit'
  const taken = await claims.endHold(tx, claim, { take, by: actorOf(decision), reason: decision.reason })
  return take ? taken : undefined
}

async function credited(tx: Tx, claim: claims.Claim, decision: Decision, creditMicro: bigint): Promise<bigint> {
  const holder = await claims.holderOf(tx, claim.chain_id, claim.tx_hash)
  const given =
    holder === undefined
      ? await claims.grant(tx, claim, { creditMicro, reason: `${actorOf(decision)}: ${decision.reason}` })
      : { takenBy: holder }
  if ('grantId' in given) return given.grantId
  throw new Fault('tx_already_claimed', {
    message: `Credits were given for this transaction before: ${given.takenBy} has it. Dismiss this one.`,
  })
}

/** What arrived is worth at the rate of its block, in microcredits. undefined: nothing did, or no rate was ever sampled. */
export async function claimWorth(db: Database | Tx, claim: claims.Claim): Promise<bigint | undefined> {
  if (claim.received_wei === null || claim.block_at === null) return undefined
  const rate = await store.rateAt(db, claim.block_at)
  return rate === undefined ? undefined : creditFor(BigInt(claim.received_wei), rate)
}

/** What is decided over, in microcredits: never more than what arrived is worth at the rate of its block. */
async function worthOf(tx: Tx, claim: claims.Claim, { action, creditMicro }: Decision): Promise<bigint> {
  if (claim.received_wei === null || claim.block_at === null) {
    if (action !== 'credit') return 0n
    throw new Fault('order_not_in_review', {
      message: 'The chain does not show this payment deep enough, so there is nothing to credit.',
    })
  }
  const worth = await claimWorth(tx, claim)
  if (action !== 'credit') return worth ?? 0n
  if (worth === undefined)
    throw new Fault('rate_unavailable', { message: 'No rate was ever sampled, so the payment cannot be valued.' })
  const wanted = creditMicro ?? worth
  if (wanted <= 0n || wanted > worth)
    throw new Fault('amount_above_maximum', {
      message: `What arrived is worth ${worth} microcredits; ${wanted} cannot be credited for it.`,
    })
  return wanted
}
