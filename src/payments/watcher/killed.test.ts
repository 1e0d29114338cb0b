import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openSetting, type Setting } from '../../../test/payment-setting.ts'
import { auditLedger } from '../../ledger/audit.ts'

/** The long form: npm run test:watcher */
const ORDERS = Number(process.env.FAREBOX_RACE_ORDERS ?? 24)
/** A process is killed each time that so many more orders are completed. */
const KILL_EVERY = Math.ceil(ORDERS / 6)

let setting: Setting
const racers: ChildProcess[] = []
beforeAll(async () => {
  setting = await openSetting()
  await setting.rounds().once()
})
afterAll(async () => {
  for (const racer of racers) racer.kill('SIGKILL')
  await setting.stop()
})

function race(): ChildProcess {
  const { database, chain } = setting
  const script = fileURLToPath(new URL('racer.fixture.ts', import.meta.url))
  const racer = spawn(process.execPath, [script, database.url, chain.rpcUrl, chain.recipient], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  // read, so that it never waits for us
  racer.stdout.resume()
  racers.push(racer)
  return racer
}

const completed = async () => {
  const [row] = await setting.database.sql<{ n: number }>(
    `select count(*)::int as n from orders where status = 'completed'`,
  )
  return row?.n ?? 0
}

test(`three watcher processes that race, and are killed with SIGKILL in the middle of it, credit ${ORDERS} orders once each`, async () => {
  const { chain, database } = setting
  const orders: { readonly amount: bigint }[] = []
  for (let made = 0; made < ORDERS; made += 1) orders.push(await setting.order())
  let running = [race(), race(), race()]
  let kills = 0
  const pay = async () => {
    for (const { amount } of orders) {
      await chain.pay({ from: setting.payer, amount })
      await chain.mine()
    }
    await chain.mine(3)
  }
  const kill = async () => {
    for (let done = 0; done < ORDERS; done = await completed()) {
      if (done >= KILL_EVERY * (kills + 1)) {
        const [first, ...others] = running
        first?.kill('SIGKILL')
        kills += 1
        running = [...others, race()]
      }
      await pause(5)
    }
  }
  await Promise.all([pay(), kill()])
  expect(kills).toBeGreaterThan(0)
  for (const racer of running) {
    racer.kill('SIGKILL')
    if (racer.exitCode === null && racer.signalCode === null) await once(racer, 'exit')
  }
  const totals = await setting.totals()
  expect(totals.granted).toBe(totals.completed)
  expect(
    await database.sql(
      `select count(*)::int as orders, count(distinct r.tx_hash)::int as transfers, (select count(*)::int from credit_grants where source = 'order') as grants
       from orders o join chain_receipts r on r.grant_id = o.grant_id and r.tx_hash = o.tx_hash where o.status = 'completed'`,
    ),
  ).toEqual([{ orders: ORDERS, transfers: ORDERS, grants: ORDERS }])
  expect(await auditLedger(database.db)).toEqual([])
}, 300_000)
