import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { type IncomingMessage, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { framesOf, until } from './app.ts'
import { freshDatabase, type TestDatabase } from './database.ts'
import { chunk, closing, type MockProvider, startMockProvider, usageOf, write } from './mock-provider.ts'
import { keyOfNewAccount, type ServerProcess, spawnServer } from './server-process.ts'

const MEGABYTE = 1024 * 1024
let database: TestDatabase
let mock: MockProvider
let folder: string
let server: ServerProcess
let url: string
let key: string

beforeAll(async () => {
  ;[database, mock, folder] = await Promise.all([
    freshDatabase(),
    startMockProvider(),
    mkdtemp(join(tmpdir(), 'farebox-streams-')),
  ])
  await writeFile(
    join(folder, 'farebox.yaml'),
    `
providers: { mock: { kind: openai-compatible, base_url: "${mock.baseUrl}", connections: 300 } }
models:
  - id: mock-model
    name: Mock
    context_length: 100000
    max_output_tokens: 4000
    default_output_tokens: 1000
    providers: [{ provider: mock, model: upstream }]
    prices: [{ version: 1, effective_from: 2026-01-01T00:00:00Z, input_micro_per_m: 3000000, output_micro_per_m: 7000000 }]
`,
  )
  const pepper = randomBytes(32).toString('hex')
  key = await keyOfNewAccount(database, pepper, 100_000_000n)
  server = spawnServer(folder, {
    FAREBOX_CONFIG: join(folder, 'farebox.yaml'),
    FAREBOX_KEY_PEPPER: pepper,
    DATABASE_URL: database.url,
  })
  url = await server.listening()
})
afterAll(async () => {
  server.child.kill('SIGKILL')
  await Promise.all([mock.close(), database.drop(), rm(folder, { recursive: true, force: true })])
})

/** A stream whose reader decides when it reads. */
async function open(seed: number): Promise<IncomingMessage> {
  const sent = request(`${url}/v1/chat/completions`, {
    method: 'POST',
    agent: false,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
  })
  sent.end(
    JSON.stringify({
      model: 'mock-model',
      stream: true,
      max_tokens: 10,
      seed,
      messages: [{ role: 'user', content: 'x' }],
    }),
  )
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  return response
}

async function residentBytes(): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text()
  return Number(/^farebox_resident_memory_bytes (\S+)$/m.exec(text)?.[1])
}

/** Streams `count` frames of `size` characters, each numbered, then usage. */
const numbered =
  (count: number, size: number) =>
  async ({ body, response }: Parameters<MockProvider['behaviour']>[0]) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (let n = 0; n < count; n++)
      await write(response, `data: ${JSON.stringify(chunk(`${body.seed}:${n} ${'.'.repeat(size)}`))}\n\n`)
    response.end(`data: ${JSON.stringify(closing(usageOf(10, 5)))}\n\ndata: [DONE]\n\n`)
  }

test('256 streams at once lose no frame and keep their order, in less than 250 MB', async () => {
  mock.behaviour = numbered(40, 50)
  const responses = await Promise.all(Array.from({ length: 256 }, (_, seed) => open(seed)))
  const memory = residentBytes()
  const texts = await Promise.all(responses.map(async (response) => Buffer.concat(await response.toArray()).toString()))
  for (const [seed, text] of texts.entries()) {
    const said = framesOf(text).map(
      (frame) => (frame.choices as { delta: { content: string } }[] | undefined)?.[0]?.delta.content.split(' ')[0],
    )
    expect(said).toEqual([...Array.from({ length: 40 }, (_, n) => `${seed}:${n}`), undefined])
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true)
  }
  expect(await memory).toBeLessThan(250 * MEGABYTE)
  const [row] = await database.sql<{ spent: string; held: string }>(
    `select sum(amount_micro) filter (where kind = 'capture') as spent, (select sum(held_micro) from buckets) as held from transfers`,
  )
  expect(row).toEqual({ spent: String(256 * 65), held: '0' })
})

test('readers that do not read hold their providers back: what 20 of them leave lying is not in the server’s memory', async () => {
  const before = await residentBytes()
  let written = 0
  const size = 64 * 1024
  mock.behaviour = async ({ response }) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (let n = 0; n < 320 && !response.destroyed; n++) {
      await write(response, `data: ${JSON.stringify(chunk('.'.repeat(size)))}\n\n`)
      written += size
    }
    response.end(`data: ${JSON.stringify(closing(usageOf(10, 5)))}\n\ndata: [DONE]\n\n`)
  }
  const responses = await Promise.all(Array.from({ length: 20 }, (_, seed) => open(seed)))
  for (const response of responses) response.pause()
  // 400 MB want through; the providers stand still once the sockets on the way are full
  let last = -1
  await until(async () => {
    const still = last === written
    last = written
    await new Promise((resolve) => setTimeout(resolve, 150))
    return still
  }, 'the providers are held back')
  expect(written).toBeLessThan(300 * MEGABYTE)
  expect((await residentBytes()) - before).toBeLessThan(100 * MEGABYTE)
  for (const response of responses) {
    response.on('error', () => undefined)
    response.destroy()
  }
})
