import { afterAll, beforeAll, expect, test } from 'vitest'
import { type AxonServer, type AxonSetting, COIN, openAxonSetting } from '../../../test/axon-setting.ts'
import { developmentAsset, watchedThrough } from '../../../test/chain.ts'
import { orderOf, pendingOrder, registeredHash } from '../../../test/orders.ts'
import { systemClock } from '../../kernel/clock.ts'
import { systemRandom } from '../../kernel/random.ts'
import { auditLedger } from '../../ledger/audit.ts'
import { chainRound } from '../watcher/round.ts'
import { redeemHash } from './service.ts'

let setting: AxonSetting
let servers: readonly AxonServer[]

beforeAll(async () => {
  setting = await openAxonSetting()
  servers = await Promise.all([setting.server(), setting.server()])
})
afterAll(async () => {
  expect(await auditLedger(setting.database.db)).toEqual([])
  await setting.stop()
})

const at = (index: number): AxonServer => {
  const server = servers[index % servers.length]
  if (!server) throw new Error('there are two servers')
  return server
}
const redeemAt = (index: number, accountId: bigint, hash: string) =>
  at(index).send(accountId, 'POST', 'redeem-hash', { tx_hash: hash })
const quotedPayment = async (accountId: bigint, wallet: string) => {
  const { body } = await at(0).send(accountId, 'POST', 'quote', { credit_usd: '4' })
  return setting.pay(wallet, body.expected_axon_wei)
}
/** Fresh looks for everybody, whenever they last looked. */
const lookAgain = () => setting.database.sql('update axon_claims set looked_at = null')

test('one hash, sent ten times at once to two servers while both also make rounds, is one claim and one credit', async () => {
  const wallet = await setting.wallet()
  const accountId = await setting.account(wallet)
  const before = await setting.granted()
  const hash = await quotedPayment(accountId, wallet)
  await setting.mine(2)
  await Promise.all([
    ...Array.from({ length: 10 }, (_, index) => redeemAt(index, accountId, hash)),
    ...servers.map(({ rounds }) => rounds.once()),
  ])
  await lookAgain()
  const answers = await Promise.all(Array.from({ length: 10 }, (_, index) => redeemAt(index, accountId, hash)))
  expect(
    new Set(answers.map(({ status, body }) => `${status} ${body.claim_id} ${body.credited_micro_usdc}`)).size,
  ).toBe(1)
  expect(answers[0]).toMatchObject({ status: 200, body: { status: 'completed', credited_micro_usdc: 4_000_000 } })
  expect((await setting.granted()) - before).toBe(4_000_000n)
  expect(await setting.database.sql('select from axon_claims where tx_hash = $1', [hash])).toHaveLength(1)
})

test('one payment claimed by two accounts at once is credited to one, and the other is told who has it', async () => {
  for (let round = 0; round < 4; round += 1) {
    const wallet = await setting.wallet()
    const [first, second] = [await setting.account(wallet), await setting.account(await setting.wallet())]
    const hash = await quotedPayment(first, wallet)
    // the same amount means a quote of the other account, too, when the wallet is linked to that one by then
    await setting.database.sql(
      `insert into axon_quotes (account_id, mode, chain_id, payer_address, pay_to_address, expected_wei, credit_micro, rate_id, rate, created_at, expires_at)
       select $1, mode, chain_id, payer_address, pay_to_address, expected_wei, credit_micro, rate_id, rate, created_at, expires_at
       from axon_quotes where account_id = $2`,
      [second, first],
    )
    await setting.mine(2)
    const before = await setting.granted()
    // to each server the wallet is the claimant's: as if it was linked anew in between
    const both = { ...at(0).deps, payerWallets: async () => [wallet] }
    const caller = (accountId: bigint) => ({ accountId, credential: { kind: 'api_key' as const, id: 1n } })
    await Promise.allSettled([redeemHash(both, caller(first), hash), redeemHash(both, caller(second), hash)])
    await lookAgain()
    const ends = await Promise.allSettled([
      redeemHash(both, caller(first), hash),
      redeemHash(both, caller(second), hash),
    ])
    const [row] = await setting.database.sql<{ id: string }>(
      "select id from axon_claims where tx_hash = $1 and status = 'completed'",
      [hash],
    )
    expect((await setting.granted()) - before).toBe(4_000_000n)
    const losers = ends.filter((end) => end.status === 'rejected').map(({ reason }) => reason)
    // the loser's own quote is as open as before
    const open = 'select from axon_quotes where account_id in ($1, $2) and claim_id is null'
    expect(await setting.database.sql(open, [first, second])).toHaveLength(1)
    expect(losers).toMatchObject([{ code: 'tx_already_claimed', fields: { claimed_by: `axon:${row?.id}` } }])
  }
})

test('a token transfer that is offered to an order and as a native payment at once pays the order, and the other is told so', async () => {
  const { chain, database } = setting
  const wallet = chain.payers[0] ?? ''
  const accountId = await setting.account(wallet)
  const asset = developmentAsset(chain.recipient)
  const watcher = chainRound(
    { db: database.db, clock: systemClock, random: systemRandom, reconcileMs: 1e9, onTrouble: () => undefined },
    watchedThrough([chain.rpcUrl, `${chain.rpcUrl}/`], [asset]),
  )
  await watcher.once()
  const orderId = await pendingOrder(database, asset, { accountId, payer: wallet, amount: 5_000_000n })
  const hash = await chain.pay({ from: wallet, amount: 5_000_000n })
  await registeredHash(database, orderId, hash)
  for (let block = 0; block < 3; block += 1) {
    await setting.mine()
    await Promise.all([watcher.once(), redeemAt(block, accountId, hash)])
  }
  expect(await orderOf(database, orderId)).toMatchObject({ status: 'completed' })
  await lookAgain()
  const { status, body } = await redeemAt(0, accountId, hash)
  expect([status, body.code, body.claimed_by]).toEqual([409, 'tx_already_claimed', `order:${orderId}`])
  expect(await database.sql('select rail from chain_receipts where tx_hash = $1', [hash])).toEqual([{ rail: 'order' }])
})

test('a native payment that is registered as the payment of an order, too, is credited once, for the coin', async () => {
  const { chain, database } = setting
  const wallet = await setting.wallet()
  const accountId = await setting.account(wallet)
  const asset = developmentAsset(chain.recipient)
  const watcher = chainRound(
    { db: database.db, clock: systemClock, random: systemRandom, reconcileMs: 1e9, onTrouble: () => undefined },
    watchedThrough([chain.rpcUrl, `${chain.rpcUrl}/`], [asset]),
  )
  const orderId = await pendingOrder(database, asset, { accountId, payer: wallet, amount: 4_000_000n })
  const hash = await quotedPayment(accountId, wallet)
  await registeredHash(database, orderId, hash)
  for (let block = 0; block < 3; block += 1) {
    await setting.mine()
    await lookAgain()
    await Promise.all([watcher.once(), redeemAt(block, accountId, hash)])
  }
  expect(await orderOf(database, orderId)).toMatchObject({ grant_id: null })
  expect(await database.sql('select rail from chain_receipts where tx_hash = $1', [hash])).toEqual([{ rail: 'axon' }])
})

test('two payments of one quote: the first gets it, the second is reviewed', async () => {
  const wallet = await setting.wallet()
  const accountId = await setting.account(wallet)
  const { body: quote } = await at(0).send(accountId, 'POST', 'quote', { pay_axon: '3' })
  const hashes = [
    await setting.pay(wallet, quote.expected_axon_wei),
    await setting.pay(wallet, quote.expected_axon_wei),
  ]
  expect(quote.expected_axon_wei).toBe(String(3n * COIN))
  await setting.mine(2)
  await Promise.all(hashes.map((hash, index) => redeemAt(index, accountId, hash)))
  await lookAgain()
  const answers = await Promise.all(hashes.map((hash, index) => redeemAt(index, accountId, hash)))
  expect(answers.map(({ body }) => body.status).sort()).toEqual(['completed', 'review_required'])
  expect(answers.map(({ body }) => body.review_reason).filter(Boolean)).toEqual(['unquoted'])
})
