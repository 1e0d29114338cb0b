import type { JobStanding } from '../administration/overview/running-server.ts'
import { pruneAnswers, settleLeftBehind } from '../billing/idempotency/service.ts'
import { closedHour, rollUpUsage } from '../billing/usage/roll-up/service.ts'
import type { Database } from '../db/database.ts'
import { prune as pruneDeviceLogins } from '../identity/devices/store.ts'
import type { Clock } from '../kernel/clock.ts'
import { auditLedger, auditRecent } from '../ledger/audit.ts'
import { expireCredits } from '../ledger/expiry.ts'
import type { Ledger } from '../ledger/ledger.ts'
import * as processes from '../ledger/processes.ts'
import { freeLeasesOf } from '../media/tasks/working/store.ts'

/** What is kept up, and where findings go. */
export interface UpkeepDeps {
  readonly db: Database
  readonly clock: Pick<Clock, 'now'>
  readonly ledger: Ledger
  readonly processId: bigint
  readonly host: string
  readonly isRunning: (pid: number) => boolean
  readonly flushUsedKeys: () => Promise<void>
  readonly deleteExpiredResults: () => Promise<number>
  readonly forgetOldContent: () => Promise<void>
  readonly onAudit: (findings: Awaited<ReturnType<typeof auditLedger>>) => void
  readonly onRecentAudit: (findings: Awaited<ReturnType<typeof auditRecent>>) => void
  readonly onTrouble: (message: string, error: unknown) => void
}

/** As many holds of a dead process are marked in one go. */
const REAP_BATCH = 500

/** How often each kind of upkeep runs. */
const everyMs = {
  beat: 5_000,
  reap: 10_000,
  usedKeys: 30_000,
  expiry: 30_000,
  usage: 60_000,
  prune: 600_000,
  results: 600_000,
  auditRecent: 60_000,
  audit: 86_400_000,
} as const
/** The first audit waits until a starting server has served its first callers. */
const FIRST_AUDIT_MS = 60_000

/** What a server does beside answering. Each kind runs at most once at a time, and a failure waits for the next round. */
export function startUpkeep(deps: UpkeepDeps): { stop(): Promise<void>; rounds(): readonly JobStanding[] } {
  const timers: NodeJS.Timeout[] = []
  const rounds = new Map<string, JobStanding>()
  const running = new Set<Promise<void>>()
  const every = (ms: number, what: string, work: () => Promise<unknown>) => {
    let busy = false
    const ended = (failed: boolean) => rounds.set(what, { name: what, everyMs: ms, endedAt: deps.clock.now(), failed })
    rounds.set(what, { name: what, everyMs: ms, endedAt: undefined, failed: false })
    const timer = setInterval(() => {
      if (busy) return
      busy = true
      const run: Promise<void> = work()
        .then(
          () => void ended(false),
          (error: unknown) => {
            ended(true)
            deps.onTrouble(`${what} failed; it is tried again`, error)
          },
        )
        .finally(() => {
          busy = false
          running.delete(run)
        })
      running.add(run)
    }, ms)
    timers.push(timer.unref())
  }
  every(everyMs.beat, 'the sign of life', () => processes.beat(deps.db, deps.processId, deps.ledger.oldestOpenHoldId))
  every(everyMs.reap, 'looking for what dead processes left behind', () => reap(deps))
  // a server that starts after a crash says at once what the crash left
  const first = reap(deps).then(
    () => undefined,
    (error: unknown) => deps.onTrouble('looking for what dead processes left behind failed; it is tried again', error),
  )
  running.add(first)
  every(everyMs.usedKeys, 'noting when keys were used', deps.flushUsedKeys)
  every(everyMs.expiry, 'sweeping expired Credits', () => expireCredits(deps.db))
  every(everyMs.usage, 'summing the usage of closed hours', async () => rollUpUsage(deps.db, await closedHour(deps.db)))
  every(everyMs.prune, 'forgetting old answers', () => pruneAnswers(deps.db))
  every(everyMs.prune, 'forgetting lapsed logins of programs', () => pruneDeviceLogins(deps.db))
  every(everyMs.results, 'deleting expired results', deps.deleteExpiredResults)
  every(everyMs.results, 'forgetting what old tasks were asked for and gave', deps.forgetOldContent)
  const audit = () => auditLedger(deps.db).then(deps.onAudit)
  // what is new is audited within minutes, and everything derived again once a day
  every(everyMs.auditRecent, 'the audit of recent movements', () => auditRecent(deps.db).then(deps.onRecentAudit))
  every(everyMs.audit, 'the ledger audit', audit)
  timers.push(
    setTimeout(
      () => void audit().catch((error: unknown) => deps.onTrouble('the ledger audit failed', error)),
      FIRST_AUDIT_MS,
    ).unref(),
  )
  return {
    rounds: () => [...rounds.values()],
    async stop() {
      for (const timer of timers) clearInterval(timer)
      await Promise.all(running)
    },
  }
}

/** Marks the open holds of processes that are gone as `usage_unknown` and answers their idempotency claims. */
export async function reap(
  deps: Pick<UpkeepDeps, 'db' | 'ledger' | 'processId' | 'host' | 'isRunning'>,
): Promise<bigint[]> {
  const marked: bigint[] = []
  for (const process of await processes.gone(deps.db, {
    self: deps.processId,
    host: deps.host,
    isRunning: deps.isRunning,
  })) {
    // first, so that what it sent and what is still on its way is refused, and not found a round later
    await processes.end(deps.db, process.id)
    const before = marked.length
    for (;;) {
      const holdIds = await processes.leftBehind(deps.db, process, REAP_BATCH)
      await Promise.all(
        holdIds.map((holdId) =>
          deps.ledger.end({
            operation: 'unknown',
            holdId,
            reason: 'the server process ended while the call was running',
          }),
        ),
      )
      marked.push(...holdIds)
      if (holdIds.length < REAP_BATCH) break
    }
    // a hold may still come to a claim that has none, and its call be made: that key is not free before no flush can come
    const { is_final: freesUnbegun } = process
    if (!process.ended || marked.length > before || freesUnbegun)
      await settleLeftBehind(deps.db, process.id, { freesUnbegun })
    await freeLeasesOf(deps.db, process.id)
    if (process.is_final) await processes.reaped(deps.db, process.id)
  }
  return marked
}
