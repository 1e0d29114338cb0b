import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'vite'
import { createFarebox } from '../src/index.ts'
import type { SmokeSettings } from './smoke.ts'

/**
 * Runs the built SDK against a real server on Node and on whichever of Bun, Deno and workerd is on the PATH, and says
 * which were not. Exit code 1 when one of them fails.
 */
const project = fileURLToPath(new URL('../..', import.meta.url))
const run = promisify(execFile)
const TIMEOUT_MS = 120_000

interface Development {
  readonly base_url: string
  readonly owner: { readonly refresh_token: string }
  readonly payers: ReadonlyArray<{ readonly private_key: `0x${string}` }>
}

const folder = await mkdtemp(join(tmpdir(), 'farebox-runtimes-'))
const running: ChildProcess[] = []
try {
  await install()
  const development = await startServer()
  const delivery = await delivered(development)
  const runtimes: ReadonlyArray<readonly [string, (file: string) => Promise<string>]> = [
    ['node', (file) => output('node', [file])],
    ['bun', (file) => output('bun', ['run', file])],
    ['deno', (file) => output('deno', ['run', '--allow-net', '--allow-env', '--allow-read', '--allow-sys', file])],
    ['workerd', inWorkerd],
  ]
  for (const [index, [name, start]] of runtimes.entries()) {
    const version = await run(name, ['--version']).then(
      ({ stdout }) => stdout.split('\n')[0] ?? '',
      () => undefined,
    )
    if (version === undefined) {
      console.log(`${name}: not found on the PATH, not tried`)
      continue
    }
    const payer = development.payers[index]?.private_key ?? '0x'
    const settings = { baseUrl: development.base_url, privateKey: payer, delivery }
    await writeFile(join(folder, 'settings.json'), JSON.stringify(settings))
    const began = performance.now()
    try {
      const done = JSON.parse(await start('main.ts')) as string[]
      console.log(
        `${name} (${version}): ${done.length} things in ${Math.round(performance.now() - began)} ms: ${done.join(', ')}`,
      )
    } catch (error) {
      process.exitCode = 1
      console.error(`${name} (${version}) FAILED:`, error)
    }
  }
} finally {
  for (const program of running) {
    program.kill('SIGINT')
    if (program.exitCode === null && program.signalCode === null) await once(program, 'exit')
  }
  await rm(folder, { recursive: true, force: true })
}

/** The project of a stranger, with the built package and what it is used with. */
async function install(): Promise<void> {
  const installed = join(folder, 'node_modules/@farebox/sdk')
  await mkdir(installed, { recursive: true })
  await run(process.execPath, [join(project, 'sdk/build.ts'), join(installed, 'dist')])
  await copyFile(join(project, 'sdk/package.json'), join(installed, 'package.json'))
  for (const name of ['viem', 'ai', 'zod', '@ai-sdk/openai-compatible']) {
    const path = join(folder, 'node_modules', name)
    await mkdir(dirname(path), { recursive: true })
    await symlink(join(project, 'node_modules', name), path)
  }
  await copyFile(join(project, 'sdk/test/smoke.ts'), join(folder, 'smoke.ts'))
  await writeFile(join(folder, 'package.json'), '{"type":"module"}')
  await writeFile(
    join(folder, 'main.ts'),
    `import { readFileSync } from 'node:fs'
import { smoke } from './smoke.ts'
console.log(JSON.stringify(await smoke(JSON.parse(readFileSync('settings.json', 'utf8')))))
`,
  )
}

/** What `npm start` runs, fresh. */
async function startServer(): Promise<Development> {
  const data = join(folder, 'data')
  const server = spawn(process.execPath, [join(project, 'src/main.ts'), 'dev'], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, FAREBOX_DATA: data, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  running.push(server)
  let said = ''
  server.stdout.on('data', (data) => (said += data))
  while (!said.includes('Ctrl-C stops it')) {
    if (server.exitCode !== null) throw new Error(`the server ended: ${said}`)
    await sleep(100)
  }
  return JSON.parse(await readFile(join(data, 'dev.json'), 'utf8')) as Development
}

/** A webhook that the server delivered, as it arrived. */
async function delivered({ base_url, owner }: Development): Promise<SmokeSettings['delivery']> {
  const tokens = { accessToken: '', refreshToken: owner.refresh_token, expiresAt: 0 }
  const farebox = createFarebox({
    baseUrl: base_url,
    tokens: { read: async () => tokens, write: async (kept) => void Object.assign(tokens, kept) },
  })
  const arrived = Promise.withResolvers<Omit<SmokeSettings['delivery'], 'secret'>>()
  const receiver = createServer(async (request, response) => {
    const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]))
    arrived.resolve({ body: await text(request), headers })
    response.writeHead(204).end()
  }).listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`
  const { data } = await farebox.request('POST', '/v1/me/webhooks', { body: { url } })
  await farebox.request('POST', '/v1/me/webhooks/{id}/test', { path: { id: data.id } })
  const delivery = { ...(await arrived.promise), secret: data.secret }
  receiver.close()
  return delivery
}

async function output(command: string, args: readonly string[]): Promise<string> {
  const { stdout } = await run(command, args, { cwd: folder, timeout: TIMEOUT_MS })
  return stdout.trim().split('\n').at(-1) ?? ''
}

/** One file, as workers are deployed, with no flag for Node's modules. */
async function inWorkerd(): Promise<string> {
  await writeFile(
    join(folder, 'worker.ts'),
    `import { smoke } from './smoke.ts'
export default {
  async fetch(_request, { SETTINGS }) {
    try {
      return Response.json(await smoke(SETTINGS))
    } catch (error) {
      return new Response(String(error?.stack ?? error) + ' ' + String(error?.cause?.stack ?? error?.cause ?? ''), { status: 500 })
    }
  },
}
`,
  )
  await build({
    root: folder,
    configFile: false,
    logLevel: 'warn',
    build: {
      lib: { entry: join(folder, 'worker.ts'), formats: ['es'], fileName: 'worker' },
      outDir: join(folder, 'built'),
      minify: false,
      target: 'esnext',
    },
    define: { 'process.env.NODE_ENV': '"production"' },
  })
  const port = await freePort()
  await writeFile(
    join(folder, 'worker.capnp'),
    `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [ (name = "main", worker = .smoke), (name = "internet", network = (allow = ["public", "private"])) ],
  sockets = [ (name = "http", address = "127.0.0.1:${port}", http = (), service = "main") ],
);
const smoke :Workerd.Worker = (
  modules = [ (name = "worker.js", esModule = embed "built/worker.js") ],
  compatibilityDate = "2026-01-01",
  bindings = [ (name = "SETTINGS", json = embed "settings.json") ],
);
`,
  )
  const server = spawn('workerd', ['serve', 'worker.capnp'], { cwd: folder, stdio: ['ignore', 'inherit', 'inherit'] })
  running.push(server)
  for (;;) {
    const response = await fetch(`http://127.0.0.1:${port}/`, { signal: AbortSignal.timeout(TIMEOUT_MS) }).catch(
      () => undefined,
    )
    if (response?.ok) return response.text()
    if (response) throw new Error(await response.text())
    if (server.exitCode !== null) throw new Error('workerd ended')
    await sleep(100)
  }
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as AddressInfo
  probe.close()
  return port
}
