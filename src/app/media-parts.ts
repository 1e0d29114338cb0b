import { join } from 'node:path'
import type { AccessKey, ResultsConfig } from '../config/results.ts'
import { resultLinks } from '../media/results/links.ts'
import { resultRoutes } from '../media/results/routes.ts'
import { createResults } from '../media/results/service.ts'
import type { MediaProvider } from '../providers/media.ts'
import { createMediaProvider } from '../providers/media-kinds.ts'
import { openLocalStore } from '../storage/local.ts'
import type { ObjectStore } from '../storage/object-store.ts'
import { openS3Store } from '../storage/s3.ts'
import type { Core } from './core.ts'
import type { MediaParts } from './media.ts'
import type { Surroundings } from './server-surroundings.ts'

/** Opens what pictures and films are made with and kept in, as the configuration says. */
export function openMediaParts(core: Core, publicUrl: () => string): MediaParts {
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

/** The providers that make pictures or films; the others are left out. */
function openMediaProviders({ config, secrets, clock }: Surroundings): Record<string, MediaProvider> {
  const opened = Object.entries(config.providers).flatMap(([name, provider]) => {
    const apiKey = secrets.providerKeys[name]
    return provider.kind === 'demo'
      ? [[name, createMediaProvider('demo', { slowMs: provider.slowMediaMs, clock })] as const]
      : [
          [
            name,
            createMediaProvider('openai-compatible', {
              ...provider,
              name,
              ...(apiKey === undefined ? {} : { apiKey }),
            }),
          ] as const,
        ]
  })
  return Object.fromEntries(opened)
}
