import { createHash } from 'node:crypto'
import { holdAdministrationRoutes } from '../administration/holds/routes.ts'
import { overviewRoutes } from '../administration/overview/routes.ts'
import type { RunningServer } from '../administration/overview/running-server.ts'
import { type PricesDeps, priceAdministrationRoutes } from '../administration/prices/routes.ts'
import { reviewAdministrationRoutes } from '../administration/reviews/routes.ts'
import type { ChainState, ReviewsDeps } from '../administration/reviews/service.ts'
import type { Config } from '../config/config.ts'
import type { Route } from '../http/route.ts'
import type { Core } from './core.ts'

/** How upkeep stands: it begins after the routes are made. */
export type Standing = Pick<RunningServer, 'jobs' | 'audit'>

/** What admins see and decide about money. What only a running server knows is handed to the slices here. */
export function moneyAdministrationRoutes(core: Core, standing: Standing): readonly Route[] {
  const { db, offer } = core
  return [
    ...overviewRoutes({
      db,
      clock: core.around.clock,
      server: runningServer(core, standing),
      onTrouble: core.onTrouble,
    }),
    ...holdAdministrationRoutes({ db, lookupSettings: offer.inForce }),
    ...reviewAdministrationRoutes(reviewsDeps(core)),
    ...priceAdministrationRoutes(pricesDeps(core)),
  ]
}

const reviewsDeps = ({ db, around, payments }: Core): ReviewsDeps => ({
  db,
  clock: around.clock,
  aloneLimitMicro: around.config.reviewAloneMicro,
  coin: around.config.payments.axon,
  chainState: (kind, chainId) =>
    kind === 'native' ? nativeState(payments.axon.status()) : watchedState(payments.watcher.status(), chainId),
})

function watchedState(
  chains: ReturnType<Core['payments']['watcher']['status']>,
  chainId: bigint,
): ChainState | undefined {
  const chain = chains.find((candidate) => candidate.chainId === chainId)
  if (!chain) return undefined
  const { healthy, trouble, behind, lastReadAt } = chain
  return { healthy, detail: trouble ?? `${behind} blocks behind`, readAt: lastReadAt }
}

/** Quotes may stop for want of a rate; what is shown of a payment needs the chain only. */
function nativeState(status: ReturnType<Core['payments']['axon']['status']>): ChainState | undefined {
  if (!status) return undefined
  return { healthy: status.usable, detail: status.trouble ?? 'it is read', readAt: status.lastReadAt }
}

function pricesDeps({ db, around, offer }: Core): PricesDeps {
  const { clock, host, pid, isRunning, config } = around
  const { load, askToReload } = around.reading ?? { load: offer.inForce, askToReload: undefined }
  return {
    db,
    clock,
    host,
    file: config.configurationFile,
    isRunning,
    config: () => offer.inForce().config,
    standing: offer.standing,
    preview: () => offer.preview(load),
    ask(asked) {
      // a signal to itself could be taken for that of a terminal that was closed
      if (asked === pid) void offer.reload(load)
      else if (!askToReload || !couldAsk(() => askToReload(asked))) return false
      return true
    },
  }
}

function couldAsk(ask: () => void): boolean {
  try {
    ask()
    return true
  } catch {
    return false
  }
}

const FINGERPRINT_LENGTH = 12

function runningServer(core: Core, standing: Standing): RunningServer {
  const { around, offer, payments, applier, providerHealth } = core
  const { version, host, pid, config } = around
  return {
    ...standing,
    version,
    host,
    pid,
    processId: core.processId,
    startedAt: core.startedAt,
    ledgerFailing: () => applier.failing,
    configuration: () => ({
      file: config.configurationFile,
      fingerprint: fingerprintOf(offer.inForce().config),
      models: offer.inForce().config.models,
      ...offer.standing(),
    }),
    assets: payments.reports,
    coin: payments.axon.report,
    chains: payments.watcher.status,
    axon: payments.axon.status,
    x402: core.x402.status,
    providers: () => providerHealth.standing(offer.inForce().config.providers),
  }
}

/** Of what is sold: addresses and files, which differ from host to host, are not in it. */
function fingerprintOf({ models, mediaModels, capabilities }: Config): string {
  const text = JSON.stringify([models, mediaModels, capabilities], (_name, value: unknown) =>
    typeof value === 'bigint' ? String(value) : value,
  )
  return createHash('sha256').update(text).digest('hex').slice(0, FINGERPRINT_LENGTH)
}
