import { constants } from 'node:fs'
import { access, readdir, rm, stat, statfs } from 'node:fs/promises'
import { freemem, tmpdir } from 'node:os'
import { join } from 'node:path'

const MEMORY = '/dev/shm'
/** The longest programmes of tests run for hours; what is older was left by one that was killed, and would stay until the next boot. */
const LEFT_BEHIND_MS = 24 * 60 * 60_000
/** What the databases of a whole run need, several times over. */
const ROOM_BYTES = 4 * 1024 ** 3

/**
 * Where tests keep what need not outlive them: in memory, where the machine has room for it, else in the temporary folder.
 * A database there is as durable as it says while the machine runs, and nobody waits for a disk.
 */
export async function quickFolder(): Promise<string> {
  try {
    await access(MEMORY, constants.W_OK)
    await removeLeftBehind()
    const { bavail, bsize } = await statfs(MEMORY)
    return bavail * bsize >= ROOM_BYTES && freemem() >= ROOM_BYTES ? MEMORY : tmpdir()
  } catch {
    return tmpdir()
  }
}

async function removeLeftBehind(): Promise<void> {
  for (const name of await readdir(MEMORY)) {
    if (!/^farebox-(test|browser)-/.test(name)) continue
    const { mtimeMs } = await stat(join(MEMORY, name))
    if (Date.now() - mtimeMs > LEFT_BEHIND_MS) await rm(join(MEMORY, name), { recursive: true, force: true })
  }
}
