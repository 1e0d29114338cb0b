import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type TestChain, testChain } from '../../../test/chain.ts'
import { orderOf, registeredHash } from '../../../test/orders.ts'
import { openSetting, type Setting, stranger } from '../../../test/payment-setting.ts'
import { auditLedger } from '../../ledger/audit.ts'
import { grantForReceipt } from '../orders/crediting/store.ts'
import { decideOrder } from '../orders/review/service.ts'

// Money that arrives and was not asked for so: on another chain, at a former address, or paid for already.

const OTHER_CHAIN = 31_338
let setting: Setting
let otherChain: TestChain
let round: ReturnType<Setting['rounds']>
let otherRound: ReturnType<Setting['rounds']>
const retired = stranger()

beforeAll(async () => {
  setting = await openSetting()
  otherChain = await testChain(OTHER_CHAIN)
  const asset = { ...setting.asset, retiredRecipients: [retired] }
  round = setting.rounds({ assets: [asset] })
  otherRound = setting.rounds({
    urls: [otherChain.rpcUrl, `${otherChain.rpcUrl}/`],
    assets: [{ ...asset, assetId: 'other_usdc', chainId: OTHER_CHAIN }],
  })
  await round.once()
  await otherRound.once()
})
afterAll(async () => {
  const totals = await setting.totals()
  expect(totals.granted).toBe(totals.completed)
  expect(await auditLedger(setting.database.db)).toEqual([])
  expect(setting.troubles).toEqual([])
  await otherChain.stop()
  await setting.stop()
})
// an order that an earlier test left open would be the one that a near miss is put to
beforeEach(async () => {
  await setting.database.sql(
    `update orders set status = 'expired' where status in ('pending', 'confirming', 'review_required')`,
  )
})

const confirm = async (chain: TestChain = setting.chain, each = round) => {
  await chain.mine()
  await each.once()
  await chain.mine()
  await each.once()
}
const outcome = async (id: string) => {
  const order = await orderOf(setting.database, id)
  return { status: order.status, reason: order.review_reason, received: order.received_micro, grant: order.grant_id }
}
const deps = () => ({
  db: setting.database.db,
  clock: { now: () => new Date(), monotonicMs: () => 0 },
  aloneLimitMicro: 10n ** 12n,
})
const decision = { reason: 'a test', operator: { kind: 'operator', name: 'ann' } } as const

test('the amount of an order on another chain is reviewed, and the operator credits what arrived there, once', async () => {
  const { id, amount } = await setting.order()
  const hash = await otherChain.pay({ from: setting.payer, amount })
  await confirm(otherChain, otherRound)
  expect(await outcome(id)).toEqual({ status: 'review_required', reason: 'wrong_chain', received: amount, grant: null })
  expect(await setting.transfer(hash)).toMatchObject({ state: 'matched', note: 'wrong_chain', order_id: id })
  expect(await decideOrder(deps(), id, { ...decision, action: 'credit' })).toMatchObject({ creditMicro: amount })
  expect((await outcome(id)).status).toBe('completed')
  await expect(decideOrder(deps(), id, { ...decision, action: 'credit' })).rejects.toThrow()
})

test('on another chain, another amount is no order of this payer: it waits for an operator as unmatched', async () => {
  const { id, amount } = await setting.order()
  const hash = await otherChain.pay({ from: setting.payer, amount: amount + 1n })
  await confirm(otherChain, otherRound)
  expect(await outcome(id)).toMatchObject({ status: 'pending', reason: null })
  expect(await setting.transfer(hash)).toMatchObject({ state: 'unmatched' })
})

test('a payment on another chain finds its order by the amount, not by its age; the same chain comes first', async () => {
  const before = new Date(Date.now() - 600_000)
  const older = await setting.order({ createdAt: before })
  const meant = await setting.order()
  await otherChain.pay({ from: setting.payer, amount: meant.amount })
  await confirm(otherChain, otherRound)
  expect(await outcome(meant.id)).toMatchObject({ status: 'review_required', reason: 'wrong_chain' })
  expect(await outcome(older.id)).toMatchObject({ status: 'pending' })
})

test('what arrives at a former recipient is reviewed as such', async () => {
  const { chain, payer } = setting
  const { id, amount } = await setting.order()
  const hash = await chain.pay({ from: payer, amount, to: retired })
  await registeredHash(setting.database, id, hash)
  await confirm()
  expect(await outcome(id)).toEqual({
    status: 'review_required',
    reason: 'old_recipient',
    received: amount,
    grant: null,
  })
  await decideOrder(deps(), id, { ...decision, action: 'refund', refundTxHash: `0x${'5e'.repeat(32)}` })
  expect((await outcome(id)).status).toBe('expired')
})

test('an order that named the recipient before it was retired is credited by itself', async () => {
  const { id, amount } = await setting.order({ recipient: retired })
  await setting.chain.pay({ from: setting.payer, amount, to: retired })
  await confirm()
  expect((await outcome(id)).status).toBe('completed')
})

test('a transfer that another rail was credited for is reviewed, and never credited again', async () => {
  const { chain, payer, database } = setting
  const { id, amount } = await setting.order()
  const hash = await chain.pay({ from: payer, amount })
  await chain.mine()
  await round.once()
  expect((await outcome(id)).status).toBe('confirming')
  const receipt = { chainId: BigInt(setting.asset.chainId), txHash: hash, logPosition: 0 }
  const grant = { accountId: setting.accountId, amountMicro: amount, reason: 'another rail was faster' }
  const taken = await database.db
    .transaction()
    .execute((tx) => grantForReceipt(tx, receipt, { source: 'operator', sourceId: hash, ...grant }))
  expect(taken.outcome).toBe('granted')
  await chain.mine()
  await round.once()
  expect(await outcome(id)).toMatchObject({ status: 'review_required', reason: 'tx_already_used', grant: null })
  await expect(decideOrder(deps(), id, { ...decision, action: 'credit' })).rejects.toThrow(/given for this transfer/)
  await decideOrder(deps(), id, { ...decision, action: 'dismiss' })
  expect(await outcome(id)).toMatchObject({ status: 'expired', grant: null })
})

test('a hash that pays nobody here, and one that is on no chain, leave the order as it was', async () => {
  const { chain, payer, database } = setting
  const { id } = await setting.order()
  const elsewhere = await chain.send({ from: payer, to: stranger(), value: '0x1' })
  await registeredHash(database, id, elsewhere)
  await registeredHash(database, id, `0x${'ab'.repeat(32)}`)
  await confirm()
  // the second hash may still come: the order waits for it
  expect(await outcome(id)).toMatchObject({ status: 'confirming', reason: null })
  expect(
    await database.sql('select refused from order_hashes where order_id = $1 and tx_hash = $2', [id, elsewhere]),
  ).toEqual([{ refused: 'no_transfer' }])
})
