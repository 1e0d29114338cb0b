import type { NativePayment } from '../../chains/native-payment.ts'
import { creditFor } from './amounts.ts'
import { CLOCK_SKEW_MS } from './settings.ts'

/** Why a claim failed. `arrives`: its value came to us all the same, so that an operator can look into it. */
export type RefusalReason = 'wrong_recipient' | 'wrong_payer' | 'amount_below_minimum' | 'tx_failed'

/** Why an operator has to look at a payment. */
export type ReviewReason = 'unquoted' | 'stale_quote' | 'not_plain' | 'old_recipient' | 'amount_above_maximum'

/** A quote that a payment can mean. */
export interface OpenQuote {
  readonly id: bigint
  readonly creditMicro: bigint
  readonly createdAt: Date
  readonly expiresAt: Date
}

/** Everything that a payment is judged by. Rates have 18 places. */
export interface Circumstances {
  readonly payToAddress: string
  readonly retiredAddresses: readonly string[]
  /** The verified wallets of the account that claims it. */
  readonly wallets: readonly string[]
  /** True when the payer is a wallet of another account: the payment is that account's to claim. */
  readonly payerIsAnothers: boolean
  /** The account's quote of this very amount and recipient. */
  readonly quote: OpenQuote | undefined
  /** The rate when the block was made, if one was sampled then, and the newest one. */
  readonly rateThen: bigint | undefined
  readonly rateNow: bigint | undefined
  readonly minTopupMicro: bigint
  readonly maxTopupMicro: bigint
  readonly unquoted: 'review' | 'spot'
}

/** What follows from a payment that is in the chain. Credits and reviews wait until it is deep enough for its worth. */
export type Judgement =
  | { readonly kind: 'refuse'; readonly reason: RefusalReason; readonly arrives: boolean }
  | { readonly kind: 'fail' }
  | { readonly kind: 'credit'; readonly creditMicro: bigint; readonly quoteId: bigint | undefined }
  | { readonly kind: 'review'; readonly reason: ReviewReason; readonly worthMicro: bigint | undefined }

/** Judges a payment in the chain. Pure: every case of it is a row of its test. */
export function judge(payment: NativePayment, around: Circumstances): Judgement {
  const { payToAddress, retiredAddresses, rateThen, rateNow } = around
  const { recipient, value } = payment
  const isRetired = recipient !== undefined && retiredAddresses.includes(recipient)
  if (recipient === undefined || (recipient !== payToAddress && !isRetired && !around.quote))
    return { kind: 'refuse', reason: 'wrong_recipient', arrives: false }
  if (!payment.succeeded) return { kind: 'fail' }
  if (value === 0n) return { kind: 'refuse', reason: 'amount_below_minimum', arrives: false }
  if (!around.wallets.includes(payment.payer))
    return { kind: 'refuse', reason: 'wrong_payer', arrives: !around.payerIsAnothers }

  const rate = rateThen ?? rateNow
  const worthMicro = rate === undefined ? undefined : creditFor(value, rate)
  const review = (reason: ReviewReason): Judgement => ({ kind: 'review', reason, worthMicro })
  if (payment.objection !== undefined) return review('not_plain')
  const quoted = around.quote && byQuote(payment, around.quote, rateThen)
  if (quoted) return quoted === 'stale' ? review('stale_quote') : quoted
  if (isRetired) return review('old_recipient')
  if (worthMicro !== undefined && worthMicro < around.minTopupMicro)
    return { kind: 'refuse', reason: 'amount_below_minimum', arrives: true }
  if (around.unquoted === 'review' || rateThen === undefined || worthMicro === undefined) return review('unquoted')
  if (worthMicro > around.maxTopupMicro) return review('amount_above_maximum')
  return { kind: 'credit', creditMicro: worthMicro, quoteId: undefined }
}

/**
 * What a quote gives for its exact amount: all of it in time, and afterwards the lower of it and the rate of the block,
 * so that a quote is no option on the rate. A block from before the quote was not paid for it.
 */
function byQuote(
  { value, blockAt }: NativePayment,
  quote: OpenQuote,
  rateThen: bigint | undefined,
): Judgement | 'stale' | undefined {
  const at = blockAt.getTime()
  if (at < quote.createdAt.getTime() - CLOCK_SKEW_MS) return undefined
  if (at <= quote.expiresAt.getTime() + CLOCK_SKEW_MS)
    return { kind: 'credit', creditMicro: quote.creditMicro, quoteId: quote.id }
  if (rateThen === undefined) return 'stale'
  const spot = creditFor(value, rateThen)
  const creditMicro = spot < quote.creditMicro ? spot : quote.creditMicro
  return creditMicro > 0n ? { kind: 'credit', creditMicro, quoteId: quote.id } : 'stale'
}
