import type { Command } from 'commander'
import { type Microcredits, toJsonInteger } from '../kernel/money.ts'
import { parseCredits } from '../terminal/options.ts'

/** Limits as they were typed; what is undefined is not limited. */
export interface BudgetOptions {
  readonly perCall?: Microcredits
  readonly daily?: Microcredits
  readonly monthly?: Microcredits
  readonly total?: Microcredits
}

/** The four limits of a budget, in Credits. */
export const withBudget = (command: Command): Command =>
  command
    .option('--per-call <credits>', 'the most that one call may hold', parseCredits)
    .option('--daily <credits>', 'the most of a UTC day', parseCredits)
    .option('--monthly <credits>', 'the most of a UTC month', parseCredits)
    .option('--total <credits>', 'the most ever', parseCredits)

/** The budget as the API takes it; undefined when no limit was given. */
export function budgetFrom({ perCall, daily, monthly, total }: BudgetOptions) {
  const limits = { per_call_micro: perCall, daily_micro: daily, monthly_micro: monthly, total_micro: total }
  const given = Object.entries(limits).filter((entry): entry is [string, Microcredits] => entry[1] !== undefined)
  return given.length === 0 ? undefined : Object.fromEntries(given.map(([name, micro]) => [name, toJsonInteger(micro)]))
}
