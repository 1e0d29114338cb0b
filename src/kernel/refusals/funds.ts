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
} as const satisfies Record<string, Refusal>
