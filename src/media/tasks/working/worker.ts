import type { TaskDeps } from '../deps.ts'
import { step } from './steps.ts'
import { type Claimed, claim, release, renew } from './store.ts'

/** Works on tasks until it is stopped. */
export interface TaskWorker {
  /** There is work: look now. Never blocks, never throws. */
  wake(): void
  /** How many tasks this process works on now. */
  readonly busy: number
  /** Takes no more work and ends when what runs has ended. */
  stop(): Promise<void>
}

/** After an error of ours a task rests this long. */
const TROUBLE_PAUSE_MS = 2_000

/**
 * Takes what is due and does its next step, `concurrency` tasks at once. Any number of processes may do so: a lease
 * says who works on what, and is renewed while a step runs.
 */
export function startTaskWorker(deps: TaskDeps, concurrency: number): TaskWorker {
  const working = new Map<string, Promise<void>>()
  let timer: NodeJS.Timeout | undefined
  let looking: Promise<void> | undefined
  let again = false
  let stopped = false

  const renewing = setInterval(() => renewLeases(deps, [...working.keys()]), deps.pace.leaseMs / 3)

  async function work(claimed: Claimed): Promise<void> {
    const { id } = claimed.task
    let afterMs = TROUBLE_PAUSE_MS
    try {
      afterMs = await step(deps, claimed)
    } catch (error) {
      deps.onTrouble('a step of a task failed; it is tried again', error)
    }
    await release(deps.db, { processId: deps.processId, id, afterMs }).catch((error: unknown) =>
      // its lease runs out by itself
      deps.onTrouble('a task could not be given back', error),
    )
    working.delete(id)
    if (afterMs === 0) wake()
  }

  async function look(): Promise<void> {
    do {
      again = false
      const limit = concurrency - working.size
      if (stopped || limit <= 0) return
      try {
        const lease = { processId: deps.processId, limit, leaseMs: deps.pace.leaseMs }
        const claimed = await claim(deps.db, lease)
        // this process stood still for longer than a lease: what it claims anew it works on already
        for (const one of claimed) if (!working.has(one.task.id)) working.set(one.task.id, work(one))
        again ||= claimed.length === limit
      } catch (error) {
        deps.onTrouble('tasks cannot be looked for; it is tried again', error)
      }
    } while (again)
  }

  function wake(): void {
    again = true
    if (looking || stopped) return
    clearTimeout(timer)
    looking = look().finally(() => {
      looking = undefined
      if (!stopped) timer = setTimeout(wake, deps.pace.idleMs)
    })
  }
  wake()

  return {
    wake,
    get busy() {
      return working.size
    },
    async stop() {
      stopped = true
      clearTimeout(timer)
      await looking
      await Promise.all(working.values())
      clearInterval(renewing)
    },
  }
}

function renewLeases({ db, processId, pace, onTrouble }: TaskDeps, ids: readonly string[]): void {
  if (ids.length === 0) return
  renew(db, { processId, ids, leaseMs: pace.leaseMs }).catch((error: unknown) =>
    onTrouble('leases of tasks cannot be renewed', error),
  )
}
