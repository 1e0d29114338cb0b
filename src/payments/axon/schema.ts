import { Type } from 'typebox'
import { getAddress } from 'viem/utils'
import { Closed, Integer, integer, Micro, Nullable, Time } from '../../http/fields.ts'
import { coinText, rateText, usdText } from './amounts.ts'
import type { Quote } from './quotes/store.ts'
import type { Coin } from './settings.ts'
import type { Claim } from './store.ts'

const quoteFields = {
  quote_id: Integer('The number of the quote; also the id of the order that it is'),
  quote_mode: Type.String({ description: '`credit_usd` or `pay_axon`: the field that was sent' }),
  credit_usd: Type.String({ description: 'What is credited, in dollars: 1 dollar is 1 Credit' }),
  pay_axon: Type.String({ description: 'What to pay, in whole coins, exactly' }),
  expected_axon_wei: Type.String({ description: 'What to pay, in wei, exactly: this amount names the quote' }),
  usd_per_axon_rate: Type.String({ description: 'The locked rate: dollars for one coin' }),
  min_topup_usd: Type.String(),
  credited_micro_usdc: Micro('Microcredits that an exact payment in time is credited with'),
  pay_to_address: Type.String({ description: 'Where to pay. It may be another one in the next quote' }),
  payer_wallet_address: Type.String({ description: 'The wallet of this account to pay from' }),
  chain_id: Integer(),
  network_name: Type.String(),
  rpc_url: Type.String({ description: 'A public node of the network' }),
  tx_explorer_base_url: Type.String({ description: 'Put the hash behind it; "" when there is no explorer' }),
  expires_at: Time('Until when the rate is locked, by the time of the block'),
}

/** A quote as spec 2.7 has it; `quote_id` and `expires_at` are ours. */
export const QuoteReply = Closed({ ...quoteFields, request_id: Type.String() })

/** Where an order can stand: the words of wallet orders, and `failed`. */
const OrderStatus = Type.Enum(['pending', 'confirming', 'completed', 'expired', 'review_required', 'failed'])

/** An order: a quote, and what became of it. */
export const OrderReply = Closed({
  id: Integer('The same as quote_id'),
  status: OrderStatus,
  tx_hash: Type.String({ description: 'The transaction that pays it; "" while none is known' }),
  ...quoteFields,
  created_at: Time(),
  request_id: Type.String(),
})

const claimFields = {
  status: Type.Enum(['completed', 'pending', 'confirming', 'review_required']),
  claim_id: Integer('The number of this payment: tell it to the operator'),
  tx_hash: Type.String(),
  quote_id: Nullable(Integer('The quote that it paid')),
  credited_micro_usdc: Nullable(Micro('Microcredits that were given for it')),
  review_reason: Nullable(Type.String({ description: 'Why an operator has to look at it' })),
  request_id: Type.String(),
}

/** What became of a hash. */
export const ClaimReply = Closed(claimFields)

/** What became of a hash that was sent for an order, and of the order. */
export const ReconcileReply = Closed({
  ...claimFields,
  order_id: Integer(),
  order_status: OrderStatus,
})

/** A quote as the API shows it. */
export function quoteView(quote: Quote, { config }: Coin) {
  const wei = BigInt(quote.expected_wei)
  return {
    quote_id: integer(quote.id),
    quote_mode: quote.mode,
    credit_usd: usdText(quote.credit_micro),
    pay_axon: coinText(wei),
    expected_axon_wei: String(wei),
    usd_per_axon_rate: rateText(BigInt(quote.rate)),
    min_topup_usd: usdText(config.minTopupMicro),
    credited_micro_usdc: integer(quote.credit_micro),
    pay_to_address: getAddress(quote.pay_to_address),
    payer_wallet_address: getAddress(quote.payer_address),
    chain_id: integer(quote.chain_id),
    network_name: config.networkName,
    rpc_url: config.publicRpcUrl,
    tx_explorer_base_url: config.explorerUrl === '' ? '' : `${config.explorerUrl}/tx/`,
    expires_at: quote.expires_at.toISOString(),
  }
}

/** An order as the API shows it, with the claim that paid it, if there is one. */
export function orderView(quote: Quote, claim: Claim | undefined, coin: Coin, now: Date) {
  return {
    id: integer(quote.id),
    status: orderStatus(quote, claim, now),
    tx_hash: claim?.tx_hash ?? '',
    ...quoteView(quote, coin),
    created_at: quote.created_at.toISOString(),
  }
}

/** Where an order stands: where its payment does, else open or over. */
export function orderStatus(quote: Quote, claim: Claim | undefined, now: Date) {
  if (claim) return claim.status === 'closed' ? ('failed' as const) : claim.status
  return quote.expires_at > now ? ('pending' as const) : ('expired' as const)
}

/** A claim as the API shows it. One that failed is a refusal and has no view. */
export function claimView(claim: Claim) {
  return {
    // a claim that failed or was closed is answered as a refusal
    status: claim.status as 'completed' | 'pending' | 'confirming' | 'review_required',
    claim_id: integer(claim.id),
    tx_hash: claim.tx_hash,
    quote_id: claim.quote_id === null ? null : integer(claim.quote_id),
    credited_micro_usdc: claim.credited_micro === null ? null : integer(claim.credited_micro),
    review_reason: claim.status === 'review_required' ? claim.reason : null,
  }
}
