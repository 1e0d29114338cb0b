import { randomBytes } from 'node:crypto'
import { type App, createApp } from '../src/app/app.ts'
import { createLogger } from '../src/app/logger.ts'
import { loadConfig } from '../src/config/config.ts'
import * as accounts from '../src/identity/accounts/store.ts'
import { createKey } from '../src/identity/keys/service.ts'
import type { BudgetLimits } from '../src/identity/keys/store.ts'
import type { Clock } from '../src/kernel/clock.ts'
import { microcredits } from '../src/kernel/money.ts'
import { systemRandom } from '../src/kernel/random.ts'
import { auditLedger } from '../src/ledger/audit.ts'
import { grantCredits } from '../src/ledger/grants.ts'
import type { MediaParts } from '../src/media/parts.ts'
import type { JsonObject } from '../src/providers/provider.ts'
import { freshDatabase, type TestDatabase } from './database.ts'
import { type DatabaseLine, databaseProxy } from './database-proxy.ts'
import { type MockProvider, startMockProvider } from './mock-provider.ts'

/** The key that the server sends to its mock providers: it must never be seen anywhere else. */
export const PROVIDER_KEY = 'pk-canary-provider-0123456789'

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
  /** Cuts the server off its database, and lets it back. Only with `databaseThroughProxy`. */
  readonly databaseLine: DatabaseLine
  stop(): Promise<void>
}

/** A clock whose wall time is moved by hand. What is measured runs on. */
export interface HandClock extends Clock {
  set(time: Date): void
}

/** What differs from the usual test server. */
export interface TestAppOptions {
  /** YAML to put under `limits:`. */
  readonly limits?: string
  /** More YAML under `models:`, each beginning with `  - id:`. */
  readonly models?: string
  /** YAML to put under `payments.assets:`, in one line. */
  readonly assets?: string
  /** YAML under `media_models:`, and what those models are made with. */
  readonly mediaModels?: string
  readonly media?: MediaParts
  /** Put a line between server and database that can be cut. */
  readonly databaseThroughProxy?: boolean
}

/** Prices of `mock-model`, in microcredits per token: 3 in, 1 cached, 7 out. */
export const PRICE = { input: 3n, cached: 1n, output: 7n }

const configuration = (mock: string, backup: string, more: TestAppOptions): string => `
allow_demo: true
providers:
  demo: { kind: demo, first_token_ms: 20, token_ms: 5, timeout_ms: 50 }
  mock: { kind: openai-compatible, base_url: "${mock}", api_key_env: MOCK_API_KEY, connections: 300, headers_timeout_ms: 5000, idle_timeout_ms: 5000 }
  backup: { kind: openai-compatible, base_url: "${backup}", api_key_env: MOCK_API_KEY }
models:
  - id: mock-model
    name: Mock
    input_modalities: [text, image]
    context_length: 100000
    max_output_tokens: 4000
    default_output_tokens: 1000
    minimum_output_tokens: 16
    image_input_tokens: 100
    capabilities: { streaming: true, tools: true }
    providers: [{ provider: mock, model: upstream-a }, { provider: backup, model: upstream-b, priority: 1 }]
    prices: [{ version: 1, effective_from: 2026-01-01T00:00:00Z, input_micro_per_m: 3000000, cached_input_micro_per_m: 1000000, output_micro_per_m: 7000000 }]
  - id: mock-alone
    name: Mock without a backup
    context_length: 100000
    max_output_tokens: 4000
    default_output_tokens: 1000
    minimum_output_tokens: 16
    providers: [{ provider: mock, model: upstream-a }]
    prices: [{ version: 1, effective_from: 2026-01-01T00:00:00Z, input_micro_per_m: 3000000, output_micro_per_m: 7000000 }]
${['chat', 'slow', 'failing', 'unmetered'].map(demoModel).join('')}${more.models ?? ''}
${more.mediaModels ? `media_models:${more.mediaModels}` : ''}
limits: { ${more.limits ?? ''} }
payments: { assets: { ${more.assets ?? ''} } }
`

const demoModel = (name: string): string => `  - id: demo-${name}
    name: Demo ${name}
    input_modalities: [text, image]
    context_length: 32768
    max_output_tokens: 4096
    default_output_tokens: 1024
    minimum_output_tokens: 16
    image_input_tokens: 256
    capabilities: { streaming: true, tools: true }
    providers: [{ provider: demo, model: ${name} }]
    prices: [{ version: 1, effective_from: 2026-01-01T00:00:00Z, input_micro_per_m: 150000, output_micro_per_m: 600000 }]
`

/** Everything real but the providers, not listening yet. */
async function composed(options: TestAppOptions) {
  const [database, mock, backup] = await Promise.all([freshDatabase(), startMockProvider(), startMockProvider()])
  const line = options.databaseThroughProxy ? await databaseProxy(database.url) : undefined
  const clock = handClock()
  const environment = { PORT: '0', HOST: '127.0.0.1', FAREBOX_CONFIG: 'test.yaml', MOCK_API_KEY: PROVIDER_KEY }
  const readFile = (path: string) =>
    path === 'test.yaml' ? configuration(mock.baseUrl, backup.baseUrl, options) : undefined
  const { config, secrets } = loadConfig({ environment, readFile, now: clock.now(), mode: 'development' })
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
    ...(options.media ? { media: options.media } : {}),
  })
  return { app, database, mock, backup, line, clock, log, pepper }
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

/** Waits until a condition holds, asked again every few milliseconds; fails after half a minute, which only a broken program or machine takes. */
export async function until(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
  for (const deadline = performance.now() + 30_000; performance.now() < deadline; ) {
    if (await condition()) return
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  throw new Error(`never came true: ${what}`)
}

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
