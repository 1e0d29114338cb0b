/** Who pays for whom, and how much: what a payment context binds for 15 minutes (spec 2.4). */
export interface PaymentContext {
  readonly payerAccountId: bigint
  readonly recipientAccountId: bigint
  readonly amountMicro: bigint
}

/** Signs payment contexts as tokens of a kind of their own. */
export interface ContextTokens {
  /** A token that is valid for 15 minutes from `issuedAt`. */
  sign(context: PaymentContext, issuedAt: Date): Promise<string>
  /** What a token binds; `invalid` for whatever is no payment context of this service. */
  verify(token: string, now: Date): Promise<PaymentContext | 'expired' | 'invalid'>
}

/** How long a payment context is valid (spec 8). */
export const CONTEXT_LIFETIME_MS = 15 * 60_000
