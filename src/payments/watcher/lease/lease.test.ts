import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { watchedThrough } from '../../../../test/chain.ts'
import { type LyingNode, lyingNode } from '../../../../test/lying-node.ts'
import { orderOf } from '../../../../test/orders.ts'
import { openSetting, type Setting } from '../../../../test/payment-setting.ts'
import { systemClock } from '../../../kernel/clock.ts'
import { systemRandom } from '../../../kernel/random.ts'
import { auditLedger } from '../../../ledger/audit.ts'
import { startWatcher, type Watcher } from '../worker.ts'

// Several processes watch a chain; each asks a node of its own, so that what it asks can be counted.

const CHAIN = 31_337n
let setting: Setting
const running: { watcher: Watcher; node: LyingNode }[] = []
beforeAll(async () => {
  setting = await openSetting()
})
beforeEach(() => setting.database.sql('delete from chain_leases'))
afterAll(async () => {
  for (const { watcher, node } of running) {
    await watcher.stop()
    await node.stop()
  }
  expect(await auditLedger(setting.database.db)).toEqual([])
  await setting.stop()
})

/** A process that comes back soon while somebody waits, and after an hour otherwise. */
async function start(db = setting.database.db) {
  const node = await lyingNode(setting.chain.rpcUrl)
  const watcher = startWatcher({
    db,
    clock: systemClock,
    random: systemRandom,
    reconcileMs: 1e9,
    onTrouble: () => undefined,
    chains: [watchedThrough([node.url], [setting.asset])],
    busyMs: 10,
    idleMs: 3_600_000,
  })
  const started = { watcher, node }
  running.push(started)
  return started
}
/** Waits for what a process does by itself; the test's own time limit is the only one. */
async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await pause(5)
}
const statusOf = (watcher: Watcher) => watcher.status()[0]
const isCompleted = async (id: string) => (await orderOf(setting.database, id)).status === 'completed'
const end = async ({ watcher, node }: { watcher: Watcher; node: LyingNode }) => {
  await watcher.stop()
  await node.stop()
}

test('one process reads a chain; another asks its node nothing, knows how the chain is, and takes over when the first one ends', async () => {
  const first = await start()
  await until(() => statusOf(first.watcher)?.healthy === true)
  const second = await start()
  await until(() => statusOf(second.watcher)?.healthy === true)
  expect(statusOf(second.watcher)).toMatchObject({ reading: false, behind: 0n, trouble: undefined })
  expect(statusOf(first.watcher)?.reading).toBe(true)
  expect(second.node.requests).toBe(0)

  // before the change: whoever takes over and finds nobody waiting comes back in an hour
  const { id, amount } = await setting.order()
  await setting.chain.pay({ from: setting.payer, amount })
  await setting.chain.mine(2)
  expect(second.node.requests).toBe(0)
  await end(first)
  await until(() => isCompleted(id))
  expect(second.node.requests).toBeGreaterThan(0)
  await end(second)
})

test('a process that dies without a word is followed by another one when its time is over', async () => {
  const { database, chain } = setting
  const first = await start()
  await until(() => statusOf(first.watcher)?.healthy === true)
  const second = await start()
  await until(() => statusOf(second.watcher)?.healthy === true)
  // as a death leaves it: held by nobody who lives, for a long time yet; the first one gives nothing back at its end
  await database.sql(`update chain_leases set holder = 'a dead process', until = now() + interval '1 hour'`)
  await end(first)
  const { id, amount } = await setting.order()
  await chain.pay({ from: setting.payer, amount })
  await chain.mine(2)
  const asked = second.node.requests
  // it has looked at a lease that is not over, and asked nothing
  const looked = statusOf(second.watcher)
  await until(() => statusOf(second.watcher) !== looked)
  expect(second.node.requests).toBe(asked)
  await database.sql(`update chain_leases set until = now() - interval '1 second'`)
  await until(() => isCompleted(id))
  expect(await database.sql(`select holder <> 'a dead process' as other from chain_leases`)).toEqual([{ other: true }])
  await end(second)
})

test('a process that is woken reads at once, whoever reads the chain, and nothing is credited twice', async () => {
  const first = await start()
  await until(() => statusOf(first.watcher)?.healthy === true)
  const second = await start()
  await until(() => statusOf(second.watcher)?.healthy === true)
  const { id, amount } = await setting.order()
  await setting.chain.pay({ from: setting.payer, amount })
  await setting.chain.mine(2)
  const before = await setting.totals()
  second.watcher.wake(CHAIN)
  first.watcher.wake(CHAIN)
  await until(() => isCompleted(id))
  await Promise.all([end(first), end(second)])
  expect(first.node.requests + second.node.requests).toBeGreaterThan(0)
  expect((await setting.totals()).granted - before.granted).toBe(amount)
})

test('a chain that is stopped is stopped for those that follow, too', async () => {
  const first = await start()
  await until(() => statusOf(first.watcher)?.healthy === true)
  await setting.database.sql(`update chain_cursors set stopped = 'it was reorganised'`)
  first.watcher.wake(CHAIN)
  await until(() => statusOf(first.watcher)?.stopped === true)
  const second = await start()
  await until(() => statusOf(second.watcher)?.stopped === true)
  expect(statusOf(second.watcher)).toMatchObject({ healthy: false, trouble: 'it was reorganised' })
  expect(second.node.requests).toBe(0)
  await setting.database.sql('update chain_cursors set stopped = null')
  first.watcher.wake(CHAIN)
  await until(() => statusOf(second.watcher)?.healthy === true)
  await Promise.all([end(first), end(second)])
})
