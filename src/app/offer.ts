import { type Catalogue, driftedVersions, openCatalogue } from '../capabilities/catalogue.ts'
import type { Config, Secrets } from '../config/config.ts'
import type { MediaModelConfig } from '../config/media-models.ts'
import type { ModelConfig } from '../config/models.ts'
import { ConfigurationFault } from '../config/problem.ts'
import { recordLoad } from '../db/configuration-loads.ts'
import type { Database } from '../db/database.ts'
import type { Clock } from '../kernel/clock.ts'
import type { CapabilityProvider } from '../providers/capability.ts'
import type { ChatProvider } from '../providers/provider.ts'
import { changesBetween } from './offer-changes.ts'
import { openCapabilityProvider, openProvider, openProviders } from './providers.ts'

/** A configuration as it was read. */
export interface Loaded {
  readonly config: Config
  readonly secrets: Pick<Secrets, 'providerKeys' | 'capabilityHeaders'>
}

/** What became of reading the configuration again. `lines` are for people: what changed, or what is wrong. */
export interface Reloaded {
  readonly outcome: 'applied' | 'unchanged' | 'refused'
  readonly lines: readonly string[]
}

/** What is sold, as it is now. Calls take what they need of it once, at their beginning. */
export interface Offer {
  readonly providers: Readonly<Record<string, ChatProvider>>
  readonly models: () => ReadonlyMap<string, ModelConfig>
  readonly mediaModels: () => ReadonlyMap<string, MediaModelConfig>
  readonly capabilities: () => Catalogue
  /** The configuration in force, as it was read last. */
  readonly inForce: () => Loaded
  /** Reads models, prices and capabilities again, one reading at a time. What cannot be used changes nothing. Never rejects. */
  readonly reload: (load: () => Loaded) => Promise<Reloaded>
  /** What a reading would change, without taking it over. Versions of capabilities are not frozen by it. */
  readonly preview: (load: () => Loaded) => Reloaded
  /** How the last reading went, and versions that are blocked, for /readyz and the metrics. */
  readonly standing: () => { readonly refused: string | undefined; readonly drifted: readonly string[] }
  readonly close: () => Promise<void>
}

/** What an offer needs from outside. */
export interface OfferDeps {
  readonly db: Database
  readonly clock: Clock
  readonly processId: bigint
  readonly onReloaded: (reloaded: Reloaded, drifted: readonly string[]) => void
  readonly onTrouble: (message: string, error: unknown) => void
}

interface Opened {
  readonly upstream: string
  readonly provider: CapabilityProvider
}

/** Opens providers and capabilities. Rejects when the versions of capabilities cannot be frozen. */
export async function openOffer(deps: OfferDeps, first: Loaded): Promise<Offer> {
  const providers = openProviders(first.config, first.secrets, deps.clock)
  let upstreams = new Map<string, Opened>()
  let { config, secrets } = first
  let models = byId(config.models)
  let mediaModels = byId(config.mediaModels)
  let capabilities = await openCatalogue({ db: deps.db, ...catalogueSource(first, new Map(), upstreams) })
  let refused: string | undefined
  let last: Promise<unknown> = Promise.resolve()

  async function read(load: () => Loaded): Promise<Reloaded> {
    let lines: readonly string[]
    const opened = new Map<string, Opened>()
    try {
      const loaded = load()
      const next = await openCatalogue({ db: deps.db, ...catalogueSource(loaded, upstreams, opened) })
      lines = changesBetween(config, loaded.config, {
        before: driftedVersions(capabilities),
        after: driftedVersions(next),
      })
      for (const [name, provider] of Object.entries(loaded.config.providers))
        if (provider.kind !== 'task-api')
          providers[name] ??= openProvider(name, provider, loaded.secrets.providerKeys[name], deps.clock)
      models = byId(loaded.config.models)
      mediaModels = byId(loaded.config.mediaModels)
      capabilities = next
      config = { ...loaded.config, providers: { ...loaded.config.providers, ...config.providers } }
      secrets = loaded.secrets
      retireMissing(upstreams, opened, deps.onTrouble)
      upstreams = opened
    } catch (error) {
      retireMissing(opened, upstreams, deps.onTrouble)
      const reasons = reasonsOf(error)
      if (!(error instanceof ConfigurationFault)) deps.onTrouble('the configuration could not be read again', error)
      refused = `refused at ${deps.clock.now().toISOString()}, the settings of before stay in force: ${reasons.length} ${reasons.length === 1 ? 'problem' : 'problems'}`
      return { outcome: 'refused', lines: reasons }
    }
    refused = undefined
    return { outcome: lines.length === 0 ? 'unchanged' : 'applied', lines }
  }

  return {
    providers,
    models: () => models,
    mediaModels: () => mediaModels,
    capabilities: () => capabilities,
    inForce: () => ({ config, secrets }),
    reload(load) {
      const reloaded = last.then(async () => {
        const result = await read(load)
        deps.onReloaded(result, driftedVersions(capabilities))
        await recordLoad(deps.db, deps.processId, result).catch((error: unknown) =>
          deps.onTrouble('what became of the configuration could not be recorded', error),
        )
        return result
      })
      last = reloaded
      return reloaded
    },
    preview: (load) => previewOf(config, load, driftedVersions(capabilities)),
    standing: () => ({ refused, drifted: driftedVersions(capabilities) }),
    close: async () => {
      await last
      await Promise.all([
        ...Object.values(providers).map((provider) => provider.close()),
        ...[...upstreams.values()].map(({ provider }) => provider.close()),
      ])
    },
  }
}

/** What another reading would change now; what is frozen of it later is not looked at. */
function previewOf(config: Config, load: () => Loaded, drifted: readonly string[]): Reloaded {
  try {
    const lines = changesBetween(config, load().config, { before: drifted, after: drifted })
    return { outcome: lines.length === 0 ? 'unchanged' : 'applied', lines }
  } catch (error) {
    return { outcome: 'refused', lines: reasonsOf(error) }
  }
}

const byId = <T extends { readonly id: string }>(models: readonly T[]): ReadonlyMap<string, T> =>
  new Map(models.map((model) => [model.id, model]))

const reasonsOf = (error: unknown): string[] =>
  error instanceof ConfigurationFault
    ? error.problems.map(({ where, problem, fix }) => `${where}: ${problem} ${fix}`)
    : ['The configuration could not be read.']

/** Upstreams that are wired as before are kept with their sockets. */
function catalogueSource(
  { config, secrets }: Loaded,
  before: ReadonlyMap<string, Opened>,
  opened: Map<string, Opened>,
) {
  return {
    capabilities: config.capabilities,
    openProvider(capability: Config['capabilities'][number]): CapabilityProvider {
      const headers = secrets.capabilityHeaders[capability.slug] ?? {}
      const upstream = JSON.stringify([capability.upstream, headers])
      const known = before.get(capability.slug)
      const provider = known?.upstream === upstream ? known.provider : openCapabilityProvider(capability, headers)
      opened.set(capability.slug, { upstream, provider })
      return provider
    },
  }
}

/** Closes the upstreams of `opened` that `kept` does not have; calls in flight end on the sockets that they began on. */
function retireMissing(
  opened: ReadonlyMap<string, Opened>,
  kept: ReadonlyMap<string, Opened>,
  onTrouble: OfferDeps['onTrouble'],
): void {
  for (const [slug, { provider }] of opened)
    if (kept.get(slug)?.provider !== provider)
      void provider.retire().catch((error: unknown) => onTrouble('an upstream could not be closed', error))
}
