import type { Caller } from '../../kernel/caller.ts'
import { Fault } from '../../kernel/errors.ts'
import { inCredits, type Microcredits } from '../../kernel/money.ts'
import type { Ledger, Refused } from '../../ledger/ledger.ts'
import type { Outcome } from '../../ledger/operations.ts'

/** What a call wants to be held before its work begins. */
export interface CallRequest {
  readonly caller: Caller
  readonly requestId: string
  /** What is bought, for statements: `chat` and the model's id. */
  readonly category: string
  readonly subject: string
  readonly wantedMicro: Microcredits
  /** The least that still makes sense; equal to `wantedMicro` when nothing may be clamped. */
  readonly minimumMicro: Microcredits
  /** Price snapshot and bounds, kept with the call. Never prompts. */
  readonly detail: unknown
  /** True for work that outlives its process: `heldCall` ends it, in whichever process the work ends. */
  readonly detached?: boolean
}

/** How the money of a call stands once its end is durable. */
export interface Settled {
  /** `shortfall`: it cost more than was held and waits for its payers. `usage_unknown`: held until resolved. */
  readonly state: 'settled' | 'released' | 'shortfall' | 'usage_unknown'
  readonly chargedMicro: Microcredits | undefined
  readonly availableMicro: Microcredits
}

/** The ends of a call whose money is held. Exactly one must be called, once the work's end is known. */
export interface HeldCall {
  /** The work was done and its cost is known. */
  capture(end: { actualMicro: Microcredits; outcome: Outcome; usage: unknown }): Promise<Settled>
  /** The work was not done and costs nothing. */
  release(): Promise<Settled>
  /** The work was begun and its cost cannot be known. `evidence` is kept for whoever looks it up: ids, never content. */
  unknown(reason: string, evidence?: Readonly<Record<string, string | undefined>>): Promise<Settled>
}

/** A call whose money was just held. */
export interface OpenCall extends HeldCall {
  readonly callId: bigint
  readonly reserveMicro: Microcredits
  readonly availableMicro: Microcredits
}

/** What the 402 answers of billed endpoints say about paying, by how many microcredits are missing. */
export type PaymentHint = (shortfallMicro: bigint) => Readonly<Record<string, unknown>>

/** What billed calls need from outside. */
export interface CallsDeps {
  readonly ledger: Ledger
  readonly paymentHint: PaymentHint
}

/**
 * Holds the money of a call, durably, before its work is begun.
 * Refuses with `insufficient_credits` or `budget_exceeded` (402, with numbers), `unauthorized`,
 * `account_banned`, `account_deactivated`, `overloaded`, `unavailable`, `shutting_down`.
 */
export async function openCall({ ledger, paymentHint }: CallsDeps, request: CallRequest): Promise<OpenCall> {
  return openCallAs({ ledger, paymentHint }, await ledger.nextHoldId(), request)
}

/** As openCall, with an id taken from the ledger before, so that what names the call can be written before it is held. */
export async function openCallAs(
  { ledger, paymentHint }: CallsDeps,
  callId: bigint,
  request: CallRequest,
): Promise<OpenCall> {
  const held = await ledger.reserve({
    holdId: callId,
    requestId: request.requestId,
    actorAccountId: request.caller.accountId,
    credential: request.caller.credential,
    wantedMicro: request.wantedMicro,
    minimumMicro: request.minimumMicro,
    category: request.category,
    subject: request.subject,
    detail: request.detail,
    detached: request.detached === true,
  })
  if (held.kind !== 'reserved') throw refusal(held, request.minimumMicro, paymentHint)

  return {
    callId,
    reserveMicro: held.reserveMicro,
    availableMicro: held.availableMicro,
    ...heldCall(ledger, callId),
  }
}

/**
 * The ends of a call that was held before, here or in another process. Each end is safe to repeat: what already
 * ended stays as it ended, and `chargedMicro` is then undefined.
 */
export function heldCall(ledger: Ledger, callId: bigint): HeldCall {
  return {
    async capture({ actualMicro, outcome, usage }) {
      const { kind, availableMicro } = await ledger.end({
        operation: 'capture',
        holdId: callId,
        actualMicro,
        outcome,
        usage,
      })
      if (kind === 'shortfall' || kind === 'usage_unknown')
        return { state: kind, chargedMicro: undefined, availableMicro }
      return { state: 'settled', chargedMicro: kind === 'captured' ? actualMicro : undefined, availableMicro }
    },
    async release() {
      const { availableMicro } = await ledger.end({ operation: 'void', holdId: callId, outcome: 'failed' })
      return { state: 'released', chargedMicro: 0n as Microcredits, availableMicro }
    },
    async unknown(reason, evidence) {
      const { availableMicro } = await ledger.end({ operation: 'unknown', holdId: callId, reason, evidence })
      return { state: 'usage_unknown', chargedMicro: undefined, availableMicro }
    },
  }
}

function refusal(held: Refused, requiredMicro: Microcredits, paymentHint: PaymentHint): Fault {
  if (held.kind === 'unauthorized' || held.kind === 'account_banned' || held.kind === 'account_deactivated')
    return new Fault(held.kind)
  const amount = (name: string): bigint => BigInt((held.detail[name] as number | undefined) ?? 0)
  const required = inCredits(requiredMicro)
  if (held.kind === 'budget_exceeded') {
    const { budget, limit } = held.detail as { budget: string; limit: string }
    const whose = budget === 'key' ? 'this key' : 'this Agent, set by its owner,'
    const room = amount('limit_micro') - amount('spent_micro') - amount('held_micro')
    return new Fault('budget_exceeded', {
      message: `The ${limit.replace('_', '-')} budget of ${whose} is ${inCredits(amount('limit_micro'))} Credits: ${inCredits(amount('spent_micro'))} spent, ${inCredits(amount('held_micro'))} held by calls in flight. This call reserves up to ${required}. Raise the budget or ask for less.`,
      fields: {
        ...asText(held.detail),
        available_micro: String(room > 0n ? room : 0n),
        required_micro: String(requiredMicro),
      },
    })
  }
  const available = held.availableMicro
  const shortfall = requiredMicro > available ? requiredMicro - available : 0n
  const inFlight = amount('held_micro')
  return new Fault('insufficient_credits', {
    message: `This call reserves up to ${required} Credits and ${inCredits(available)} are available${inFlight > 0n ? ` (${inCredits(inFlight)} more are held by calls in flight)` : ''}. Top up, or ask for less: a smaller max_tokens holds less.`,
    fields: {
      available_micro: String(available),
      required_micro: String(requiredMicro),
      shortfall_micro: String(shortfall),
      held_micro: String(inFlight),
      ...paymentHint(shortfall),
    },
  })
}

const asText = (detail: Readonly<Record<string, unknown>>): Record<string, string> =>
  Object.fromEntries(Object.entries(detail).map(([name, value]) => [name, String(value)]))
