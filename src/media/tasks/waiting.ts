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

/** What waiting needs. */
export interface WaitingOptions {
  readonly glances: (ids: readonly string[]) => Promise<TaskGlance[]>
  readonly closing: () => boolean
  readonly onTrouble: (message: string, error: unknown) => void
}

/**
 * Waits for tasks by looking at all of them in one statement for each tick, however many wait. What this process
 * moves by itself is looked at without waiting for the tick.
 */
export function createWaiting(options: WaitingOptions): Waiting {
  return new TickingWaiting(options)
}

class TickingWaiting implements Waiting {
  readonly #options: WaitingOptions
  readonly #waiters = new Map<string, Set<Waiter>>()
  #count = 0
  #timer: NodeJS.Timeout | undefined
  #looking = false
  #again = false
  #stopped = false

  constructor(options: WaitingOptions) {
    this.#options = options
  }

  until(id: string, seen: Waiter['seen'], forMs: number): Promise<TaskGlance | undefined> {
    if (this.#stopped || this.#count >= WAITERS_MAX || forMs <= 0) return Promise.resolve(undefined)
    return new Promise((resolve) => {
      const limit = setTimeout(() => waiter.go(waiter.last), forMs)
      const waiter: Waiter = {
        seen,
        last: undefined,
        go: (glance) => {
          clearTimeout(limit)
          if (this.#remove(id, waiter)) resolve(glance)
        },
      }
      this.#add(id, waiter)
    })
  }

  moved(id: string): void {
    if (this.#waiters.has(id)) void this.#look()
  }

  stop(): void {
    this.#stopped = true
    this.#letGo()
  }

  #add(id: string, waiter: Waiter): void {
    const together = this.#waiters.get(id) ?? new Set()
    this.#waiters.set(id, together.add(waiter))
    this.#count += 1
    this.#timer ??= setInterval(() => void this.#look(), TICK_MS)
    void this.#look()
  }

  #remove(id: string, waiter: Waiter): boolean {
    const together = this.#waiters.get(id)
    if (!together?.delete(waiter)) return false
    if (together.size === 0) this.#waiters.delete(id)
    this.#count -= 1
    if (this.#count === 0) {
      clearInterval(this.#timer)
      this.#timer = undefined
    }
    return true
  }

  #letGo(): void {
    for (const together of [...this.#waiters.values()]) for (const waiter of [...together]) waiter.go(waiter.last)
  }

  /** One statement for all who wait. What is asked for while it runs is looked at right after. */
  async #look(): Promise<void> {
    this.#again = true
    if (this.#looking) return
    this.#looking = true
    while (this.#again && this.#count > 0) {
      this.#again = false
      try {
        for (const glance of await this.#options.glances([...this.#waiters.keys()])) this.#show(glance)
      } catch (error) {
        this.#options.onTrouble('tasks that clients wait for cannot be looked at', error)
      }
      if (this.#options.closing()) this.#letGo()
    }
    this.#looking = false
  }

  #show(glance: TaskGlance): void {
    for (const waiter of [...(this.#waiters.get(glance.id) ?? [])]) {
      waiter.last = glance
      if (waiter.seen(glance)) waiter.go(glance)
    }
  }
}
