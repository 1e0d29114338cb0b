import { type AttemptDeps, attempt } from './attempt.ts'
import { fanOutFresh, forgetOld } from './outbox/service.ts'
import * as store from './store.ts'

/** What `startSending` needs. */
export interface SendingOptions extends Omit<AttemptDeps, 'ending'> {
  /** Milliseconds between looks at the outbox and at what is due. */
  readonly pollMs: number
  readonly onTrouble: (message: string, error: unknown) => void
}

/** A worker that runs. */
export interface Sending {
  /** Ends at once: attempts on their way are given back and made again by whoever is left. */
  stop(): Promise<void>
}

/** Attempts of this process at once, and of those so many at most to endpoints that failed the last time. */
const ATTEMPTS_MAX = 128
const FAILING_ATTEMPTS_MAX = 48
/** Attempts at once to one endpoint, by all processes together. */
const concurrency: store.Concurrency = { healthy: 8, failing: 1 }
/** Longer than an attempt can take: a claim that is older belongs to a process that is dead. */
const LEASE_MS = 60_000
const FORGET_EVERY_MS = 600_000

/**
 * Delivers events until it is stopped. Any number of processes may do so at once: an attempt belongs to whoever leases
 * it, and a lease that nobody ends is taken over.
 */
export function startSending(options: SendingOptions): Sending {
  const ending = new AbortController()
  const running = new Set<Promise<void>>()
  const round = sendingRound({ ...options, ending: ending.signal }, (done) => {
    running.add(done)
    void done.finally(() => {
      running.delete(done)
      look()
    })
  })
  let timer: NodeJS.Timeout | undefined
  let looking: Promise<void> | undefined
  let again = false
  const look = (): void => {
    if (ending.signal.aborted) return
    if (looking) {
      again = true
      return
    }
    clearTimeout(timer)
    looking = round().then((busy) => {
      looking = undefined
      if (ending.signal.aborted) return
      timer = setTimeout(look, again || busy ? 0 : options.pollMs).unref()
      again = false
    })
  }
  look()
  return {
    async stop() {
      ending.abort()
      clearTimeout(timer)
      await looking
      await Promise.all(running)
    },
  }
}

/** One look at everything there is to do. Never rejects; true: there is more to do at once. */
function sendingRound(
  deps: AttemptDeps & SendingOptions,
  begin: (done: Promise<void>) => void,
): () => Promise<boolean> {
  const open = { all: 0, failing: 0 }
  let forgotAtMs = deps.clock.monotonicMs()
  const run = async (claim: Claimed, job: store.Job | undefined): Promise<void> => {
    open.all += 1
    if (claim.failing) open.failing += 1
    try {
      // without a job the endpoint was removed meanwhile, and the delivery with it
      if (job) await attempt(deps, claim, job)
    } catch (error) {
      deps.onTrouble('a webhook delivery could not be recorded; it is made again', error)
    } finally {
      open.all -= 1
      if (claim.failing) open.failing -= 1
    }
  }
  return async () => {
    try {
      const more = await fanOutFresh(deps)
      const claims = await claimDue(deps, {
        room: ATTEMPTS_MAX - open.all,
        failing: FAILING_ATTEMPTS_MAX - open.failing,
      })
      const jobs =
        claims.length === 0
          ? []
          : await store.jobs(
              deps.db,
              claims.map(({ id }) => id),
            )
      const byId = new Map(jobs.map((job) => [job.delivery_id, job]))
      for (const claim of claims) begin(run(claim, byId.get(claim.id)))
      if (deps.clock.monotonicMs() - forgotAtMs >= FORGET_EVERY_MS) {
        forgotAtMs = deps.clock.monotonicMs()
        await forgetOld(deps)
      }
      return more
    } catch (error) {
      deps.onTrouble('webhooks wait; they are looked at again', error)
      return false
    }
  }
}

type Claimed = Awaited<ReturnType<typeof store.claim>>[number]

async function claimDue(
  { db, clock }: Pick<AttemptDeps, 'db' | 'clock'>,
  { room, failing }: { room: number; failing: number },
): Promise<Claimed[]> {
  if (room <= 0) return []
  return db.transaction().execute(async (tx) => {
    const now = clock.now()
    const endpointIds = await store.lockDueEndpoints(tx, now, room)
    if (endpointIds.length === 0) return []
    const leasedUntil = new Date(now.getTime() + LEASE_MS)
    return store.claim(tx, {
      endpointIds,
      now,
      leasedUntil,
      limit: room,
      failingMax: Math.max(0, failing),
      concurrency,
    })
  })
}
