import { createHash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { Database } from '../db/database.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Limiter, Quota, Standing } from '../kernel/limiter.ts'
import * as store from './store.ts'

/** What a limiter needs from outside. */
export interface LimiterDeps {
  readonly db: Database
  readonly clock: Clock
  /** The database did not answer: counts are unknown until it does. Told at most once a second. */
  readonly onTrouble: (message: string, error: unknown) => void
  /** How many keys are remembered at most; a forgotten one asks the database again. */
  readonly keysMax?: number
}

/** Some 20 MB. */
const KEYS_MAX = 100_000
/** What a process takes ahead when it meets a key; afterwards as much as it has used of the window. */
const FIRST_AHEAD = 8
/** A limiter that waits longer for its count does more harm than good. */
const LEASE_TIMEOUT_MS = 2_000
/** How long no count is asked for after the database did not answer. */
const AWAY_MS = 1_000
/** Ended windows are forgotten this often, and only once no slow clock can still be in them. */
const PRUNE_EVERY_MS = 60_000
const PRUNE_AFTER_MS = 120_000
/** 128 bits: two keys never meet. */
const KEY_BYTES = 16

/** One key's window, as this process knows it. Replaced by a new one when the window is over. */
interface Window {
  readonly key: string
  readonly quota: Quota
  readonly endsMs: number
  /** Leased and not used yet. */
  left: number
  used: number
  /** What no process had leased when the database last answered. */
  unleased: number
  /** Requests that wait for a lease. */
  waiting: number
  /** The lease on its way, which all that wait share; false when the database is away. */
  arriving: Promise<boolean> | undefined
}

/**
 * A limiter over leases: a process takes a part of a window out of the database by one statement, counts it down
 * in memory, and asks again when it is used up. What it took and does not use is lost for the window, so the sum
 * over all processes stays at or below the quota, whatever crashes.
 */
export function createLimiter({ db, clock, onTrouble, keysMax = KEYS_MAX }: LimiterDeps): Limiter {
  const windows = rememberWindows(keysMax)
  let awayUntilMs = 0
  let pruneAtMs = 0

  async function takeLater(window: Window): Promise<Standing | undefined> {
    for (;;) {
      if (window.arriving === undefined && clock.monotonicMs() < awayUntilMs) return undefined
      window.waiting++
      window.arriving ??= lease(window)
      const answered = await window.arriving
      window.waiting--
      const taken = takeNow(window, clock.now().getTime())
      if (taken || !answered) return taken
    }
  }

  async function lease(window: Window): Promise<boolean> {
    const { key, endsMs, quota, waiting, used } = window
    try {
      const wanted = {
        key: hashed(key),
        endsAt: new Date(endsMs),
        requests: quota.requests,
        waiting,
        ahead: Math.max(FIRST_AHEAD, used),
      }
      const { leased, taken } = await withinTime(store.lease(db, wanted))
      window.left += leased
      window.unleased = Math.max(0, quota.requests - taken)
      pruneNowAndThen()
      return true
    } catch (error) {
      const nowMs = clock.monotonicMs()
      if (nowMs >= awayUntilMs) onTrouble('the database does not count requests: rate limits are not known', error)
      awayUntilMs = nowMs + AWAY_MS
      return false
    } finally {
      window.arriving = undefined
    }
  }

  function pruneNowAndThen(): void {
    const nowMs = clock.monotonicMs()
    if (nowMs < pruneAtMs) return
    pruneAtMs = nowMs + PRUNE_EVERY_MS
    store
      .prune(db, new Date(clock.now().getTime() - PRUNE_AFTER_MS))
      .catch((error: unknown) => onTrouble('ended rate limit windows could not be forgotten; it is tried again', error))
  }

  return {
    take(quota, key) {
      const nowMs = clock.now().getTime()
      const window = windows.of(quota, key, nowMs)
      return takeNow(window, nowMs) ?? takeLater(window)
    },
    spent(quota, key) {
      const nowMs = clock.now().getTime()
      const window = windows.known(quota, key, nowMs)
      return window && window.left === 0 && window.unleased === 0 ? standing(window, false, nowMs) : undefined
    },
  }
}

/** The running window of each key, at most `keysMax` of them. */
function rememberWindows(keysMax: number) {
  // in the order in which they began: the first ones are over first
  const windows = new Map<string, Window>()

  function known(quota: Quota, key: string, nowMs: number): Window | undefined {
    const window = windows.get(`${quota.name}:${key}`)
    // the second condition: a clock that was set back must not keep a window for longer than it lasts
    return window && nowMs < window.endsMs && window.endsMs - nowMs <= quota.windowMs ? window : undefined
  }

  function begin(quota: Quota, name: string, nowMs: number): Window {
    if (!windows.delete(name) && windows.size >= keysMax) windows.delete(windows.keys().next().value as string)
    // each key has its own rhythm, so that not all leases end in the same moment
    const offset = crc32(name) % quota.windowMs
    const endsMs = Math.floor((nowMs - offset) / quota.windowMs) * quota.windowMs + offset + quota.windowMs
    const window: Window = {
      key: name,
      quota,
      endsMs,
      left: 0,
      used: 0,
      unleased: quota.requests,
      waiting: 0,
      arriving: undefined,
    }
    windows.set(name, window)
    return window
  }

  return {
    known,
    of: (quota: Quota, key: string, nowMs: number): Window =>
      known(quota, key, nowMs) ?? begin(quota, `${quota.name}:${key}`, nowMs),
  }
}

/** Takes what is at hand; undefined when a lease is needed. */
function takeNow(window: Window, nowMs: number): Standing | undefined {
  if (window.left > 0) {
    window.left--
    window.used++
    return standing(window, true, nowMs)
  }
  return window.unleased === 0 ? standing(window, false, nowMs) : undefined
}

function standing(window: Window, allowed: boolean, nowMs: number): Standing {
  return {
    allowed,
    remaining: window.left + window.unleased,
    resetMs: Math.max(1, window.endsMs - nowMs),
  }
}

function hashed(key: string): Buffer {
  return createHash('sha256').update(key).digest().subarray(0, KEY_BYTES)
}

/** Gives up waiting, not the statement: what it still leases is lost for the window, which errs on the safe side. */
async function withinTime<T>(work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${LEASE_TIMEOUT_MS} ms`)), LEASE_TIMEOUT_MS)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
