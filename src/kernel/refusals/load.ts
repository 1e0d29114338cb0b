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
  too_many_open_quotes: {
    status: 429,
    type: 'rate_limit_error',
    phrase: 'Too many open quotes',
    message: 'This account has 5 quotes whose rate is locked.',
    fix: 'Pay one of them, or wait until one has ended: a quote lasts 10 minutes.',
  },
  too_many_open_claims: {
    status: 429,
    type: 'rate_limit_error',
    phrase: 'Too many open claims',
    message: 'This account has 20 transaction hashes that are still looked for, or 100 that were refused today.',
    fix: 'Wait until one is found or given up. Send only hashes of your own payments.',
  },
} as const satisfies Record<string, Refusal>
