import fc from 'fast-check'
import type { Kind, Limits, Mode } from './economy.ts'

/** The people of a run. `agent` and `strict` begin with `owner`, and may change to `rival` or to nobody. */
export const ACCOUNTS = ['owner', 'agent', 'strict', 'loner', 'rival'] as const
/** One of them. */
export type Name = (typeof ACCOUNTS)[number]
/** Keys by name, with the account and the budget of each. */
export const KEYS = {
  owner: { account: 'owner', budget: null },
  agent: { account: 'agent', budget: null },
  agentTight: { account: 'agent', budget: 1 },
  strict: { account: 'strict', budget: null },
  loner: { account: 'loner', budget: null },
  lonerTight: { account: 'loner', budget: 2 },
} as const

/** One step of a run. Holds and earlier steps are named by position, so that any part of a run is a run. */
export type Step =
  | {
      readonly step: 'grant'
      readonly account: number
      readonly kind: Kind
      readonly expires: number | null
      readonly amount: number
    }
  | { readonly step: 'grantAgain'; readonly which: number }
  | { readonly step: 'expire'; readonly which: number }
  | { readonly step: 'reserve'; readonly key: number; readonly wanted: number; readonly minimumPercent: number }
  | { readonly step: 'capture'; readonly which: number; readonly percent: number; readonly failed: boolean }
  | { readonly step: 'authorize'; readonly which: number }
  | { readonly step: 'refund'; readonly which: number; readonly other: boolean }
  | { readonly step: 'sweep'; readonly account: number }
  | { readonly step: 'void'; readonly which: number }
  | { readonly step: 'unknown'; readonly which: number }
  | { readonly step: 'replay'; readonly which: number }
  | { readonly step: 'alter'; readonly which: number; readonly by: number }
  | { readonly step: 'status'; readonly account: number; readonly status: 'active' | 'banned' | 'deactivated' }
  | { readonly step: 'link'; readonly agent: number; readonly to: number; readonly limits: Limits }
  | { readonly step: 'terms'; readonly agent: number; readonly mode: Mode; readonly paused: boolean }
  | { readonly step: 'limits'; readonly budget: number; readonly limits: Limits }
  | { readonly step: 'killKey'; readonly key: number; readonly how: 'revoke' | 'expire' }

/** The percentage that stands for a cost of exactly all that can be paid. */
export const EVERYTHING = -1

const position = fc.nat({ max: 1_000_000 })
const amount = fc.oneof(fc.integer({ min: 1, max: 50 }), fc.integer({ min: 1, max: 1_000 }))
const limit = fc.option(fc.bigInt({ min: 0n, max: 4_000n }), { freq: 3 })
const limits = fc.record({ perCall: limit, daily: limit, monthly: limit, total: limit })

/** Steps that only open and end holds: what one flush may carry. */
export const reserveStep = fc.record({
  step: fc.constant('reserve' as const),
  key: position,
  wanted: amount,
  minimumPercent: fc.oneof(
    { weight: 3, arbitrary: fc.constant(100) },
    { weight: 2, arbitrary: fc.integer({ min: 1, max: 100 }) },
  ),
})
const capture = fc.record({
  step: fc.constant('capture' as const),
  which: position,
  // of the hold; EVERYTHING is the hold and all that its actor has besides
  percent: fc.oneof(
    fc.constant(100),
    fc.constant(EVERYTHING),
    fc.constant(0),
    fc.integer({ min: 1, max: 99 }),
    fc.integer({ min: 101, max: 300 }),
  ),
  failed: fc.boolean(),
})
const endOf = <S extends string>(step: S) => fc.record({ step: fc.constant(step), which: position })
export const endStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: capture },
  { weight: 2, arbitrary: endOf('void') },
  { weight: 1, arbitrary: endOf('unknown') },
)

/** An earlier operation again, as it was or with another amount. */
export const repeatStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: endOf('replay') },
  {
    weight: 3,
    arbitrary: fc.record({ step: fc.constant('alter' as const), which: position, by: fc.integer({ min: 1, max: 5 }) }),
  },
)

const grant = fc.record({
  step: fc.constant('grant' as const),
  account: position,
  kind: fc.constantFrom<Kind>('promo', 'bonus', 'refunded', 'purchased'),
  expires: fc.option(fc.integer({ min: -1, max: 5 }), { freq: 2 }),
  amount: fc.integer({ min: 1, max: 15_000 }),
})

/** Every step, in the mix of a busy account: mostly holds and their ends. */
export const anyStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 30, arbitrary: reserveStep },
  { weight: 30, arbitrary: endStep },
  { weight: 12, arbitrary: grant },
  { weight: 2, arbitrary: endOf('grantAgain') },
  { weight: 3, arbitrary: endOf('expire') },
  { weight: 9, arbitrary: repeatStep },
  {
    weight: 2,
    arbitrary: fc.record({
      step: fc.constant('status' as const),
      account: position,
      status: fc.constantFrom('active' as const, 'active' as const, 'banned' as const, 'deactivated' as const),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      step: fc.constant('terms' as const),
      agent: position,
      mode: fc.constantFrom<Mode>('self_only', 'self_then_owner', 'self_then_owner', 'owner_only', 'owner_only'),
      paused: fc.nat({ max: 3 }).map((n) => n === 0),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ step: fc.constant('link' as const), agent: position, to: position, limits }),
  },
  { weight: 7, arbitrary: endOf('authorize') },
  {
    weight: 8,
    arbitrary: fc.record({
      step: fc.constant('refund' as const),
      which: position,
      other: fc.nat({ max: 7 }).map((n) => n === 0),
    }),
  },
  { weight: 3, arbitrary: fc.record({ step: fc.constant('sweep' as const), account: position }) },
  {
    weight: 4,
    arbitrary: fc.record({
      step: fc.constant('limits' as const),
      budget: position,
      limits,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      step: fc.constant('killKey' as const),
      key: position,
      how: fc.constantFrom('revoke' as const, 'expire' as const),
    }),
  },
)
