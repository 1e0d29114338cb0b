import type { FastifyInstance } from 'fastify'
import { callRoutes } from '../billing/calls/routes.ts'
import { creditRoutes } from '../billing/credits/routes.ts'
import { usageRoutes } from '../billing/usage/routes.ts'
import type { Config, Secrets } from '../config/config.ts'
import type { ProviderConfig } from '../config/providers.ts'
import { openDatabase } from '../db/database.ts'
import { durabilityProblems } from '../db/durability.ts'
import { pendingMigrations } from '../db/migrate.ts'
import { docsRoutes } from '../docs/routes.ts'
import type { Route } from '../http/route.ts'
import { createServer } from '../http/server.ts'
import { accountRoutes } from '../identity/accounts/routes.ts'
import { agentSignInRoutes } from '../identity/agent-sign-in/routes.ts'
import { createAuthenticator } from '../identity/authenticator.ts'
import { keyRoutes } from '../identity/keys/routes.ts'
import { firstKeyMaker, keyAuthenticator } from '../identity/keys/service.ts'
import { sessionRoutes } from '../identity/sessions/routes.ts'
import { sessionAuthenticator, sessionOpener } from '../identity/sessions/service.ts'
import { openKeyring } from '../identity/tokens/keyring.ts'
import { createTokens } from '../identity/tokens/service.ts'
import { chatRoutes } from '../inference/chat/routes.ts'
import { modelsRoutes } from '../inference/models/routes.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Random } from '../kernel/random.ts'
import { createApplier } from '../ledger/applier.ts'
import { heldByState } from '../ledger/held.ts'
import { createHoldIds } from '../ledger/hold-ids.ts'
import { openLane } from '../ledger/lane.ts'
import { createLedger, type Ledger } from '../ledger/ledger.ts'
import * as processes from '../ledger/processes.ts'
import { createProvider } from '../providers/index.ts'
import type { ChatProvider } from '../providers/provider.ts'
import { healthRoutes } from './health.ts'
import { type Logger, requestLine } from './logger.ts'
import { createMetrics, type Metrics } from './metrics.ts'
import { startUpkeep } from './upkeep.ts'

/** Everything that a server is made of and that is not in its configuration. */
export interface Surroundings {
  readonly config: Config
  readonly secrets: Pick<Secrets, 'providerKeys'>
  readonly databaseUrl: string
  readonly pepper: Buffer
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  readonly version: string
  readonly host: string
  readonly pid: number
  readonly isRunning: (pid: number) => boolean
}

/** A composed server. `stop` ends it in order; nothing of it runs afterwards. */
export interface App {
  readonly server: FastifyInstance
  readonly routes: readonly Route[]
  readonly ledger: Ledger
  readonly metrics: Metrics
  readonly processId: bigint
  /** Stops accepting, lets calls finish for `drainMs`, marks what is left as `usage_unknown`, closes everything. */
  stop(drainMs: number): Promise<void>
}

/** Why a server may not start. Its message says what to do. */
export class StartRefused extends Error {
  override name = 'StartRefused'
}

const DATABASE_CONNECTIONS = 10
const STATEMENT_TIMEOUT_MS = 10_000
const BATCH_MAX = 512
const LANE_ANSWER_TIMEOUT_MS = 15_000
const PATIENCE_MS = 30_000
/** How long a stream is read on after its client left. */
const CLIENT_GONE_DRAIN_MS = 120_000

/** Composes the server: the one place where rooms meet. It does not listen yet. */
export async function createApp(around: Surroundings): Promise<App> {
  const { config, logger, clock, random } = around
  const onTrouble = (message: string, error: unknown): void => logger.error({ error }, message)
  const { db, pool } = openDatabase({
    url: around.databaseUrl,
    connections: DATABASE_CONNECTIONS,
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    onIdleError: (error) => logger.warn({ error }, 'an idle database connection was lost'),
  })
  await refuseUnfitDatabase(pool)

  const keyring = await openKeyring({ db, random, clock, pepper: around.pepper }).catch(async (error: unknown) => {
    await pool.end()
    throw error
  })
  const holdIds = await createHoldIds(db)
  const processId = await processes.register(db, { host: around.host, pid: around.pid, oldest_hold_id: holdIds.lowest })
  const metrics: Metrics = createMetrics({
    queueDepth: () => applier.depth,
    openHolds: () => [...ledger.openHoldIds].length,
    heldMicro: async () => ({ ...(await heldByState(db)) }),
  })
  const lane = openLane({ url: around.databaseUrl, processId, answerTimeoutMs: LANE_ANSWER_TIMEOUT_MS })
  const applier = createApplier({ lane, clock, batchMax: BATCH_MAX, queueMax: config.limits.queueOperationsMax, patienceMs: PATIENCE_MS, onFlush: metrics.flushed, onTrouble })
  const ledger = createLedger(applier, holdIds)
  const tokens = createTokens({ keyring, clock })
  const sessions = { db, random, tokens }
  const keys = { db, random, clock, pepper: around.pepper }
  const authenticator = createAuthenticator({ keys: keyAuthenticator(keys), sessions: sessionAuthenticator(sessions) })
  const providers = openProviders(config, around.secrets, clock)
  const models = new Map(config.models.map((model) => [model.id, model]))

  let closing = false
  const ending = new AbortController()
  const routes: Route[] = [
    ...accountRoutes({ db }),
    ...creditRoutes({ db }),
    ...callRoutes({ db }),
    ...usageRoutes({ db, clock }),
    ...agentSignInRoutes({ db, random, publicUrl: () => config.publicUrl ?? listeningUrl(server), sessions: sessionOpener(sessions), firstKey: firstKeyMaker(keys) }),
    ...sessionRoutes(sessions),
    ...keyRoutes(keys),
    ...modelsRoutes({ models: () => models, clock }),
    ...chatRoutes({
      db, ledger, processId, clock, providers, onTrouble,
      models: () => models,
      paymentHint: () => ({}),
      drainMs: CLIENT_GONE_DRAIN_MS,
      ending: ending.signal,
      onAttempt: metrics.attempted,
      onChat: metrics.chatted,
      chatBodyLimit: config.limits.chatBodyBytes,
      streamsMax: config.limits.concurrentStreams,
    }),
    ...docsRoutes({ routes: () => routes, version: around.version }),
    ...healthRoutes({ db, metrics, version: around.version, closing: () => closing, ledgerFailing: () => applier.failing, serveMetrics: config.metricsPort === undefined }),
  ]
  const server = createServer({
    routes,
    authenticator,
    random,
    bodyLimit: config.limits.bodyBytes,
    trustedProxies: config.trustedProxies,
    closing: () => closing,
    onAnswered(answered) {
      metrics.answered(answered)
      logger.info(requestLine(answered), 'answered')
    },
    onFault: (requestId, error) => logger.error({ request_id: requestId, error }, 'a request failed'),
  })
  const upkeep = startUpkeep({
    db, ledger, processId, host: around.host, isRunning: around.isRunning, flushUsedKeys: authenticator.flushUsed, onTrouble,
    onAudit(findings) {
      metrics.audited(findings.length, clock.now().getTime() / 1000)
      if (findings.length > 0) logger.error({ findings: findings.slice(0, 20), count: findings.length }, 'the ledger audit found differences')
    },
  })

  return {
    server, routes, ledger, metrics, processId,
    async stop(drainMs) {
      closing = true
      await finishCalls(server, ledger, ending, drainMs, logger)
      await upkeep.stop()
      await applier.drained(PATIENCE_MS)
      await processes.end(db, processId).catch((error: unknown) => onTrouble('the goodbye could not be written', error))
      await Promise.all(Object.values(providers).map((provider) => provider.close()))
      await applier.close()
      await pool.end()
    },
  }
}

/** Where a server is reached whose public address is not set, because its port was chosen by the system. */
function listeningUrl(server: FastifyInstance): string {
  const address = server.server.address()
  return address && typeof address === 'object' ? `http://${address.family === 'IPv6' ? `[${address.address}]` : address.address}:${address.port}` : 'http://localhost'
}

/** Lets running calls end by themselves, then ends them: their usage is unknown, which is not free. */
async function finishCalls(server: FastifyInstance, ledger: Ledger, ending: AbortController, drainMs: number, logger: Logger): Promise<void> {
  const closed = server.close()
  // a kept-alive connection whose last answer is out is closed at once, not when its client gets tired
  const sweep = setInterval(() => server.server.closeIdleConnections(), 50)
  void closed.finally(() => clearInterval(sweep))
  const limit = AbortSignal.timeout(drainMs)
  const timedOut = new Promise<'timeout'>((resolve) => limit.addEventListener('abort', () => resolve('timeout'), { once: true }))
  if ((await Promise.race([closed, timedOut])) === 'timeout') {
    logger.warn({ open_calls: [...ledger.openHoldIds].length }, 'the drain limit was reached: what still runs becomes usage_unknown')
    ending.abort()
    const forced = setTimeout(() => server.server.closeAllConnections(), 2_000)
    await closed
    clearTimeout(forced)
  }
  for (const holdId of ledger.openHoldIds) {
    await ledger.end({ operation: 'unknown', holdId, reason: 'the server shut down while the call was running' }).catch(() => undefined)
  }
}

async function refuseUnfitDatabase(pool: ReturnType<typeof openDatabase>['pool']): Promise<void> {
  const problems = await durabilityProblems(pool)
  const pending = await pendingMigrations((text) => pool.query(text)).catch(() => ['all of them'])
  if (pending.length > 0) problems.push(`the schema is not this program's (${pending.join(', ')}): run farebox migrate.`)
  if (problems.length === 0) return
  await pool.end()
  throw new StartRefused(problems.join('\n'))
}

function openProviders(config: Config, secrets: Pick<Secrets, 'providerKeys'>, clock: Clock): Record<string, ChatProvider> {
  return Object.fromEntries(Object.entries(config.providers).map(([name, provider]) => [name, openProvider(name, provider, secrets.providerKeys[name], clock)]))
}

function openProvider(name: string, provider: ProviderConfig, apiKey: string | undefined, clock: Clock): ChatProvider {
  if (provider.kind === 'demo') return createProvider('demo', { ...provider, clock })
  return createProvider('openai-compatible', { ...provider, name, ...(apiKey === undefined ? {} : { apiKey }) })
}
