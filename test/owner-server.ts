import { randomBytes } from 'node:crypto'
import { type App, createApp } from '../src/app/app.ts'
import { createLogger } from '../src/app/logger.ts'
import { loadConfig } from '../src/config/config.ts'
import { readTextFile } from '../src/config/read-file.ts'
import {
  type DevelopmentIdentityProvider,
  type Person,
  startIdentityProvider,
} from '../src/development/identity-provider.ts'
import { createInvitation } from '../src/identity/invitations/service.ts'
import { systemClock } from '../src/kernel/clock.ts'
import { systemRandom } from '../src/kernel/random.ts'
import { freshDatabase, type TestDatabase } from './database.ts'

/** A whole server at which owners sign in by real identity providers. */
export interface OwnerServer {
  readonly url: string
  readonly app: App
  readonly database: TestDatabase
  /** By the names that they are configured under. */
  readonly identityProviders: Readonly<Record<string, DevelopmentIdentityProvider>>
  /** Everything that was logged. */
  readonly log: string[]
  /** POSTs to /v1/auth/oidc/<path>. */
  post(path: 'exchange' | 'register', body: object): Promise<Answer>
  /** Exchanges the code that a browser landed with. */
  exchange(end: Landed): Promise<Answer>
  /** Whose account signs in at `acme` with this e-mail address. */
  accountOf(email: string): Promise<bigint | undefined>
  /** An invitation of one use. */
  invite(): Promise<{ id: bigint; code: string }>
  usesOf(invitationId: bigint): Promise<number | undefined>
  stop(): Promise<void>
}

/** An answer, read to its end. */
export interface Answer {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects, and fails where it is not
  readonly json: any
}

interface Wanted {
  readonly people: readonly Person[]
  /** An identity provider is started for each. */
  readonly names: readonly string[]
  /** Configured by name, and not started. */
  readonly issuers?: Readonly<Record<string, string>>
  readonly requireInvitation?: boolean
}

/** Starts a server and its identity providers, all with the same people. */
export async function startOwnerServer(wanted: Wanted): Promise<OwnerServer> {
  const database = await freshDatabase()
  const log: string[] = []
  const identityProviders: Record<string, DevelopmentIdentityProvider> = {}
  for (const name of wanted.names)
    identityProviders[name] = await startIdentityProvider({
      random: systemRandom,
      people: wanted.people,
      port: 0,
      isCallback: (uri) => uri.endsWith('/callback'),
    })
  const app = await composed(wanted, { database, identityProviders, log })
  const url = await app.server.listen({ host: '127.0.0.1', port: 0 })
  const post: OwnerServer['post'] = async (path, body) => {
    const response = await fetch(`${url}/v1/auth/oidc/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    return { status: response.status, json: await response.json() }
  }
  return {
    url,
    app,
    database,
    identityProviders,
    log,
    post,
    exchange: ({ code }) => post('exchange', { code }),
    ...rowsOf(database, identityProviders),
    async stop() {
      await app.stop(0)
      await Promise.all(Object.values(identityProviders).map((provider) => provider.stop()))
      await database.drop()
    },
  }
}

/** The server with these identity providers in its configuration. */
function composed(
  { issuers = {}, requireInvitation = false }: Wanted,
  made: Pick<OwnerServer, 'database' | 'identityProviders' | 'log'>,
): Promise<App> {
  const { config, secrets } = loadConfig({
    environment: { PORT: '0', HOST: '127.0.0.1' },
    readFile: readTextFile,
    now: systemClock.now(),
    mode: 'development',
  })
  const settings = { clientId: 'farebox', scopes: ['openid', 'email'], label: 'Test' }
  const known = [
    ...Object.entries(made.identityProviders).map(([name, { issuer }]) => [name, issuer] as const),
    ...Object.entries(issuers),
  ]
  const providers = Object.fromEntries(known.map(([name, issuer]) => [name, { ...settings, issuer }]))
  const oidcClientSecrets = Object.fromEntries(
    Object.entries(made.identityProviders).map(([name, { clientSecret }]) => [name, clientSecret]),
  )
  return createApp({
    config: {
      ...config,
      oidc: { providers, requireInvitation, consoleUrl: undefined, supportContact: 'help@example.com' },
    },
    secrets: { ...secrets, oidcClientSecrets },
    databaseUrl: made.database.url,
    pepper: randomBytes(32),
    clock: systemClock,
    random: systemRandom,
    logger: createLogger({ level: 'info', write: (text) => void made.log.push(text) }),
    version: '0.0.0-test',
    host: 'test',
    pid: process.pid,
    isRunning: () => true,
  })
}

/** What a test looks up and puts into the database. */
function rowsOf(
  database: TestDatabase,
  identityProviders: OwnerServer['identityProviders'],
): Pick<OwnerServer, 'accountOf' | 'invite' | 'usesOf'> {
  return {
    async accountOf(email) {
      const [row] = await database.sql<{ account_id: string }>(
        'select account_id from owner_identities where subject = $1 and issuer = $2',
        [email.split('@')[0], identityProviders.acme?.issuer],
      )
      return row && BigInt(row.account_id)
    },
    invite: () =>
      createInvitation(
        { db: database.db, random: systemRandom },
        { maxUses: 1, expiresAt: undefined, note: '' },
        { operator: { kind: 'operator', name: 'test' } },
      ),
    async usesOf(invitationId) {
      const [row] = await database.sql<{ uses: number }>('select uses from invitations where id = $1', [invitationId])
      return row?.uses
    },
  }
}

/** People whom every identity provider of a test knows: `person-0@example.com` and so on. */
export const people: readonly Person[] = Array.from({ length: 200 }, (_, n) => ({
  subject: `person-${n}`,
  email: `person-${n}@example.com`,
}))

/** What the console finds in its address. */
export type Landed = Readonly<Partial<Record<'code' | 'error' | 'registration_id' | 'return_to', string>>>

/** A browser: follows redirects and keeps cookies as browsers do, by host and path, whatever the port. */
export class Browser {
  readonly #cookies = new Map<string, { path: string; pair: string }>()
  /** Every address it was sent to. */
  readonly visited: string[] = []

  /** One request. Redirects are not followed. */
  async request(url: string, init: RequestInit = {}): Promise<Response> {
    const { pathname } = new URL(url)
    const cookie = [...this.#cookies.values()]
      .filter(({ path }) => pathname === path || pathname.startsWith(path.replace(/\/?$/, '/')))
      .map(({ pair }) => pair)
      .join('; ')
    this.visited.push(url)
    const response = await fetch(url, {
      ...init,
      redirect: 'manual',
      headers: { ...(cookie ? { cookie } : {}) },
    })
    for (const header of response.headers.getSetCookie()) this.#keep(header)
    return response
  }

  /** Follows redirects until there is a page, or the console: gives the last address that was asked for, and the page. */
  async follow(url: string, init: RequestInit = {}): Promise<{ url: string; page: string }> {
    let next = url
    let response = await this.request(next, init)
    for (let hops = 0; hops < 10; hops++) {
      const location = response.headers.get('location')
      if (!location) return { url: next, page: await response.text() }
      await response.body?.cancel()
      next = new URL(location, next).href
      if (new URL(next).pathname.startsWith('/console')) return { url: next, page: '' }
      response = await this.request(next)
    }
    throw new Error(`too many redirects from ${url}`)
  }

  /** Signs in until the console is reached; gives what its address says. */
  async signIn(
    server: OwnerServer,
    wanted: { as: string; by?: string; query?: Record<string, string> },
  ): Promise<Landed> {
    const query = new URLSearchParams({ ...wanted.query, login_hint: wanted.as })
    const end = await this.follow(`${server.url}/v1/auth/oidc/${wanted.by ?? 'acme'}/start?${query}`)
    return landed(end.url)
  }

  /** The same up to the callback, which is not made: gives its address. */
  async callbackOf(
    server: OwnerServer,
    wanted: { as: string; by?: string; query?: Record<string, string> },
  ): Promise<string> {
    const query = new URLSearchParams({ ...wanted.query, login_hint: wanted.as })
    const start = await this.request(`${server.url}/v1/auth/oidc/${wanted.by ?? 'acme'}/start?${query}`)
    const back = await this.request(start.headers.get('location') ?? '')
    return back.headers.get('location') ?? ''
  }

  #keep(header: string): void {
    const [pair = '', ...attributes] = header.split(/;\s*/)
    const named = (name: string) =>
      attributes.find((attribute) => attribute.toLowerCase().startsWith(`${name}=`))?.slice(name.length + 1)
    const path = named('path') ?? '/'
    const key = `${path} ${pair.split('=')[0]}`
    const expires = named('expires')
    const over = named('max-age') === '0' || (expires !== undefined && Date.parse(expires) <= Date.now())
    if (over) this.#cookies.delete(key)
    else this.#cookies.set(key, { path, pair })
  }
}

/** What an address of the console says. */
export function landed(url: string): Landed {
  const { pathname, searchParams } = new URL(url)
  if (!pathname.endsWith('/console/auth')) throw new Error(`${pathname} is not the console`)
  return Object.fromEntries(searchParams)
}
