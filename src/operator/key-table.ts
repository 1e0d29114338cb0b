import type { ListedKey } from '../identity/keys/store.ts'
import { inCredits } from '../kernel/money.ts'
import { table, time } from '../terminal/output.ts'

/** Keys as people read them. A key is known by its beginning and end; the rest is nowhere. */
export function keyTable(keys: readonly ListedKey[]): string {
  const rows = keys.map((key) => [
    String(key.id),
    shortKey(key),
    key.name,
    key.status,
    time(key.created_at),
    key.last_used_at === null ? 'never' : time(key.last_used_at),
    key.expires_at === null ? 'never' : time(key.expires_at),
    budgetText(key) ?? 'none',
  ])
  return table(['ID', 'KEY', 'NAME', 'STATUS', 'CREATED', 'LAST USED', 'EXPIRES', 'BUDGET IN CREDITS'], rows)
}

/** What may be shown of a key. */
export const shortKey = (key: Pick<ListedKey, 'prefix' | 'last4'>): string => `${key.prefix}…${key.last4}`

/** The limits of a key's budget; undefined when it has none. */
export function budgetText(key: ListedKey): string | undefined {
  const limits = [
    ['per call', key.per_call_micro],
    ['daily', key.daily_micro],
    ['monthly', key.monthly_micro],
    ['total', key.total_micro],
  ] as const
  const set = limits.flatMap(([name, micro]) => (micro === null ? [] : [`${inCredits(micro)} ${name}`]))
  return set.length === 0 ? undefined : set.join(', ')
}
