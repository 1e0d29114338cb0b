import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { quickFolder } from '../quick-folder.ts'
import { until } from '../until.ts'
import { startChromium } from './chromium.ts'

/** What `npm start` tells scripts, as far as browser tests look at it. */
export interface DevelopmentFile {
  readonly base_url: string
  readonly database_url: string
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

/** A fresh `npm start` and a Chromium, as other processes find them. */
export interface RunningWorld {
  readonly development: DevelopmentFile
  /** Of the server, for the operator's commands. */
  readonly dataFolder: string
  /** Where Playwright connects to. */
  readonly browserEndpoint: string
}

const BUILD = fileURLToPath(new URL('../../console/build.ts', import.meta.url))
const START_PATIENCE_MS = 150_000

/** The program of the server. */
export const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url))

/** Builds the console as its sources are now: a start by itself is content with one that is there. */
export const buildConsole = () => promisify(execFile)(process.execPath, [BUILD], { timeout: START_PATIENCE_MS })

/** Starts both, on ports and in a folder of their own; `stop` leaves nothing behind. */
export async function startWorld(): Promise<{ readonly running: RunningWorld; stop(): Promise<void> }> {
  const dataFolder = await mkdtemp(join(await quickFolder(), 'farebox-browser-'))
  const server = spawn(process.execPath, [MAIN, 'dev'], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, FAREBOX_DATA: dataFolder, PORT: '0' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const stopServer = async () => {
    server.kill('SIGINT')
    if (server.exitCode === null) await once(server, 'exit')
    await rm(dataFolder, { recursive: true, force: true })
  }
  const [development, browser] = await Promise.allSettled([started(server, dataFolder), startChromium()])
  if (development.status === 'fulfilled' && browser.status === 'fulfilled')
    return {
      running: { development: development.value, dataFolder, browserEndpoint: browser.value.wsEndpoint() },
      async stop() {
        await browser.value.close()
        await stopServer()
      },
    }
  if (browser.status === 'fulfilled') await browser.value.close()
  await stopServer()
  throw development.status === 'rejected' ? development.reason : (browser as PromiseRejectedResult).reason
}

async function started(server: ChildProcess, folder: string): Promise<DevelopmentFile> {
  let output = ''
  for (const stream of [server.stdout, server.stderr]) stream?.on('data', (data) => (output += data))
  await until(
    () => output.includes('Ctrl-C stops it') || server.exitCode !== null,
    'the server starts',
    START_PATIENCE_MS,
  )
  if (server.exitCode !== null) throw new Error(`npm start ended: ${output}`)
  return JSON.parse(await readFile(join(folder, 'dev.json'), 'utf8')) as DevelopmentFile
}
