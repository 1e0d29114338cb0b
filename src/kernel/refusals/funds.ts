import type { Refusal } from './refusal.ts'

/** 402: there is not enough to pay with. */
export const fundsRefusals = {
  insufficient_credits: {
    status: 402,
    type: 'payment_required_error',
    phrase: 'Insufficient credits',
    message: 'The account has too few Credits for this call.',
    fix: 'Top up, or ask for less: a smaller max_tokens holds less.',
  },
  budget_exceeded: {
    status: 402,
    type: 'payment_required_error',
    phrase: 'Budget exceeded',
    message: 'A budget refuses this call.',
    fix: 'The message names the binding budget and its numbers; its owner can raise it.',
  },
  payment_required: {
    status: 402,
    type: 'payment_required_error',
    phrase: 'Payment required',
    message:
      'Sign the payment that PAYMENT-REQUIRED (x402 version 2) or the body (version 1) describes, and send the same request with the proof.',
    fix: 'Use an x402 client; docs/x402.md shows the settings of two. Nothing was sent.',
  },
  payment_rejected: {
    status: 402,
    type: 'payment_required_error',
    phrase: 'Payment rejected',
    message: 'No money can move by this proof.',
    fix: 'The field reason says why. Nothing was taken by this proof, so it is safe to sign another payment.',
  },
} as const satisfies Record<string, Refusal>
