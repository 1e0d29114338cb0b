import { afterAll, beforeAll, expect, test } from 'vitest'
import { type AxonServer, type AxonSetting, openAxonSetting } from '../../test/axon-setting.ts'
import { developmentAsset, watchedThrough } from '../../test/chain.ts'
import { orderOf, payerAccount, pendingOrder, registeredHash } from '../../test/orders.ts'
import { raceRepeats } from '../../test/races/repeated.ts'
import { waitingX402 } from '../../test/waiting-x402.ts'
import { systemClock } from '../kernel/clock.ts'
import { systemRandom } from '../kernel/random.ts'
import { auditLedger } from '../ledger/audit.ts'
import { chainRound } from './watcher/round.ts'
import { credit } from './x402/crediting/credit.ts'
import * as x402 from './x402/store.ts'

const AMOUNT = 5_000_000n
/** The long form: npm run test:races, 200 repetitions. */
const REPEATS = raceRepeats(6)

let setting: AxonSetting
let server: AxonServer
beforeAll(async () => {
  setting = await openAxonSetting()
  server = await setting.server()
})
afterAll(() => setting.stop())

test('one transfer that an order, an x402 payment and a native claim are offered at once is credited once, and the losers say who has it', {
  timeout: 60_000 + REPEATS * 2_000,
}, async () => {
  const { chain, database } = setting
  const asset = developmentAsset(chain.recipient)
  const watcher = chainRound(
    { db: database.db, clock: systemClock, random: systemRandom, reconcileMs: 1e9, onTrouble: () => undefined },
    watchedThrough([chain.rpcUrl, `${chain.rpcUrl}/`], [asset]),
  )
  await watcher.once()
  const payers: Array<{ wallet: string; accountId: bigint }> = []
  for (const wallet of chain.payers.slice(0, 6))
    payers.push({ wallet, accountId: await payerAccount(database, wallet) })
  for (let turn = 0; turn < REPEATS; turn++) {
    const { wallet, accountId } = payers[turn % payers.length] as (typeof payers)[number]
    const given = async () =>
      (
        await database.sql<{ micro: string }>(
          'select coalesce(sum(amount_micro), 0)::bigint as micro from credit_grants where account_id = $1',
          [accountId],
        )
      ).map(({ micro }) => BigInt(micro))
    const [before = 0n] = await given()
    const orderId = await pendingOrder(database, asset, { accountId, payer: wallet, amount: AMOUNT })
    const txHash = await chain.pay({ from: wallet, amount: AMOUNT })
    await registeredHash(database, orderId, txHash)
    const payment = await database.db
      .transaction()
      .execute((tx) => waitingX402(tx, asset, { wallet, accountId, txHash, amount: AMOUNT }))
    const redeem = () => server.send(accountId, 'POST', 'redeem-hash', { tx_hash: txHash })
    await setting.mine(2)
    await watcher.once()
    expect((await orderOf(database, orderId)).status).toBe('confirming')
    // deep enough from now on: whoever is faster gets it
    await setting.mine(2)
    const offered = [
      () => watcher.once(),
      () => credit({ db: database.db, clock: systemClock }, payment, { txHash, position: 0, block: 1n }),
      redeem,
    ]
    await Promise.all([...offered.slice(turn % 3), ...offered.slice(0, turn % 3)].map((offer) => offer()))
    await watcher.once()

    const receipts = await database.sql<{ holder: string }>(
      `select g.source || ':' || g.source_id as holder from chain_receipts r join credit_grants g on g.id = r.grant_id where r.tx_hash = $1`,
      [txHash],
    )
    expect(receipts).toHaveLength(1)
    const holder = receipts[0]?.holder
    expect([`order:${orderId}`, `x402:${payment.id}`]).toContain(holder)
    expect(await given()).toEqual([before + AMOUNT])

    // an order whose transfer was taken from it learns so by the hash that it registered
    await watcher.once()
    const [order, paid] = [await orderOf(database, orderId), await x402.find(database.db, payment.id)]
    const lost = holder?.startsWith('order:')
      ? [paid?.status, paid?.reason, await takenBy(payment.id)]
      : [order.status, order.review_reason, await orderTakenBy(orderId)]
    expect(lost).toEqual([
      'review_required',
      holder?.startsWith('order:') ? 'credited_elsewhere' : 'tx_already_used',
      holder,
    ])
    await database.sql('update axon_claims set looked_at = null')
    const { status, body } = await redeem()
    expect([status, body.code, body.claimed_by]).toEqual([409, 'tx_already_claimed', holder])
  }
  expect(await auditLedger(database.db)).toEqual([])
})

async function orderTakenBy(orderId: string): Promise<string | undefined> {
  const [event] = await setting.database.sql<{ by: string }>(
    `select data->>'taken_by' as by from order_events where order_id = $1 and event = 'suspect'`,
    [orderId],
  )
  return event?.by
}

async function takenBy(paymentId: bigint): Promise<string | undefined> {
  const [event] = await setting.database.sql<{ by: string }>(
    `select data->>'taken_by' as by from x402_events where payment_id = $1 and event = 'doubt'`,
    [paymentId],
  )
  return event?.by
}
