import type { ChildProcess } from 'node:child_process'
import { chmod, mkdir, open, readFile, realpath, rm, rmdir, stat, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { type Binaries, findBinaries } from './binaries.ts'
import { ensureCluster, SUPERUSER, serverArguments } from './cluster.ts'
import { findLauncher, type Launcher } from './launcher.ts'
import { claimOwnership } from './ownership.ts'
import { databaseProcesses, endDatabaseProcesses } from './processes.ts'
import { clearSocket, socketFolderFor, socketUrl } from './sockets.ts'
import { PostgresUnavailable } from './unavailable.ts'

/** What `startPostgres` needs. */
export interface PostgresOptions {
  /** Where the database lives; made when missing, readable by its owner only. One server at a time. */
  readonly dataFolder: string
  /** Takes one line for the operator at each step that takes time or is unusual. */
  readonly log: (line: string) => void
  /** PostgreSQL settings by name; they win over ours. */
  readonly settings?: Readonly<Record<string, string>>
  /** PATH, HOME and TMPDIR are read from it; nothing else reaches PostgreSQL. */
  readonly environment: Readonly<Record<string, string | undefined>>
}

/** How a PostgreSQL ended. */
export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** A PostgreSQL that accepts connections on a Unix socket. */
export interface RunningPostgres {
  /** The folder of its socket: `host` for libpq and node-postgres. */
  readonly socketFolder: string
  readonly superuser: string
  readonly pid: number
  /** A connection URL for node-postgres, psql and everything on libpq. */
  url(database: string, user: string): string
  /** Stops it cleanly, open transactions rolled back; returns when no process of it is left. Safe to call twice. */
  stop(): Promise<void>
  /** Settles when it ends, by `stop` or by itself. Never rejects. */
  readonly exited: Promise<Exit>
}

interface Place {
  readonly dataFolder: string
  readonly cluster: string
  readonly logFile: string
}

const LOG_LIMIT_BYTES = 10 * 1024 * 1024
const START_PATIENCE_MS = 60_000
const STOP_PATIENCE_MS = 60_000
const POLL_MS = 10

/**
 * Starts the bundled PostgreSQL on a data folder, making the database first when there is none, and returns
 * when it accepts connections. A database that a killed process left running is stopped first; one whose
 * owner lives is refused. Throws PostgresUnavailable with what to do about it.
 */
export async function startPostgres(options: PostgresOptions): Promise<RunningPostgres> {
  const binaries = await findBinaries()
  await mkdir(options.dataFolder, { recursive: true, mode: 0o700 }).catch((cause: Error) => {
    throw new PostgresUnavailable(`The data folder cannot be made: ${cause.message}`, { cause })
  })
  const dataFolder = await realpath(options.dataFolder)
  const place = {
    dataFolder,
    cluster: join(dataFolder, 'cluster'),
    logFile: join(dataFolder, 'postgres.log'),
  }
  const ownership = await claimOwnership(dataFolder)
  try {
    return await startOwned(place, binaries, options, ownership.release)
  } catch (error) {
    await ownership.release()
    throw error
  }
}

async function startOwned(
  place: Place,
  binaries: Binaries,
  options: PostgresOptions,
  release: () => Promise<void>,
): Promise<RunningPostgres> {
  const { dataFolder, cluster } = place
  const { log, environment } = options
  await chmod(dataFolder, 0o700)
  const launcher = await findLauncher(binaries.postgres, dataFolder, environment)
  if ((await databaseProcesses(cluster)).length > 0) {
    log('stopping the database that a former run left behind')
    await endDatabaseProcesses(cluster)
  }
  const socketFolder = await socketFolderFor(dataFolder, environment.TMPDIR ?? '/tmp', launcher)
  await clearSocket(socketFolder)
  if ((await ensureCluster(cluster, binaries, launcher)) === 'made') log(`made a new database in ${dataFolder}`)
  // No process is left on the cluster, so this names a dead one, or a stranger that got its pid.
  await rm(join(cluster, 'postmaster.pid'), { force: true })
  const args = serverArguments(cluster, socketFolder, options.settings ?? {})
  const { child, pid, exited } = await launch(launcher, binaries.postgres, args, place)
  const stop = stopper(child, exited, cluster, async () => {
    if (socketFolder !== dataFolder) await rmdir(socketFolder).catch(() => {})
    await release()
  })
  log(`PostgreSQL ${binaries.majorVersion} is ready, ${launcher.way}`)
  return {
    socketFolder,
    superuser: SUPERUSER,
    pid,
    url: (database, user) => socketUrl(socketFolder, database, user),
    stop,
    exited,
  }
}

/** Starts the server and returns when it is ready; on any failure nothing of it is left running. */
async function launch(launcher: Launcher, postgres: string, args: string[], place: Place) {
  const { child, exited, logStart } = await spawnWithLog(launcher, postgres, args, place.logFile)
  const ending = () => child.kill('SIGINT')
  // The death signal does the same, where there is one.
  process.once('exit', ending)
  exited.then(() => process.removeListener('exit', ending))
  const { pid } = child
  const outcome = pid === undefined ? 'ended' : await readiness(pid, exited, place)
  if (pid !== undefined && outcome === 'ready') return { child, pid, exited }
  await endDatabaseProcesses(place.cluster)
  const text = (await readFile(place.logFile)).subarray(logStart).toString()
  const reason =
    outcome === 'ended' ? 'ended while it started' : `said nothing for ${START_PATIENCE_MS / 1000} s while it started`
  throw new PostgresUnavailable(
    `PostgreSQL ${reason}. The last lines of ${place.logFile}:\n${text.trim().split('\n').slice(-20).join('\n')}`,
  )
}

async function spawnWithLog(launcher: Launcher, postgres: string, args: string[], logFile: string) {
  const file = await open(logFile, 'a', 0o600)
  try {
    if ((await file.stat()).size > LOG_LIMIT_BYTES) await truncate(logFile)
    const logStart = (await file.stat()).size
    await launcher.own(logFile)
    const child = launcher.spawn(postgres, args, file.fd)
    // listened to at once: one that fails may be gone before anything else was waited for
    const exited = new Promise<Exit>((resolve) => {
      child.once('exit', (code, signal) => resolve({ code, signal }))
      child.on('error', () => resolve({ code: null, signal: null }))
    })
    return { child, exited, logStart }
  } finally {
    await file.close()
  }
}

/** Waits for the word `ready` in the server's own status file. As long as it reports progress of a recovery, it has time. */
async function readiness(
  pid: number,
  exited: Promise<Exit>,
  { cluster, logFile }: Place,
): Promise<'ready' | 'ended' | 'silent'> {
  let ended = false
  exited.then(() => {
    ended = true
  })
  let said = -1
  let patience = AbortSignal.timeout(START_PATIENCE_MS)
  while (!patience.aborted) {
    if (ended) return 'ended'
    const status = await readFile(join(cluster, 'postmaster.pid'), 'utf8').catch(() => '')
    const lines = status.split('\n')
    if (lines[0] === String(pid) && lines[7]?.trim() === 'ready') return 'ready'
    const { size } = await stat(logFile)
    if (size !== said) {
      said = size
      patience = AbortSignal.timeout(START_PATIENCE_MS)
    }
    await pause(POLL_MS)
  }
  return 'silent'
}

function stopper(
  child: ChildProcess,
  exited: Promise<Exit>,
  cluster: string,
  release: () => Promise<void>,
): () => Promise<void> {
  const end = async () => {
    child.kill('SIGINT')
    const patience = new AbortController()
    await Promise.race([exited, pause(STOP_PATIENCE_MS, undefined, { signal: patience.signal }).catch(() => {})])
    patience.abort()
    // Nothing to do after a clean stop. After a crash its backends may outlive it for a moment.
    await endDatabaseProcesses(cluster)
    await release()
  }
  let ending: Promise<void> | undefined
  return () => {
    ending ??= end()
    return ending
  }
}
