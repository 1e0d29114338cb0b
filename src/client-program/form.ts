import { inCredits } from '../kernel/money.ts'

/** Credits for people, from the micro units of the API: at most six decimals, never a float. */
export const credits = (micro: number | string | bigint): string => inCredits(BigInt(micro))

/** Credits, or a dash where there is no amount yet. */
export const creditsOrDash = (micro: number | string | null | undefined): string =>
  micro === null || micro === undefined ? '-' : credits(micro)

/** A time of the API for people: `2026-01-31 12:00:00Z`; `never` for none. */
export const moment = (text: string | null | undefined): string =>
  text ? text.replace('T', ' ').replace(/(\.\d+)?(Z|\+00:00)$/, 'Z') : 'never'

/** The limits of a budget: `5 daily, 100 total`; `none` without one. */
export function budgetText(budget: BudgetLimits | null): string {
  const limits = [
    ['per call', budget?.per_call_micro],
    ['daily', budget?.daily_micro],
    ['monthly', budget?.monthly_micro],
    ['total', budget?.total_micro],
  ] as const
  const set = limits.flatMap(([name, micro]) => (typeof micro === 'number' ? [`${credits(micro)} ${name}`] : []))
  return set.length === 0 ? 'none' : set.join(', ')
}

interface BudgetLimits {
  readonly per_call_micro?: number | null
  readonly daily_micro?: number | null
  readonly monthly_micro?: number | null
  readonly total_micro?: number | null
}
