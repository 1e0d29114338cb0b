import { acceptAssets } from '../chains/assets.ts'
import { openDatabase } from '../db/database.ts'
import type { DevelopmentChain } from '../embedded/anvil-chain.ts'
import type { Clock } from '../kernel/clock.ts'
import { MICROCREDITS_MAX } from '../kernel/money.ts'
import { decideOrder } from '../payments/orders/review/service.ts'
import { ordersInReview } from '../payments/orders/review/store.ts'
import { openWatchedChains } from '../payments/watcher/port.ts'
import { rewindTo } from '../payments/watcher/repair/service.ts'
import { cursor } from '../payments/watcher/store.ts'

const OPERATOR = 'npm start'
const REVIEWS_MAX = 10_000

/**
 * A development chain whose file was lost begins anew, under a database that remembers the former one. Its reading
 * begins anew, too, and Credits that were bought on it stay: they were play money. Gives how many purchases that
 * were, undefined when nothing was remembered.
 */
export async function forgetLostChain(
  databaseUrl: string,
  clock: Clock,
  chain: Pick<DevelopmentChain, 'chainId' | 'assetId' | 'recipientAddress' | 'rpcUrl'>,
): Promise<number | undefined> {
  const { db, pool } = openDatabase({
    url: databaseUrl,
    connections: 2,
    statementTimeoutMs: 10_000,
    onIdleError: () => undefined,
  })
  try {
    if (!(await cursor(db, BigInt(chain.chainId)))) return undefined
    const assets = acceptAssets({ [chain.assetId]: { recipient: chain.recipientAddress } })
    const [watched] = openWatchedChains(assets, { [chain.assetId]: [chain.rpcUrl] }, clock)
    if (!watched) return undefined
    const reason = 'the development chain was begun anew'
    await rewindTo({ db, clock }, watched, { to: 0n, operator: OPERATOR, reason })
    const lost = (await ordersInReview(db, REVIEWS_MAX)).filter(
      (order) => order.review_reason === 'reorged_after_credit' && order.chain_id === BigInt(chain.chainId),
    )
    const deps = { db, clock, aloneLimitMicro: MICROCREDITS_MAX }
    for (const { id } of lost)
      await decideOrder(deps, id, { action: 'credit', operator: { kind: 'operator', name: OPERATOR }, reason })
    return lost.length
  } finally {
    await pool.end()
  }
}
