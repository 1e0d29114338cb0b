import { createReadStream } from 'node:fs'
import { mkdir, open, readdir, rename, rm, rmdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { isDay, type ObjectName, type ObjectStore, StoreUnavailable } from './object-store.ts'

/** Keeps objects below a folder, one folder for each day. Processes on one host may share it. */
export function openLocalStore(folder: string): ObjectStore {
  const pathOf = ({ day, file }: ObjectName): string => join(folder, day, file)
  return {
    put: (name, file) =>
      working(async () => {
        await mkdir(join(folder, name.day), { recursive: true, mode: 0o700 })
        await rename(file.path, pathOf(name))
        await synced(join(folder, name.day))
        await synced(folder)
      }),
    size: (name) => working(async () => (await stat(pathOf(name)).catch(absent))?.size),
    read: (name, range) =>
      working(async () => {
        const handle = await open(pathOf(name)).catch(absent)
        if (!handle) return undefined
        const { size } = await handle.stat()
        // the stream closes the handle
        const part = range ? { start: range.first, end: range.last } : {}
        return { bytes: size, stream: createReadStream('', { fd: handle, ...part }) }
      }),
    deleteBefore: (day, limit) => working(() => deleteBefore(folder, day, limit)),
    close: async () => undefined,
  }
}

async function deleteBefore(folder: string, day: string, limit: number): Promise<number> {
  const days = (await readdir(folder).catch(absent)) ?? []
  let deleted = 0
  for (const old of days.filter((name) => isDay(name) && name < day).sort()) {
    const files = (await readdir(join(folder, old)).catch(absent)) ?? []
    for (const file of files) {
      if (deleted === limit) return deleted
      await rm(join(folder, old, file), { force: true })
      deleted += 1
    }
    // another process may be at it too, or have put something there: then it stays for the next round
    await rmdir(join(folder, old)).catch(() => undefined)
  }
  return deleted
}

/** Makes a folder's entries durable. */
async function synced(folder: string): Promise<void> {
  const handle = await open(folder)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

async function working<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw new StoreUnavailable(`The data folder cannot be used (${codeOf(error)}).`)
  }
}

function absent(error: unknown): undefined {
  if (codeOf(error) === 'ENOENT') return undefined
  throw error
}

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'
