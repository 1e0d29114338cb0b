import { expect, test } from 'vitest'
import type { ReconciliationReport } from '../../payments/watcher/reconciliation/service.ts'
import { unread } from '../../payments/watcher/status.ts'
import type { ProviderStanding } from './running-server.ts'
import { auditState, chainState, jobState, lagState, providerState, queueState, treasuryState, worst } from './state.ts'

const NOW = new Date('2026-11-21T12:00:00Z')
const ago = (minutes: number): Date => new Date(NOW.getTime() - minutes * 60_000)

test.each([
  ['equal and fresh', 1, 0n, 'ok'],
  ['equal, and 16 minutes old', 16, 0n, 'alarm'],
  ['a drift', 1, 5n, 'alarm'],
  ['not compared yet', undefined, 0n, 'unknown'],
] as const)('a comparison of the treasury that is %s is %s', (_what, minutes, drift, state) => {
  const report = { drift, at: minutes === undefined ? undefined : ago(minutes) } as ReconciliationReport
  expect(treasuryState(report, NOW)).toBe(state)
})

test.each([
  ['read a moment ago', {}, 'ok'],
  ['far behind', { behind: 101n }, 'warning'],
  ['in trouble', { healthy: false }, 'alarm'],
  ['healthy by its last word, which is old', { lastReadAt: ago(6) }, 'alarm'],
  ['stopped until it is rewound', { stopped: true }, 'alarm'],
  ['not read yet', { healthy: false, lastReadAt: undefined }, 'unknown'],
] as const)('a chain that is %s is %s', (_what, change, state) => {
  const chain = { ...unread(1n), healthy: true, lastReadAt: ago(0), ...change }
  expect(chainState(chain, NOW)).toBe(state)
})

test.each([
  [0, 0, 'unknown'],
  [9, 0, 'ok'],
  [9, 1, 'warning'],
  [9, 5, 'alarm'],
])('a provider with %d attempts, the last %d of them failures, is %s', (attempts, failuresInARow, state) => {
  expect(providerState({ attempts, failuresInARow } as ProviderStanding)).toBe(state)
})

test.each([
  ['ran a minute ago', ago(1), false, 'ok'],
  ['failed a minute ago', ago(1), true, 'warning'],
  ['last ran five minutes ago', ago(5), false, 'alarm'],
] as const)('a job of every minute that %s is %s', (_what, endedAt, failed, state) => {
  expect(jobState({ name: 'a job', everyMs: 60_000, endedAt, failed }, ago(60), NOW)).toBe(state)
})

test('a job that has not run yet is unknown at first, and an alarm when it does not begin', () => {
  const job = { name: 'a job', everyMs: 60_000, endedAt: undefined, failed: false }
  expect(jobState(job, ago(1), NOW)).toBe('unknown')
  expect(jobState(job, ago(60), NOW)).toBe('alarm')
})

test('what waits is for today, and after a day for now', () => {
  expect([queueState(0, 0), queueState(1, 60), queueState(1, 86_401)]).toEqual(['ok', 'warning', 'alarm'])
  const limits = { warning: 60, alarm: 600 }
  expect([lagState(60, limits), lagState(61, limits), lagState(601, limits)]).toEqual(['ok', 'warning', 'alarm'])
})

test('an audit with findings is an alarm, and so is a ledger that nobody audits', () => {
  const started = ago(60)
  expect(auditState(0, ago(1), started, NOW)).toBe('ok')
  expect(auditState(undefined, ago(1), started, NOW)).toBe('ok')
  expect(auditState(1, ago(1), started, NOW)).toBe('alarm')
  expect(auditState(0, ago(16), started, NOW)).toBe('alarm')
  expect(auditState(undefined, ago(16), ago(1), NOW)).toBe('unknown')
})

test('of several the worst counts, and what is unknown hides nothing', () => {
  expect(worst(['ok', 'unknown'])).toBe('ok')
  expect(worst(['ok', 'warning', 'unknown'])).toBe('warning')
  expect(worst(['warning', 'alarm'])).toBe('alarm')
  expect(worst([])).toBe('unknown')
})
