import { type AcceptedAsset, acceptAssets } from '../chains/assets.ts'
import { type AuthorizationNode, openAuthorizationNodes } from '../chains/authorizations/node.ts'
import { authorizationProblems } from '../chains/authorizations/start-check.ts'
import { openRelayer } from '../chains/relayer/relayer.ts'
import type { X402Config } from '../config/x402.ts'
import type { Database } from '../db/database.ts'
import type { ContextTokens } from '../payments/orders/context-port.ts'
import { openFacilitator } from '../payments/x402/facilitator/facilitator.ts'
import type { GasMoney } from '../payments/x402/lane/gas.ts'
import { type Lane, openLane } from '../payments/x402/lane/lane.ts'
import type { Payment, Settler, TopUpDeps, TopUpSettings } from '../payments/x402/model.ts'
import * as store from '../payments/x402/store.ts'
import { startWorker } from '../payments/x402/worker.ts'
import type { Surroundings } from './server-surroundings.ts'

/** Top-ups by x402, as far as they are configured. */
export interface X402 {
  /** What the endpoints need; undefined while none are taken: unconfigured, or their check has not passed. */
  topUps(): (TopUpDeps & { readonly look: (payment: Payment) => Promise<void> }) | undefined
  /** For /readyz and metrics; undefined where none are configured. */
  status(): Promise<X402Status | undefined>
  stop(): Promise<void>
}

/** How top-ups stand. */
export interface X402Status {
  readonly ok: boolean
  readonly detail: string
  /** undefined where a facilitator pays the gas, and before the chain was asked. */
  readonly gas: GasMoney | undefined
  readonly open: number
  readonly inReview: number
}

const pace = {
  production: { soonMs: 1_000, laterMs: 30_000, idleMs: 5_000, gasMs: 60_000 },
  development: { soonMs: 100, laterMs: 5_000, idleMs: 1_000, gasMs: 10_000 },
} as const
/** A request waits so long for its payment; clients wait for half a minute and more. */
const WAIT_MS = 15_000
const CHECK_AGAIN_MS = 3_600_000
const CHECK_SOON_MS = 2_000
const GWEI = 1_000_000_000n

/** Opens top-ups by x402 and begins to look after the payments that are open. Takes none before the check has passed. */
export function openX402(
  around: Surroundings,
  {
    db,
    contextTokens,
    onTrouble,
  }: {
    db: Database
    contextTokens: Pick<ContextTokens, 'verify'>
    onTrouble: (message: string, error: unknown) => void
  },
): X402 {
  const { config, clock } = around
  const { x402 } = config.payments
  const asset = x402 && acceptAssets(config.payments.assets).find(({ assetId }) => assetId === x402.asset)
  if (!x402 || !asset) return { topUps: () => undefined, status: async () => undefined, stop: async () => undefined }

  const settings = settingsOf(
    x402,
    asset,
    openAuthorizationNodes({ ...asset, rpcUrls: around.secrets.rpcUrls[asset.assetId] ?? [] }, clock),
  )
  const { settler, lane } = openSettler(around, x402, { db, settings })
  const { soonMs, laterMs, idleMs, gasMs } = pace[config.mode]
  const worker = startWorker({ db, clock, settings, settler, lane, soonMs, laterMs, idleMs, onTrouble })
  const checking = startChecking(around, settings, onTrouble)
  const gas = startSampling(lane, gasMs, onTrouble)
  const deps = { db, clock, settings, settler, contextTokens, waitMs: WAIT_MS, wake: worker.wake, look: worker.look }
  return {
    topUps: () => (checking.passed() && asset.enabled ? deps : undefined),
    async status() {
      const counted = await store.countByStatus(db)
      const money = gas.newest()
      const problem =
        checking.problem() ??
        (money && money.payments < BigInt(x402.gasAlarmPayments)
          ? `the relayer's gas money lasts for ${money.payments} payments`
          : undefined)
      const detail = problem ?? `${counted.open} open, ${counted.review_required} in review`
      return { ok: problem === undefined, detail, gas: money, open: counted.open, inReview: counted.review_required }
    },
    async stop() {
      checking.stop()
      gas.stop()
      await worker.stop()
    },
  }
}

function settingsOf(x402: X402Config, asset: AcceptedAsset, nodes: readonly AuthorizationNode[]): TopUpSettings {
  const { minAmountMicro, maxAmountMicro, confirmations, paymentsPerMinutePerPayer } = x402
  const payTo = x402.payTo?.toLowerCase() ?? asset.recipientAddress
  return { asset, payTo, nodes, minAmountMicro, maxAmountMicro, confirmations, paymentsPerMinutePerPayer }
}

function openSettler(
  { clock, secrets }: Surroundings,
  { facilitatorUrl, facilitatorLimits, gasPriceMaxGwei }: X402Config,
  { db, settings }: { db: Database; settings: TopUpSettings },
): { settler: Settler<unknown>; lane: Lane | undefined } {
  if (facilitatorUrl !== undefined && facilitatorLimits !== undefined)
    return {
      settler: openFacilitator({
        clock,
        settings,
        url: facilitatorUrl,
        limits: facilitatorLimits,
        apiKey: secrets.facilitatorKey,
      }) as Settler<unknown>,
      lane: undefined,
    }
  if (secrets.relayerKey === undefined) throw new Error('FAREBOX_RELAYER_KEY is not set, and payments.x402 needs it')
  const relayer = openRelayer(secrets.relayerKey)
  const lane = openLane({ db, clock, settings, relayer, gasPriceMax: BigInt(gasPriceMaxGwei) * GWEI })
  return { settler: lane as Settler<unknown>, lane }
}

/** Looks whether the chain is what the settings say: at start, and every hour. */
function startChecking(
  { logger }: Pick<Surroundings, 'logger'>,
  { nodes, asset, payTo }: TopUpSettings,
  onTrouble: (message: string, error: unknown) => void,
): { passed(): boolean; problem(): string | undefined; stop(): void } {
  let problem: string | undefined = 'the chain was not checked yet'
  let timer: NodeJS.Timeout | undefined
  let stopped = false
  const check = async (): Promise<void> => {
    let nextMs = CHECK_AGAIN_MS
    try {
      const problems = await authorizationProblems(nodes, asset, payTo)
      problem = problems[0]
      if (problems.length > 0)
        logger.error({ problems }, 'top-ups by x402 are off: the chain is not what is configured')
    } catch (error) {
      nextMs = CHECK_SOON_MS
      onTrouble('the chain of x402 cannot be checked yet; no top-ups are taken until it is', error)
    }
    if (!stopped) timer = setTimeout(() => void check(), nextMs).unref()
  }
  void check()
  return {
    passed: () => problem === undefined,
    problem: () => problem,
    stop() {
      stopped = true
      clearTimeout(timer)
    },
  }
}

/** Asks now and then how long the relayer's gas money lasts. */
function startSampling(
  lane: Lane | undefined,
  everyMs: number,
  onTrouble: (message: string, error: unknown) => void,
): { newest(): GasMoney | undefined; stop(): void } {
  let newest: GasMoney | undefined
  const sample = () => {
    lane?.gasMoney().then(
      (money) => {
        newest = money
      },
      (error: unknown) => onTrouble('the gas money of the relayer cannot be read', error),
    )
  }
  sample()
  const timer = setInterval(sample, everyMs).unref()
  return { newest: () => newest, stop: () => clearInterval(timer) }
}
