import type { Database } from '../../../db/database.ts'
import type { Decided, Decision, ReviewDeps } from '../../../payments/orders/review/decision.ts'

/** What sort of payment waits: an order, a transfer without one, one with the chain's own coin, one by x402. */
export type Kind = 'order' | 'transfer' | 'native' | 'x402'

/** An amount as people read it, such as `12.5 USDC`. */
export interface Amount {
  readonly amount: string
  readonly symbol: string
}

/** A payment that waits, as a list shows it. */
export interface Waiting {
  /** What names it at the terminal and here: see names.ts. */
  readonly id: string
  readonly kind: Kind
  /** The slug of why; reasons.ts has the words. */
  readonly reason: string
  readonly openedAt: Date
  /** Whom it would credit; undefined for a transfer that nobody asked for. */
  readonly accountId: bigint | undefined
  readonly chainId: bigint
  readonly expected: Amount | undefined
  readonly received: Amount | undefined
}

/** What was asked for. */
export interface Expected extends Amount {
  readonly from: string | undefined
  readonly to: string
  readonly creditMicro: bigint
  readonly madeAt: Date
  readonly expiresAt: Date | undefined
}

/** What the chain shows, as the watcher wrote it down. */
export interface Shown extends Amount {
  readonly from: string
  readonly to: string
  readonly txHash: string
  readonly block: bigint
  readonly blockAt: Date
  readonly note: string | undefined
}

/** A decision that waits for its second operator. */
export interface Proposal {
  readonly action: string
  readonly creditMicro: bigint
  readonly by: string
  readonly at: Date
  readonly reason: string
}

/** Something that happened to a payment. */
export interface Happened {
  readonly at: Date
  readonly event: string
  readonly status: string
  readonly by: string | undefined
}

/** A payment with everything to decide by. */
export interface Review extends Omit<Waiting, 'expected' | 'received'> {
  readonly status: string
  /** False once it was decided, or ended by itself. */
  readonly waits: boolean
  readonly expected: Expected | undefined
  readonly shown: Shown | undefined
  readonly txHash: string | undefined
  /** What arrived is worth, where that can be said. */
  readonly worthMicro: bigint | undefined
  /** True where Credits were given before their block was lost; `heldMicro` of them are still there. */
  readonly granted: boolean
  readonly heldMicro: bigint | undefined
  readonly proposal: Proposal | undefined
  readonly events: readonly Happened[]
  /** What an operator may do with a payment of this kind in this state. */
  readonly actions: ReadonlyArray<Decision['action']>
}

/** How a kind of payment is read and decided. */
export interface ReviewKind {
  /** Payments that wait, longest first. */
  waiting(db: Database, limit: number): Promise<Waiting[]>
  /** The payment, whether it waits or not. */
  read(db: Database, name: string, coin: CoinNames | undefined): Promise<Review | undefined>
  decide(deps: ReviewDeps, name: string, decision: Decision): Promise<Decided>
}

/** What the native coin is called. */
export interface CoinNames {
  readonly symbol: string
  readonly networkName: string
  readonly explorerUrl: string
}

/** History that is shown of one payment. */
export const EVENTS_SHOWN_MAX = 100
