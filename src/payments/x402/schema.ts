import { type Static, Type } from 'typebox'
import { getAddress } from 'viem/utils'
import { Closed, Integer, integer, Micro, Time } from '../../http/fields.ts'
import { inCredits } from '../../kernel/money.ts'
import type { Payment } from './model.ts'

const PaymentState = Type.Enum(['unused', 'in_flight', 'settled'], {
  description:
    'Whether money moved by this authorization: `unused` no, and none can; `in_flight` it may; `settled` it did',
})
const RetryAction = Type.Enum(['none', 'poll', 'human_required', 'resign', 'retry_same_payment'], {
  description:
    '`none` done; `poll` read poll_url and do not pay again; `human_required` contact the operator and do not pay again; `resign` paying again is safe; `retry_same_payment` send the same proof again',
})
const Status = Type.Enum(['awaiting_settlement', 'pending', 'credited', 'review_required', 'failed'], {
  description: 'Only `credited` confirms the Credits. `pending` and `review_required` are no reason to pay again',
})

/** What became of a top-up (spec 2.6), and what to do next. */
export const TopUpResult = Closed({
  status: Status,
  account_id: Integer('The credited account'),
  wallet_address: Type.String({ description: 'The wallet that paid, EIP-55 checksummed' }),
  amount_added: Micro('Microcredits that were added; 0 until the status is credited'),
  message: Type.String(),
  payment_id: Integer(),
  payment_state: PaymentState,
  retry_action: RetryAction,
  poll_url: Type.String({ description: 'Where the account that is credited reads the status' }),
  network: Type.String({ description: 'CAIP-2' }),
  transaction_hash: Type.String({ description: '"" until the transaction is seen in the chain' }),
  authorization_expires_at: Time('When the authorization ends'),
  request_id: Type.String({ description: 'The request that brought the payment first: the same in every replay' }),
})

/** The status of a payment (spec 2.5), and what to do next. */
export const PaymentStatus = Closed({
  payment_id: Integer(),
  status: Status,
  amount_micro: Micro('What was authorized, in micro units of the asset'),
  network: Type.String({ description: 'CAIP-2' }),
  transaction_hash: Type.String({ description: '"" until the transaction is seen in the chain' }),
  created_at: Time(),
  credited_at: Type.String({ description: 'RFC 3339 time; "" until the Credits were given' }),
  account_id: Integer('The credited account'),
  wallet_address: Type.String({ description: 'The wallet that paid' }),
  amount_added: Micro('Microcredits that were added'),
  asset_id: Type.String(),
  payment_state: PaymentState,
  retry_action: RetryAction,
  authorization_expires_at: Time(),
  review_reason: Type.Optional(Type.String({ description: 'Why an operator has to look at it' })),
})

/** The answer 402: the terms of x402 version 1, or version 2 where version 1 has no name for the chain, in the body of a refusal. */
export const PaymentRequiredBody = Closed({
  x402Version: Type.Integer(),
  accepts: Type.Array(Type.Unknown(), { description: 'Payment requirements as x402 defines them' }),
  resource: Type.Optional(Type.Unknown()),
  error: Type.String(),
  message: Type.String(),
  type: Type.String(),
  code: Type.String(),
  reason: Type.Optional(Type.String({ description: 'Why a proof was rejected' })),
  payment_state: PaymentState,
  retry_action: RetryAction,
  payment_id: Type.Optional(Integer()),
  request_id: Type.String(),
})

const advice = {
  awaiting_settlement: { payment_state: 'in_flight', retry_action: 'poll' },
  pending: { payment_state: 'in_flight', retry_action: 'poll' },
  credited: { payment_state: 'settled', retry_action: 'none' },
  review_required: { payment_state: 'in_flight', retry_action: 'human_required' },
  failed: { payment_state: 'unused', retry_action: 'resign' },
} as const satisfies Record<Payment['status'], object>

function messageOf(payment: Payment): string {
  switch (payment.status) {
    case 'credited':
      return `${inCredits(payment.credit_micro)} Credits were added to account ${payment.account_id}.`
    case 'review_required':
      return `Payment ${payment.id} needs the operator (${payment.reason}). Do not pay again: contact the operator with this payment id.`
    case 'failed':
      if (payment.reason === 'refunded') return 'What this payment brought was sent back. No Credits were given.'
      if (payment.reason === 'dismissed') return 'The operator closed this payment without Credits.'
      return 'The authorization ended unused. No money moved by it, and none can: it is safe to pay again.'
    case 'awaiting_settlement':
    case 'pending':
      return 'The payment is on its way. Do not pay again: read poll_url, or send the same proof again.'
  }
}

/** The members of an answer that follow from the payment alone: every copy of a proof gets the same. */
export function resultView(payment: Payment): Static<typeof TopUpResult> {
  return {
    status: payment.status,
    account_id: integer(payment.account_id),
    wallet_address: getAddress(payment.payer),
    amount_added: integer(addedOf(payment)),
    message: messageOf(payment),
    payment_id: integer(payment.id),
    ...advice[payment.status],
    poll_url: `/v1/payments/x402/${payment.id}`,
    network: `eip155:${payment.chain_id}`,
    transaction_hash: payment.tx_hash ?? '',
    authorization_expires_at: expiryOf(payment),
    request_id: payment.request_id,
  }
}

/** A payment as the account that it credits reads it. */
export function statusView(payment: Payment): Static<typeof PaymentStatus> {
  return {
    payment_id: integer(payment.id),
    status: payment.status,
    amount_micro: integer(payment.amount_micro),
    network: `eip155:${payment.chain_id}`,
    transaction_hash: payment.tx_hash ?? '',
    created_at: payment.created_at.toISOString(),
    credited_at: payment.credited_at?.toISOString() ?? '',
    account_id: integer(payment.account_id),
    wallet_address: getAddress(payment.payer),
    amount_added: integer(addedOf(payment)),
    asset_id: payment.asset_id,
    ...advice[payment.status],
    authorization_expires_at: expiryOf(payment),
    ...(payment.status === 'review_required' && payment.reason !== null ? { review_reason: payment.reason } : {}),
  }
}

function addedOf(payment: Payment): bigint {
  return payment.grant_id === null ? 0n : payment.credit_micro
}

function expiryOf(payment: Payment): string {
  return new Date(Number(payment.valid_before) * 1000).toISOString()
}
