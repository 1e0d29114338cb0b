import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { watchedThrough } from '../../../test/chain.ts'
import { lyingNode } from '../../../test/lying-node.ts'
import { orderOf, reservedAttempt } from '../../../test/orders.ts'
import { openSetting, type Setting } from '../../../test/payment-setting.ts'
import { raceRepeats, repeatedRace } from '../../../test/races/repeated.ts'
import { until } from '../../../test/until.ts'
import type { Database } from '../../db/database.ts'
import { systemClock } from '../../kernel/clock.ts'
import { systemRandom } from '../../kernel/random.ts'
import { auditLedger } from '../../ledger/audit.ts'
import { sweepLapsed } from '../orders/attempts.ts'
import { LATE, paidWhenOver } from './paid-when-over.fixture.ts'
import { chainRound } from './round.ts'
import { startWatcher } from './worker.ts'

/** The long form: FAREBOX_RACE_ORDERS=300 FAREBOX_RACE_BLOCKS=6000 vitest run src/payments/watcher/racing.test.ts */
const ORDERS = Number(process.env.FAREBOX_RACE_ORDERS ?? 60)
const BLOCKS = Number(process.env.FAREBOX_RACE_BLOCKS ?? 1_000)

/** Its own long form: npm run test:races. */
const LATE_TRANSFERS = raceRepeats(3)

/** What the machine of the long form is measured by; no test fails by it. */
const measured = (figure: string) => {
  if (process.env.FAREBOX_RACE_ORDERS) process.stdout.write(`measured: ${figure}\n`)
}

let setting: Setting
beforeAll(async () => {
  setting = await openSetting()
  await setting.rounds().once()
})
afterAll(async () => {
  const totals = await setting.totals()
  expect(totals.granted).toBe(totals.completed)
  expect(await auditLedger(setting.database.db)).toEqual([])
  await setting.stop()
})

/** A database on which a process dies in the middle of a transaction: what it wrote so far is gone, and it does not come back to it. */
function mortal(db: Database, dies: () => boolean): Database {
  return new Proxy(db, {
    get(target, name) {
      if (name !== 'transaction') {
        const member: unknown = Reflect.get(target, name, target)
        return typeof member === 'function' ? member.bind(target) : member
      }
      return () => ({
        execute: (work: (tx: unknown) => Promise<unknown>) =>
          target.transaction().execute(async (tx) => {
            const result = await work(tx)
            if (dies()) throw new Error('the process died before its commit')
            return result
          }),
      })
    },
  })
}

test(`three watchers that race, two of them dying at random inside their transactions, credit ${ORDERS} orders once each`, async () => {
  const { chain, database, asset } = setting
  const paid: { id: string; amount: bigint }[] = []
  for (let made = 0; made < ORDERS; made += 1) paid.push(await setting.order())
  let deaths = 0
  // the first of each for sure, the others by chance: what must hold does not depend on which
  const mortality = () => {
    let transactions = 0
    return () => {
      transactions += 1
      const dead = transactions === 1 || Math.random() < 0.15
      if (dead) deaths += 1
      return dead
    }
  }
  const troubles = new Set<string>()
  const racer = (db: Database) =>
    chainRound(
      {
        db,
        clock: systemClock,
        random: systemRandom,
        reconcileMs: 1e9,
        onTrouble: (_, error) => troubles.add(error instanceof Error ? error.message : 'unknown'),
      },
      watchedThrough([chain.rpcUrl, `${chain.rpcUrl}/`], [asset]),
    )
  const racers = [racer(database.db), racer(mortal(database.db, mortality())), racer(mortal(database.db, mortality()))]
  let paying = true
  const race = async (each: (typeof racers)[number]) => {
    while (paying || (await database.sql(`select 1 from orders where status <> 'completed' limit 1`)).length > 0)
      await each.once()
  }
  const pay = async () => {
    for (const { amount } of paid) {
      await chain.pay({ from: setting.payer, amount })
      if (Math.random() < 0.3) await chain.mine()
    }
    await chain.mine(3)
    paying = false
  }
  await Promise.all([pay(), ...racers.map(race)])
  expect(deaths).toBeGreaterThan(1)
  // nothing else went wrong than what was meant to, or what a busy machine may do
  expect(
    [...troubles].filter(
      (message) => !/the process died|reorganised while|did not answer within|left alone/.test(message),
    ),
  ).toEqual([])
  const rows = await database.sql<{ n: number }>(
    `select count(*)::int as n from orders o join credit_grants g on g.id = o.grant_id and g.amount_micro = o.credit_micro join chain_receipts r on r.grant_id = g.id and r.tx_hash = o.tx_hash
     where o.status = 'completed'`,
  )
  expect(rows).toEqual([{ n: ORDERS }])
  expect(await database.sql(`select count(*)::int as n from credit_grants where source = 'order'`)).toEqual([
    { n: ORDERS },
  ])
}, 300_000)

test(`${BLOCKS} blocks behind are caught up in one round of few questions, and no order that was paid meanwhile has expired`, async () => {
  const { chain, database } = setting
  const orders = await Promise.all(Array.from({ length: 5 }, () => setting.order()))
  for (const { id } of orders) await reservedAttempt(database, id)
  for (const { amount } of orders) {
    await chain.pay({ from: setting.payer, amount })
    await chain.mine(BLOCKS / 5, 0)
  }
  const [cursor] = await database.sql<{ block: string }>('select block from chain_cursors')
  const behind = Number((await chain.height()) - BigInt(cursor?.block ?? 0))
  expect(behind).toBeGreaterThanOrEqual(BLOCKS)
  const node = await lyingNode(chain.rpcUrl)
  const asked: string[] = []
  node.lie = (call, honest) => {
    asked.push(call.method)
    return honest(call.method, ...call.params)
  }
  const round = setting.rounds({ urls: [node.url] })
  const startedAt = performance.now()
  await round.once()
  measured(`${BLOCKS} blocks behind: caught up in ${Math.round(performance.now() - startedAt)} ms`)
  await node.stop()
  expect(round.status()).toMatchObject({ behind: 0n, healthy: true })
  // 500 blocks at once for the scan, and as many for what was sent on, which the comparison asks for
  expect(asked.filter((method) => method === 'eth_getLogs').length).toBeLessThanOrEqual(2 * Math.ceil(behind / 500) + 1)
  expect(await Promise.all(orders.map(async ({ id }) => (await orderOf(database, id)).status))).toEqual(
    Array(5).fill('completed'),
  )
}, 300_000)

test('with 10000 open orders a round asks nodes no more than with none, and a payment among them is found', async () => {
  const { chain, database, asset } = setting
  const node = await lyingNode(chain.rpcUrl)
  const round = setting.rounds({ urls: [node.url] })
  const callsOfRound = async () => {
    await chain.mine()
    const before = node.calls
    const startedAt = performance.now()
    await round.once()
    return { calls: node.calls - before, ms: Math.round(performance.now() - startedAt) }
  }
  await callsOfRound()
  const none = await callsOfRound()
  await database.sql(
    `insert into orders (id, payer_account_id, account_id, payer_address, asset_id, chain_id, token_address, recipient_address, amount_micro, credit_micro, rate_ppm,
       status, idempotency_key, idempotency_fingerprint, created_at, expires_at)
     select gen_random_uuid(), $1, $1, $2, $3, $4, $5, $6, 900000000 + n, 900000000 + n, 1000000,
       (case when n % 2 = 0 then 'pending' else 'confirming' end)::order_status, 'open ' || n, '\\x00', now(), now() + interval '30 minutes'
     from generate_series(1, 10000) n`,
    [setting.accountId, setting.payer, asset.assetId, asset.chainId, asset.tokenAddress, asset.recipientAddress],
  )
  const many = await callsOfRound()
  expect(many.calls).toBe(none.calls)
  await chain.pay({ from: setting.payer, amount: 900_005_000n })
  const withPayment = await callsOfRound()
  expect(await database.sql('select status from orders where amount_micro = 900005000')).toEqual([
    { status: 'confirming' },
  ])
  measured(
    `10000 open orders: a round takes ${many.ms} ms, ${withPayment.ms} ms with a payment; ${none.ms} ms with none`,
  )
  await node.stop()
  await database.sql(
    `update orders set status = 'expired' where status in ('pending', 'confirming') and tx_hash is null`,
  )
}, 300_000)

test('a watcher at rest looks at once when it is woken, and ends when it is stopped', async () => {
  const { chain, database, asset } = setting
  const watcher = startWatcher({
    db: database.db,
    clock: systemClock,
    random: systemRandom,
    reconcileMs: 1e9,
    onTrouble: () => undefined,
    chains: [watchedThrough([chain.rpcUrl], [asset])],
    busyMs: 20,
    idleMs: 3_600_000,
  })
  const { id, amount } = await setting.order()
  await chain.pay({ from: setting.payer, amount })
  await chain.mine(2)
  watcher.wake(31_337n)
  while ((await orderOf(database, id)).status !== 'completed') await pause(5)
  await watcher.stop()
  expect(watcher.status()).toMatchObject([{ healthy: true, stopped: false, reading: true }])
}, 20_000)

test('a transfer that is found while its order expires is credited once when it was in time or attempted in time, and is in review otherwise', {
  timeout: 60_000 + LATE_TRANSFERS * 2_000,
}, async () => {
  const { chain, database, asset, accountId } = setting
  const ways = LATE.flatMap(({ status, attempted }) =>
    ['before', 'after'].map((when) => `${status}${attempted ? ' by its attempt' : ''}, found ${when} the sweep`),
  )
  let at = new Date()
  const clock = { now: () => at, monotonicMs: systemClock.monotonicMs }
  const troubles: string[] = []
  const watcher = () =>
    chainRound(
      {
        db: database.db,
        clock,
        random: systemRandom,
        reconcileMs: 1e9,
        onTrouble: (_, error) => troubles.push(String(error)),
      },
      watchedThrough([chain.rpcUrl, `${chain.rpcUrl}/`], [asset]),
    )
  const watchers = [watcher(), watcher()]
  const available = async () =>
    BigInt(
      (await database.sql<{ micro: string }>('select account_available_micro($1) as micro', [accountId]))[0]?.micro ??
        0,
    )
  await Promise.all(watchers.map((each) => each.once()))
  await repeatedRace('late transfer against expiry', LATE_TRANSFERS, ways, async (turn) => {
    const kind = LATE[turn % LATE.length] as (typeof LATE)[number]
    const before = await available()
    const { id, amount, txHash, expiresAt } = await paidWhenOver(setting, kind)
    at = new Date(expiresAt.getTime() + 1)
    const sweep = async () => {
      // at once, or some steps after the transfer is written down, while its order is looked for
      if (turn % 4 !== 0)
        await until(async () => (await setting.transfer(txHash)) !== undefined, 'the transfer is read')
      for (let steps = 2 * (turn % 7); steps > 0; steps--) await database.sql('select 1')
      await Promise.all(Array.from({ length: 3 }, () => sweepLapsed({ db: database.db, clock }, 1_000)))
    }
    const everybody = () => Promise.all([...watchers.map((each) => each.once()), sweep()])
    await everybody()
    // what one of the watchers left to the other, or a slow node kept, is done in the next round; after that nothing is
    const open = ['pending', 'confirming', 'expired']
    await until(async () => {
      await everybody()
      return !open.includes((await orderOf(database, id)).status)
    }, 'the order is credited or in review')
    expect(troubles.filter((message) => !/reorganised while|did not answer within/.test(message))).toEqual([])
    const order = await orderOf(database, id)
    const transfer = await setting.transfer(txHash)
    const credited = kind.status === 'completed'
    expect(order).toMatchObject({
      status: kind.status,
      tx_hash: txHash,
      review_reason: credited ? null : 'late_transfer',
    })
    expect(transfer).toMatchObject({
      order_id: id,
      state: expect.stringMatching(credited ? /credited|final/ : 'matched'),
    })
    const grants = await database.sql('select amount_micro::text as micro from credit_grants where source_id = $1', [
      id,
    ])
    expect(grants).toEqual(credited ? [{ micro: String(amount) }] : [])
    expect(await available()).toBe(before + (credited ? amount : 0n))
    const told = await database.sql<{ event: string }>('select event from outbox where object_id = $1', [id])
    expect(told.map(({ event }) => event)).toEqual([credited ? 'order.completed' : 'order.review_required'])
    const swept = await database.sql(`select from order_events where order_id = $1 and event = 'lapse'`, [id])
    return `${kind.status}${kind.attempted ? ' by its attempt' : ''}, found ${swept.length > 0 ? 'after' : 'before'} the sweep`
  })
})
