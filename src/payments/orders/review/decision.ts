import type { Database } from '../../../db/database.ts'
import type { JsonObject } from '../../../db/schema.ts'
import { type Operator, operatorName } from '../../../identity/audit-log/service.ts'
import type { Clock } from '../../../kernel/clock.ts'
import { Fault } from '../../../kernel/errors.ts'
import { dividedRoundingDown, MICROCREDITS_PER_CREDIT } from '../../../kernel/money.ts'

/** What deciding needs, on every rail. */
export interface ReviewDeps {
  readonly db: Database
  readonly clock: Clock
  /** Decisions on a value above this, in microcredits, take two operators. */
  readonly aloneLimitMicro: bigint
}

/** What an operator may do with a payment that is in review: `refund` records a transfer that was sent back elsewhere, no key is held here. */
export type Action = 'credit' | 'refund' | 'dismiss'

/** A decision as an operator states it. */
export interface Decision {
  readonly action: Action
  readonly reason: string
  /** Who decides: two operators are two people. */
  readonly operator: Operator
  /** The request that it was decided by, where there is one. */
  readonly requestId?: string | undefined
  /** How much to credit; without it what arrived is worth at the order's own rate. */
  readonly creditMicro?: bigint
  /** Whom to credit for a transfer without an order. */
  readonly accountId?: bigint
  /** The transaction that sent the money back. */
  readonly refundTxHash?: string
}

/**
 * `proposed`: another operator has to state the same decision before `until`. `takenMicro`: Credits that were given
 * for a payment which left the chain, and that were taken back.
 */
export type Decided =
  | { readonly outcome: 'done'; readonly creditMicro: bigint; readonly takenMicro?: bigint }
  | { readonly outcome: 'proposed'; readonly creditMicro: bigint; readonly until: Date }

/** What an amount that arrived is worth, in microcredits, at a rate of micro units for one Credit. Rounded down. */
export const receivedWorth = (receivedMicro: bigint, ratePpm: bigint): bigint =>
  dividedRoundingDown(receivedMicro * MICROCREDITS_PER_CREDIT, ratePpm)

/** What is decided over, in microcredits: never more than what arrived is worth. */
export function worthOf(receivedMicro: bigint, ratePpm: bigint, { action, creditMicro }: Decision): bigint {
  const worth = receivedWorth(receivedMicro, ratePpm)
  if (action !== 'credit' || creditMicro === undefined) {
    if (action === 'credit' && worth === 0n)
      throw new Fault('amount_below_minimum', {
        message: 'What arrived buys less than one microcredit: dismiss it.',
      })
    return worth
  }
  if (creditMicro <= 0n || creditMicro > worth)
    throw new Fault('amount_above_maximum', {
      message: `What arrived is worth ${worth} microcredits; ${creditMicro} cannot be credited for it.`,
    })
  return creditMicro
}

/** What two operators must state alike. */
export function termsOf(decision: Decision, value: bigint): JsonObject {
  return {
    action: decision.action,
    credited_micro: decision.action === 'credit' ? String(value) : '0',
    refund_tx_hash: decision.refundTxHash ?? null,
  }
}

/** The operator, as events, grants and the audit log name them. */
export const actorOf = ({ operator }: Decision): string => operatorName(operator)
