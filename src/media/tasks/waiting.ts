import type { TaskGlance } from './store.ts'

/** Whoever waits for tasks to move. */
export interface Waiting {
  /**
   * Resolves when `seen` says so of the task, after `forMs` at the latest, and at once when too many wait already.
   * undefined: there is no such task, or time ran out before it could be looked at.
   */
  until(id: string, seen: (glance: TaskGlance) => boolean, forMs: number): Promise<TaskGlance | undefined>
  /** This process has moved the task: look at once. */
  moved(id: string): void
  /** Lets all who wait go. */
  stop(): void
}

interface Waiter {
  readonly seen: (glance: TaskGlance) => boolean
  readonly go: (glance: TaskGlance | undefined) => void
  last: TaskGlance | undefined
}

/** How often is looked at what others wait for. */
const TICK_MS = 250
/** Waiters at once in one process. */
const WAITERS_MAX = 10_000

/**
 * Waits for tasks by looking at all of them in one statement for each tick, however many wait. What this process
 * moves by itself is looked at without waiting for the tick.
 */
export function createWaiting(options: {
  readonly glances: (ids: readonly string[]) => Promise<TaskGlance[]>
  readonly closing: () => boolean
  readonly onTrouble: (message: string, error: unknown) => void
}): Waiting {
  const waiters = new Map<string, Set<Waiter>>()
  let count = 0
  let timer: NodeJS.Timeout | undefined
  let looking = false
  let again = false
  let stopped = false

  async function look(): Promise<void> {
    if (looking) {
      again = true
      return
    }
    looking = true
    try {
      for (const glance of await options.glances([...waiters.keys()])) {
        for (const waiter of waiters.get(glance.id) ?? []) {
          waiter.last = glance
          if (waiter.seen(glance)) waiter.go(glance)
        }
      }
    } catch (error) {
      options.onTrouble('tasks that clients wait for cannot be looked at', error)
    } finally {
      looking = false
    }
    if (options.closing()) letGo()
    if (again && count > 0) {
      again = false
      await look()
    }
  }

  function letGo(): void {
    for (const set of [...waiters.values()]) for (const waiter of [...set]) waiter.go(waiter.last)
  }

  return {
    until(id, seen, forMs) {
      if (stopped || count >= WAITERS_MAX || forMs <= 0) return Promise.resolve(undefined)
      return new Promise((resolve) => {
        const set = waiters.get(id) ?? new Set()
        waiters.set(id, set)
        const limit = setTimeout(() => waiter.go(waiter.last), forMs)
        const waiter: Waiter = {
          seen,
          last: undefined,
          go(glance) {
            clearTimeout(limit)
            if (!set.delete(waiter)) return
            count -= 1
            if (set.size === 0 && waiters.get(id) === set) waiters.delete(id)
            if (count === 0) {
              clearInterval(timer)
              timer = undefined
            }
            resolve(glance)
          },
        }
        set.add(waiter)
        count += 1
        timer ??= setInterval(() => void look(), TICK_MS)
        void look()
      })
    },
    moved(id) {
      if (waiters.has(id)) void look()
    },
    stop() {
      stopped = true
      letGo()
    },
  }
}
