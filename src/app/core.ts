import type pg from 'pg'
import type { Config, Secrets } from '../config/config.ts'
import type { ModelConfig } from '../config/models.ts'
import type { ProviderConfig } from '../config/providers.ts'
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
import { createProvider } from '../providers/index.ts'
import type { ChatProvider } from '../providers/provider.ts'
import { sampleAxon } from './axon-metrics.ts'
import { createMetrics, type Metrics, samplePayments } from './metrics.ts'
import { openPayments, type Payments } from './payments.ts'
import type { Surroundings } from './server-surroundings.ts'

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
  readonly providers: Readonly<Record<string, ChatProvider>>
  readonly models: () => ReadonlyMap<string, ModelConfig>
  readonly metrics: Metrics
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
  const metrics: Metrics = createMetrics({
    queueDepth: () => applier.depth,
    openHolds: () => [...ledger.openHoldIds].length,
    heldMicro: async () => ({ ...(await heldByState(db)) }),
  })
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
  const models = new Map(config.models.map((model) => [model.id, model]))
  const payments = openPayments(around, db, onTrouble)
  samplePayments(metrics.registry, { reports: payments.reports, status: payments.watcher.status })
  sampleAxon(metrics.registry, payments.axon)
  return {
    around,
    db,
    pool,
    processId,
    applier,
    ledger,
    metrics,
    onTrouble,
    closing,
    tokens,
    authenticator: createAuthenticator({
      keys: keyAuthenticator({ db, random, pepper: around.pepper }),
      sessions: sessionAuthenticator({ db, tokens }),
    }),
    limits: createRequestLimits({ limiter: createLimiter({ db, clock, onTrouble }), settings: config.limits }),
    payments,
    providers: openProviders(config, around.secrets, clock),
    models: () => models,
    ending: new AbortController(),
  }
}

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

function openProviders(
  config: Config,
  secrets: Pick<Secrets, 'providerKeys'>,
  clock: Clock,
): Record<string, ChatProvider> {
  return Object.fromEntries(
    Object.entries(config.providers).map(([name, provider]) => [
      name,
      openProvider(name, provider, secrets.providerKeys[name], clock),
    ]),
  )
}

function openProvider(name: string, provider: ProviderConfig, apiKey: string | undefined, clock: Clock): ChatProvider {
  if (provider.kind === 'demo') return createProvider('demo', { ...provider, clock })
  return createProvider('openai-compatible', { ...provider, name, ...(apiKey === undefined ? {} : { apiKey }) })
}
