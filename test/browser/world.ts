import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { until } from '../app.ts'
import { startChromium } from './chromium.ts'

/** What `npm start` tells scripts, as far as browser tests look at it. */
export interface DevelopmentFile {
  readonly base_url: string
  readonly chain: {
    readonly rpc_url: string
    readonly chain_id: number
    readonly token_address: `0x${string}`
    readonly recipient_address: `0x${string}`
  }
  readonly owner: {
    readonly account_id: number
    readonly wallet_address: string
    readonly private_key: string
    readonly api_key: string
    readonly email: string
  }
  readonly agent: {
    readonly account_id: number
    readonly wallet_address: string
    readonly private_key: string
    readonly api_key: string
  }
  readonly x402: { readonly topup_url: string; readonly network: `eip155:${number}`; readonly asset: string }
  readonly payers: ReadonlyArray<{ readonly address: string; readonly private_key: string }>
}

/** A fresh `npm start` and a browser to look at it with. */
export interface BrowserWorld {
  readonly development: DevelopmentFile
  /** A browser of its own: no cookie, no storage is shared. Everything its pages ask, say and break is watched. */
  visitor(look?: { colorScheme?: 'light' | 'dark'; width?: number; height?: number }): Promise<Visitor>
  /** Calls the API with somebody's key, as their program would: GET without a body. Throws unless it is answered with 2xx. */
  call(person: 'owner' | 'agent', path: string, body?: object): Promise<unknown>
  /** Runs `farebox` with these arguments, as the operator at the terminal; gives what it printed. */
  operator(...args: string[]): Promise<string>
  stop(): Promise<void>
}

/** Somebody with a browser. */
export interface Visitor {
  readonly context: BrowserContext
  /** Opens another tab. */
  tab(): Promise<Page>
  /** Signs in at the development identity provider, by clicks, and waits for the console's home page. */
  signIn(page: Page, email?: string): Promise<void>
  /** Requests to any host but ours, errors of the console and of scripts: nothing, if all is well. */
  readonly complaints: string[]
  /** Every request to the server, as `METHOD /path`. */
  readonly requests: string[]
}

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url))
const axeSource = createRequire(import.meta.url).resolve('axe-core/axe.min.js')

/** Starts both. Call it in beforeAll and `stop` in afterAll. */
export async function startBrowserWorld(): Promise<BrowserWorld> {
  const folder = await mkdtemp(join(tmpdir(), 'farebox-browser-'))
  const server = spawn(process.execPath, [MAIN, 'dev'], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, FAREBOX_DATA: folder, PORT: '0' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [development, browser] = await Promise.all([started(server, folder), startChromium()])
  return {
    development,
    visitor: (look) => visitor(browser, development, look),
    async call(person, path, body) {
      const response = await fetch(`${development.base_url}${path}`, {
        headers: { authorization: `Bearer ${development[person].api_key}`, 'content-type': 'application/json' },
        ...(body ? { method: 'POST', body: JSON.stringify(body) } : {}),
      })
      const text = await response.text()
      if (!response.ok) throw new Error(`${path} answered ${response.status}: ${text}`)
      return JSON.parse(text)
    },
    async operator(...args) {
      const env = { PATH: process.env.PATH, HOME: process.env.HOME, FAREBOX_DATA: folder }
      const { stdout } = await promisify(execFile)(process.execPath, [MAIN, ...args], { env, timeout: 60_000 })
      return stdout
    },
    async stop() {
      await browser.close()
      server.kill('SIGINT')
      if (server.exitCode === null) await once(server, 'exit')
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function started(server: ChildProcess, folder: string): Promise<DevelopmentFile> {
  let output = ''
  for (const stream of [server.stdout, server.stderr]) stream?.on('data', (data) => (output += data))
  await until(() => output.includes('Ctrl-C stops it') || server.exitCode !== null, 'the server starts')
  if (server.exitCode !== null) throw new Error(`npm start ended: ${output}`)
  return JSON.parse(await readFile(join(folder, 'dev.json'), 'utf8')) as DevelopmentFile
}

async function visitor(
  browser: Browser,
  development: DevelopmentFile,
  {
    colorScheme = 'light',
    width = 1280,
    height = 800,
  }: { colorScheme?: 'light' | 'dark'; width?: number; height?: number } = {},
): Promise<Visitor> {
  const context = await browser.newContext({ colorScheme, viewport: { width, height }, baseURL: development.base_url })
  const complaints: string[] = []
  const requests: string[] = []
  const { origin } = new URL(development.base_url)
  context.on('request', (request) => {
    const url = new URL(request.url())
    if (url.protocol === 'data:' || url.protocol === 'blob:') return
    // the identity provider of development is a host of its own, visited by links and redirects only
    if (url.origin !== origin && !request.isNavigationRequest()) complaints.push(`request to ${url.origin}`)
    if (url.origin === origin) requests.push(`${request.method()} ${url.pathname}`)
  })
  context.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning')
      complaints.push(`console ${message.type()}: ${message.text()}`)
  })
  context.on('weberror', (error) => complaints.push(`script error: ${error.error().message}`))
  return {
    context,
    complaints,
    requests,
    tab: () => context.newPage(),
    async signIn(page, email = development.owner.email) {
      await page.goto('/console')
      await page.getByRole('link', { name: /^Continue with/ }).click()
      await page.getByRole('button', { name: new RegExp(email) }).click()
      await page.getByRole('heading', { name: 'Home', level: 1 }).waitFor()
    },
  }
}

/** What axe finds wrong with the page as it is now: rule, and the elements that break it. Call when the page has settled. */
export async function accessibilityProblems(page: Page): Promise<string[]> {
  // a string, because the page's own policy lets no text become a script; the debugger is above it
  await page.evaluate(await readFile(axeSource, 'utf8'))
  const { violations } = await page.evaluate(() => {
    const axe = Reflect.get(globalThis, 'axe') as { run(): Promise<{ violations: Violation[] }> }
    return axe.run()
  })
  return violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.target.join(' ')}`))
}

interface Violation {
  readonly id: string
  readonly nodes: ReadonlyArray<{ readonly target: readonly string[] }>
}
