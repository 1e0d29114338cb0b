import { link, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startIdentity } from './processes.ts'
import { PostgresUnavailable } from './unavailable.ts'

/** The right to run the database of one folder. */
export interface Ownership {
  /** Gives the folder free for another process. Safe to call twice. */
  release(): Promise<void>
}

let drafts = 0

/**
 * Claims a database folder for this process by the file `owner.pid` in it: the owner's pid and its start
 * time. Refuses while the owner lives (which may be this process itself); takes over from a dead one.
 */
export async function claimOwnership(folder: string): Promise<Ownership> {
  const path = join(folder, 'owner.pid')
  drafts += 1
  const draft = `${path}.${process.pid}-${drafts}`
  const mine = `${process.pid}\n${await startIdentity(process.pid)}\n${drafts}\n`
  // Linking a finished file is atomic: nobody ever reads half a claim.
  await writeFile(draft, mine, { mode: 0o600 })
  try {
    for (let attempt = 0; attempt < 5; attempt += 1) {
      if (await linked(draft, path)) return { release: () => release(path, mine) }
      const theirs = await contentOf(path)
      if (theirs === undefined) continue
      await refuseLiving(theirs, folder)
      await setAside(path, theirs)
    }
  } finally {
    await rm(draft, { force: true })
  }
  throw new PostgresUnavailable(`Several processes want the database in ${folder} at once. Start one of them.`)
}

async function refuseLiving(claim: string, folder: string): Promise<void> {
  const [pid, started] = claim.split('\n')
  if ((await startIdentity(Number(pid))) !== started) return
  throw new PostgresUnavailable(
    `The database in ${folder} is in use by process ${pid}, which is running. Stop it first, or give this server a data folder of its own.`,
  )
}

/** Removes a dead owner's claim, but never one that a faster process has put in its place meanwhile. */
async function setAside(path: string, stale: string): Promise<void> {
  const aside = `${path}.stale-${process.pid}-${drafts}`
  try {
    await rename(path, aside)
  } catch (error) {
    if (isCode(error, 'ENOENT')) return
    throw error
  }
  if ((await contentOf(aside)) !== stale) await linked(aside, path)
  await rm(aside, { force: true })
}

async function release(path: string, mine: string): Promise<void> {
  if ((await contentOf(path)) === mine) await rm(path, { force: true })
}

async function linked(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to)
    return true
  } catch (error) {
    if (isCode(error, 'EEXIST')) return false
    throw error
  }
}

async function contentOf(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (isCode(error, 'ENOENT')) return undefined
    throw error
  }
}

function isCode(error: unknown, code: string): boolean {
  return (error as NodeJS.ErrnoException).code === code
}
