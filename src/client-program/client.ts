import { createFarebox, type Farebox, type FareboxOptions, type Tokens } from '../../sdk/src/index.ts'
import { exitCodes, ProgramFault } from '../terminal/exit-codes.ts'
import { withProgress } from '../terminal/progress.ts'
import { type CredentialsFile, openCredentials } from './credentials.ts'
import { faultOf } from './faults.ts'
import type { ClientSurroundings } from './surroundings.ts'

/** Where `npm start` serves. */
const DEVELOPMENT_SERVER = 'http://127.0.0.1:8787'

/** A server, and who the user is there. */
export interface Connection {
  readonly server: string
  readonly client: Farebox
  readonly file: CredentialsFile
  /** What the login is: `FAREBOX_API_KEY`, a kept key, a session, or none. */
  readonly credential: 'environment' | 'api_key' | 'session' | 'none'
}

/** How a client is opened. */
export interface ConnectionOptions {
  /** The server; else FAREBOX_BASE_URL, else that of the last login, else the one of `npm start`. */
  readonly server?: string | undefined
  readonly timeoutMs?: number
  /** In place of what is kept. */
  readonly apiKey?: string
  readonly wallet?: FareboxOptions['wallet']
}

/** Opens the way to the server with the login that is kept for it. Sends nothing. */
export function connect(here: ClientSurroundings, options: ConnectionOptions = {}): Connection {
  const file = openCredentials(here)
  const { FAREBOX_BASE_URL, FAREBOX_API_KEY } = here.environment
  const givenKey = options.apiKey ?? FAREBOX_API_KEY?.trim()
  const server = serverFrom(options.server || FAREBOX_BASE_URL || file.current() || DEVELOPMENT_SERVER)
  const login = givenKey ? { apiKey: givenKey } : file.login(server)
  const kept = login?.apiKey === undefined ? 'session' : 'api_key'
  return {
    server,
    file,
    credential: login === undefined ? 'none' : givenKey ? 'environment' : kept,
    client: createFarebox({
      baseUrl: server,
      now: () => here.clock.now().getTime(),
      sleep: here.sleep,
      ...(options.timeoutMs === undefined ? {} : { timeoutMs: options.timeoutMs }),
      ...(options.wallet === undefined ? {} : { wallet: options.wallet }),
      ...(login?.apiKey === undefined ? {} : { apiKey: login.apiKey }),
      tokens: {
        read: async () => file.login(server)?.tokens,
        write: (tokens: Tokens | undefined) => file.keepLogin(server, tokens && { tokens }),
        exclusively: file.inTurn,
      },
    }),
  }
}

/**
 * Runs `work` in the name of whoever is logged in. What takes longer than a second is seen to be running; what fails
 * is said with the next step. Refuses with exit code 3 when nobody is logged in.
 */
export async function asUser<T>(
  here: ClientSurroundings,
  what: string,
  work: (connection: Connection) => Promise<T>,
  options: ConnectionOptions = {},
): Promise<T> {
  const connection = connect(here, options)
  if (connection.credential === 'none')
    throw new ProgramFault(
      exitCodes.auth,
      `You are not logged in at ${connection.server}. Run \`farebox login\`, or set FAREBOX_API_KEY; FAREBOX_BASE_URL names another server.`,
    )
  return withProgress(here, what, () => explained(connection, () => work(connection)))
}

/** Runs `work`; what the server refuses ends the program with what to do next. */
export async function explained<T>({ server }: Pick<Connection, 'server'>, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw faultOf(error, server)
  }
}

function serverFrom(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^https?:$/.test(url.protocol) || url.username !== '' || url.search !== '' || url.hash !== '')
    throw new ProgramFault(
      exitCodes.usage,
      'The server is an http or https address without credentials or query, such as https://api.example.com. Correct --base-url or FAREBOX_BASE_URL.',
    )
  return `${url.origin}${url.pathname.replace(/\/+$/, '').replace(/\/v1$/, '')}`
}
