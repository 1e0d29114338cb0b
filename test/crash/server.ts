import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

/** A server process that listens. */
export interface RunningServer {
  readonly baseUrl: string
  /** The last of what it said, and whether it is gone. */
  lastWords(): string
  /** Ends it at once, as a power cut would, and returns when it is gone. */
  kill(): Promise<void>
}

const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url))
const START_TIMEOUT_MS = 60_000

/** Starts `farebox dev` on a database of the caller's own, on a free port. Rejects with what it said when it ends instead. */
export async function startServer(options: {
  dataFolder: string
  databaseUrl: string
  configFile: string
}): Promise<RunningServer> {
  const child: ChildProcess = spawn(process.execPath, [main, 'dev'], {
    env: {
      PATH: process.env.PATH,
      HOME: options.dataFolder,
      PORT: '0',
      FAREBOX_DATA: options.dataFolder,
      FAREBOX_CONFIG: options.configFile,
      DATABASE_URL: options.databaseUrl,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const said: string[] = []
  const exited = once(child, 'exit')
  let address = ''
  const listening = new Promise<string>((resolve) => {
    for (const stream of [child.stdout, child.stderr]) {
      if (!stream) continue
      createInterface({ input: stream }).on('line', (line) => {
        if (said.push(line) > 100) said.shift()
        address = /^✔ serving\s+(http:\S+)/.exec(line)?.[1] ?? address
        // the economy is whole once its Credits are bought
        if (/^✔ Credits/.test(line)) resolve(address)
      })
    }
  })
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL')
    await exited
  }
  const late = AbortSignal.timeout(START_TIMEOUT_MS)
  const failed = new Promise<never>((_, reject) => {
    const because = (what: string) => () => reject(new Error(`the server ${what}:\n${said.join('\n')}`))
    void exited.then(because('ended while it started'))
    late.addEventListener('abort', because('did not start in time'), { once: true })
  })
  const baseUrl = await Promise.race([listening, failed]).catch(async (error: unknown) => {
    await kill()
    throw error
  })
  const lastWords = (): string => `${said.join('\n')}\n${child.exitCode ?? child.signalCode ?? 'running'}`
  return { baseUrl, lastWords, kill }
}
