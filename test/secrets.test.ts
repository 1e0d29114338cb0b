import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createLogger } from '../src/app/logger.ts'
import { systemClock } from '../src/kernel/clock.ts'
import { systemRandom } from '../src/kernel/random.ts'
import { createEndpoint } from '../src/webhooks/endpoints/service.ts'
import { secretBox } from '../src/webhooks/secret.ts'
import { PRICE, until } from './app.ts'
import { freshDatabase, type TestDatabase } from './database.ts'
import {
  answering,
  chunk,
  hangingUp,
  type MockProvider,
  refusing,
  startMockProvider,
  streaming,
} from './mock-provider.ts'
import { keyOfNewAccount, type ServerProcess, spawnServer } from './server-process.ts'

/** Planted where secrets are; none of them may turn up where it does not belong. */
const canary = (what: string): string => `${what}-canary-${randomBytes(6).toString('hex')}`
const PLANTED = {
  providerKey: canary('provider'),
  // its length makes it look like nothing that a scrubber knows
  shortProviderKey: `k${randomBytes(3).toString('hex')}`,
  databasePassword: canary('password'),
  pepper: randomBytes(32).toString('hex'),
  invitation: `inv_${randomBytes(13).toString('hex')}`,
  webhook: '',
}
const PROMPT = canary('prompt')
const ANSWER = canary('answer')

let database: TestDatabase
let mock: MockProvider
let folder: string
let key: string
let poorKey: string
let server: ServerProcess
let url: string

const configuration = (): string => `
providers:
  mock: { kind: openai-compatible, base_url: "${mock.baseUrl}", api_key_env: MOCK_API_KEY, headers_timeout_ms: 500, idle_timeout_ms: 500 }
  other: { kind: openai-compatible, base_url: "${mock.baseUrl}", api_key_env: OTHER_API_KEY }
models:
${['mock', 'other']
  .map(
    (provider) => `  - id: ${provider}-model
    name: Mock
    context_length: 100000
    max_output_tokens: 4000
    default_output_tokens: 1000
    providers: [{ provider: ${provider}, model: upstream }]
    prices: [{ version: 1, effective_from: 2026-01-01T00:00:00Z, input_micro_per_m: ${PRICE.input * 1_000_000n}, output_micro_per_m: ${PRICE.output * 1_000_000n} }]
`,
  )
  .join('')}`

const start = (environment: Record<string, string>): ServerProcess =>
  spawnServer(folder, {
    LOG_LEVEL: 'trace',
    FAREBOX_CONFIG: join(folder, 'farebox.yaml'),
    FAREBOX_KEY_PEPPER: PLANTED.pepper,
    MOCK_API_KEY: PLANTED.providerKey,
    OTHER_API_KEY: PLANTED.shortProviderKey,
    DATABASE_URL: withPassword(database.url),
    ...environment,
  })

const withPassword = (url: string): string => url.replace('://farebox@', `://farebox:${PLANTED.databasePassword}@`)

beforeAll(async () => {
  ;[database, mock, folder] = await Promise.all([
    freshDatabase(),
    startMockProvider(),
    mkdtemp(join(tmpdir(), 'farebox-secrets-')),
  ])
  await writeFile(join(folder, 'farebox.yaml'), configuration())
  key = await keyOfNewAccount(database, PLANTED.pepper, 100_000_000n)
  poorKey = await keyOfNewAccount(database, PLANTED.pepper, 0n)
  PLANTED.webhook = await webhookSecret()
  server = start({})
  url = await server.listening()
})
afterAll(async () => {
  if (server?.child.exitCode === null) server.child.kill('SIGKILL')
  await Promise.all([mock.close(), database.drop(), rm(folder, { recursive: true, force: true })])
})

/** The secret of an endpoint that has a delivery to sign. */
async function webhookSecret(): Promise<string> {
  const { db } = database
  const [account] = await database.sql<{ id: string }>('select max(id) as id from accounts')
  const accountId = BigInt(account?.id ?? 0)
  const secrets = secretBox({ pepper: Buffer.from(PLANTED.pepper, 'hex'), random: systemRandom })
  const { secret } = await createEndpoint(
    { db, clock: systemClock, secrets, addresses: { allowedNetworks: ['127.0.0.0/8'], plainHttp: true } },
    { accountId, url: mock.baseUrl, events: [], description: '', requestId: 'req_test' },
  )
  await database.sql(
    `insert into outbox (event, account_id, object_id, payload) values ('order.completed', $1, 'order', '{}')`,
    [accountId],
  )
  return secret
}

/** Error bodies, each with the canaries that its own caller had sent. */
const errors: { body: string; upstreamReason: boolean }[] = []

async function ask(
  fields: Record<string, unknown>,
  headers: Record<string, string> = {},
  path = '/v1/chat/completions',
): Promise<string> {
  const response = await fetch(url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model: 'mock-model', messages: [{ role: 'user', content: PROMPT }], ...fields }),
  })
  const text = await response.text()
  if (response.status >= 400 || text.includes('"error"'))
    errors.push({
      body: `${JSON.stringify([...response.headers])} ${text}`,
      upstreamReason: text.includes('upstream_refused'),
    })
  return text
}

/** Good and bad calls, with a provider that repeats all it was told wherever it can. */
async function everything(): Promise<void> {
  for (const [model, providerKey] of [
    ['mock-model', PLANTED.providerKey],
    ['other-model', PLANTED.shortProviderKey],
  ]) {
    const echo = `cannot work: ${PROMPT} with key ${providerKey} as in Bearer ${providerKey}`
    for (const stream of [false, true]) {
      mock.behaviour = answering({ content: `${ANSWER} ${PROMPT}` })
      expect(await ask({ model, stream })).toContain(ANSWER)
      mock.behaviour = answering({ content: ANSWER, usage: null })
      await ask({ model, stream })
      for (const status of [400, 401, 403, 404, 422, 429, 500, 503]) {
        mock.behaviour = refusing(status, echo)
        await ask({ model, stream })
      }
      mock.behaviour = ({ response }) =>
        void response
          .writeHead(200, { 'content-type': 'application/json' })
          .end(JSON.stringify({ error: { message: echo } }))
      await ask({ model, stream })
      mock.behaviour = ({ response }) => void response.writeHead(500, { 'content-type': 'text/plain' }).end(echo)
      await ask({ model, stream })
      mock.behaviour = ({ response }) =>
        void response.writeHead(200, { 'content-type': 'application/json' }).end(`not JSON ${echo}`)
      await ask({ model, stream })
      mock.behaviour = hangingUp
      await ask({ model, stream })
    }
    mock.behaviour = streaming([chunk(ANSWER), { error: { message: echo, code: providerKey, type: echo } }])
    await ask({ model, stream: true })
    mock.behaviour = streaming([chunk(ANSWER), `data: {"half": "${echo}`], 'quiet')
    await ask({ model, stream: true })
    mock.behaviour = streaming([chunk(ANSWER)], 'cut')
    await ask({ model, stream: true })
  }
  mock.behaviour = answering()
  await ask({}, { authorization: `Bearer ${poorKey}` })
  await ask({}, { authorization: `Bearer ${key.slice(0, -1)}` })
  await ask({ max_tokens: PROMPT })
  await ask({ n: { [PROMPT]: 1 } })
  await ask({ messages: [{ content: PROMPT }] })
  await ask({}, { 'idempotency-key': `${PROMPT}é`.slice(0, 5) + 'x'.repeat(200) })
  await ask({}, { 'x-api-key': key, cookie: `key=${key}` }, `/v1/chat/completions?api_key=${key}`)
  await ask({}, {}, `/v1/${key}/nothing?token=${key}`)
  for (const secret of [PLANTED.invitation, PLANTED.webhook]) {
    await ask({}, { 'x-request-id': secret }, `/v1/auth/oidc/none/start?invite=${secret}`)
    await ask({}, { authorization: `Bearer ${secret}` })
  }
  await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: `{"model": ${PROMPT}`,
  })
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.resume().write(`GET /${PROMPT} garbage\r\nauthorization: Bearer ${key}\r\n\r\n`)
  await once(socket, 'close')
}

test('no planted secret turns up in output, errors, metrics, documents or the database', {
  timeout: 60_000,
}, async () => {
  await everything()
  const secrets = { ...PLANTED, key, poorKey }
  const pages = await Promise.all(
    ['/metrics', '/readyz', '/version', '/v1/models', '/openapi.json'].map((path) =>
      fetch(url + path).then((response) => response.text()),
    ),
  )
  const tables = await database.sql<{ name: string }>(
    `select format('%I', tablename) as name from pg_tables where schemaname = 'public'`,
  )
  const rows = await Promise.all(
    tables.map(({ name }) => database.sql<{ row: string }>(`select to_json(t)::text as row from ${name} t`)),
  )
  await until(async () => {
    const attempts = await database.sql('select 1 from webhook_attempts')
    return attempts.length > 0
  }, 'a webhook is signed')
  server.child.kill('SIGTERM')
  await once(server.child, 'exit')
  const places = {
    output: server.output(),
    pages: pages.join('\n'),
    database: rows
      .flat()
      .map(({ row }) => row)
      .join('\n'),
  }
  expect(places.output.split('\n').length).toBeGreaterThan(50)
  expect(places.database.length).toBeGreaterThan(10_000)
  for (const [place, text] of Object.entries(places)) {
    for (const [what, secret] of Object.entries({ ...secrets, PROMPT, ANSWER }))
      expect(found(text, secret), `${what} in ${place}`).toEqual([])
  }
  expect(errors.length).toBeGreaterThan(40)
  for (const { body, upstreamReason } of errors) {
    // an address is repeated to whoever called it; what was sent in it is the caller's own
    for (const [what, secret] of Object.entries(secrets))
      if (!body.includes('There is nothing at')) expect(found(body, secret), `${what} in an error`).toEqual([])
    // the provider's reason for refusing a request may quote the request to whoever made it
    if (!upstreamReason) expect(found(body, PROMPT), 'the prompt in an error').toEqual([])
  }
})

/** The surroundings of each place where the secret stands. */
const found = (text: string, secret: string): string[] =>
  [...text.matchAll(new RegExp(secret.replace(/[^\w]/g, '\\$&'), 'g'))]
    .slice(0, 3)
    .map(({ index }) => text.slice(Math.max(0, index - 150), index + 80))

test('whatever looks like a secret is scrubbed from every line of the log', () => {
  let written = ''
  const logger = createLogger({ level: 'info', write: (line) => (written += line) })
  const secrets = {
    key: `fbx_${randomBytes(18).toString('hex')}`,
    webhook: `whsec_${randomBytes(32).toString('base64')}`,
    invitation: PLANTED.invitation,
    delegation: `dlg_${randomBytes(32).toString('base64url')}`,
    device: `dvc_${randomBytes(32).toString('base64url')}`,
    token: 'eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl',
    privateKey: `0x${randomBytes(32).toString('hex')}`,
  }
  for (const secret of Object.values(secrets)) {
    logger.info({ member: secret, error: new Error(`in an error: ${secret}.`) }, `in words: "${secret}", and on`)
  }
  for (const [what, secret] of Object.entries(secrets)) expect(written.includes(secret.slice(0, 14)), what).toBe(false)
  expect(written.match(/\[secret\]/g)?.length).toBeGreaterThanOrEqual(3 * Object.keys(secrets).length)
  expect(written).toContain('and on')
})

test('an answer is stored only for a call that named itself, and only until it can be replayed no more', async () => {
  const stored = await database.sql('select 1 from idempotency_keys')
  expect(stored).toEqual([])
})

test.each([
  ['a provider key in the address', (text: string) => text.replace('http://', `http://user:${PLANTED.providerKey}@`)],
  ['a provider key in the query', (text: string) => text.replace('/v1"', `/v1?key=${PLANTED.providerKey}"`)],
  ['a provider key instead of its variable', (text: string) => text.replace('MOCK_API_KEY', PLANTED.providerKey)],
  [
    'a provider key as a header',
    (text: string) =>
      text.replace('api_key_env: MOCK_API_KEY', `headers: { authorization: "Bearer ${PLANTED.providerKey}" }`),
  ],
])('a configuration with %s is refused at the start, without repeating it', async (_what, change) => {
  await writeFile(join(folder, 'wrong.yaml'), change(configuration()))
  const { child, output } = start({ FAREBOX_CONFIG: join(folder, 'wrong.yaml') })
  const [code] = await once(child, 'exit')
  expect(code).not.toBe(0)
  expect(output()).toMatch(/wrong\.yaml:\d+/)
  expect(output()).not.toContain(PLANTED.providerKey)
})

test('a database that cannot be reached is named at the start without its password', async () => {
  const { child, output } = start({ DATABASE_URL: `postgresql://farebox:${PLANTED.databasePassword}@127.0.0.1:1/none` })
  const [code] = await once(child, 'exit')
  expect(code).not.toBe(0)
  expect(output().length).toBeGreaterThan(10)
  expect(output()).not.toContain(PLANTED.databasePassword)
})
