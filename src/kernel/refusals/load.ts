import type { Refusal } from './refusal.ts'

/** 429: too much at once. */
export const loadRefusals = {
  rate_limited: {
    status: 429,
    type: 'rate_limit_error',
    phrase: 'Rate limited',
    message: 'Too many requests.',
    fix: 'Wait as Retry-After says.',
  },
  too_many_open_orders: {
    status: 429,
    type: 'rate_limit_error',
    phrase: 'Too many open orders',
    message: 'This account has 20 orders that wait for payment.',
    fix: 'Pay one of them, or wait until they expire.',
  },
} as const satisfies Record<string, Refusal>
