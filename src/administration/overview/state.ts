import type { CoinReport } from '../../payments/axon/reconciliation/service.ts'
import { STALE_AFTER_MS as COIN_STALE_AFTER_MS } from '../../payments/axon/reconciliation/service.ts'
import { type ReconciliationReport, STALE_AFTER_MS } from '../../payments/watcher/reconciliation/service.ts'
import type { ChainStatus } from '../../payments/watcher/status.ts'
import type { JobStanding, ProviderStanding } from './running-server.ts'

/** `ok`: nothing to do. `warning`: look at it today. `alarm`: look at it now. `unknown`: nothing is known yet. */
export type State = 'ok' | 'warning' | 'alarm' | 'unknown'

const MINUTE_MS = 60_000
const DAY_SECONDS = 86_400

/** The worst of several; what is not known yet does not hide what is. */
export function worst(states: readonly State[]): State {
  for (const state of ['alarm', 'warning', 'ok'] as const) if (states.includes(state)) return state
  return 'unknown'
}

/** A comparison that is old proves nothing about now: it is an alarm even if it found no difference. */
export function treasuryState({ at, drift }: ReconciliationReport, now: Date): State {
  if (at === undefined) return 'unknown'
  return drift !== 0n || isOlder(at, STALE_AFTER_MS, now) ? 'alarm' : 'ok'
}

/** The coin's report judges itself, its age included. */
export const coinState = ({ ok }: CoinReport): State => (ok ? 'ok' : 'alarm')

/** Whether the coin's comparison is too old to say anything. */
export const isCoinStale = ({ at }: CoinReport, now: Date): boolean => isOlder(at, COIN_STALE_AFTER_MS, now)

const BEHIND_WARNING = 100n
const READ_WITHIN_MS = 5 * MINUTE_MS

/** A chain that is not read gives nobody Credits. */
export function chainState({ healthy, stopped, behind, lastReadAt }: ChainStatus, now: Date): State {
  if (stopped || !healthy) return lastReadAt === undefined && !stopped ? 'unknown' : 'alarm'
  if (lastReadAt === undefined || isOlder(lastReadAt, READ_WITHIN_MS, now)) return 'alarm'
  return behind > BEHIND_WARNING ? 'warning' : 'ok'
}

const FAILURES_ALARM = 5

/** One failed attempt may be a client's fault; several in a row are the provider's. */
export function providerState({ attempts, failuresInARow }: ProviderStanding): State {
  if (attempts === 0) return 'unknown'
  if (failuresInARow === 0) return 'ok'
  return failuresInARow >= FAILURES_ALARM ? 'alarm' : 'warning'
}

/** A job may miss a round or two. */
export function jobState({ endedAt, everyMs, failed }: JobStanding, startedAt: Date, now: Date): State {
  if (isOlder(endedAt ?? startedAt, 3 * everyMs + MINUTE_MS, now)) return 'alarm'
  if (endedAt === undefined) return 'unknown'
  return failed ? 'warning' : 'ok'
}

/** What waits for an operator is to be decided within a day. */
export function queueState(count: number, oldestSeconds: number): State {
  if (count === 0) return 'ok'
  return oldestSeconds > DAY_SECONDS ? 'alarm' : 'warning'
}

/** Work that nobody takes up. */
export function lagState(seconds: number, limits: { readonly warning: number; readonly alarm: number }): State {
  if (seconds > limits.alarm) return 'alarm'
  return seconds > limits.warning ? 'warning' : 'ok'
}

const AUDITED_WITHIN_MS = 15 * MINUTE_MS

/** Findings are an alarm, and so is a ledger that nobody audits. */
export function auditState(findings: number | undefined, auditedUntil: Date, startedAt: Date, now: Date): State {
  if ((findings ?? 0) > 0) return 'alarm'
  const since = auditedUntil > startedAt ? auditedUntil : startedAt
  if (isOlder(since, AUDITED_WITHIN_MS, now)) return 'alarm'
  return findings === undefined && isOlder(auditedUntil, AUDITED_WITHIN_MS, now) ? 'unknown' : 'ok'
}

const isOlder = (at: Date, thanMs: number, now: Date): boolean => now.getTime() - at.getTime() > thanMs
