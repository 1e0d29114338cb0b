import { chmodSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { SignedPayment, Tokens } from '../../sdk/src/index.ts'
import { exitCodes, ProgramFault } from '../terminal/exit-codes.ts'
import { locked } from './lock.ts'
import type { ClientSurroundings } from './surroundings.ts'

/** What a login left: a session's tokens, or an API key. */
export interface Login {
  readonly tokens?: Tokens
  readonly apiKey?: string
}

interface Kept {
  /** The server of the last login. */
  readonly current?: string
  readonly servers: Readonly<Record<string, Login>>
  /** Signed payments whose end is not known yet, one for each server. */
  readonly payments: Readonly<Record<string, SignedPayment>>
}

/** The file of logins, readable by its user alone. A login belongs to one server and is never sent to another. */
export interface CredentialsFile {
  readonly path: string
  /** The server of the last login; undefined before the first. */
  current(): string | undefined
  login(server: string): Login | undefined
  /** Keeps a login and makes its server the current one; undefined forgets it. */
  keepLogin(server: string, login: Login | undefined): Promise<void>
  payment(server: string): SignedPayment | undefined
  keepPayment(server: string, payment: SignedPayment | undefined): Promise<void>
  /**
   * Runs one such piece of work at a time over all processes of this user: a refresh token can be exchanged once, and
   * of two that change the file neither may lose what the other wrote. What the work itself keeps is in its turn.
   */
  inTurn<T>(work: () => Promise<T>): Promise<T>
}

/** Opens `farebox/credentials.json` below XDG_CONFIG_HOME, or below ~/.config. Nothing is written before a login. */
export function openCredentials({
  environment,
  clock,
  random,
}: Pick<ClientSurroundings, 'environment' | 'clock' | 'random'>): CredentialsFile {
  const path = pathIn(environment)
  let isMine = false
  const inTurn: CredentialsFile['inTurn'] = async (work) => {
    const release = await locked(`${path}.lock`, { clock, holder: random.uuid() })
    isMine = true
    try {
      return await work()
    } finally {
      isMine = false
      release()
    }
  }
  const change = async (changed: (kept: Kept) => Kept): Promise<void> => {
    const write = async () => writeKept(path, changed(readKept(path)))
    await (isMine ? write() : inTurn(write))
  }
  return {
    path,
    current: () => readKept(path).current,
    login: (server) => readKept(path).servers[server],
    payment: (server) => readKept(path).payments[server],
    keepLogin: (server, login) =>
      change(({ current, servers, payments }) => ({
        ...(login ? { current: server } : current === undefined ? {} : { current }),
        servers: withEntry(servers, server, login),
        payments,
      })),
    keepPayment: (server, payment) =>
      change((kept) => ({ ...kept, payments: withEntry(kept.payments, server, payment) })),
    inTurn,
  }
}

function pathIn(environment: ClientSurroundings['environment']): string {
  const home = environment.HOME || environment.USERPROFILE
  const folder = environment.XDG_CONFIG_HOME || (home ? join(home, '.config') : undefined)
  if (folder === undefined)
    throw new ProgramFault(exitCodes.usage, 'There is no place for credentials: set HOME or XDG_CONFIG_HOME.')
  return join(folder, 'farebox', 'credentials.json')
}

function withEntry<T>(entries: Readonly<Record<string, T>>, name: string, value: T | undefined): Record<string, T> {
  const { [name]: _replaced, ...others } = entries
  return value === undefined ? others : { ...others, [name]: value }
}

function readKept(path: string): Kept {
  let text: string
  try {
    if (process.platform !== 'win32' && (statSync(path).mode & 0o077) !== 0)
      throw new ProgramFault(
        exitCodes.auth,
        `Others can read ${path}, which holds your login. Run \`chmod 600 ${path}\`; if somebody may have read it, log out and in again.`,
      )
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ENOENT') return { servers: {}, payments: {} }
    throw error
  }
  try {
    const kept = JSON.parse(text) as Partial<Kept>
    return { ...kept, servers: kept.servers ?? {}, payments: kept.payments ?? {} }
  } catch {
    // the parser's own words would quote the file
    throw new ProgramFault(exitCodes.failed, `${path} is not JSON. Remove it and run \`farebox login\` again.`)
  }
}

/** Whole or not at all: a crash between the two leaves the old file. */
function writeKept(path: string, kept: Kept): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const next = `${path}.${process.pid}.new`
  writeFileSync(next, `${JSON.stringify(kept, null, 2)}\n`, { mode: 0o600 })
  chmodSync(next, 0o600)
  renameSync(next, path)
}
