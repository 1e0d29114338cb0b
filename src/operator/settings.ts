import { join } from 'node:path'
import type { ProgramSurroundings } from '../app/surroundings.ts'
import { type Config, loadConfig, type Mode, type Secrets } from '../config/config.ts'
import { readEnvironment } from '../config/environment.ts'
import { ConfigurationFault } from '../config/problem.ts'
import { exitCodes, ProgramFault } from '../terminal/exit-codes.ts'

/** What an operator's command needs to know of the wiring. Everything in it is secret but `mode` and `dataFolder`. */
export interface Wiring {
  /** `development` when the data folder of `npm start` is what gives the database. */
  readonly mode: Mode
  readonly dataFolder: string
  readonly databaseUrl: string | undefined
  readonly keyPepper: Buffer | undefined
  /** A key of the development economy, to prove that the pepper belongs to the database. */
  readonly developmentKey: string | undefined
}

/**
 * Where the database and the pepper are: in the environment, else in the data folder of a development economy
 * (never with NODE_ENV=production). Other variables may be wrong: a typo there must not keep an operator from
 * the money. Throws ConfigurationFault when one of those it reads is.
 */
export function readWiring(around: ProgramSurroundings): Wiring {
  const { environment, problems } = readEnvironment(around.environment, around.readFile)
  const ours = problems.filter(({ where }) =>
    /^(DATABASE_URL|FAREBOX_KEY_PEPPER|FAREBOX_DATA|NODE_ENV)(_FILE)?$/.test(where),
  )
  if (ours.length > 0) throw new ConfigurationFault(ours)
  const { DATABASE_URL: databaseUrl, FAREBOX_KEY_PEPPER: keyPepper, FAREBOX_DATA: dataFolder } = environment
  const economy =
    environment.NODE_ENV === 'production' || databaseUrl !== undefined
      ? undefined
      : developmentEconomy(around, dataFolder)
  if (economy === undefined)
    return { mode: 'production', dataFolder, databaseUrl, keyPepper, developmentKey: undefined }
  return {
    mode: 'development',
    dataFolder,
    databaseUrl: economy.databaseUrl,
    keyPepper: keyPepper ?? economy.pepper,
    developmentKey: economy.key,
  }
}

/** The address of the database. Refuses when nothing gives one. */
export function requireDatabaseUrl(wiring: Wiring): string {
  if (wiring.databaseUrl !== undefined) return wiring.databaseUrl
  throw new ProgramFault(
    exitCodes.failed,
    `DATABASE_URL is not set, and ${join(wiring.dataFolder, 'dev.json')} of a development economy is not there. Set DATABASE_URL, or run this where \`npm start\` ran (FAREBOX_DATA names another data folder).`,
  )
}

/** The pepper of API keys. Refuses when nothing gives one. */
export function requirePepper(wiring: Wiring): Buffer {
  if (wiring.keyPepper !== undefined) return wiring.keyPepper
  throw new ProgramFault(
    exitCodes.failed,
    'FAREBOX_KEY_PEPPER is not set. Set it, or FAREBOX_KEY_PEPPER_FILE, to the value that the servers use: with another one no key works.',
  )
}

/** The whole configuration, as the server of `mode` would read it. Throws ConfigurationFault with everything that is wrong. */
export function readConfig(around: ProgramSurroundings, mode: Mode): { config: Config; secrets: Secrets } {
  return loadConfig({
    environment: around.environment,
    readFile: around.readFile,
    now: around.clock.now(),
    mode,
  })
}

function developmentEconomy(
  around: ProgramSurroundings,
  folder: string,
): { databaseUrl: string; pepper: Buffer | undefined; key: string | undefined } | undefined {
  try {
    const text = around.readFile(join(folder, 'dev.json'))
    if (text === undefined) return undefined
    const file = JSON.parse(text) as { database_url?: unknown; agent?: { api_key?: unknown } }
    if (typeof file.database_url !== 'string') return undefined
    const pepper = Buffer.from((around.readFile(join(folder, 'key-pepper')) ?? '').trim(), 'hex')
    const key = file.agent?.api_key
    return {
      databaseUrl: file.database_url,
      pepper: pepper.length > 0 ? pepper : undefined,
      key: typeof key === 'string' ? key : undefined,
    }
  } catch (cause) {
    throw new ProgramFault(
      exitCodes.failed,
      `${join(folder, 'dev.json')} cannot be read. Let this user read it, or set DATABASE_URL.`,
      { cause },
    )
  }
}
