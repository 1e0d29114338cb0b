import type { Database } from '../../db/database.ts'
import type { Clock } from '../../kernel/clock.ts'
import { type RunningProcess, running } from '../../ledger/processes.ts'
import type { CoinReport } from '../../payments/axon/reconciliation/service.ts'
import type { ReconciliationReport } from '../../payments/watcher/reconciliation/service.ts'
import type { ChainStatus } from '../../payments/watcher/status.ts'
import { backlog } from '../../webhooks/sending/outbox/store.ts'
import { type ModelMargin, marginsOf, periodBounds } from './margin.ts'
import type { ActiveConfiguration, JobStanding, ProviderStanding, RunningServer } from './running-server.ts'
import type { State } from './state.ts'
import * as rules from './state.ts'
import * as store from './store.ts'

/** What the overview is made from. */
export interface OverviewDeps {
  readonly db: Database
  readonly clock: Clock
  readonly server: RunningServer
  /** Trouble that the answer only tells as a part that is missing. */
  readonly onTrouble: (message: string, error: unknown) => void
}

/** Something with how it stands. */
export type Judged<T> = T & { readonly state: State }

/** Everything that an operator looks at first. A part that could not be read is undefined; the others are there. */
export interface Overview {
  readonly now: Date
  readonly server: Judged<{ readonly running: readonly RunningProcess[]; readonly configuration: ActiveConfiguration }>
  readonly treasury: ReadonlyArray<Judged<ReconciliationReport>> | undefined
  readonly coin: Judged<CoinReport & { readonly stale: boolean }> | undefined
  readonly margin: MarginPart | undefined
  readonly providers: ReadonlyArray<Judged<ProviderStanding>>
  readonly chains: ReadonlyArray<Judged<ChainStatus & { readonly isRead: boolean }>> | undefined
  readonly x402: Judged<{ readonly detail: string }> | undefined
  readonly native: Judged<{ readonly detail: string; readonly readAt: Date | undefined }> | undefined
  readonly jobs: ReadonlyArray<Judged<JobStanding>>
  readonly holds: ReadonlyArray<Judged<store.WaitingHolds>> | undefined
  readonly reviews: Judged<store.WaitingReviews> | undefined
  readonly tasks: Judged<store.OpenTasks> | undefined
  readonly webhooks: Judged<store.FailingWebhooks & Awaited<ReturnType<typeof backlog>>> | undefined
  readonly audit: Judged<{ readonly findings: number | undefined; readonly auditedUntil: Date }> | undefined
}

/** Margins over whole hours. */
export interface MarginPart {
  readonly from: Date
  readonly to: Date
  readonly models: readonly ModelMargin[]
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** Nobody's calls wait for a sum over everybody's. */
const MARGIN_WITHIN_MS = 4_000
const TASK_LAG = { warning: 60, alarm: 600 }
const WEBHOOK_LAG = { warning: 60, alarm: 3600 }

/** Looks at everything, one question after the other: an operator's page takes no connection from callers. */
export async function overview(deps: OverviewDeps, days: number): Promise<Overview> {
  const { db, clock, server } = deps
  const now = clock.now()
  const part = <T>(what: string, read: () => Promise<T>): Promise<T | undefined> =>
    read().catch((error: unknown) => {
      deps.onTrouble(`the overview lacks ${what}`, error)
      return undefined
    })
  const progress = await part('how far sums and audits are', () => store.progress(db))
  return {
    now,
    server: await serverPart(deps),
    treasury: await part('the treasury', async () =>
      (await server.assets()).map((report) => ({ ...report, state: rules.treasuryState(report, now) })),
    ),
    coin: await part('the coin', async () => judgedCoin(await server.coin(), now)),
    margin: progress && (await part('the margins', () => marginPart(deps, progress.rolledUntil, days))),
    providers: server.providers().map((provider) => ({ ...provider, state: rules.providerState(provider) })),
    chains: await part('the chains', () => chainsPart(deps, now)),
    x402: await part('x402', async () => {
      const status = await server.x402()
      return status && { detail: status.detail, state: status.ok ? ('ok' as const) : ('alarm' as const) }
    }),
    native: nativePart(server),
    jobs: server.jobs().map((job) => ({ ...job, state: rules.jobState(job, server.startedAt, now) })),
    holds: await part('the holds', async () =>
      (await store.waitingHolds(db)).map((waiting) => ({ ...waiting, state: holdsState(waiting, now) })),
    ),
    reviews: await part('the reviews', async () => {
      const waiting = await store.waitingReviews(db)
      const count = waiting.orders + waiting.transfers + waiting.native + waiting.x402
      return { ...waiting, state: rules.queueState(count, secondsSince(waiting.oldest, now)) }
    }),
    tasks: await part('the tasks', async () => {
      const open = await store.openTasks(db)
      return { ...open, state: rules.lagState(secondsSince(open.overdue_since, now), TASK_LAG) }
    }),
    webhooks: await part('the webhooks', () => webhooksPart(deps, now)),
    audit: progress && auditPart(server, progress.auditedUntil, now),
  }
}

async function serverPart({ db, server }: OverviewDeps): Promise<Overview['server']> {
  const configuration = server.configuration()
  const failing = server.ledgerFailing() || configuration.refused !== undefined || configuration.drifted.length > 0
  return { running: await running(db), configuration, state: failing ? 'alarm' : 'ok' }
}

const judgedCoin = (report: CoinReport | undefined, now: Date): Overview['coin'] =>
  report && { ...report, state: rules.coinState(report), stale: rules.isCoinStale(report, now) }

async function marginPart({ db, server }: OverviewDeps, rolledUntil: Date, days: number): Promise<MarginPart> {
  const to = rolledUntil
  const from = new Date(Math.floor((to.getTime() - days * DAY_MS) / HOUR_MS) * HOUR_MS)
  const { models } = server.configuration()
  const bounds = periodBounds(models, from, to)
  const used = await store.usedByModel(db, { bounds, to, withinMs: MARGIN_WITHIN_MS })
  return { from, to, models: marginsOf(used, models, bounds, to) }
}

async function chainsPart({ db, server }: OverviewDeps, now: Date): Promise<NonNullable<Overview['chains']>> {
  const until = await store.readUntil(db)
  return server.chains().map((chain) => ({
    ...chain,
    isRead: (until.get(chain.chainId) ?? now) > now,
    state: rules.chainState(chain, now),
  }))
}

function nativePart(server: RunningServer): Overview['native'] {
  const status = server.axon()
  if (!status) return undefined
  const { usable, trouble, lastReadAt } = status
  return { detail: trouble ?? 'quotes are made', readAt: lastReadAt, state: usable ? 'ok' : 'alarm' }
}

/** A shortfall waits for its payers: an operator is to know of it, and cannot end it. */
const holdsState = ({ flag, holds, oldest }: store.WaitingHolds, now: Date): State =>
  flag === 'usage_unknown' ? rules.queueState(holds, secondsSince(oldest, now)) : 'ok'

async function webhooksPart({ db }: OverviewDeps, now: Date): Promise<NonNullable<Overview['webhooks']>> {
  const [waiting, receivers] = [await backlog(db, now), await store.failingWebhooks(db)]
  const lag = rules.lagState(secondsSince(waiting.dueSince, now), WEBHOOK_LAG)
  const failing: State = receivers.failing > 0 ? 'warning' : 'ok'
  return { ...waiting, ...receivers, state: rules.worst([lag, failing]) }
}

function auditPart(server: RunningServer, auditedUntil: Date, now: Date): NonNullable<Overview['audit']> {
  const findings = server.audit()?.findings
  return { findings, auditedUntil, state: rules.auditState(findings, auditedUntil, server.startedAt, now) }
}

/** 0 where nothing waits. */
const secondsSince = (at: Date | null, now: Date): number =>
  at === null ? 0 : Math.max(0, (now.getTime() - at.getTime()) / 1000)
