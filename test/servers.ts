import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { type App, createApp } from '../src/app/app.ts'
import { createLogger } from '../src/app/logger.ts'
import { loadConfig } from '../src/config/config.ts'
import { readTextFile } from '../src/config/read-file.ts'
import * as accounts from '../src/identity/accounts/store.ts'
import { sessionOpener } from '../src/identity/sessions/service.ts'
import { openKeyring } from '../src/identity/tokens/keyring.ts'
import { createTokens, type Tokens } from '../src/identity/tokens/service.ts'
import type { Clock } from '../src/kernel/clock.ts'
import { microcredits } from '../src/kernel/money.ts'
import { systemRandom } from '../src/kernel/random.ts'
import { grantCredits } from '../src/ledger/grants.ts'
import { freshDatabase, type TestDatabase } from './database.ts'

/** An answer, read to its end. */
export interface Answer {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects, and fails where it is not
  readonly json: any
}

/** Someone who signed in. */
export interface SignedInPerson {
  readonly accountId: bigint
  readonly accessToken: string
  readonly refreshToken: string
  /** The first API key, when this sign-in made it. */
  readonly apiKey: string
}

/** What a request may carry. */
export interface Sent {
  readonly token?: string
  readonly body?: unknown
  readonly headers?: Record<string, string>
  /** Which of the servers is asked; the first one otherwise. */
  readonly at?: number
}

/** Whole servers on one database: each has its own pools, caches and ledger lane, as separate processes have. */
export interface TestServers {
  readonly apps: readonly App[]
  readonly urls: readonly string[]
  readonly database: TestDatabase
  readonly pepper: Buffer
  /** Signs whatever a test wants, under the servers' own key. */
  readonly tokens: Tokens
  /** Everything that was logged. */
  readonly log: string[]
  /** Moves the wall clock and the measuring clock of the servers forward. The database's clock stays. */
  advance(ms: number): void
  send(method: string, path: string, sent?: Sent): Promise<Answer>
  /** Signs a wallet in by the real endpoints. */
  signIn(wallet?: PrivateKeyAccount, at?: number): Promise<SignedInPerson>
  /** An owner account with a session. */
  owner(wallet?: string): Promise<SignedInPerson>
  grant(accountId: bigint, creditsMicro: bigint): Promise<void>
  chat(token: string, at?: number): Promise<Answer>
  /** Notes when credentials were last used, as upkeep does now and then. */
  flushUsed(): Promise<void>
  stop(): Promise<void>
}

/** A wallet that nobody has seen. */
export const newWallet = (): PrivateKeyAccount => privateKeyToAccount(generatePrivateKey())

/** Starts this many composed servers, on the shipped configuration unless it is changed. Call it in beforeAll and `stop` in afterAll. */
export async function startServers(
  count = 1,
  options: { configure?: (shipped: string) => string } = {},
): Promise<TestServers> {
  const database = await freshDatabase()
  const dataFolder = await mkdtemp(join(tmpdir(), 'farebox-servers-'))
  const pepper = randomBytes(32)
  const log: string[] = []
  let aheadMs = 0
  const clock: Clock = {
    now: () => new Date(Date.now() + aheadMs),
    monotonicMs: () => performance.now() + aheadMs,
  }
  const apps: App[] = []
  const urls: string[] = []
  for (let index = 0; index < count; index++) {
    const app = await composed({ databaseUrl: database.url, dataFolder, pepper, clock, log }, options.configure)
    apps.push(app)
    urls.push(await app.server.listen({ host: '127.0.0.1', port: 0 }))
  }
  const keyring = await openKeyring({ db: database.db, random: systemRandom, pepper, clock })
  const tokens = createTokens({ keyring, clock })
  const send = sender(urls)
  return {
    apps,
    urls,
    database,
    pepper,
    tokens,
    log,
    send,
    advance(ms) {
      aheadMs += ms
    },
    signIn: (wallet = newWallet(), at = 0) => signIn(send, wallet, at),
    owner: (wallet) => newOwner(database, tokens, wallet),
    grant: (accountId, creditsMicro) => grant(database, accountId, creditsMicro),
    chat(token, at = 0) {
      const messages = [{ role: 'user', content: 'ping' }]
      const body = { model: 'demo-chat', max_tokens: 16, messages }
      return send('POST', '/v1/chat/completions', { at, token, body })
    },
    async flushUsed() {
      await Promise.all(apps.map((app) => app.flushUsed()))
    },
    async stop() {
      await Promise.all(apps.map((app) => app.stop(0)))
      await database.drop()
      await rm(dataFolder, { recursive: true, force: true })
    },
  }
}

interface Own {
  readonly databaseUrl: string
  readonly dataFolder: string
  readonly pepper: Buffer
  readonly clock: Clock
  readonly log: string[]
}

function composed(own: Own, configure: (shipped: string) => string = (shipped) => shipped): Promise<App> {
  const { config, secrets } = loadConfig({
    environment: { PORT: '0', HOST: '127.0.0.1', FAREBOX_DATA: own.dataFolder },
    readFile(path) {
      const text = readTextFile(path)
      return text === undefined ? undefined : configure(text)
    },
    now: own.clock.now(),
    mode: 'development',
  })
  return createApp({
    ...own,
    config,
    secrets,
    random: systemRandom,
    version: '0.0.0-test',
    host: 'test',
    pid: process.pid,
    logger: createLogger({ level: 'info', write: (text) => void own.log.push(text) }),
    isRunning: () => true,
  })
}

function sender(urls: readonly string[]): TestServers['send'] {
  return async (method, path, { token, body, headers = {}, at = 0 } = {}) => {
    const response = await fetch(`${urls[at]}${path}`, {
      method,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    const json = text.startsWith('{') ? JSON.parse(text) : text
    return { status: response.status, headers: response.headers, json }
  }
}

async function signIn(send: TestServers['send'], wallet: PrivateKeyAccount, at: number): Promise<SignedInPerson> {
  const asked = { at, body: { wallet_address: wallet.address } }
  const challenge = await send('POST', '/v1/auth/challenge', asked)
  const signature = await wallet.signMessage({ message: challenge.json.message })
  const proof = { at, body: { challenge_id: challenge.json.challenge_id, signature } }
  const answer = await send('POST', '/v1/auth/verify', proof)
  if (answer.status !== 200) throw new Error(`sign-in failed: ${JSON.stringify(answer.json)}`)
  const { account, tokens } = answer.json
  return {
    accountId: BigInt(account.id),
    accessToken: tokens.access_token,
    refreshToken: tokens.refresh_token,
    apiKey: tokens.api_key,
  }
}

async function newOwner(
  { db }: TestDatabase,
  tokens: Tokens,
  walletAddress: string | undefined,
): Promise<SignedInPerson> {
  const opener = sessionOpener({ random: systemRandom, tokens })
  const owner = { accountType: 'owner', walletAddress, email: undefined, label: undefined } as const
  const session = await db.transaction().execute(async (tx) => {
    const accountId = await accounts.insert(tx, owner)
    return opener.start(tx, { accountId, device: 'test' })
  })
  return { accountId: session.accountId, ...(await opener.issue(session)), apiKey: '' }
}

async function grant({ db }: TestDatabase, accountId: bigint, creditsMicro: bigint): Promise<void> {
  await grantCredits(db, {
    source: 'operator',
    sourceId: randomBytes(8).toString('hex'),
    accountId,
    bucket: 'purchased',
    amountMicro: microcredits(creditsMicro),
    expiresAt: undefined,
    reason: 'a test',
    grantedBy: 'operator:test',
  })
}
