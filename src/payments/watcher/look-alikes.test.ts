import { type Abi, encodeAbiParameters, encodeFunctionData, type Hex } from 'viem'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import devStablecoin from '../../../contracts/artifacts/DevStablecoin.json' with { type: 'json' }
import feeToken from '../../../contracts/artifacts/FeeToken.json' with { type: 'json' }
import logForger from '../../../contracts/artifacts/LogForger.json' with { type: 'json' }
import silentToken from '../../../contracts/artifacts/SilentToken.json' with { type: 'json' }
import { orderOf, registeredHash } from '../../../test/orders.ts'
import { openSetting, type Setting, stranger } from '../../../test/payment-setting.ts'
import { auditLedger } from '../../ledger/audit.ts'
import { registerHash } from '../orders/attempts.ts'

// What looks like a payment and is none, each made for real on the chain.

let setting: Setting
let round: ReturnType<Setting['rounds']>

beforeAll(async () => {
  setting = await openSetting()
  round = setting.rounds()
  await round.once()
})
afterAll(async () => {
  const totals = await setting.totals()
  expect(totals.granted).toBe(totals.completed)
  expect(await auditLedger(setting.database.db)).toEqual([])
  await setting.stop()
})

// an order that an earlier test left open would be the one that a near miss is put to
beforeEach(async () => {
  await setting.database.sql(`update orders set status = 'expired' where status in ('pending', 'confirming')`)
})

const confirm = async () => {
  for (let block = 0; block < 2; block += 1) {
    await setting.chain.mine()
    await round.once()
  }
}
const encode = (abi: readonly object[], functionName: string, args: readonly unknown[]) =>
  encodeFunctionData({ abi: abi as Abi, functionName, args })
const deploy = (bytecode: string) => setting.chain.deploy(bytecode)
const fake = () =>
  setting.chain.deploy(
    devStablecoin.bytecode,
    encodeAbiParameters(
      [{ type: 'string' }, { type: 'string' }, { type: 'string' }, { type: 'address' }],
      ['USD Coin', 'USDC', '2', (setting.chain.payers[4] ?? '0x') as Hex],
    ).slice(2),
  )
/** The order after a look-alike of it: what it has become, and that it got no Credits. */
async function outcome(id: string) {
  const order = await orderOf(setting.database, id)
  expect(order.grant_id).toBeNull()
  return { status: order.status, reason: order.review_reason, received: order.received_micro }
}
const untouched = { status: 'pending', reason: null, received: null }

test('the same transfer of a worthless token with the same name is no payment, and not even noticed', async () => {
  const { chain, payer } = setting
  const { id, amount } = await setting.order()
  const token = await fake()
  await chain.send({
    from: chain.payers[4] ?? '',
    to: token,
    data: encode(devStablecoin.abi, 'mint', [payer, amount]),
  })
  const hash = await chain.pay({ from: payer, amount, token })
  await confirm()
  expect(await outcome(id)).toEqual(untouched)
  expect(await setting.transfer(hash)).toBeUndefined()
})

test('a token that is often mistaken for the accepted one waits for an operator as unmatched', async () => {
  const { chain, payer, asset } = setting
  const token = await fake()
  const watching = setting.rounds({ assets: [{ ...asset, mistakenFor: [token] }] })
  const { id, amount } = await setting.order()
  await chain.send({
    from: chain.payers[4] ?? '',
    to: token,
    data: encode(devStablecoin.abi, 'mint', [payer, amount]),
  })
  await round.once()
  const hash = await chain.pay({ from: payer, amount, token })
  await chain.mine(2)
  await watching.once()
  expect(await outcome(id)).toEqual(untouched)
  expect(await setting.transfer(hash)).toMatchObject({
    state: 'unmatched',
    note: 'this token is not accepted',
  })
})

test('a log with the same topics from another contract is no payment', async () => {
  const { chain, payer } = setting
  const { id, amount } = await setting.order()
  const forger = await deploy(logForger.bytecode)
  const hash = await chain.send({
    from: payer,
    to: forger,
    data: encode(logForger.abi, 'forge', [payer, chain.recipient, amount]),
  })
  await registeredHash(setting.database, id, hash)
  await confirm()
  expect(await outcome(id)).toMatchObject({ status: 'pending', reason: null })
})

test.each([-1n, 1n])('an amount that differs by %i is reviewed with what was received', async (difference) => {
  const { chain, payer } = setting
  const { id, amount } = await setting.order()
  await chain.pay({ from: payer, amount: amount + difference })
  await confirm()
  expect(await outcome(id)).toEqual({
    status: 'review_required',
    reason: 'amount_mismatch',
    received: amount + difference,
  })
})

test('a payment from an unknown wallet is unmatched, and one to an unknown recipient is not noticed', async () => {
  const { chain, payer } = setting
  const { id, amount } = await setting.order()
  const foreign = await chain.pay({ from: chain.payers[3] ?? '', amount })
  const elsewhere = await chain.pay({ from: payer, amount, to: stranger() })
  await confirm()
  expect(await outcome(id)).toEqual(untouched)
  expect(await setting.transfer(foreign)).toMatchObject({ state: 'unmatched' })
  expect(await setting.transfer(elsewhere)).toBeUndefined()
})

test('nothing and dust are no payment and open no review', async () => {
  const { chain, payer } = setting
  const { id } = await setting.order()
  const nothing = await chain.send({
    from: chain.payers[3] ?? '',
    to: chain.token,
    data: encode(devStablecoin.abi, 'transferFrom', [payer, chain.recipient, 0n]),
  })
  const dust = await chain.pay({ from: payer, amount: 9_999n })
  await confirm()
  expect(await outcome(id)).toEqual(untouched)
  expect(await setting.transfer(nothing)).toBeUndefined()
  expect(await setting.transfer(dust)).toMatchObject({ state: 'ignored', note: 'dust' })
})

test('less than a hundredth of what was asked for is dust, a hundredth is a payment that went wrong', async () => {
  const { chain, payer } = setting
  const { id, amount } = await setting.order({ amount: 50_000_000n })
  const less = await chain.pay({ from: payer, amount: amount / 100n - 1n })
  await confirm()
  expect(await outcome(id)).toEqual(untouched)
  expect(await setting.transfer(less)).toMatchObject({ state: 'ignored', note: 'dust' })
  await chain.pay({ from: payer, amount: amount / 100n })
  await confirm()
  expect(await outcome(id)).toMatchObject({ status: 'review_required', reason: 'amount_mismatch' })
})

test('a token that answers false and logs nothing moved nothing', async () => {
  const { chain, payer, asset } = setting
  const token = await deploy(silentToken.bytecode)
  const other = { ...asset, tokenAddress: token }
  const { id, amount } = await setting.order()
  await setting.database.db.updateTable('orders').set({ token_address: token }).where('id', '=', id).execute()
  const hash = await chain.pay({ from: payer, amount, token })
  await registeredHash(setting.database, id, hash)
  const watching = setting.rounds({ assets: [other] })
  await chain.mine(2)
  await watching.once()
  expect(await outcome(id)).toMatchObject({ status: 'pending', reason: null })
})

test('a token that keeps a fee shows as drift between what it logs and what it delivers', async () => {
  const { chain, payer, asset } = setting
  const token = await deploy(feeToken.bytecode)
  const watching = setting.rounds({
    assets: [{ ...asset, assetId: 'fee_token', tokenAddress: token }],
  })
  await watching.once()
  const { reconciliationReports } = await import('./reconciliation/service.ts')
  expect(await reconciliationReports(setting.database.db, ['fee_token'], new Date())).toMatchObject([
    { ok: true, received: 0n },
  ])
  await chain.send({
    from: payer,
    to: token,
    data: encode(feeToken.abi, 'mint', [payer, 10_000_000n]),
  })
  await chain.pay({ from: payer, amount: 10_000_000n, token })
  await chain.mine(2)
  await watching.once()
  expect(await reconciliationReports(setting.database.db, ['fee_token'], new Date())).toMatchObject([
    { ok: false, drift: -1_000_000n },
  ])
})

test('a hash in capitals is the same hash: registered so, it names its payment, and a second order gets nothing for it', async () => {
  const { chain, payer, database } = setting
  const { id, amount } = await setting.order()
  const other = await setting.order()
  const hash = await chain.pay({ from: payer, amount })
  const capitals = `0x${hash.slice(2).toUpperCase()}`
  const caller = { accountId: setting.accountId, credential: { kind: 'session', id: 1n } } as const
  expect(await registerHash(setting.orders, caller, id, capitals)).toMatchObject({ status: 'confirming' })
  expect(await database.sql('select tx_hash from order_hashes where order_id = $1', [id])).toEqual([{ tx_hash: hash }])
  await confirm()
  expect(await orderOf(database, id)).toMatchObject({ status: 'completed', tx_hash: hash })
  for (const form of [hash, capitals])
    await expect(registerHash(setting.orders, caller, other.id, form)).rejects.toMatchObject({
      code: 'tx_already_used',
    })
  expect(await outcome(other.id)).toEqual(untouched)
})
