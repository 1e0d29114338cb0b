import type { Config, Secrets } from '../config/config.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Random } from '../kernel/random.ts'
import type { MediaParts } from '../media/parts.ts'
import type { Logger } from './logger.ts'
import type { Loaded } from './offer.ts'

/** Everything that a server is made of and that is not in its configuration. */
export interface Surroundings {
  readonly config: Config
  readonly secrets: Omit<Secrets, 'databaseUrl' | 'keyPepper'>
  readonly databaseUrl: string
  readonly pepper: Buffer
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  readonly version: string
  readonly host: string
  readonly pid: number
  readonly isRunning: (pid: number) => boolean
  /** How the configuration is read again. Absent: it stays as it is. */
  readonly reading?: {
    /** Reads it as it is on disk now. Throws ConfigurationFault with everything that is wrong. */
    readonly load: () => Loaded
    /** Asks another process of this host to read it. Throws when it cannot be asked. */
    readonly askToReload: (pid: number) => void
  }
  /** What pictures and films are made with, instead of what the configuration names: tests bring their own. */
  readonly media?: MediaParts
}
