const MINUTE = 60
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/**
 * Every kind of signed token (decisions 2). Each has a `typ` and an `aud` of its own, and both are checked: a token
 * of one kind is never taken for another.
 */
export const tokenKinds = {
  access: { typ: 'farebox-access+jwt', audience: 'farebox:access', lifetimeSeconds: HOUR },
  refresh: { typ: 'farebox-refresh+jwt', audience: 'farebox:refresh', lifetimeSeconds: 30 * DAY },
  payment_context: {
    typ: 'farebox-payment-context+jwt',
    audience: 'farebox:payment-context',
    lifetimeSeconds: 15 * MINUTE,
  },
} as const satisfies Record<string, { typ: string; audience: string; lifetimeSeconds: number }>

/** The name of a kind of token. */
export type TokenKind = keyof typeof tokenKinds

/** For how long a retired key must still verify: no token outlives it, whichever kind it is. */
export const LONGEST_LIFETIME_SECONDS = Math.max(...Object.values(tokenKinds).map((kind) => kind.lifetimeSeconds))
