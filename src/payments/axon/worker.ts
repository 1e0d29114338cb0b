import { checkCoin } from './check.ts'
import type { AxonDeps, AxonStatus } from './deps.ts'
import { apply, observe, readHead } from './look.ts'
import * as quotes from './quotes/store.ts'
import { reconcileCoin } from './reconciliation/service.ts'
import { type Coin, QUOTE_GRACE_MS } from './settings.ts'
import * as store from './store.ts'

/** How often the worker comes back. */
export interface AxonPace {
  /** Milliseconds between rounds while somebody waits for a payment, and otherwise. */
  readonly busyMs: number
  readonly idleMs: number
  /** Milliseconds between comparisons of what was received with what was credited. */
  readonly reconcileMs: number
}

/** Claims that are looked at in one round, and those of them at the same time. */
const LOOKS_MAX = 60
const LOOKS_AT_ONCE = 6
const CHECK_AGAIN_MS = 3_600_000
/** A chain that was read longer ago than this counts as not reachable. */
const USABLE_FOR_MS = 90_000

/** The rounds of native payments. Any number of processes may make them at once: the rows that they lock decide. */
export interface AxonRounds {
  /** One round. Never throws; says whether to come back soon. */
  once(): Promise<boolean>
  status(): AxonStatus
}

/** Makes the rounds of a coin. `deps.status` and `deps.wake` are not used. */
export function axonRounds(
  deps: Omit<AxonDeps, 'status' | 'wake' | 'coin'> & { coin: Coin },
  pace: AxonPace,
): AxonRounds {
  const { db, clock, coin } = deps
  const around: AxonDeps = { ...deps, status: () => status(), wake: () => undefined }
  const chainId = BigInt(coin.config.chainId)
  const isTime = intervals(deps)
  let problems: readonly string[] = ['not checked yet']
  let lastReadAt: Date | undefined
  let trouble: string | undefined = 'not read yet'
  const status = (): AxonStatus => {
    const read = lastReadAt !== undefined && clock.now().getTime() - lastReadAt.getTime() < USABLE_FOR_MS
    return { usable: read && problems.length === 0, lastReadAt, trouble: problems[0] ?? trouble }
  }
  const check = async () => {
    if (problems.length === 0 && !isTime('check', CHECK_AGAIN_MS)) return
    const found = await checkCoin(coin)
    if (found.length > 0 && found[0] !== problems[0])
      deps.onTrouble('the native token is not what its settings say: it takes no quotes', new Error(found.join('; ')))
    problems = found
  }
  const tidy = async () => {
    const now = clock.now()
    await quotes.closeBefore(db, new Date(now.getTime() - QUOTE_GRACE_MS), now)
    // a late payment is worth what the coin was worth when its block was made
    if (await quotes.anyMeant(db))
      await deps.rates.refresh().catch((error: unknown) => deps.onTrouble('no rate could be sampled', error))
  }
  return {
    status,
    async once() {
      try {
        await check()
        const head = await readHead(coin)
        const claims = await store.due(db, chainId, LOOKS_MAX)
        await inTurns(
          claims,
          async (claim) => {
            const shown = await observe(coin, claim)
            await apply(around, coin, claim, shown, head)
          },
          (claim, error) => {
            deps.onTrouble('a native payment could not be looked at; it is tried again', error)
            return store.noteLook(db, claim.id, clock.now())
          },
        )
        await tidy()
        if (isTime('reconcile', pace.reconcileMs)) await reconcileCoin(db, coin, head.finalized, clock.now())
        lastReadAt = clock.now()
        trouble = undefined
        return await store.someoneWaits(db, chainId)
      } catch (error) {
        trouble = error instanceof Error ? error.message : 'unknown'
        deps.onTrouble(`native payments on ${coin.config.networkName} could not be read; it is tried again`, error)
        return true
      }
    },
  }
}

/** Whether it is time again for something that is done now and then. */
function intervals({ clock }: Pick<AxonDeps, 'clock'>): (what: string, everyMs: number) => boolean {
  const lastMs = new Map<string, number>()
  return (what, everyMs) => {
    const nowMs = clock.monotonicMs()
    const last = lastMs.get(what)
    if (last !== undefined && nowMs - last < everyMs) return false
    lastMs.set(what, nowMs)
    return true
  }
}

/** One claim that cannot be judged now does not keep the others waiting. */
async function inTurns(
  claims: readonly store.Claim[],
  work: (claim: store.Claim) => Promise<void>,
  onFailure: (claim: store.Claim, error: unknown) => Promise<void>,
): Promise<void> {
  const queue = claims.values()
  const worker = async () => {
    for (const claim of queue) await work(claim).catch((error: unknown) => onFailure(claim, error))
  }
  await Promise.all(Array.from({ length: LOOKS_AT_ONCE }, worker))
}

/** Rounds that go on by themselves until they are stopped. */
export interface AxonWorker {
  /** Look at once. Never blocks, never throws. */
  wake(): void
  /** Ends after the round that runs. */
  stop(): Promise<void>
}

/** Makes round after round. */
export function startAxonWorker(rounds: AxonRounds, pace: AxonPace): AxonWorker {
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> | undefined
  let wokenMeanwhile = false
  let stopped = false
  const run = async () => {
    const busy = await rounds.once()
    if (stopped) return
    const wait = wokenMeanwhile || busy ? pace.busyMs : pace.idleMs
    wokenMeanwhile = false
    timer = setTimeout(start, wait)
  }
  const start = () => {
    clearTimeout(timer)
    running = run().finally(() => {
      running = undefined
    })
  }
  start()
  return {
    wake() {
      if (stopped) return
      // whoever is woken has just looked: the next look is worth a moment's wait
      if (running) wokenMeanwhile = true
      else {
        clearTimeout(timer)
        timer = setTimeout(start, pace.busyMs)
      }
    },
    async stop() {
      stopped = true
      clearTimeout(timer)
      await running
    },
  }
}
