import { createHash } from 'node:crypto'
import { chmod, lstat, mkdir, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import type { Launcher } from './launcher.ts'
import { PostgresUnavailable } from './unavailable.ts'

/** The name PostgreSQL gives its socket on port 5432. */
const SOCKET_NAME = '.s.PGSQL.5432'
/** The longest path a Unix socket takes everywhere, in bytes: macOS has 103, Linux 107. */
const PATH_LIMIT = process.platform === 'linux' ? 107 : 103

/** The folder for the database's socket: the data folder itself, or a private short one when its path is too long or has a comma. */
export async function socketFolderFor(
  dataFolder: string,
  temporaryFolder: string,
  launcher: Launcher,
): Promise<string> {
  if (fits(dataFolder)) return dataFolder
  const name = `farebox-${createHash('sha256').update(dataFolder).digest('hex').slice(0, 16)}`
  const folder = join(fits(join(temporaryFolder, name)) ? temporaryFolder : '/tmp', name)
  await mkdir(folder, { mode: 0o700 }).catch(() => {})
  const entry = await lstat(folder)
  const owner = (await lstat(dataFolder)).uid
  // Everybody may write to the temporary folder: a folder that somebody else put there is not ours to trust.
  if (!entry.isDirectory() || ![owner, process.getuid?.()].includes(entry.uid)) {
    throw new PostgresUnavailable(
      `${folder} belongs to somebody else. Choose a shorter path, without commas, for the data folder.`,
    )
  }
  await chmod(folder, 0o700)
  await launcher.own(folder)
  return folder
}

/** Removes what a dead server left. Refuses when somebody still answers: a PostgreSQL that this process cannot see, as in another container. */
export async function clearSocket(socketFolder: string): Promise<void> {
  const path = join(socketFolder, SOCKET_NAME)
  if (await answers(path)) {
    throw new PostgresUnavailable(
      `Another PostgreSQL, perhaps in another container, already serves ${socketFolder}. Stop it first.`,
    )
  }
  await rm(path, { force: true })
  await rm(`${path}.lock`, { force: true })
}

/** A connection URL that both node-postgres and libpq understand. */
export function socketUrl(socketFolder: string, database: string, user: string): string {
  const [name, role, host] = [database, user, socketFolder].map(encodeURIComponent)
  return `postgresql://${role}@localhost/${name}?host=${host}`
}

/** libpq reads a comma as the end of one host and the start of the next. */
function fits(folder: string): boolean {
  return !folder.includes(',') && Buffer.byteLength(join(folder, SOCKET_NAME)) <= PATH_LIMIT
}

function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path)
    const settle = (answer: boolean) => {
      socket.destroy()
      resolve(answer)
    }
    socket.setTimeout(1_000, () => settle(true))
    socket.on('connect', () => settle(true))
    socket.on('error', () => settle(false))
  })
}
