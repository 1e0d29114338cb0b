import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { capability, operation, saying, startUpstream, type Upstream } from '../src/capabilities/upstream.fixture.ts'
import type { JsonObject } from '../src/providers/provider.ts'
import { type Answer, readAnswer } from './app.ts'
import { freshDatabase, type TestDatabase } from './database.ts'
import { keyOfNewAccount, type ServerProcess, spawnServer } from './server-process.ts'

let database: TestDatabase
let upstream: Upstream
let folder: string
let environment: Record<string, string>
let server: ServerProcess
let url: string
let key: string

const pepper = '07'.repeat(32)
const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url))

const file = (inputMicro: number, version = 1): string => `allow_demo: true
providers: { demo: { kind: demo } }
models:
  - id: demo-chat
    name: Demo
    context_length: 1000
    max_output_tokens: 10
    default_output_tokens: 10
    providers: [{ provider: demo, model: chat }]
    prices: [{ version: ${version}, effective_from: 2026-0${version}-01T00:00:00Z, input_micro_per_m: ${inputMicro}, output_micro_per_m: 0 }]
capabilities:
${capability('tools', upstream.baseUrl, { v1: [operation('echo')] }, '', 60_000)}`

beforeAll(async () => {
  ;[database, upstream, folder] = await Promise.all([
    freshDatabase(),
    startUpstream(),
    mkdtemp(join(tmpdir(), 'farebox-reload-')),
  ])
  environment = {
    DATABASE_URL: database.url,
    FAREBOX_KEY_PEPPER: pepper,
    FAREBOX_DATA: folder,
    UPSTREAM_AUTHORIZATION: 'Bearer up-canary-0123456789',
  }
  await writeFile(join(folder, 'farebox.yaml'), file(1))
  key = await keyOfNewAccount(database, pepper, 1_000_000n)
  server = spawnServer(folder, environment)
  url = await server.listening()
})
afterAll(async () => {
  server.child.kill('SIGKILL')
  await Promise.all([upstream.close(), database.drop(), rm(folder, { recursive: true, force: true })])
})

/** Runs `farebox` as an operator would, beside the server. */
async function farebox(...args: string[]): Promise<{ code: number | null; out: string; err: string }> {
  const child = spawn(process.execPath, [MAIN, ...args], {
    cwd: folder,
    env: { PATH: process.env.PATH, ...environment },
  })
  const output = { out: '', err: '' }
  child.stdout.on('data', (data) => (output.out += data))
  child.stderr.on('data', (data) => (output.err += data))
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve))
  return { code, ...output }
}

const inputPrice = async (): Promise<unknown> => {
  const { data } = (await (await fetch(`${url}/v1/models`)).json()) as { data: Array<{ pricing: JsonObject }> }
  return data[0]?.pricing.input_micro_per_m
}

const invoke = async (at: string): Promise<Answer> =>
  readAnswer(
    await fetch(`${at}/v1/capabilities/tools/invoke`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'idempotency-key': 'once' },
      body: '{"text":"a"}',
    }),
  )

test('`farebox prices reload` changes the prices of a running server and prints what changed; a bad file keeps them', async () => {
  expect(await inputPrice()).toBe(1)
  await writeFile(join(folder, 'farebox.yaml'), file(2, 2))
  const reloaded = await farebox('prices', 'reload')
  expect(reloaded.err).toBe('')
  expect(reloaded.code).toBe(0)
  expect(reloaded.out.replace(/server \d+ on \S+ pid \d+/, 'server')).toBe(`server: applied
  ~ model demo-chat: created 1767225600 -> 1769904000
  ~ model demo-chat: price version 1 is gone
  ~ model demo-chat: new price version 2 from 2026-02-01T00:00:00.000Z: 2 in, 2 cached, 0 out (microcredits per million tokens)
`)
  expect(await inputPrice()).toBe(2)

  await writeFile(join(folder, 'farebox.yaml'), file(3, 2).replace('demo-chat', 'chat'))
  const refused = await farebox('prices', 'reload', '--json')
  expect(refused.code).toBe(1)
  expect(JSON.parse(refused.out).servers).toMatchObject([{ outcome: 'refused', pid: server.child.pid }])
  expect(refused.err).toContain('the settings of before stay in force')
  expect(await inputPrice()).toBe(2)
  expect(server.output()).toContain('the configuration was refused')
})

test('a server that is killed while an operation runs leaves one upstream call and one hold; the repeat is told so', async () => {
  await writeFile(join(folder, 'farebox.yaml'), file(2, 2))
  const { promise: asked, resolve: arrived } = Promise.withResolvers<void>()
  upstream.behaviour = () => arrived()
  const broken = invoke(url).then(
    () => 'answered',
    () => 'cut off',
  )
  await asked
  const ended = new Promise((resolve) => server.child.once('exit', resolve))
  server.child.kill('SIGKILL')
  await ended
  expect(await broken).toBe('cut off')

  upstream.behaviour = saying({ text: 'pong' })
  server = spawnServer(folder, environment)
  url = await server.listening()
  let repeat: Answer | undefined
  await expect
    .poll(
      async () => {
        repeat = await invoke(url)
        return repeat.json.code
      },
      { timeout: 30_000 },
    )
    .toBe('upstream_interrupted')
  expect([repeat?.status, repeat?.headers.get('idempotent-replayed')]).toEqual([502, 'true'])
  expect(upstream.calls.length).toBe(1)
  const holds = await database.sql(
    `select h.reserve_micro::text as reserve, f.flag from holds h left join hold_flags f on f.hold_id = h.id where h.category = 'capability'`,
  )
  expect(holds).toEqual([{ reserve: '500', flag: 'usage_unknown' }])
})

test('without a running server there is nothing to reload, and that is said', async () => {
  const ended = new Promise((resolve) => server.child.once('exit', resolve))
  server.child.kill('SIGTERM')
  await ended
  const { code, err } = await farebox('prices', 'reload')
  expect([code, err]).toEqual([1, 'No server runs on this database. It reads the file when it starts.\n'])
})
