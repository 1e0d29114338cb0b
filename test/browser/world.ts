import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { until } from '../until.ts'
import type { Person } from './people.ts'
import { type DevelopmentFile, MAIN, type RunningWorld, startWorld } from './running.ts'
import type { WorldFile } from './shared-world.ts'

export { accessibilityProblems } from './axe.ts'

/** The server and the browser that the files of browser tests share. */
export interface BrowserWorld {
  readonly development: DevelopmentFile
  /** A browser of its own: no cookie, no storage is shared. Everything its pages ask, say and break is watched. */
  visitor(look?: Look): Promise<Visitor>
  /** Calls the API with somebody's key, as their program would: POST with a body, GET without. Throws unless it is answered with 2xx. */
  call(person: 'owner' | 'agent' | Person, path: string, body?: object): Promise<unknown>
  /** The same with any credential or none. */
  ask(path: string, call: { token?: string; body?: object; method?: string }): Promise<unknown>
  /** Runs `farebox` with these arguments, as the operator at the terminal; gives what it printed. */
  operator(...args: string[]): Promise<string>
  /** Closes every visitor's browser: a page that stays open goes on asking and drawing while others are looked at. */
  leave(): Promise<void>
  /** Closes what this file opened. */
  stop(): Promise<void>
}

/** What the person sees it with. */
export interface Look {
  readonly colorScheme?: 'light' | 'dark'
  readonly width?: number
  readonly height?: number
}

/** Somebody with a browser. */
export interface Visitor {
  readonly context: BrowserContext
  /** Opens another tab. */
  tab(): Promise<Page>
  /** Signs in as this person, by default the owner of the economy, and waits for the page of the console that is wanted, by default the home page. */
  signIn(page: Page, email?: string, path?: string): Promise<void>
  /** Requests to any host but ours, errors of the console and of scripts: nothing, if all is well. */
  readonly complaints: string[]
  /** Every request to the server, as `METHOD /path`. */
  readonly requests: string[]
}

const START_PATIENCE_MS = 180_000
const COMMAND_TIMEOUT_MS = 120_000
const PAGE_PATIENCE_MS = 60_000

/** Joins the world of this run. Call it in beforeAll and `stop` in afterAll. */
export async function startBrowserWorld(): Promise<BrowserWorld> {
  // this file serves programs that are no tests, too
  const { inject } = await import('vitest')
  const file = inject('worldFile')
  await until(() => existsSync(file), 'the server and the browser start', START_PATIENCE_MS)
  const told = JSON.parse(await readFile(file, 'utf8')) as WorldFile
  if ('failure' in told) throw new Error(told.failure)
  return joinWorld(told)
}

/** A server and a browser for one file alone, which counts what waits for the operator. */
export async function startOwnWorld(): Promise<BrowserWorld> {
  // the shared one has built the console by then: two builds at once would be in each other's way
  const shared = await startBrowserWorld()
  await shared.stop()
  const { running, stop } = await startWorld()
  const world = await joinWorld(running)
  return {
    ...world,
    async stop() {
      await world.stop()
      await stop()
    },
  }
}

/** Connects to a world that runs. */
export async function joinWorld({ development, dataFolder, browserEndpoint }: RunningWorld): Promise<BrowserWorld> {
  const browser = await chromium.connect(browserEndpoint)
  const ask: BrowserWorld['ask'] = async (path, { token, body, method = body ? 'POST' : 'GET' }) => {
    const response = await fetch(`${development.base_url}${path}`, {
      method,
      headers: { ...(token ? { authorization: `Bearer ${token}` } : {}), 'content-type': 'application/json' },
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${text}`)
    return JSON.parse(text)
  }
  return {
    development,
    visitor: (look) => visitor(browser, development, look),
    ask,
    call(person, path, body) {
      const token = typeof person === 'string' ? development[person].api_key : person.apiKey
      return ask(path, { token, ...(body ? { body } : {}) })
    },
    async operator(...args) {
      const env = { PATH: process.env.PATH, HOME: process.env.HOME, FAREBOX_DATA: dataFolder }
      const options = { env, timeout: COMMAND_TIMEOUT_MS }
      const { stdout } = await promisify(execFile)(process.execPath, [MAIN, ...args], options)
      return stdout
    },
    async leave() {
      await Promise.all(browser.contexts().map((context) => context.close()))
    },
    // of a browser that is connected to, this closes the contexts of this connection alone
    stop: () => browser.close(),
  }
}

async function visitor(
  browser: Browser,
  development: DevelopmentFile,
  { colorScheme = 'light', width = 1280, height = 800 }: Look = {},
): Promise<Visitor> {
  const context = await browser.newContext({ colorScheme, viewport: { width, height }, baseURL: development.base_url })
  // a loaded machine is slow, and no reason to fail
  context.setDefaultTimeout(PAGE_PATIENCE_MS)
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
    async signIn(page, email = development.owner.email, path = '/console') {
      const wanted = new URLSearchParams({ login_hint: email, return_to: path })
      await page.goto(`/v1/auth/oidc/dev/start?${wanted}`)
      await page.locator('#main').getByRole('heading', { level: 1 }).waitFor()
    },
  }
}
