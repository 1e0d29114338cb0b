import { execFile } from 'node:child_process'
import { readdir, readFile, readlink } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { PostgresUnavailable } from './unavailable.ts'

/** A process that works on a database folder. */
export interface DatabaseProcess {
  readonly pid: number
  /** True for the one that was started with the folder as argument; its children follow it. */
  readonly isLeader: boolean
}

const onLinux = process.platform === 'linux'
/** unshare and setpriv are what PostgreSQL is for a moment before it is PostgreSQL. */
const PROGRAMS = new Set(['postgres', 'initdb', 'unshare', 'setpriv'])
const POLL_MS = 10

/** What tells a process from a later one with the same pid; undefined when it is gone or a zombie. */
export async function startIdentity(pid: number): Promise<string | undefined> {
  if (!onLinux) {
    const [line] = await listing(['-o', 'stat=,lstart=', '-p', String(pid)])
    return line === undefined || line.startsWith('Z') ? undefined : line.replace(/^\S+\s+/, '')
  }
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
  if (stat === undefined) return undefined
  // The program's name may hold spaces and brackets; the fields after it start with the state, field 3.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  if (fields[0] === 'Z' || fields[0] === 'X') return undefined
  const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => '')
  return `${boot.trim()} ${fields[22 - 3]}`
}

/** Every PostgreSQL process that works on the folder, an absolute path without links. */
export async function databaseProcesses(folder: string): Promise<DatabaseProcess[]> {
  if (!onLinux) return processesByListing(folder)
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const found = await Promise.all(pids.map((pid) => processOn(folder, pid)))
  return found.filter((process) => process !== undefined)
}

async function processOn(folder: string, pid: string): Promise<DatabaseProcess | undefined> {
  const program = await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '')
  if (!PROGRAMS.has(program.trim())) return undefined
  const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
  if (command.split('\0').includes(folder)) return { pid: Number(pid), isLeader: true }
  // A backend rewrites its command line; what it keeps is its working directory.
  const directory = await readlink(`/proc/${pid}/cwd`).catch(() => undefined)
  return directory === folder ? { pid: Number(pid), isLeader: false } : undefined
}

/** The same where there is no /proc: those with the folder in their command, and their children. */
async function processesByListing(folder: string): Promise<DatabaseProcess[]> {
  const rows = (await listing(['-axww', '-o', 'pid=,ppid=,command='])).flatMap((line) => {
    const match = /^(\d+)\s+(\d+)\s+(.*)$/.exec(line)
    return match ? [{ pid: Number(match[1]), parent: Number(match[2]), command: match[3] ?? '' }] : []
  })
  const mentions = (command: string) => ` ${command} `.includes(` -D ${folder} `)
  const leaders = new Set(rows.filter((row) => mentions(row.command)).map((row) => row.pid))
  return rows
    .filter((row) => leaders.has(row.pid) || leaders.has(row.parent))
    .map((row) => ({ pid: row.pid, isLeader: leaders.has(row.pid) }))
}

async function listing(options: string[]): Promise<string[]> {
  const run = promisify(execFile)
  const { stdout } = await run('ps', options, {
    timeout: 5_000,
    env: { PATH: '/bin:/usr/bin', LC_ALL: 'C' },
  })
    // ps ends with 1 when it finds nothing.
    .catch(() => ({ stdout: '' }))
  return stdout
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
}

/**
 * Ends every PostgreSQL process on the folder and returns once none is left, so that no backend of the old
 * server can still write when a new one starts. Asks for a clean stop first (20 s), then an immediate one
 * (5 s), then kills. Only the leader is asked: to its children the same signals mean other things.
 */
export async function endDatabaseProcesses(folder: string): Promise<void> {
  const steps = [
    ['SIGINT', 20_000],
    ['SIGQUIT', 5_000],
    ['SIGKILL', 10_000],
  ] as const
  for (const [signal, patienceMs] of steps) {
    const alive = await databaseProcesses(folder)
    if (alive.length === 0) return
    const leaders = alive.filter((process) => process.isLeader)
    for (const { pid } of signal === 'SIGKILL' ? alive : leaders) send(pid, signal)
    // Backends that lost their leader end by themselves, unless they are busy; nobody has to wait long for that.
    if (await noneLeft(folder, leaders.length > 0 ? patienceMs : 2_000)) return
  }
  throw new PostgresUnavailable(`PostgreSQL processes on ${folder} do not end. End them, then start again.`)
}

async function noneLeft(folder: string, patienceMs: number): Promise<boolean> {
  const deadline = AbortSignal.timeout(patienceMs)
  while (!deadline.aborted) {
    if ((await databaseProcesses(folder)).length === 0) return true
    await pause(POLL_MS)
  }
  return false
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ESRCH') return
    throw new PostgresUnavailable(
      `Process ${pid} is a PostgreSQL that a former run left behind, and it belongs to another user. End it, then start again.`,
      { cause },
    )
  }
}
