import { execFile, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** Where a load goes and what each request carries. */
export interface Target {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** Bearer tokens, taken in turn; none for a side without keys. */
  readonly tokens: readonly string[]
  readonly body: string
  /** POST unless it is said. */
  readonly method?: 'GET'
}

/** What a load of some seconds saw. */
export interface LoadResult {
  /** Requests that were answered with 200, or with 304 where they asked for news only. */
  readonly answered: number
  /** Requests that were answered with anything else. */
  readonly refused: number
  /** Requests that got no answer: broken connections and timeouts, without those that the end of the load cut off. */
  readonly failed: number
  readonly seconds: number
  readonly p50Ms: number
  readonly p99Ms: number
}

/** A load on a target; the same tool for all sides of a run. */
export interface LoadTool {
  readonly name: string
  run(target: Target, load: { readonly connections: number; readonly seconds: number }): Promise<LoadResult>
}

const run = promisify(execFile)
/** How much longer than its load a tool may take. */
const GRACE_MS = 30_000

/** wrk where it is installed, else autocannon. `folder` takes the files that wrk reads and writes. */
export async function chooseLoadTool(folder: string): Promise<LoadTool> {
  // wrk prints its version and ends with 1
  const version = await run('wrk', ['-v']).then(
    ({ stdout }) => stdout,
    (error: { stdout?: string }) => error.stdout ?? '',
  )
  const name = /^wrk \S+/.exec(version)?.[0]
  return name === undefined ? autocannon : wrk(`${name}, one thread`, folder)
}

function wrk(name: string, parent: string): LoadTool {
  return {
    name,
    async run(target, { connections, seconds }) {
      const folder = await mkdtemp(join(parent, 'wrk-'))
      const place = (file: string) => join(folder, file)
      try {
        const headers = Object.entries(target.headers).map(([key, value]) => `${key}: ${value}`)
        const method = target.method ?? 'POST'
        await writeFile(place('headers'), headers.join('\n'), { mode: 0o600 })
        await writeFile(place('tokens'), target.tokens.join('\n'), { mode: 0o600 })
        await writeFile(place('body'), target.body)
        const script = fileURLToPath(new URL('wrk.lua', import.meta.url))
        // one thread leaves the other core to the servers
        const settings = ['-t1', `-c${connections}`, `-d${Math.ceil(seconds)}s`, '--timeout', '10s', '-s', script]
        await run('wrk', [...settings, target.url, '--', place('headers'), place('tokens'), place('body')], {
          env: { ...process.env, BENCH_RESULT: place('result'), BENCH_METHOD: method },
          timeout: seconds * 1000 + GRACE_MS,
        })
        return JSON.parse(await readFile(place('result'), 'utf8')) as LoadResult
      } finally {
        await rm(folder, { recursive: true, force: true })
      }
    },
  }
}

const autocannon: LoadTool = {
  name: 'autocannon',
  async run(target, { connections, seconds }) {
    const file = fileURLToPath(new URL('autocannon-load.ts', import.meta.url))
    const child = fork(file, { execArgv: [] })
    try {
      child.send({ target, connections, seconds })
      const patience = AbortSignal.timeout(seconds * 1000 + GRACE_MS)
      const [result] = (await once(child, 'message', { signal: patience })) as [LoadResult]
      return result
    } finally {
      child.kill('SIGKILL')
    }
  },
}
