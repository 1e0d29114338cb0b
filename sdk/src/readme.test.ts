import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '../../test/app.ts'
import { type Snippet, snippetsOf } from '../../test/snippets.ts'
import { createFarebox } from './client.ts'
import { type DevelopmentServer, startDevelopmentServer, walletOf } from './development-server.fixture.ts'

const project = fileURLToPath(new URL('../..', import.meta.url))
const run = promisify(execFile)
let server: DevelopmentServer
let folder: string
let programs: Snippet[]
let receiver: ChildProcess | undefined

/** Makes the project of a stranger, with the built package installed. */
async function install(folder: string): Promise<void> {
  const installed = join(folder, 'node_modules/@farebox/sdk')
  await mkdir(installed, { recursive: true })
  await run(process.execPath, [join(project, 'sdk/build.ts'), join(installed, 'dist')])
  await copyFile(join(project, 'sdk/package.json'), join(installed, 'package.json'))
  for (const name of ['viem', 'ai', 'zod', '@ai-sdk/openai-compatible', '@types/node']) {
    const path = join(folder, 'node_modules', name)
    await mkdir(dirname(path), { recursive: true })
    await symlink(join(project, 'node_modules', name), path)
  }
  await writeFile(join(folder, 'package.json'), '{"type":"module"}')
}

beforeAll(async () => {
  programs = (await snippetsOf(new URL('../README.md', import.meta.url))).filter(({ language }) => language === 'ts')
  folder = await mkdtemp(join(tmpdir(), 'farebox-sdk-'))
  ;[server] = await Promise.all([startDevelopmentServer(), install(folder)])
  for (const { name, text } of programs) await writeFile(join(folder, `${name}.ts`), text)
})
afterAll(async () => {
  receiver?.kill('SIGKILL')
  await server.stop()
  await rm(folder, { recursive: true, force: true })
})

const environment = (more: Record<string, string> = {}): Record<string, string> => ({
  PATH: process.env.PATH ?? '',
  FAREBOX_URL: server.url,
  FAREBOX_KEY: server.development.owner.api_key,
  RPC_URL: server.development.chain.rpc_url,
  ...more,
})
const ran = async (name: string, more?: Record<string, string>): Promise<string> =>
  (await run(process.execPath, [`${name}.ts`], { cwd: folder, env: environment(more) })).stdout
const payer = (index: number): string => server.development.payers[index]?.private_key ?? ''

test('every program of the README has a name and is typed without any, against the built package', async () => {
  expect(programs.every(({ name }) => name !== undefined)).toBe(true)
  expect(programs.filter(({ text }) => /\bany\b(?! endpoint)/.test(text)).map(({ name }) => name)).toEqual([])
  const settings = ['--noEmit', '--strict', '--noUncheckedIndexedAccess', '--exactOptionalPropertyTypes']
  const modules = ['--module', 'nodenext', '--target', 'esnext', '--types', 'node', '--verbatimModuleSyntax']
  const files = programs.map(({ name }) => `${name}.ts`)
  const compiler = join(project, 'node_modules/typescript/bin/tsc')
  const args = [compiler, ...settings, ...modules, '--skipLibCheck', '--ignoreConfig', ...files]
  const complaints = await run(process.execPath, args, { cwd: folder }).catch((error: { stdout: string }) => error)
  expect(complaints.stdout).toBe('')
})

test('the built package asks for nothing at run time and for no module of Node', async () => {
  const built = join(folder, 'node_modules/@farebox/sdk')
  const { dependencies } = JSON.parse(await readFile(join(built, 'package.json'), 'utf8')) as { dependencies?: object }
  expect(dependencies).toBeUndefined()
  const { stdout } = await run('grep', ['-rhoE', '--include=*.js', `from ['"][^.'"][^'"]*`, join(built, 'dist')])
  expect(new Set(stdout.trim().split('\n'))).toEqual(new Set([`from '@ai-sdk/openai-compatible`, `from 'zod/v4`]))
})

test.concurrent('an Agent pays, calls and reads its bill', async () => {
  expect(await ran('agent', { AGENT_PRIVATE_KEY: payer(0) })).toMatch(
    /^2 Credits were added[\s\S]+hello[\s\S]* \d+\ncapture -\d+\ngrant 2000000\n$/,
  )
})

test.concurrent('a top-up that is kept and run again goes on, and a session that is kept is read again', async () => {
  const key = { AGENT_PRIVATE_KEY: payer(1) }
  expect(await ran('resume', key)).toBe('credited 1000000\n')
  const first = await ran('tokens', key)
  const kept = await readFile(join(folder, 'tokens.json'), 'utf8')
  expect([await ran('tokens', key), await readFile(join(folder, 'tokens.json'), 'utf8')]).toEqual([first, kept])
})

test.concurrent('a server with a key streams, reads the bill, and uses the AI SDK', async () => {
  expect(await ran('server')).toMatch(/hello[\s\S]*\ncost \d+\navailable \d+\ncalls \d+\n\d+ \d+\n[\s\S]*\[/)
  expect(await ran('ai')).toMatch(/hello[\s\S]* \d+\n$/)
})

test.concurrent('a picture is made and waited for', async () => {
  expect(await ran('task')).toMatch(/^success http\S+\n$/)
})

test.concurrent('an order is paid by a wallet, once, and credited', async () => {
  expect(await ran('order', { PAYER_PRIVATE_KEY: payer(2) })).toBe('completed 3000000\n')
})

test.concurrent('an error says what is missing', async () => {
  const client = createFarebox({ baseUrl: server.url, wallet: walletOf(payer(3)) })
  const { apiKey } = await client.auth.signIn()
  expect(await ran('errors', { FAREBOX_KEY: apiKey })).toMatch(/^short by \d+: http\S+topup\S*\n$/)
})

test.concurrent('the receiver believes what the server signed, and nothing else', async () => {
  const client = createFarebox({ baseUrl: server.url, wallet: walletOf(payer(0)) })
  const port = await freePort()
  const hooks = `http://127.0.0.1:${port}/hooks`
  const made = await client.request('POST', '/v1/me/webhooks', { body: { url: hooks } })
  let output = ''
  const env = environment({ PORT: String(port), WEBHOOK_SECRET: made.data.secret })
  receiver = spawn(process.execPath, ['webhook.ts'], { cwd: folder, env })
  for (const stream of [receiver.stdout, receiver.stderr]) stream?.on('data', (data) => (output += data))
  const forged = () => fetch(hooks, { method: 'POST', body: '{}' }).catch(() => undefined)
  await until(async () => (await forged())?.status === 400, 'the receiver answers, and refuses')
  await client.request('POST', '/v1/me/webhooks/{id}/test', { path: { id: made.data.id } })
  await until(() => output.includes('webhook.test'), 'the event arrives')
})

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const address = probe.address()
  probe.close()
  return typeof address === 'object' && address !== null ? address.port : 0
}
