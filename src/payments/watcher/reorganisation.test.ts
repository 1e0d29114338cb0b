import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { orderOf } from '../../../test/orders.ts'
import { openSetting, type Setting } from '../../../test/payment-setting.ts'
import { auditLedger } from '../../ledger/audit.ts'

let setting: Setting
let round: ReturnType<Setting['rounds']>

beforeAll(async () => {
  setting = await openSetting()
  round = setting.rounds()
  await round.once()
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

const block = async (count = 1) => {
  for (let mined = 0; mined < count; mined += 1) {
    await setting.chain.mine()
    await round.once()
  }
}
/** Makes another branch of so many blocks, with transactions at a distance from where it begins. */
const reorganise = (depth: number, transactions: readonly [raw: unknown, at: number][] = []) =>
  setting.chain.rpc('anvil_reorg', depth, transactions)
const raw = (hash: string) => setting.chain.rpc('eth_getRawTransactionByHash', hash)
const order = (id: string) => orderOf(setting.database, id)

test.each([1, 5])(
  '%i blocks deep, before the credit: the order waits again, and the transfer that is mined again pays it',
  async (depth) => {
    const { id, amount } = await setting.order()
    const large = await setting.order({ amount: amount + 3_000_000_000n })
    await block(depth)
    const hash = await setting.chain.pay({ from: setting.payer, amount: large.amount })
    await block()
    const signed = await raw(hash)
    expect(await order(large.id)).toMatchObject({ status: 'confirming', tx_hash: hash })
    await reorganise(depth)
    await block()
    expect(await order(large.id)).toMatchObject({ status: 'confirming', tx_hash: null })
    expect(await setting.transfer(hash)).toMatchObject({ state: 'orphaned' })
    expect(round.status().reorganisations).toBeGreaterThan(0)
    await setting.chain.rpc('eth_sendRawTransaction', signed)
    await block(4)
    expect(await order(large.id)).toMatchObject({ status: 'completed', tx_hash: hash })
    expect((await order(id)).status).toBe('pending')
  },
)

test('that moves a transfer to another block changes nothing but its block', async () => {
  const { id, amount } = await setting.order({ amount: 3_100_000_000n })
  const hash = await setting.chain.pay({ from: setting.payer, amount })
  await block()
  await reorganise(1, [[await raw(hash), 0]])
  await block(4)
  expect(await order(id)).toMatchObject({ status: 'completed', tx_hash: hash })
})

test('after the credit: the order is reviewed, nothing is credited twice when the transfer is mined again, and the review ends', async () => {
  const { id, amount } = await setting.order()
  const hash = await setting.chain.pay({ from: setting.payer, amount })
  await block(2)
  const signed = await raw(hash)
  expect((await order(id)).status).toBe('completed')
  const before = await setting.totals()
  await reorganise(4)
  await block()
  expect(await order(id)).toMatchObject({
    status: 'review_required',
    review_reason: 'reorged_after_credit',
  })
  expect(await setting.transfer(hash)).toMatchObject({ state: 'orphaned' })
  await setting.chain.rpc('eth_sendRawTransaction', signed)
  await block(3)
  expect(await order(id)).toMatchObject({
    status: 'completed',
    tx_hash: hash,
    review_resolution: 'restored',
  })
  expect(await setting.totals()).toEqual(before)
  await block(4)
  expect(await setting.transfer(hash)).toMatchObject({ state: 'final' })
})

test('that drops a transaction for good lets another transfer of the payer pay the order', async () => {
  const { id, amount } = await setting.order()
  const first = await setting.chain.pay({ from: setting.payer, amount })
  await block()
  await reorganise(2)
  await block()
  const second = await setting.chain.pay({ from: setting.payer, amount, gasPrice: '0x12a05f200' })
  expect(second).not.toBe(first)
  await block(3)
  expect(await order(id)).toMatchObject({ status: 'completed', tx_hash: second })
})

test('deeper than is remembered stops the watcher, says so, and credits nothing', async () => {
  const { id, amount } = await setting.order()
  await block(2)
  await setting.database.sql('delete from chain_blocks where number < (select block - 2 from chain_cursors)')
  await reorganise(12)
  await setting.chain.pay({ from: setting.payer, amount })
  await block(3)
  expect(round.status()).toMatchObject({
    healthy: false,
    stopped: true,
    trouble: expect.stringMatching(/further back than is remembered/),
  })
  expect((await order(id)).status).toBe('pending')
})
