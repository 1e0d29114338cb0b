import { open, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Binaries } from './binaries.ts'
import { type Launcher, run } from './launcher.ts'
import { endDatabaseProcesses } from './processes.ts'
import { PostgresUnavailable } from './unavailable.ts'

/** The name of the superuser of every database folder made here. */
export const SUPERUSER = 'postgres'

const INITDB_TIMEOUT_MS = 120_000

// biome-ignore format: one option per line reads as a table.
const INITDB_OPTIONS = [
  `--username=${SUPERUSER}`,
  '--auth-local=trust',            // whoever reaches the socket, in a folder of mode 0700, owns the folder anyway
  '--auth-host=reject',
  '--encoding=UTF8',
  '--locale-provider=builtin',     // sorts and folds case alike on every machine
  '--builtin-locale=C.UTF-8',
  '--locale=C',                    // for the rest: unlike C.UTF-8, every C library has it
  '--no-instructions',
]

/** Makes the cluster (PostgreSQL's own folder) unless it exists. Refuses one of another major version. */
export async function ensureCluster(
  cluster: string,
  binaries: Binaries,
  launcher: Launcher,
): Promise<'made' | 'found'> {
  if (await stat(cluster).catch(() => undefined)) {
    await refuseOtherVersion(cluster, binaries.majorVersion)
    return 'found'
  }
  // It gets its name when it is complete, so a start that is killed half way leaves nothing to trip over.
  const partial = `${cluster}.partial`
  await endDatabaseProcesses(partial)
  await rm(partial, { recursive: true, force: true })
  const { code, output } = await run(launcher, binaries.initdb, ['-D', partial, ...INITDB_OPTIONS], INITDB_TIMEOUT_MS)
  if (code !== 0) throw new PostgresUnavailable(`initdb could not make a database in ${cluster}:\n${output.trim()}`)
  await rename(partial, cluster)
  await syncFolder(dirname(cluster))
  return 'made'
}

async function refuseOtherVersion(cluster: string, major: string): Promise<void> {
  const version = await readFile(`${cluster}/PG_VERSION`, 'utf8').catch(() => undefined)
  if (version === undefined) {
    throw new PostgresUnavailable(
      `${cluster} exists but is no PostgreSQL database folder. Move it away, or choose another data folder.`,
    )
  }
  if (version.trim() === major) return
  throw new PostgresUnavailable(
    `The database in ${cluster} was made by PostgreSQL ${version.trim()}; this server brings PostgreSQL ${major}, which cannot open it. Start the server version that made it, or choose another data folder.`,
  )
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** PostgreSQL's command line. `settings` win over the defaults here. */
export function serverArguments(
  cluster: string,
  socketFolder: string,
  settings: Readonly<Record<string, string>>,
): string[] {
  const all = {
    listen_addresses: '',
    // A list of folders: quoted, or spaces at the end of a path would be lost.
    unix_socket_directories: `"${socketFolder.replaceAll('"', '""')}"`,
    unix_socket_permissions: '0700',
    port: '5432',
    // Money: a commit that was acknowledged is on the disk.
    fsync: 'on',
    full_page_writes: 'on',
    synchronous_commit: 'on',
    shared_buffers: '128MB',
    max_connections: '60',
    wal_compression: 'on',
    max_wal_size: '1GB',
    jit: 'off',
    timezone: 'UTC',
    log_timezone: 'UTC',
    logging_collector: 'off',
    ...settings,
  }
  return ['-D', cluster, ...Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])]
}
