import { randomBytes } from 'node:crypto'
import { type App, createApp } from '../src/app/app.ts'
import { createLogger } from '../src/app/logger.ts'
import type { Reloaded } from '../src/app/offer.ts'
import { loadConfig } from '../src/config/config.ts'
import type { BudgetLimits } from '../src/identity/accounts/store.ts'
import * as accounts from '../src/identity/accounts/store.ts'
import { createKey } from '../src/identity/keys/service.ts'
import type { Clock } from '../src/kernel/clock.ts'
import { microcredits } from '../src/kernel/money.ts'
import { systemRandom } from '../src/kernel/random.ts'
import { auditLedger } from '../src/ledger/audit.ts'
import { grantCredits } from '../src/ledger/grants.ts'
import type { JsonObject } from '../src/providers/provider.ts'
import { appConfiguration, type TestAppOptions } from './app-configuration.ts'
import { freshDatabase, type TestDatabase } from './database.ts'
import { type DatabaseLine, databaseProxy } from './database-proxy.ts'
import { type MockProvider, startMockProvider } from './mock-provider.ts'

export { until } from './until.ts'

/** The key that the server sends to its mock providers: it must never be seen anywhere else. */
export const PROVIDER_KEY = 'pk-canary-provider-0123456789'

/** The secret header that capabilities of tests may send to their upstream. */
export const UPSTREAM_KEY = 'up-canary-0123456789'

/** Someone who calls: an account with Credits and a key. */
export interface Person {
  readonly accountId: bigint
  readonly keyId: bigint
  readonly key: string
}

/** An answer, read to its end. */
export interface Answer {
  readonly status: number
  readonly phrase: string
  readonly headers: Headers
  readonly text: string
  /** The body as JSON; an empty object when it is none. */
  readonly json: JsonObject
}

/** A call as the database has it. */
export interface HoldRow {
  readonly id: bigint
  readonly request_id: string
  readonly reserve_micro: bigint
  readonly kind: 'captured' | 'voided' | null
  readonly outcome: 'success' | 'failed' | null
  readonly actual_micro: bigint | null
  readonly flag: 'usage_unknown' | 'shortfall' | null
  readonly detail: string | null
}

/** A whole server on loopback, on a database of its own, with two scripted providers. */
export interface TestApp {
  readonly app: App
  readonly url: string
  readonly database: TestDatabase
  /** Serves `mock-model` first. */
  readonly mock: MockProvider
  /** Serves `mock-model` when the first one refuses. */
  readonly backup: MockProvider
  /** Everything that was logged. */
  readonly log: string[]
  readonly clock: HandClock
  /** Makes an account with Credits and a key. */
  person(wanted?: { creditsMicro?: bigint; budget?: Partial<BudgetLimits> }): Promise<Person>
  topUp(person: Person, creditsMicro: bigint): Promise<void>
  post(path: string, body: unknown, person?: Person | string, headers?: Record<string, string>): Promise<Answer>
  /** POST /v1/chat/completions with one user message, unless the fields say otherwise. */
  chat(person: Person, fields?: JsonObject, headers?: Record<string, string>): Promise<Answer>
  balance(person: Person): Promise<{ postedMicro: bigint; heldMicro: bigint }>
  /** The account's calls, oldest first. */
  holds(person: Person): Promise<HoldRow[]>
  /** What the ledger's own audit finds wrong: nothing. */
  audit(): Promise<unknown[]>
  /** Changes the file that the server reads when it is asked to. */
  configure(wanted: TestAppOptions): void
  /** Has the server read its configuration again, changed in this. */
  reload(wanted: TestAppOptions): Promise<Reloaded>
  /** Cuts the server off its database, and lets it back. Only with `databaseThroughProxy`. */
  readonly databaseLine: DatabaseLine
  stop(): Promise<void>
}

/** A clock whose wall time is moved by hand. What is measured runs on. */
export interface HandClock extends Clock {
  set(time: Date): void
}

/** Prices of `mock-model`, in microcredits per token: 3 in, 1 cached, 7 out. */
export const PRICE = { input: 3n, cached: 1n, output: 7n }

/** Everything real but the providers, not listening yet. */
async function composed(options: TestAppOptions) {
  const [database, mock, backup] = await Promise.all([freshDatabase(), startMockProvider(), startMockProvider()])
  const line = options.databaseThroughProxy ? await databaseProxy(database.url) : undefined
  const clock = handClock()
  const load = (wanted: TestAppOptions): ReturnType<typeof loadConfig> =>
    loadConfig({
      environment: {
        PORT: '0',
        HOST: '127.0.0.1',
        FAREBOX_CONFIG: 'test.yaml',
        MOCK_API_KEY: PROVIDER_KEY,
        UPSTREAM_AUTHORIZATION: `Bearer ${UPSTREAM_KEY}`,
      },
      readFile: (path) =>
        path === 'test.yaml' ? appConfiguration(mock.baseUrl, backup.baseUrl, { ...options, ...wanted }) : undefined,
      now: clock.now(),
      mode: 'development',
    })
  const { config, secrets } = load({})
  let onDisk: TestAppOptions = {}
  const log: string[] = []
  const pepper = randomBytes(32)
  const app = await createApp({
    config,
    secrets,
    clock,
    pepper,
    databaseUrl: line?.url ?? database.url,
    random: systemRandom,
    logger: createLogger({ level: 'info', write: (text) => void log.push(text) }),
    version: '0.0.0-test',
    host: 'test',
    pid: process.pid,
    isRunning: () => true,
    reading: { load: () => load(onDisk), askToReload: () => undefined },
    ...(options.media ? { media: options.media } : {}),
  })
  const configure = (wanted: TestAppOptions) => {
    onDisk = wanted
  }
  const reload = (wanted: TestAppOptions) => app.reload(() => load(wanted))
  return { app, database, mock, backup, line, clock, log, pepper, configure, reload }
}

/** Starts a composed server on loopback. Call it in beforeAll and `stop` in afterAll. */
export async function startTestApp(options: TestAppOptions = {}): Promise<TestApp> {
  const { line, pepper, ...parts } = await composed(options)
  const { app, database, mock, backup } = parts
  const url = await app.server.listen({ host: '127.0.0.1', port: 0 })
  const keyDeps = { db: database.db, random: systemRandom, pepper }

  const test: TestApp = {
    ...parts,
    url,
    async person({ creditsMicro = 10_000_000n, budget } = {}) {
      const accountId = await database.db
        .transaction()
        .execute((tx) =>
          accounts.insert(tx, { accountType: 'owner', walletAddress: undefined, email: undefined, label: undefined }),
        )
      const limits = budget && {
        per_call_micro: null,
        daily_micro: null,
        monthly_micro: null,
        total_micro: null,
        ...budget,
      }
      const { id, secret } = await createKey(keyDeps, { accountId, ...(limits ? { budget: limits } : {}) })
      const person = { accountId, keyId: id, key: secret }
      if (creditsMicro > 0n) await test.topUp(person, creditsMicro)
      return person
    },
    async topUp({ accountId }, creditsMicro) {
      await grantCredits(database.db, {
        source: 'operator',
        sourceId: randomBytes(8).toString('hex'),
        accountId,
        bucket: 'purchased',
        amountMicro: microcredits(creditsMicro),
        expiresAt: undefined,
        reason: 'a test',
        grantedBy: 'operator:test',
      })
    },
    async post(path, body, person, headers = {}) {
      const key = typeof person === 'string' ? person : person?.key
      const response = await fetch(url + path, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
          ...headers,
        },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      })
      return readAnswer(response)
    },
    chat: (person, fields = {}, headers = {}) =>
      test.post(
        '/v1/chat/completions',
        { model: 'mock-model', messages: [{ role: 'user', content: 'ping' }], ...fields },
        person,
        headers,
      ),
    async balance({ accountId }) {
      const [row] = await database.sql<{ posted: string; held: string }>(
        'select sum(posted_micro) as posted, sum(held_micro) as held from buckets where account_id = $1',
        [accountId],
      )
      return { postedMicro: BigInt(row?.posted ?? 0), heldMicro: BigInt(row?.held ?? 0) }
    },
    async holds({ accountId }) {
      return (
        await database.pool.query<HoldRow>(
          `select h.id, h.request_id, h.reserve_micro, r.kind, r.outcome, r.actual_micro, f.flag, f.detail
         from holds h left join hold_resolutions r on r.hold_id = h.id left join hold_flags f on f.hold_id = h.id
         where h.actor_account_id = $1 order by h.id`,
          [accountId],
        )
      ).rows
    },
    audit: () => auditLedger(database.db),
    databaseLine: line ?? { cut: () => undefined, restore: () => undefined },
    async stop() {
      // a test may have stopped it already
      if (app.server.server.listening) await app.stop(0)
      await Promise.all([mock.close(), backup.close(), line?.close(), database.drop()])
    },
  }
  return test
}

/** Reads an answer to its end. */
export async function readAnswer(response: Response): Promise<Answer> {
  const text = await response.text()
  let json: JsonObject = {}
  try {
    json = JSON.parse(text) as JsonObject
  } catch {
    // a stream, or nothing
  }
  return { status: response.status, phrase: response.statusText, headers: response.headers, text, json }
}

/** The `data:` payloads of a stream; `[DONE]` as the string it is. */
export const framesOf = (text: string): JsonObject[] =>
  text
    .split('\n\n')
    .filter((event) => event.startsWith('data: '))
    .map((event) => (event === 'data: [DONE]' ? { done: true } : (JSON.parse(event.slice(6)) as JsonObject)))

function handClock(): HandClock {
  let time = new Date('2026-06-01T00:00:00Z')
  return {
    now: () => time,
    monotonicMs: () => performance.now(),
    set(moved) {
      time = moved
    },
  }
}
