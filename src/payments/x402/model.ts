import type { Selectable } from 'kysely'
import type { AcceptedAsset } from '../../chains/assets.ts'
import type { Authorization, SigningDomain } from '../../chains/authorizations/authorization.ts'
import type { AuthorizationNode } from '../../chains/authorizations/node.ts'
import type { Database, Tx } from '../../db/database.ts'
import type { DB } from '../../db/schema.ts'
import type { Caller } from '../../kernel/caller.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { ContextTokens } from '../orders/context-port.ts'
import type { Proof } from './codec.ts'

/** A payment as the database keeps it. */
export type Payment = Selectable<DB['x402_payments']>

/** How top-ups are taken: settings and the chain they are taken on. */
export interface TopUpSettings {
  readonly asset: AcceptedAsset
  /** Lower case. */
  readonly payTo: string
  readonly minAmountMicro: bigint
  readonly maxAmountMicro: bigint
  /** Blocks that a small payment waits for. */
  readonly confirmations: number
  readonly paymentsPerMinutePerPayer: number
  /** At least one; all must agree. */
  readonly nodes: readonly AuthorizationNode[]
}

/** Longest that an offer may take from signature to block, in seconds; clients sign `validBefore` by it. */
export const MAX_TIMEOUT_SECONDS = 300

/** What the payer of a row signed. */
export function authorizationOf(payment: Payment): Authorization {
  return {
    payer: payment.payer,
    recipient: payment.recipient_address,
    value: payment.amount_micro,
    validAfter: payment.valid_after,
    validBefore: payment.valid_before,
    nonce: payment.nonce,
  }
}

/** The domains under which signatures are taken: the token's own, and on a development chain the one that version 1 knows. */
export function signingDomains({ asset }: Pick<TopUpSettings, 'asset'>): SigningDomain[] {
  const own = { ...asset.signingDomain, chainId: asset.chainId, token: asset.tokenAddress }
  const alias = asset.x402V1?.chainId
  return alias === undefined || alias === asset.chainId ? [own] : [own, { ...own, chainId: alias }]
}

/** Why a proof cannot be settled, though nothing is wrong on our side: answered 402, and no money moves by it. */
export type RejectionReason =
  | 'invalid_signature'
  | 'unsupported_wallet'
  | 'unsupported_scheme'
  | 'wrong_network'
  | 'wrong_asset'
  | 'wrong_recipient'
  | 'amount_mismatch'
  | 'expired'
  | 'not_yet_valid'
  | 'valid_for_too_long'
  | 'insufficient_funds'
  | 'authorization_used'
  | 'authorization_canceled'
  | 'settlement_refused'

/** A proof that no money can move by. */
export class PaymentRejected extends Error {
  override name = 'PaymentRejected'
  readonly reason: RejectionReason
  constructor(reason: RejectionReason, message: string) {
    super(message)
    this.reason = reason
  }
}

/** Nothing was sent, and this is certain: the same proof may be tried again. */
export class NotSent extends Error {
  override name = 'NotSent'
}

/** Brings authorizations to the chain. What became of them is never its to say. */
export interface Settler<Prepared> {
  readonly kind: 'relayer' | 'facilitator'
  /** Sees whether the authorization could be sent now. Writes nothing. Throws PaymentRejected or NotSent. */
  prepare(authorization: Authorization, signature: string): Promise<Prepared>
  /** Stores what `push` needs, in the transaction that stores the payment. */
  store(tx: Tx, payment: Payment, prepared: Prepared): Promise<void>
  /** Sends the payment, again if need be. False: somebody else is at it. Throws NotSent only when no transaction of it can exist. */
  push(payment: Payment): Promise<boolean>
}

/** What taking top-ups needs. */
export interface TopUpDeps {
  readonly db: Database
  readonly clock: Clock
  readonly settings: TopUpSettings
  readonly settler: Settler<unknown>
  readonly contextTokens: Pick<ContextTokens, 'verify'>
  /** How long a request waits for its payment to be settled. */
  readonly waitMs: number
  /** Looks at the chain for open payments at once. */
  readonly wake: () => void
}

/** A request that carries a proof. */
export interface TopUpRequest {
  readonly proof: Proof
  readonly amountMicro: bigint
  /** Whose credential came along, if one did. */
  readonly caller: Caller | undefined
  readonly contextToken: string | undefined
  readonly requestId: string
}
