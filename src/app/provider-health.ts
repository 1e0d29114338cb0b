import type { ProviderStanding } from '../administration/overview/running-server.ts'
import type { Clock } from '../kernel/clock.ts'

/** How providers answered this process, since its start. */
export interface ProviderHealth {
  /** Notes how an attempt ended; `outcome` is the word of its kind. */
  attempted(provider: string, outcome: string): void
  /** How these providers stand, in their order. */
  standing(providers: Readonly<Record<string, { readonly kind: string }>>): ProviderStanding[]
}

/** Words for attempts that the provider took up; every other one is a failure. */
const good: ReadonlySet<string> = new Set(['answer', 'stream', 'accepted', 'succeeded'])

type Seen = Omit<ProviderStanding, 'name' | 'kind'>
const never: Seen = {
  lastAttemptAt: undefined,
  lastOutcome: undefined,
  lastGoodAt: undefined,
  failuresInARow: 0,
  attempts: 0,
}

/** Remembers the last attempts at each provider: a few words for each, whatever the traffic. */
export function createProviderHealth(clock: Pick<Clock, 'now'>): ProviderHealth {
  const seen = new Map<string, Seen>()
  return {
    attempted(provider, outcome) {
      const before = seen.get(provider) ?? never
      const at = clock.now()
      const isGood = good.has(outcome)
      seen.set(provider, {
        lastAttemptAt: at,
        lastOutcome: outcome,
        lastGoodAt: isGood ? at : before.lastGoodAt,
        failuresInARow: isGood ? 0 : before.failuresInARow + 1,
        attempts: before.attempts + 1,
      })
    },
    standing: (providers) =>
      Object.entries(providers).map(([name, { kind }]) => ({ name, kind, ...(seen.get(name) ?? never) })),
  }
}
