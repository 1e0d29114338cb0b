import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { lyingNode } from '../../../../test/lying-node.ts'
import { orderOf, reservedAttempt } from '../../../../test/orders.ts'
import { openSetting, type Setting, stranger } from '../../../../test/payment-setting.ts'
import { auditLedger } from '../../../ledger/audit.ts'
import { reconciliationReports } from '../reconciliation/service.ts'
import { beginNew } from './service.ts'
import * as backfill from './store.ts'

// What is new in the configuration is read up, and what was read already is left alone.

let setting: Setting
beforeAll(async () => {
  setting = await openSetting()
  await setting.chain.mine(30, 0)
  await setting.rounds().once()
})
beforeEach(() => {
  setting.troubles.length = 0
})
afterAll(async () => {
  const totals = await setting.totals()
  expect(totals.granted).toBe(totals.completed)
  expect(await auditLedger(setting.database.db)).toEqual([])
  await setting.stop()
})

const readTo = async (recipient: string) => {
  const [row] = await setting.database.sql<{ read_to: string }>(
    'select read_to from chain_reads where recipient = $1',
    [recipient],
  )
  return row && BigInt(row.read_to)
}

test('payments to a recipient that is new, made before it was configured, are found, credited and reconciled', async () => {
  const { chain, payer, asset, database } = setting
  const recipient = stranger()
  const paid = await setting.order({ recipient })
  const hash = await chain.pay({ from: payer, amount: paid.amount, to: recipient })
  const foreign = await chain.pay({ from: payer, amount: 77_000_000n, to: recipient })
  await chain.mine(3)
  const before = setting.rounds()
  await before.once()
  expect(await setting.transfer(hash)).toBeUndefined()

  const after = setting.rounds({ assets: [{ ...asset, retiredRecipients: [recipient] }] })
  await after.once()
  expect(setting.troubles).toEqual([])
  expect(after.status()).toMatchObject({ healthy: true, behind: 0n })
  expect(await orderOf(database, paid.id)).toMatchObject({ status: 'completed', tx_hash: hash })
  expect(await setting.transfer(foreign)).toMatchObject({ state: 'unmatched' })
  expect(await readTo(recipient)).toBe(await chain.height())
  // the new address brings its balance: that is no drift
  expect(await reconciliationReports(database.db, ['dev_usdc'], new Date())).toMatchObject([{ ok: true, drift: 0n }])
  await chain.pay({ from: payer, amount: 5_000n, to: recipient })
  await chain.mine()
  await after.once()
  expect(await reconciliationReports(database.db, ['dev_usdc'], new Date())).toMatchObject([{ ok: true, drift: 0n }])
})

test('a token that is new is read from the first block that the operator names, and no block before it', async () => {
  const { chain, payer, asset, database } = setting
  const recipient = stranger()
  const tooOld = await chain.pay({ from: payer, amount: 3_000_000n, to: recipient })
  await chain.mine()
  const firstBlock = (await chain.height()) + 1n
  const young = await chain.pay({ from: payer, amount: 4_000_000n, to: recipient })
  await chain.mine(5)
  await setting.rounds().once()
  const round = setting.rounds({ assets: [{ ...asset, retiredRecipients: [recipient], firstBlock }] })
  await round.once()
  expect(await setting.transfer(young)).toMatchObject({ state: 'unmatched' })
  expect(await setting.transfer(tooOld)).toBeUndefined()
  // what lies at the address from before is nobody's drift
  expect(await reconciliationReports(database.db, ['dev_usdc'], new Date())).toMatchObject([{ ok: true, drift: 0n }])
  expect(await database.sql('select count(*)::int as n from chain_reads where recipient = $1', [recipient])).toEqual([
    { n: 1 },
  ])
})

test('without a first block it looks back a bounded way', async () => {
  const { asset, database } = setting
  const recipient = stranger()
  const { chain } = { chain: { chainId: 99, networkName: 'a long chain', nodes: [] } }
  const cursor = { block: 1_000_000n } as Parameters<typeof beginNew>[2]
  const deps = { db: database.db } as Parameters<typeof beginNew>[0]
  await beginNew(deps, { chain, assets: [{ ...asset, recipientAddress: recipient }] }, cursor)
  expect(await backfill.reads(database.db, 99n)).toEqual([{ token: asset.tokenAddress, recipient, readTo: 990_000n }])
  // once begun it goes on from where it is
  await beginNew(deps, { chain, assets: [{ ...asset, recipientAddress: recipient }] }, { ...cursor, block: 2_000_000n })
  expect((await backfill.reads(database.db, 99n))[0]?.readTo).toBe(990_000n)
})

test('what a process with other settings left out is read up later, and its order is not given up before', async () => {
  const { chain, payer, asset, database } = setting
  const recipient = stranger()
  const both = setting.rounds({ assets: [{ ...asset, retiredRecipients: [recipient] }] })
  await both.once()
  const created = new Date(Date.now() - 27 * 3_600_000)
  const order = await setting.order({
    recipient,
    createdAt: created,
    expiresAt: new Date(created.getTime() + 30 * 60_000),
  })
  await reservedAttempt(database, order.id, created)
  const hash = await chain.pay({ from: payer, amount: order.amount, to: recipient })
  await chain.mine(4)
  // a server of the former settings, still running, moves the cursor past it; a node is slow to give the logs
  const former = setting.rounds()
  const at = await readTo(recipient)
  const node = await lyingNode(chain.rpcUrl)
  await former.once()
  expect(former.status()).toMatchObject({ healthy: true, behind: 0n })
  expect((await orderOf(database, order.id)).status).toBe('confirming')
  expect(await readTo(recipient)).toBe(at)
  node.lie = async ({ method, params }, honest) =>
    method === 'eth_getLogs' ? Promise.reject(new Error('x')) : honest(method, ...params)
  const hindered = setting.rounds({ urls: [node.url], assets: [{ ...asset, retiredRecipients: [recipient] }] })
  await hindered.once()
  expect(hindered.status().healthy).toBe(false)
  expect((await orderOf(database, order.id)).status).toBe('confirming')
  await node.stop()
  setting.troubles.length = 0
  await both.once()
  expect(setting.troubles).toEqual([])
  expect(await setting.transfer(hash)).toMatchObject({ order_id: order.id })
  expect(await orderOf(database, order.id)).toMatchObject({ tx_hash: hash })
  expect(await readTo(recipient)).toBe(await chain.height())
})

test('what is read a second time stays as it was decided', async () => {
  const { chain, payer, database } = setting
  const { id, amount } = await setting.order()
  await chain.pay({ from: payer, amount })
  const dust = await chain.pay({ from: payer, amount: 7n })
  const early = await chain.pay({ from: payer, amount: 66_000_000n })
  await chain.mine(3)
  const round = setting.rounds()
  await round.once()
  const transfers = () => database.sql('select tx_hash, state, order_id, note from chain_transfers order by tx_hash')
  const before = await transfers()
  expect(setting.troubles).toEqual([])
  expect(await setting.transfer(dust)).toMatchObject({ state: 'ignored' })
  expect(await setting.transfer(early)).toMatchObject({ state: 'unmatched' })
  // an order that asks for as much later on is not paid by what an operator is about to decide on
  const later = await setting.order({ amount: 66_000_000n })
  await database.sql('update chain_reads set read_to = 0')
  await round.once()
  expect(await transfers()).toEqual(before)
  expect((await orderOf(database, id)).status).toBe('completed')
  expect((await orderOf(database, later.id)).status).toBe('pending')
})
