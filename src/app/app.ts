import type { FastifyInstance } from 'fastify'
import type { Route } from '../http/route.ts'
import { createServer } from '../http/server.ts'
import type { Ledger } from '../ledger/ledger.ts'
import * as processes from '../ledger/processes.ts'
import type { McpDeps } from '../mcp/routes.ts'
import type { ApiAnswer, ApiRequest } from '../mcp/tool.ts'
import type { MediaParts } from '../media/parts.ts'
import { forgetOldContent } from '../media/tasks/service.ts'
import type { Standing } from './administration.ts'
import { capabilityRunners } from './capability-tasks.ts'
import { type Core, openCore, PATIENCE_MS } from './core.ts'
import { requestLine } from './logger.ts'
import { type Media, openMedia } from './media.ts'
import { type OpenedMediaParts, openMediaParts } from './media-parts.ts'
import type { Metrics } from './metrics.ts'
import type { Loaded, Reloaded } from './offer.ts'
import type { Surroundings } from './server-surroundings.ts'
import { allRoutes, paymentHint } from './slices.ts'
import { startUpkeep } from './upkeep.ts'

/** A composed server. `stop` ends it in order; nothing of it runs afterwards. */
export interface App {
  readonly server: FastifyInstance
  readonly routes: readonly Route[]
  readonly ledger: Ledger
  readonly metrics: Metrics
  readonly processId: bigint
  /** Notes when credentials were last used; upkeep does so now and then. */
  flushUsed(): Promise<void>
  /** Reads models, prices and capabilities again; what cannot be used changes nothing. Never rejects. */
  reload(load: () => Loaded): Promise<Reloaded>
  /** Stops accepting, lets calls finish for `drainMs`, marks what is left as `usage_unknown`, closes everything. */
  stop(drainMs: number): Promise<void>
}

/** Composes the server: the one place where rooms meet. It does not listen yet. */
export async function createApp(around: Surroundings): Promise<App> {
  let closing = false
  const core = await openCore(around, () => closing)
  const { ledger, metrics, processId } = core
  const publicUrl = (): string => around.config.publicUrl ?? listeningUrl(server)
  const parts: MediaParts & Partial<OpenedMediaParts> = around.media ?? openMediaParts(core, publicUrl)
  const media = openMedia(core, parts, {
    publicUrl,
    paymentHint: paymentHint(core, publicUrl),
    runners: capabilityRunners(core),
  })
  const standing = { jobs: () => upkeep.rounds(), audit: () => upkeep.audit() }
  const sendAs: McpDeps['sendAs'] = (token) => (request) => askItself(server, token, request)
  const routes = allRoutes(core, media, { publicUrl, sendAs, standing })
  const server = listenable(core, routes)
  // a task's provider is told where to report: the address is known once the server listens
  server.addHook('onListen', async () => media.start())
  const upkeep = upkeepOf(core, media, parts)
  return {
    server,
    routes,
    ledger,
    metrics,
    processId,
    flushUsed: core.authenticator.flushUsed,
    reload: core.offer.reload,
    async stop(drainMs) {
      closing = true
      await finishCalls(server, core, media, drainMs)
      await upkeep.stop()
      await core.x402.stop()
      await core.payments.stop()
      await core.webhooks.stop()
      await core.applier.drained(PATIENCE_MS)
      await processes
        .end(core.db, processId)
        .catch((error: unknown) => core.onTrouble('the goodbye could not be written', error))
      await core.offer.close()
      await core.guardedFetch.close()
      await core.applier.close()
      await core.pool.end()
    },
  }
}

function listenable(core: Core, routes: readonly Route[]): FastifyInstance {
  const { config, random, logger } = core.around
  return createServer({
    routes,
    authenticator: core.authenticator,
    random,
    bodyLimit: config.limits.bodyBytes,
    trustedProxies: config.trustedProxies,
    admit: core.limits.admit,
    refused: core.limits.refused,
    closing: core.closing,
    onAnswered(answered) {
      core.metrics.answered(answered)
      logger.info(requestLine(answered), 'answered')
    },
    onFault: (requestId, error) => logger.error({ request_id: requestId, error }, 'a request failed'),
  })
}

function upkeepOf(
  core: Core,
  { tasks }: Pick<Media, 'tasks'>,
  { deleteExpired = async () => 0 }: Partial<OpenedMediaParts>,
): ReturnType<typeof startUpkeep> & Pick<Standing, 'audit'> {
  const { clock, logger, host, isRunning } = core.around
  // what the last whole audit found, and the increments since
  let count = 0
  let audit: ReturnType<Standing['audit']>
  const audited = (before: number, findings: readonly unknown[]) => {
    const at = clock.now()
    count = before + findings.length
    audit = { findings: count, at }
    core.metrics.audited(count, at.getTime() / 1000)
    if (findings.length > 0)
      logger.error({ findings: findings.slice(0, 20), count }, 'the ledger audit found differences')
  }
  const upkeep = startUpkeep({
    ...core,
    clock,
    host,
    isRunning,
    flushUsedKeys: core.authenticator.flushUsed,
    deleteExpiredResults: deleteExpired,
    forgetOldContent: () => forgetOldContent(tasks),
    onAudit: (findings) => audited(0, findings),
    onRecentAudit: (findings) => audited(count, findings),
  })
  return { ...upkeep, audit: () => audit }
}

/** A request of a tool, through the same routes, limits and checks as everybody's. */
async function askItself(server: FastifyInstance, token: string, request: ApiRequest): Promise<ApiAnswer> {
  const { method, path, body, headers } = request
  const answer = await server.inject({
    method,
    url: path,
    headers: { ...headers, authorization: `Bearer ${token}` },
    ...(body === undefined ? {} : { payload: body }),
  })
  return { status: answer.statusCode, body: answer.json() }
}

/** Where a server is reached whose public address is not set, because the system chose its port. */
function listeningUrl(server: FastifyInstance): string {
  const address = server.server.address()
  return address && typeof address === 'object'
    ? `http://${address.family === 'IPv6' ? `[${address.address}]` : address.address}:${address.port}`
    : 'http://localhost'
}

/** Lets running calls end by themselves, then ends them: their usage is unknown, which is not free. */
async function finishCalls(
  server: FastifyInstance,
  { ledger, ending, around }: Core,
  media: Media,
  drainMs: number,
): Promise<void> {
  const closed = Promise.all([server.close(), media.stop()])
  // a kept-alive connection whose last answer is out is closed at once, not when its client gets tired
  const sweep = setInterval(() => server.server.closeIdleConnections(), 50)
  void closed.finally(() => clearInterval(sweep))
  const limit = AbortSignal.timeout(drainMs)
  const timedOut = new Promise<'timeout'>((resolve) =>
    limit.addEventListener('abort', () => resolve('timeout'), { once: true }),
  )
  if ((await Promise.race([closed, timedOut])) === 'timeout') {
    around.logger.warn(
      { open_calls: [...ledger.openHoldIds].length },
      'the drain limit was reached: what still runs becomes usage_unknown',
    )
    ending.abort()
    const forced = setTimeout(() => server.server.closeAllConnections(), 2_000)
    await closed
    clearTimeout(forced)
  }
  for (const holdId of ledger.openHoldIds) {
    await ledger
      .end({ operation: 'unknown', holdId, reason: 'the server shut down while the call was running' })
      .catch(() => undefined)
  }
}
