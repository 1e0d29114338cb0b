import type pg from 'pg'
import { type Database, openDatabase } from '../db/database.ts'
import { durabilityProblems } from '../db/durability.ts'
import { MigrationFault, pendingMigrations } from '../db/migrate.ts'
import { createRequestLimits, type RequestLimits } from '../http/limits.ts'
import { createAuthenticator } from '../identity/authenticator.ts'
import { keyAuthenticator } from '../identity/keys/service.ts'
import { sessionAuthenticator } from '../identity/sessions/service.ts'
import { openKeyring } from '../identity/tokens/keyring.ts'
import { createTokens, type Tokens } from '../identity/tokens/service.ts'
import type { Clock } from '../kernel/clock.ts'
import { microcredits } from '../kernel/money.ts'
import { type Applier, createApplier } from '../ledger/applier.ts'
import { setBalanceLow } from '../ledger/balance-low.ts'
import { heldByState } from '../ledger/held.ts'
import { createHoldIds } from '../ledger/hold-ids.ts'
import { openLane } from '../ledger/lane.ts'
import { createLedger, type Ledger } from '../ledger/ledger.ts'
import * as processes from '../ledger/processes.ts'
import { createLimiter } from '../limits/limiter.ts'
import { createGuardedFetch, type GuardedFetch } from '../net/guarded-fetch.ts'
import { contextTokens } from '../payments/context/tokens.ts'
import { sampleAxon } from './axon-metrics.ts'
import { createMetrics, type Metrics } from './metrics.ts'
import { type Offer, openOffer, type Reloaded } from './offer.ts'
import { sampleOffer } from './offer-metrics.ts'
import { samplePayments, sampleX402 } from './payment-metrics.ts'
import { openPayments, type Payments } from './payments.ts'
import { createProviderHealth, type ProviderHealth } from './provider-health.ts'
import type { Surroundings } from './server-surroundings.ts'
import { openWebhooks, type Webhooks } from './webhooks.ts'
import { openX402, type X402 } from './x402.ts'

/** What the slices stand on, opened once for each process. */
export interface Core {
  readonly around: Surroundings
  readonly db: Database
  readonly pool: pg.Pool
  readonly processId: bigint
  readonly applier: Applier
  readonly ledger: Ledger
  readonly tokens: Tokens
  readonly authenticator: ReturnType<typeof createAuthenticator>
  readonly limits: RequestLimits
  readonly payments: Payments
  readonly x402: X402
  readonly offer: Offer
  readonly providers: Offer['providers']
  readonly models: Offer['models']
  readonly mediaModels: Offer['mediaModels']
  /** Asks addresses that others chose: never a private one. */
  readonly guardedFetch: GuardedFetch
  readonly webhooks: Webhooks
  readonly metrics: Metrics
  readonly providerHealth: ProviderHealth
  readonly startedAt: Date
  /** Trouble that no request can be told of. */
  readonly onTrouble: (message: string, error: unknown) => void
  /** True from the first signal on. */
  readonly closing: () => boolean
  /** Aborted when running calls may wait no longer. */
  readonly ending: AbortController
}

/** Why a server may not start. Its message says what to do. */
class StartRefused extends Error {
  override name = 'StartRefused'
}

const DATABASE_CONNECTIONS = 10
const STATEMENT_TIMEOUT_MS = 10_000
const BATCH_MAX = 512
const LANE_ANSWER_TIMEOUT_MS = 15_000
/** Connections to one address that somebody else chose, and how long one may take to open. */
const FOREIGN_CONNECTIONS = 16
const FOREIGN_CONNECT_TIMEOUT_MS = 10_000
/** How long the end of a call waits for a database that is away before its caller is told. */
export const PATIENCE_MS = 30_000

/** Opens database, ledger and providers, and signs this process in. Refuses a database that could lose a charge. */
export async function openCore(around: Surroundings, closing: () => boolean): Promise<Core> {
  const { config, logger, clock, random } = around
  const onTrouble = (message: string, error: unknown): void => logger.error({ error }, message)
  const { db, pool } = openDatabase({
    url: around.databaseUrl,
    connections: DATABASE_CONNECTIONS,
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    onIdleError: (error) => logger.warn({ error }, 'an idle database connection was lost'),
  })
  await refuseUnfitDatabase(pool)
  const tokens = createTokens({ keyring: await openKeyring({ db, random, clock, pepper: around.pepper }), clock })

  await setBalanceLow(db, microcredits(config.balanceLowMicro))
  const holdIds = await createHoldIds(db)
  const processId = await processes.register(db, { host: around.host, pid: around.pid, oldest_hold_id: holdIds.lowest })
  const providerHealth = createProviderHealth(clock)
  const metrics = noting(
    providerHealth,
    createMetrics({
      queueDepth: () => applier.depth,
      openHolds: () => [...ledger.openHoldIds].length,
      heldMicro: async () => ({ ...(await heldByState(db)) }),
    }),
  )
  const applier = createApplier({
    lane: openLane({ url: around.databaseUrl, processId, answerTimeoutMs: LANE_ANSWER_TIMEOUT_MS }),
    clock,
    batchMax: BATCH_MAX,
    queueMax: config.limits.queueOperationsMax,
    patienceMs: PATIENCE_MS,
    onFlush: metrics.flushed,
    onTrouble,
  })
  const ledger = createLedger(applier, holdIds)
  const offer = await openOfferOf(around, metrics, { db, clock, processId, onTrouble })
  const payments = openPayments(around, db, onTrouble)
  const guardedFetch = openGuardedFetch(around)
  const x402 = openX402(around, { db, contextTokens: contextTokens(tokens), onTrouble })
  sampleMoney(metrics, { payments, x402, clock })
  return {
    around,
    db,
    pool,
    processId,
    applier,
    ledger,
    metrics,
    providerHealth,
    startedAt: clock.now(),
    onTrouble,
    closing,
    tokens,
    authenticator: createAuthenticator({
      keys: keyAuthenticator({ db, random, pepper: around.pepper }),
      sessions: sessionAuthenticator({ db, tokens }),
    }),
    limits: createRequestLimits({ limiter: createLimiter({ db, clock, onTrouble }), settings: config.limits }),
    payments,
    x402,
    offer,
    ...sold(offer),
    guardedFetch,
    webhooks: openWebhooks(around, { db, guarded: guardedFetch, metrics, onTrouble }),
    ending: new AbortController(),
  }
}

/** Gauges of what came in. */
function sampleMoney(
  { registry }: Metrics,
  { payments, x402, clock }: Pick<Core, 'payments' | 'x402'> & { clock: Clock },
): void {
  const { reports, watcher, queue, axon } = payments
  samplePayments(registry, { reports, status: watcher.status, queue, now: clock.now })
  sampleX402(registry, x402.status)
  sampleAxon(registry, axon)
}

/** Metrics count attempts at providers for ever; their health remembers the last ones. */
const noting = (health: ProviderHealth, metrics: Metrics): Metrics => ({
  ...metrics,
  attempted(provider, outcome) {
    metrics.attempted(provider, outcome)
    health.attempted(provider, outcome)
  },
})

const openGuardedFetch = ({ config }: Surroundings): GuardedFetch =>
  createGuardedFetch({
    ...config.outgoing,
    connectionsPerOrigin: FOREIGN_CONNECTIONS,
    connectTimeoutMs: FOREIGN_CONNECT_TIMEOUT_MS,
  })

async function refuseUnfitDatabase(pool: ReturnType<typeof openDatabase>['pool']): Promise<void> {
  const problems = await durabilityProblems(pool)
  const pending = await pendingMigrations((text) => pool.query(text)).catch((error: unknown) => {
    if (error instanceof MigrationFault) {
      problems.push(error.message)
      return []
    }
    return ['all of them']
  })
  if (pending.length > 0)
    problems.push(`the schema is not this program's (${pending.join(', ')}): run farebox migrate.`)
  if (problems.length === 0) return
  await pool.end()
  throw new StartRefused(problems.join('\n'))
}

/** What slices ask of the offer by itself. */
const sold = ({ providers, models, mediaModels }: Offer) => ({ providers, models, mediaModels })

/** What is sold, watched by metrics and log. */
async function openOfferOf(
  around: Surroundings,
  metrics: Metrics,
  deps: Omit<Parameters<typeof openOffer>[0], 'onReloaded'>,
): Promise<Offer> {
  const offer = await openOffer({ ...deps, onReloaded: reportReload(around, metrics) }, around)
  sampleOffer(metrics.registry, offer.standing)
  warnOfDrift(around, offer.standing().drifted)
  return offer
}

/** A refusal must not be overlooked: the server goes on with what it had. */
function reportReload({ logger, clock }: Surroundings, metrics: Metrics) {
  return ({ outcome, lines }: Reloaded, drifted: readonly string[]): void => {
    metrics.reloaded(outcome !== 'refused', clock.now().getTime() / 1000)
    if (outcome === 'refused')
      logger.error({ problems: lines }, 'the configuration was refused: the settings of before stay in force')
    else logger.info({ changes: lines }, outcome === 'applied' ? 'the configuration was applied' : 'nothing changed')
    warnOfDrift({ logger }, drifted)
  }
}

function warnOfDrift({ logger }: Pick<Surroundings, 'logger'>, drifted: readonly string[]): void {
  if (drifted.length > 0)
    logger.error({ versions: drifted }, 'versions of capabilities differ from what was frozen: their calls are refused')
}
