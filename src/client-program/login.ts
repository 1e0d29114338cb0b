import type { Account } from '../../sdk/src/index.ts'
import { exitCodes, ProgramFault } from '../terminal/exit-codes.ts'
import { fields } from '../terminal/output.ts'
import { withProgress } from '../terminal/progress.ts'
import { asUser, type Connection, connect, explained } from './client.ts'
import { loginByDevice } from './device-login.ts'
import { walletOf } from './private-key.ts'
import {
  type AddClientCommands,
  type ClientSurroundings,
  isForPrograms,
  type OutputOptions,
  show,
  withOutput,
} from './surroundings.ts'

/** `farebox login|logout|whoami`. */
export const loginCommands: AddClientCommands = (program, here) => {
  withOutput(
    program
      .command('login')
      .description('log in at a server: an owner by approving a code in the console, an Agent by the key of its wallet')
      .option('--private-key-file <path>', "a file with the wallet's private key; an unknown wallet becomes an Agent")
      .option('--with-api-key', 'read an API key from standard input, and use it')
      .option('--base-url <url>', 'the server; else FAREBOX_BASE_URL, else the one of the last login'),
  ).action((options: LoginOptions) => login(here, options))
  withOutput(program.command('logout').description('end the session, and forget the login')).action(
    (options: OutputOptions) => logout(here, options),
  )
  withOutput(program.command('whoami').description('show the account, the server and the kind of login')).action(
    (options: OutputOptions) => whoami(here, options),
  )
}

interface LoginOptions extends OutputOptions {
  readonly privateKeyFile?: string
  readonly withApiKey?: boolean
  readonly baseUrl?: string
}

async function login(here: ClientSurroundings, options: LoginOptions): Promise<void> {
  if (options.withApiKey && options.privateKeyFile !== undefined)
    throw new ProgramFault(exitCodes.usage, 'A login is by --private-key-file or --with-api-key, not by both.')
  const { file, server } = connect(here, { server: options.baseUrl })
  const before = file.login(server)?.tokens
  const { account, apiKey, connection } = await loggedIn(here, options)
  // nobody could end it any more: its tokens were written over
  if (before) await ended(connection, before.refreshToken)
  if (here.environment.FAREBOX_API_KEY)
    here.writeError('FAREBOX_API_KEY is set and goes before this login: unset it.\n')
  const { hostname, protocol } = new URL(connection.server)
  if (protocol === 'http:' && !/^(localhost|127\..*|\[::1\])$/.test(hostname))
    here.writeError('This server is asked without TLS: whoever is on the way can read your login. Use https.\n')
  if (apiKey !== '')
    here.writeError(
      'This wallet was new here: it has an account and a first API key now. The key is shown this once.\n',
    )
  const done = `Logged in at ${connection.server} as ${nameOf(account)}. The login is kept in ${connection.file.path}.`
  // a login by code is told as events, one on a line
  if (isByDevice(options) && isForPrograms(here, options))
    return here.write(`${JSON.stringify({ event: 'logged_in', server: connection.server, account })}\n`)
  show(here, options, {
    data: { server: connection.server, account, ...(apiKey === '' ? {} : { api_key: apiKey }) },
    text: apiKey === '' ? done : `${done}\n\n${apiKey}`,
  })
}

interface LoggedIn {
  readonly account: Account
  /** Of a new account, else "". */
  readonly apiKey: string
  readonly connection: Connection
}

/** Ends a session that was replaced. One that cannot be ended now lapses by itself. */
async function ended({ client }: Connection, refreshToken: string): Promise<void> {
  await client.request('POST', '/v1/auth/logout', { body: { refresh_token: refreshToken } }).catch(() => undefined)
}

const isByDevice = ({ privateKeyFile, withApiKey }: LoginOptions): boolean =>
  privateKeyFile === undefined && !withApiKey

async function loggedIn(here: ClientSurroundings, options: LoginOptions): Promise<LoggedIn> {
  const { baseUrl, privateKeyFile } = options
  if (privateKeyFile !== undefined) return byWallet(here, privateKeyFile, baseUrl)
  if (options.withApiKey) return byApiKey(here, baseUrl)
  const connection = connect(here, { server: baseUrl })
  return { account: await loginByDevice(here, options, connection), apiKey: '', connection }
}

async function byWallet(here: ClientSurroundings, path: string, server: string | undefined): Promise<LoggedIn> {
  const wallet = walletOf(here, path)
  const connection = connect(here, { server })
  const signedIn = await withProgress(here, 'logging in', () =>
    explained(connection, () => connection.client.auth.signIn(wallet)),
  )
  return { ...signedIn, connection }
}

async function byApiKey(here: ClientSurroundings, server: string | undefined): Promise<LoggedIn> {
  if (here.stdinIsTerminal) here.writeError('Paste an API key and press Enter (it is not shown):\n')
  const apiKey = (await here.readSecret()).trim()
  if (!/^fbx_\w+$/.test(apiKey))
    throw new ProgramFault(
      exitCodes.usage,
      'No API key came on standard input: one begins with fbx_. `farebox keys create` makes one, and so does the console.',
    )
  const connection = connect(here, { server, apiKey })
  const { account } = await withProgress(here, 'logging in', () =>
    explained(connection, () => connection.client.request('GET', '/v1/me')),
  )
  await connection.file.keepLogin(connection.server, { apiKey })
  return { account, apiKey: '', connection }
}

async function logout(here: ClientSurroundings, options: OutputOptions): Promise<void> {
  const { server, file, client } = connect(here)
  const login = file.login(server)
  await withProgress(here, 'logging out', () =>
    explained({ server }, async () => {
      if (login?.tokens) await client.auth.signOut()
    }),
  )
  if (login) await file.keepLogin(server, undefined)
  const text = login
    ? `Logged out at ${server}.${login.apiKey === undefined ? '' : ' The API key itself stays valid: `farebox keys revoke` ends one.'}`
    : `You were not logged in at ${server}.`
  if (here.environment.FAREBOX_API_KEY) here.writeError('FAREBOX_API_KEY is still set: commands go on using it.\n')
  show(here, options, { data: { server, logged_out: login !== undefined }, text })
}

const CREDENTIALS = { environment: 'FAREBOX_API_KEY', api_key: 'API key', session: 'session', none: 'none' } as const

async function whoami(here: ClientSurroundings, options: OutputOptions): Promise<void> {
  await asUser(here, 'asking who you are', async ({ client, credential, server }) => {
    const { account } = await client.request('GET', '/v1/me')
    show(here, options, {
      data: { server, login: credential, account },
      text: fields([
        ['account', nameOf(account)],
        ['label', account.label || undefined],
        ['wallet', account.wallet_address || undefined],
        ['e-mail', account.email || undefined],
        ['owner', account.owner_account_id === undefined ? undefined : `#${account.owner_account_id}`],
        ['billing', account.billing_mode],
        ['status', account.status],
        ['server', server],
        ['login', CREDENTIALS[credential]],
      ]),
    })
  })
}

const nameOf = ({ account_type, id }: Account): string => `${account_type === 'agent' ? 'Agent' : 'owner'} #${id}`
