import { openEvmChain } from '../chains/evm.ts'
import type { Database } from '../db/database.ts'
import type { AxonDeps, AxonStatus } from '../payments/axon/deps.ts'
import { openRates } from '../payments/axon/rates/service.ts'
import { openRateSource } from '../payments/axon/rates/source.ts'
import { type CoinReport, coinReport } from '../payments/axon/reconciliation/service.ts'
import type { Coin } from '../payments/axon/settings.ts'
import { type AxonPace, axonRounds, startAxonWorker } from '../payments/axon/worker.ts'
import type { Surroundings } from './server-surroundings.ts'

/** Payments with a chain's own coin, watched over by this process. */
export interface Axon {
  readonly deps: AxonDeps
  /** undefined: no coin is taken here. */
  readonly status: () => AxonStatus | undefined
  /** The newest comparison of what was received with what was credited. */
  report(): Promise<CoinReport | undefined>
  stop(): Promise<void>
}

const pace: Readonly<Record<'production' | 'development', AxonPace>> = {
  production: { busyMs: 2_000, idleMs: 30_000, reconcileMs: 300_000 },
  development: { busyMs: 500, idleMs: 2_000, reconcileMs: 10_000 },
}
const unusable: AxonStatus = { usable: false, lastReadAt: undefined, trouble: 'no native token is taken' }

/** The coin that the operator configured, with a client for each of its nodes. Asks nothing yet. */
export function openCoin({ config, secrets, clock }: Pick<Surroundings, 'config' | 'secrets' | 'clock'>) {
  const { axon } = config.payments
  if (!axon) return undefined
  const { chainId, networkName, safeBlocks, finalizedBlocks } = axon
  const { rpcUrls, rateUrls } = secrets.axon
  const chain = openEvmChain({ chainId, networkName, rpcUrls, safeBlocks, finalizedBlocks }, clock)
  const coin: Coin = { config: axon, chain }
  return { coin, source: openRateSource(axon.rate, rateUrls, chain, clock) }
}

/** Opens native payments, and begins to follow what was claimed before. */
export function openAxon(
  around: Surroundings,
  db: Database,
  { payerWallets, onTrouble }: Pick<AxonDeps, 'payerWallets' | 'onTrouble'>,
): Axon {
  const { clock, config } = around
  const opened = openCoin(around)
  const report = () => coinReport(db, clock.now())
  if (!opened) {
    const rates = { current: never, at: never, newest: never, refresh: never }
    const deps = {
      db,
      clock,
      coin: undefined,
      rates,
      payerWallets,
      onTrouble,
      status: () => unusable,
      wake: () => undefined,
    }
    return { deps, status: () => undefined, report: async () => undefined, stop: async () => undefined }
  }
  const { coin, source } = opened
  const rates = openRates({ db, clock, source })
  const own = { db, clock, coin, rates, payerWallets, onTrouble }
  const rounds = axonRounds(own, pace[config.mode])
  const worker = startAxonWorker(rounds, pace[config.mode])
  return {
    deps: { ...own, status: rounds.status, wake: worker.wake },
    status: rounds.status,
    report,
    stop: worker.stop,
  }
}

const never = (): Promise<never> => Promise.reject(new Error('no native token is taken'))
