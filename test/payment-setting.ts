import { randomBytes } from 'node:crypto'
import type { AcceptedAsset } from '../src/chains/assets.ts'
import type { Clock } from '../src/kernel/clock.ts'
import { systemClock } from '../src/kernel/clock.ts'
import { systemRandom } from '../src/kernel/random.ts'
import type { OrdersDeps } from '../src/payments/orders/service.ts'
import { chainRound } from '../src/payments/watcher/round.ts'
import { developmentAsset, type TestChain, testChain, watchedThrough } from './chain.ts'
import { freshDatabase, type TestDatabase } from './database.ts'
import { payerAccount, pendingOrder, type TestOrder } from './orders.ts'
import { fakeChains, plainContexts } from './orders-fixture.ts'

/** A chain, a database, and an account that pays from the chain's first payer. */
export interface Setting {
  readonly chain: TestChain
  readonly database: TestDatabase
  readonly asset: AcceptedAsset
  readonly payer: string
  readonly accountId: bigint
  /** What rounds could not do, newest last. */
  readonly troubles: string[]
  /** Rounds of one watcher, through these nodes (the chain itself, twice, unless given). */
  rounds(options?: {
    urls?: readonly string[]
    clock?: Clock
    assets?: readonly AcceptedAsset[]
  }): ReturnType<typeof chainRound>
  /** What the endpoints of orders stand on, for this account. */
  readonly orders: OrdersDeps
  /** A pending order of the account, by default of an amount that no other order has. */
  order(of?: Partial<TestOrder>): Promise<{ id: string; amount: bigint }>
  /** Sums of Credits given for orders, and of completed orders. */
  totals(): Promise<{ granted: bigint; completed: bigint }>
  transfer(
    txHash: string,
  ): Promise<{ state: string; note: string | null; order_id: string | null; amount: string } | undefined>
  stop(): Promise<void>
}

/** Makes one for a test file. */
export async function openSetting(): Promise<Setting> {
  const [database, chain] = await Promise.all([freshDatabase(), testChain()])
  const payer = chain.payers[0] ?? ''
  const accountId = await payerAccount(database, payer)
  const asset = developmentAsset(chain.recipient)
  const troubles: string[] = []
  let nextAmount = 5_000_000n
  return {
    chain,
    database,
    asset,
    payer,
    accountId,
    troubles,
    rounds: ({ urls = [chain.rpcUrl, `${chain.rpcUrl}/`], clock = systemClock, assets = [asset] } = {}) =>
      chainRound(
        {
          db: database.db,
          clock,
          random: systemRandom,
          reconcileMs: 0,
          onTrouble: (_, error) => troubles.push(error instanceof Error ? error.message : 'unknown'),
        },
        watchedThrough(urls, assets, clock),
      ),
    orders: {
      db: database.db,
      clock: systemClock,
      random: systemRandom,
      chains: fakeChains().chains,
      contextTokens: plainContexts,
      payerWallets: async () => [payer],
    },
    async order(of = {}) {
      nextAmount += 1_000n
      const amount = of.amount ?? nextAmount
      return {
        id: await pendingOrder(database, asset, { accountId, payer, ...of, amount }),
        amount,
      }
    },
    async totals() {
      const [row] = await database.sql<{ granted: string; completed: string }>(`select
        (select coalesce(sum(amount_micro), 0) from credit_grants where source = 'order') as granted,
        (select coalesce(sum(credit_micro), 0) from orders where grant_id is not null) as completed`)
      return { granted: BigInt(row?.granted ?? 0), completed: BigInt(row?.completed ?? 0) }
    },
    transfer: (txHash) =>
      database.db
        .selectFrom('chain_transfers')
        .select(['state', 'note', 'order_id', 'amount'])
        .where('tx_hash', '=', txHash)
        .executeTakeFirst(),
    async stop() {
      await chain.stop()
      await database.drop()
    },
  }
}

/** An address that nobody has. */
export const stranger = (): string => `0x${randomBytes(20).toString('hex')}`
