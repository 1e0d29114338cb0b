import { mkdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '../kernel/clock.ts'
import { exitCodes, ProgramFault } from '../terminal/exit-codes.ts'

const WAIT_MS = 60_000
const RETRY_MS = 25
const TOUCH_EVERY_MS = 5_000
/** A lock that nobody touched for this long was left by a process that died. */
const STALE_MS = 30_000

/**
 * Takes a lock file, waiting for whoever has it; gives what releases it. `holder` is unlike any other's. Rejects with
 * exit code 7 when it stays taken.
 */
export async function locked(
  path: string,
  { clock, holder }: { readonly clock: Clock; readonly holder: string },
): Promise<() => void> {
  const nowMs = (): number => clock.now().getTime()
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const until = nowMs() + WAIT_MS
  while (!taken(path, holder)) {
    const touchedAt = statSync(path, { throwIfNoEntry: false })?.mtimeMs
    if (touchedAt !== undefined && nowMs() - touchedAt > STALE_MS) rmSync(path, { force: true })
    else if (nowMs() > until)
      throw new ProgramFault(
        exitCodes.unavailable,
        `Another farebox holds ${path}. Try again; if none runs, remove it.`,
      )
    else await sleep(RETRY_MS)
  }
  // a server may take its time: as long as this process lives, its lock is not stale
  const sign = setInterval(() => {
    if (isHeldBy(path, holder)) utimesSync(path, clock.now(), clock.now())
  }, TOUCH_EVERY_MS).unref()
  return () => {
    clearInterval(sign)
    if (isHeldBy(path, holder)) rmSync(path, { force: true })
  }
}

function taken(path: string, holder: string): boolean {
  try {
    writeFileSync(path, holder, { flag: 'wx', mode: 0o600 })
    return true
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'EEXIST') throw error
    return false
  }
}

function isHeldBy(path: string, holder: string): boolean {
  try {
    return readFileSync(path, 'utf8') === holder
  } catch {
    return false
  }
}
