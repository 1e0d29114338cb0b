import { join } from 'node:path'
import type { ProviderConfig } from '../config/providers.ts'
import type { AccessKey, ResultsConfig } from '../config/results.ts'
import type { Route } from '../http/route.ts'
import type { MediaParts } from '../media/parts.ts'
import { resultLinks } from '../media/results/links.ts'
import { resultRoutes } from '../media/results/routes.ts'
import { createResults } from '../media/results/service.ts'
import type { MediaProvider } from '../providers/media.ts'
import { createMediaProvider } from '../providers/media-kinds.ts'
import { openLocalStore } from '../storage/local.ts'
import type { ObjectStore } from '../storage/object-store.ts'
import { openS3Store } from '../storage/s3.ts'
import type { Core } from './core.ts'
import type { Surroundings } from './server-surroundings.ts'

/** What a real server makes pictures and films with, and what comes with it. */
export interface OpenedMediaParts extends MediaParts {
  /** Where results are fetched. */
  readonly routes: readonly Route[]
  /** Deletes results whose time is over; says how many. */
  deleteExpired(): Promise<number>
  close(): Promise<void>
}

/** Opens what pictures and films are made with and kept in, as the configuration says. */
export function openMediaParts(core: Core, publicUrl: () => string): OpenedMediaParts {
  const { config, secrets, clock, random, pepper } = core.around
  const { keepDays, imageBytesMax: image, videoBytesMax: video, fetchTimeoutMs } = config.results
  const folder = join(config.dataFolder, 'results')
  const store = openStore({ folder, results: config.results, accessKey: secrets.resultsKey, clock })
  const links = resultLinks({ pepper, publicUrl, now: () => clock.now() })
  const results = createResults({
    store,
    links,
    guardedFetch: core.guardedFetch,
    spoolFolder: join(folder, 'incoming'),
    clock,
    random,
    keepDays,
    bytesMax: { image, video },
    fetchTimeoutMs,
  })
  return {
    providers: openMediaProviders(core.around),
    results,
    pictureAt: results.pictureAt,
    routes: resultRoutes({ store, links }),
    deleteExpired: results.deleteExpired,
    close: () => store.close(),
  }
}

function openStore({
  folder,
  results: { s3 },
  accessKey,
  clock,
}: {
  readonly folder: string
  readonly results: ResultsConfig
  readonly accessKey: AccessKey | undefined
  readonly clock: Surroundings['clock']
}): ObjectStore {
  return s3 && accessKey ? openS3Store({ ...s3, accessKey, clock }) : openLocalStore(join(folder, 'kept'))
}

/** The providers that make pictures or films, by name. Whether one also chats is a matter of its own. */
export function openMediaProviders({
  config,
  secrets,
  clock,
}: Pick<Surroundings, 'config' | 'secrets' | 'clock'>): Record<string, MediaProvider> {
  return Object.fromEntries(
    Object.entries(config.providers).map(([name, provider]) => [
      name,
      openMediaProvider(name, provider, { secrets, clock }),
    ]),
  )
}

function openMediaProvider(
  name: string,
  provider: ProviderConfig,
  { secrets, clock }: Pick<Surroundings, 'secrets' | 'clock'>,
): MediaProvider {
  if (provider.kind === 'demo') return createMediaProvider('demo', { slowMs: provider.slowMediaMs, clock })
  const apiKey = secrets.providerKeys[name]
  const reached = { name, ...(apiKey === undefined ? {} : { apiKey }) }
  if (provider.kind === 'openai-compatible')
    return createMediaProvider('openai-compatible', { ...provider, ...reached })
  const { callback, ...described } = provider
  const secret = secrets.callbackSecrets[name]
  const { signature } = callback ?? {}
  const signed =
    signature && secret !== undefined ? { by: { ...signature, secret }, reading: signature.reading } : undefined
  return createMediaProvider('task-api', {
    ...described,
    ...reached,
    ...(callback && { callback: { id: callback.id, ...(signed && { signed }) } }),
    now: () => clock.now().getTime(),
  })
}
