import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdir, open, readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { trimChainState } from './anvil-state.ts'
import { startIdentity } from './processes.ts'

/** How a development chain makes blocks. */
export type Mining =
  /** One for each transaction, and one every few seconds. */
  | { readonly kind: 'steady'; readonly seconds: number }
  /** Only when a test says so. */
  | { readonly kind: 'manual' }

/** What `startAnvil` needs. */
export interface AnvilOptions {
  /** Where its blocks are kept between runs; made when missing. One chain at a time. */
  readonly dataFolder: string
  readonly chainId: number
  readonly mining: Mining
  /** Tried first; another free one is taken when it is in use. 0: any. */
  readonly port: number
  /** Takes one line at each step that is unusual. */
  readonly log: (line: string) => void
  /** Only PATH is read from it. */
  readonly environment: Readonly<Record<string, string | undefined>>
}

/** A development chain that answers JSON-RPC on loopback. */
export interface RunningAnvil {
  readonly rpcUrl: string
  readonly pid: number
  /** One call. Throws what the chain answers as an error. */
  rpc(method: string, ...parameters: unknown[]): Promise<unknown>
  /** Ends it and keeps its blocks; returns when the process is gone. Safe to call twice. */
  stop(): Promise<void>
  /** Settles when it ends, by `stop` or by itself. Never rejects. */
  readonly exited: Promise<void>
}

/** The development chain cannot run here. The message says why. */
export class AnvilUnavailable extends Error {
  override name = 'AnvilUnavailable'
}

const START_PATIENCE_MS = 60_000
const PORT_TRIES = 3
/** Writing the blocks of a long run takes a while. */
const STOP_PATIENCE_MS = 30_000
const CALL_TIMEOUT_MS = 60_000
const POLL_MS = 20
/** Blocks on which the chain may still change its mind: its words `safe` and `finalized` follow one and two behind. */
const SLOTS_IN_AN_EPOCH = '1'
/** What a crash of the chain may lose: less than the watcher remembers, so it looks like a small reorganisation. */
const SAVE_SECONDS = '30'

/**
 * Starts the bundled anvil on a data folder, as a child that dies with this process, and returns when it answers.
 * One that a killed process left behind is ended first; a folder whose owner lives is refused.
 */
export async function startAnvil(options: AnvilOptions): Promise<RunningAnvil> {
  const program = findAnvil()
  await mkdir(options.dataFolder, { recursive: true, mode: 0o700 })
  const claim = join(options.dataFolder, 'anvil.pid')
  await endLeftBehind(claim, options.log)
  await trimChainState(join(options.dataFolder, 'state.json'))
  for (let tries = 1; ; tries += 1) {
    const port = tries === 1 && (await isFree(options.port)) ? options.port : await freePort()
    try {
      return await startOn(port, program, claim, options)
    } catch (error) {
      // between asking for a free port and taking it, another program may take it
      const isTaken = error instanceof AnvilUnavailable && /address already in use/i.test(error.message)
      if (!isTaken || tries === PORT_TRIES) throw error
    }
  }
}

async function startOn(port: number, program: string, claim: string, options: AnvilOptions): Promise<RunningAnvil> {
  const { child, exited } = await launch(program, port, options)
  const { pid } = child
  if (pid === undefined) throw new AnvilUnavailable('The development chain could not be started.')
  // where there is no death signal, this ends it with the process at least when that ends in order
  const ending = () => child.kill('SIGTERM')
  process.once('exit', ending)
  void exited.then(() => process.removeListener('exit', ending))
  const rpcUrl = `http://127.0.0.1:${port}`
  const rpc = (method: string, ...parameters: unknown[]) => call(rpcUrl, method, parameters)
  await writeFile(claim, [process.pid, await startIdentity(process.pid), pid, await startIdentity(pid)].join('\n'), {
    mode: 0o600,
  })
  if (!(await answers(rpc, child))) {
    child.kill('SIGKILL')
    await exited
    const said = await readFile(join(options.dataFolder, 'anvil.log'), 'utf8').catch(() => '')
    throw new AnvilUnavailable(
      `The development chain did not start. It said:\n${said.trim().split('\n').slice(-10).join('\n')}`,
    )
  }
  let stopping: Promise<void> | undefined
  const stop = async () => {
    child.kill('SIGTERM')
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_PATIENCE_MS)
    await exited
    clearTimeout(timer)
    await rm(claim, { force: true })
  }
  return {
    rpcUrl,
    pid,
    rpc,
    exited,
    stop() {
      stopping ??= stop()
      return stopping
    },
  }
}

/** The program itself, not its wrapper in Node: a signal to a wrapper would not reach it. */
function findAnvil(): string {
  const platform = `${process.platform}-${process.arch === 'x64' ? 'amd64' : process.arch}`
  const require = createRequire(import.meta.url)
  try {
    const wrapper = require.resolve('@foundry-rs/anvil/package.json')
    return join(dirname(createRequire(wrapper).resolve(`@foundry-rs/anvil-${platform}/package.json`)), 'bin', 'anvil')
  } catch (cause) {
    throw new AnvilUnavailable(
      `No development chain is installed for ${platform}. Install the optional dependencies (npm ci).`,
      { cause },
    )
  }
}

async function launch(
  program: string,
  port: number,
  { dataFolder, chainId, mining, environment }: AnvilOptions,
): Promise<{ child: ChildProcess; exited: Promise<void> }> {
  const args = [
    ...['--host', '127.0.0.1', '--port', String(port), '--chain-id', String(chainId), '--hardfork', 'prague'],
    ...['--slots-in-an-epoch', SLOTS_IN_AN_EPOCH, '--no-cors', '--quiet'],
    ...['--state', join(dataFolder, 'state.json'), '--state-interval', SAVE_SECONDS],
    ...(mining.kind === 'manual' ? ['--no-mining'] : ['--block-time', String(mining.seconds), '--mixed-mining']),
  ]
  const { PATH = '/usr/local/bin:/usr/bin:/bin' } = environment
  const death =
    process.platform === 'linux' &&
    spawnSync('setpriv', ['--pdeathsig', 'TERM', 'true'], { env: { PATH } }).status === 0
  const [file = program, ...rest] = death ? ['setpriv', '--pdeathsig', 'TERM', program, ...args] : [program, ...args]
  const log = await open(join(dataFolder, 'anvil.log'), 'w', 0o600)
  try {
    // a group of its own: Ctrl-C in a terminal is ours to handle, so that it is stopped after those who use it
    const child = spawn(file, rest, { detached: true, env: { PATH }, stdio: ['ignore', log.fd, log.fd] })
    // listened to at once: one that fails may be gone before anything else was waited for
    const exited = new Promise<void>((resolve) => {
      child.once('exit', () => resolve())
      child.once('error', () => resolve())
    })
    return { child, exited }
  } finally {
    await log.close()
  }
}

/** Ends the chain of a dead owner. The start times tell it from a stranger that got its pid. */
async function endLeftBehind(claim: string, log: (line: string) => void): Promise<void> {
  const text = await readFile(claim, 'utf8').catch(() => undefined)
  if (text === undefined) return
  const [ownerPid, ownerStarted, pid, started] = text.split('\n')
  if (
    ownerStarted !== undefined &&
    (await startIdentity(Number(ownerPid))) === ownerStarted &&
    (await startIdentity(Number(pid))) === started
  )
    throw new AnvilUnavailable(`The development chain is in use by process ${ownerPid}. Stop it first.`)
  const isOurs = async () => (await startIdentity(Number(pid))) === started
  if (started !== undefined && (await isOurs())) {
    log('stopping the chain that a former run left behind')
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      if (await isOurs()) process.kill(Number(pid), signal)
      const patience = AbortSignal.timeout(STOP_PATIENCE_MS)
      while (!patience.aborted && (await isOurs())) await pause(POLL_MS)
    }
  }
  await rm(claim, { force: true })
}

async function answers(rpc: RunningAnvil['rpc'], child: ChildProcess): Promise<boolean> {
  const patience = AbortSignal.timeout(START_PATIENCE_MS)
  while (!patience.aborted && child.exitCode === null && child.signalCode === null) {
    const answered = await rpc('eth_chainId').then(
      () => true,
      () => false,
    )
    // whoever answers must be it: another program may have got the port first
    if (answered && child.exitCode === null) return true
    await pause(POLL_MS)
  }
  return false
}

async function call(url: string, method: string, params: readonly unknown[]): Promise<unknown> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    signal: AbortSignal.timeout(CALL_TIMEOUT_MS),
  })
  const answer = (await response.json()) as { result?: unknown; error?: { message: string } }
  if (answer.error) throw new AnvilUnavailable(`${method}: ${answer.error.message}`)
  return answer.result
}

function isFree(port: number): Promise<boolean> {
  if (port === 0) return Promise.resolve(false)
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() =>
        typeof address === 'object' && address ? resolve(address.port) : reject(new Error('no port')),
      )
    })
  })
}
