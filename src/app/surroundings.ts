import type { RawEnvironment } from '../config/environment.ts'
import type { ReadFile } from '../config/read-file.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Random } from '../kernel/random.ts'

/** The world as main.ts hands it to the program: nothing below reads it from anywhere else. */
export interface ProgramSurroundings {
  readonly environment: RawEnvironment
  readonly readFile: ReadFile
  readonly clock: Clock
  readonly random: Random
  readonly version: string
  readonly host: string
  readonly pid: number
  /** Who is at the terminal, for the record of what operators did. */
  readonly userName: string
  readonly isRunning: (pid: number) => boolean
  readonly onStop: (stop: (signal: string) => void) => void
  /** Calls back each time this process is asked to read its configuration again (SIGHUP). */
  readonly onReload: (reload: () => void) => void
  /** Asks another process of this host to read its configuration again. Throws when it cannot be asked. */
  readonly askToReload: (pid: number) => void
  readonly write: (text: string) => void
  /** Resolves when everything written so far has been taken, for output that does not fit memory. */
  readonly written: () => Promise<void>
  readonly writeError: (text: string) => void
}
