import { acceptAssets } from '../chains/assets.ts'
import type { Database } from '../db/database.ts'
import { list } from '../identity/wallets/store.ts'
import { sweepLapsed } from '../payments/orders/attempts.ts'
import { queue } from '../payments/orders/review/store.ts'
import { openWatchedChains, type PaymentChains, paymentChains } from '../payments/watcher/port.ts'
import { type ReconciliationReport, reconciliationReports } from '../payments/watcher/reconciliation/service.ts'
import { startWatcher, type Watcher } from '../payments/watcher/worker.ts'
import { type Axon, openAxon } from './axon.ts'
import type { Surroundings } from './server-surroundings.ts'

/** The chains that payments come in on, watched by this process. */
export interface Payments {
  readonly chains: PaymentChains
  readonly watcher: Watcher
  /** Payments with a chain's own coin. */
  readonly axon: Axon
  /** The newest comparison of each asset: what the chain shows we received against what was credited. */
  reports(): Promise<ReconciliationReport[]>
  /** How much waits for an operator. */
  queue(): ReturnType<typeof queue>
  /** The verified wallets of an account, lower-case, the one to pay from first. */
  payerWallets(accountId: bigint): Promise<readonly string[]>
  /** Ends what was begun; nothing of it runs afterwards. */
  stop(): Promise<void>
}

/** How often chains are read: while somebody waits for a payment, and otherwise. */
const pace = {
  production: { busyMs: 2_000, idleMs: 30_000, reconcileMs: 300_000 },
  development: { busyMs: 500, idleMs: 2_000, reconcileMs: 10_000 },
} as const
const CHECK_AGAIN_MS = 3_600_000
/** Until the nodes have answered once, they are asked again sooner. */
const CHECK_SOON_MS = 2_000
const SWEEP_MS = 5_000
const SWEEP_ORDERS = 500

/** Opens the configured chains and begins to watch them. An asset takes no orders before its check has passed. */
export function openPayments(
  around: Surroundings,
  db: Database,
  onTrouble: (message: string, error: unknown) => void,
): Payments {
  const { config, secrets, clock, random, logger } = around
  const accepted = acceptAssets(config.payments.assets)
  const watched = openWatchedChains(accepted, secrets.rpcUrls, clock)
  const watcher = startWatcher({ db, clock, random, chains: watched, ...pace[config.mode], onTrouble })
  const chains = paymentChains({ chains: watched, watcher, clock })

  let checking: NodeJS.Timeout | undefined
  let stopped = false
  const check = async (): Promise<void> => {
    let nextMs: number = CHECK_AGAIN_MS
    try {
      for (const { assetId, problems } of await chains.check())
        logger.error({ asset_id: assetId, problems }, 'an asset is not what its row says: it takes no orders')
    } catch (error) {
      nextMs = CHECK_SOON_MS
      onTrouble('the assets cannot be checked yet; they take no orders until they are', error)
    }
    if (!stopped) checking = setTimeout(() => void check(), nextMs).unref()
  }
  const firstCheck = check()
  const sweep = setInterval(() => {
    sweepLapsed({ db, clock }, SWEEP_ORDERS).catch((error: unknown) => onTrouble('lapsed orders wait', error))
  }, SWEEP_MS).unref()

  const payerWallets: Payments['payerWallets'] = async (accountId) => {
    const wallets = (await list(db, accountId)).filter(({ verified_at }) => verified_at !== null)
    return wallets.sort((one, other) => Number(other.is_primary) - Number(one.is_primary)).map(({ address }) => address)
  }
  const axon = openAxon(around, db, { payerWallets, onTrouble })

  return {
    chains,
    watcher,
    axon,
    payerWallets,
    reports: () =>
      reconciliationReports(
        db,
        accepted.map(({ assetId }) => assetId),
        clock.now(),
      ),
    queue: () => queue(db),
    async stop() {
      stopped = true
      clearTimeout(checking)
      clearInterval(sweep)
      await firstCheck
      await Promise.all([watcher.stop(), axon.stop()])
    },
  }
}
