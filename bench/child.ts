import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

/** A server that the benchmark started. */
export interface Child {
  readonly pid: number
  readonly port: number
  /** Asks it to end, and makes it end when it does not within 30 s. */
  stop(): Promise<void>
}

/** A side that cannot be measured here; its message says why and goes into the report. */
export class Unavailable extends Error {
  override name = 'Unavailable'
}

const READY_MS = 60_000
const STOP_MS = 30_000

/** Starts one of the benchmark's own servers, which sends its port when it listens. */
export async function forkServer(file: string, args: readonly string[]): Promise<Child> {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), args, { execArgv: [] })
  endWithUs(child)
  const [message] = (await once(child, 'message', { signal: AbortSignal.timeout(READY_MS) })) as [{ port: number }]
  return { pid: pidOf(child), port: message.port, stop: () => end(child) }
}

/**
 * Starts a program that listens on `port`, and returns when GET `readyPath` answers 200. What it prints goes to
 * `logFile`. Throws Unavailable with the end of that log when it ends or stays silent for a minute.
 */
export async function spawnServer(options: {
  readonly args: readonly string[]
  readonly cwd: string
  readonly environment: Record<string, string | undefined>
  readonly port: number
  readonly readyPath: string
  readonly logFile: string
}): Promise<Child> {
  const log = openSync(options.logFile, 'w', 0o600)
  const { args, cwd, environment: env, port } = options
  const child = spawn(process.execPath, args, { cwd, env, stdio: ['ignore', log, log] })
  closeSync(log)
  endWithUs(child)
  const patience = AbortSignal.timeout(READY_MS)
  const address = `http://127.0.0.1:${port}${options.readyPath}`
  for (;;) {
    const answered = await fetch(address, { signal: AbortSignal.timeout(2000) }).catch(() => undefined)
    if (answered?.status === 200) return { pid: pidOf(child), port, stop: () => end(child) }
    if (child.exitCode !== null || child.signalCode !== null || patience.aborted) {
      await end(child)
      const text = readFileSync(options.logFile, 'utf8').trim().split('\n').slice(-12).join('\n')
      throw new Unavailable(`${args[0]} did not become ready:\n${text}`)
    }
    await pause(50)
  }
}

/** A port of 127.0.0.1 that is free now. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  if (typeof address !== 'object' || address === null) throw new Error('no port')
  return address.port
}

/** Resident memory of a process in MB, now and at its highest; undefined where the system does not tell (no /proc). */
export async function residentMb(pid: number): Promise<{ now: number; highest: number } | undefined> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  const field = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / 1024
  const memory = { now: field('VmRSS'), highest: field('VmHWM') }
  return Number.isNaN(memory.now) ? undefined : memory
}

function pidOf(child: ChildProcess): number {
  if (child.pid === undefined) throw new Unavailable('a process could not be started')
  return child.pid
}

function endWithUs(child: ChildProcess): void {
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  child.once('exit', () => process.removeListener('exit', kill))
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  const patience = setTimeout(() => child.kill('SIGKILL'), STOP_MS)
  await ended
  clearTimeout(patience)
}
