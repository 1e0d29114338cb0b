import { join } from 'node:path'
import type { AccessKey, ResultsConfig } from '../config/results.ts'
import type { Route } from '../http/route.ts'
import type { MediaParts } from '../media/parts.ts'
import { resultLinks } from '../media/results/links.ts'
import { resultRoutes } from '../media/results/routes.ts'
import { createResults } from '../media/results/service.ts'
import { openLocalStore } from '../storage/local.ts'
import type { ObjectStore } from '../storage/object-store.ts'
import { openS3Store } from '../storage/s3.ts'
import type { Core } from './core.ts'
import { openMediaProviders } from './media-providers.ts'
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
