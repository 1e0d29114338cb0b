import { serve } from '../../src/app/serve.ts'
import { loadConfig } from '../../src/config/config.ts'
import { readTextFile } from '../../src/config/read-file.ts'
import { systemClock } from '../../src/kernel/clock.ts'
import { systemRandom } from '../../src/kernel/random.ts'

/**
 * A process that serves when it is told to, until SIGTERM, and can be told to again: what is composed, signs in, listens
 * and ends is each time a new server, by the code of `farebox serve`, without the seconds in which a process loads it.
 */

/** What the test tells it: to serve, with these settings. */
export interface Begin {
  readonly environment: Readonly<Record<string, string>>
}
/** What it says: where it listens; that a signal has come; that the server has ended. */
export type Said = { readonly listening: string } | { readonly stopping: true } | { readonly ended: true }

const say = (said: Said): void => void process.send?.(said)
let stop: (signal: string) => void = () => process.exit(0)
process.on('SIGTERM', () => {
  stop('SIGTERM')
  say({ stopping: true })
})

async function begin({ environment }: Begin): Promise<void> {
  const { config, secrets } = loadConfig({
    environment,
    readFile: readTextFile,
    now: systemClock.now(),
    mode: 'production',
  })
  const { databaseUrl, keyPepper } = secrets
  if (databaseUrl === undefined || keyPepper === undefined) throw new Error('no database or no pepper')
  const { address, ended } = await serve(
    {
      environment,
      readFile: readTextFile,
      clock: systemClock,
      random: systemRandom,
      version: '0.0.0-test',
      host: 'test',
      pid: process.pid,
      userName: 'test',
      isRunning: () => true,
      onStop: (stopping) => {
        stop = stopping
      },
      onReload: () => undefined,
      askToReload: () => undefined,
      write: () => undefined,
      written: async () => undefined,
      writeError: () => undefined,
    },
    { config, secrets, databaseUrl, pepper: keyPepper, logLevel: 'silent' },
  )
  say({ listening: address })
  await ended
  say({ ended: true })
}

process.on('message', (wanted: Begin) => void begin(wanted))
process.on('disconnect', () => process.exit(0))
