import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type AxonServer, type AxonSetting, COIN, openAxonSetting, USD } from '../../../test/axon-setting.ts'
import { auditLedger } from '../../ledger/audit.ts'
import { coinReport } from './reconciliation/service.ts'

let setting: AxonSetting
let server: AxonServer
let wallet: string
let accountId: bigint

beforeAll(async () => {
  setting = await openAxonSetting()
  server = await setting.server()
})
beforeEach(async () => {
  await setting.worth(2n * USD)
  wallet = await setting.wallet()
  accountId = await setting.account(wallet)
})
afterEach(async () => {
  expect(setting.troubles.splice(0)).toEqual([])
})
afterAll(async () => {
  expect(await auditLedger(setting.database.db)).toEqual([])
  await mine(4)
  expect(await coinReport(setting.database.db, new Date())).toMatchObject({ ok: true })
  await setting.stop()
})

const mine = async (blocks = 1) => {
  for (let mined = 0; mined < blocks; mined += 1) {
    await setting.mine()
    await server.rounds.once()
  }
}
const quote = async (body: object = { credit_usd: '4' }) => {
  const { status, body: quoted } = await server.send(accountId, 'POST', 'quote', body)
  expect(status).toBe(200)
  return quoted
}
/** Sends the hash once a second has passed since nodes were asked about it. */
const redeem = async (hash: string, as = accountId) => {
  await setting.database.sql('update axon_claims set looked_at = null')
  const { status, body } = await server.send(as, 'POST', 'redeem-hash', { tx_hash: hash })
  return [status, body.code ?? body.status, body] as const
}
const outcome = async (hash: string, as = accountId) => (await redeem(hash, as)).slice(0, 2)
const credited = async (account = accountId) => {
  const [row] = await setting.database.sql<{ micro: string }>('select account_available_micro($1) as micro', [account])
  return BigInt(row?.micro ?? 0)
}
const reviewReason = async (hash: string) => (await redeem(hash))[2].review_reason

describe('a payment of a quote', () => {
  test('is confirming until it is deep enough and then completed, with the quoted Credits, once', async () => {
    const { quote_id, expected_axon_wei, pay_to_address } = await quote()
    const hash = await setting.pay(wallet, expected_axon_wei, pay_to_address)
    expect(await outcome(hash)).toEqual([202, 'pending'])
    await setting.mine()
    expect(await outcome(hash)).toEqual([202, 'confirming'])
    const order = () => server.send(accountId, 'GET', `orders/${quote_id}`).then(({ body }) => body)
    expect(await order()).toMatchObject({ status: 'confirming', tx_hash: hash })
    await setting.mine()
    const [status, , body] = await redeem(hash)
    expect([status, body]).toEqual([
      200,
      {
        status: 'completed',
        claim_id: expect.any(Number),
        tx_hash: hash,
        quote_id,
        credited_micro_usdc: 4_000_000,
        review_reason: null,
        request_id: expect.any(String),
      },
    ])
    expect(await outcome(`0x${hash.slice(2).toUpperCase()}`)).toEqual([200, 'completed'])
    expect(await credited()).toBe(4_000_000n)
    expect(await order()).toMatchObject({ status: 'completed', tx_hash: hash })
    expect(
      await setting.database.sql('select rail, log_position from chain_receipts where tx_hash = $1', [hash]),
    ).toEqual([{ rail: 'axon', log_position: -1 }])
    expect(
      await setting.database.sql('select event from outbox where object_id = $1', [`axon:${body.claim_id}`]),
    ).toEqual([{ event: 'payment.credited' }])
  })

  test('is completed by the rounds of another process when the one that took the hash is gone', async () => {
    const { expected_axon_wei } = await quote()
    const hash = await setting.pay(wallet, expected_axon_wei)
    expect(await outcome(hash)).toEqual([202, 'pending'])
    const restarted = await setting.server()
    await setting.mine(2)
    expect(await restarted.rounds.once()).toBe(false)
    expect(await credited()).toBe(4_000_000n)
  })

  test('with more worth waits longer: a small one is completed before a large one of the same block', async () => {
    await setting.worth(2_000n * USD)
    const small = await quote({ pay_axon: '0.1' })
    const large = await quote({ pay_axon: '2' })
    const hashes = [
      await setting.pay(wallet, small.expected_axon_wei),
      await setting.pay(wallet, large.expected_axon_wei),
    ]
    await setting.mine(2)
    expect(await Promise.all(hashes.map((hash) => redeem(hash).then(([, status]) => status)))).toEqual([
      'completed',
      'confirming',
    ])
    await mine(4)
    expect(await outcome(hashes[1] ?? '')).toEqual([200, 'completed'])
  })

  test.each([
    ['has fallen', 1n, 2_000_000n],
    ['has risen', 3n, 4_000_000n],
  ])('that is late is worth the lower of the quote and the rate of its block: the coin %s', async (_, rate, micro) => {
    const { quote_id, expected_axon_wei } = await quote()
    await lapse(quote_id)
    await setting.worth(rate * USD)
    await server.rounds.once()
    const hash = await setting.pay(wallet, expected_axon_wei)
    await mine(2)
    expect(await outcome(hash)).toEqual([200, 'completed'])
    expect(await credited()).toBe(micro)
  })

  test('that is late and has no rate of its block is reviewed', async () => {
    const { quote_id, expected_axon_wei } = await quote()
    await lapse(quote_id)
    await setting.worth(undefined)
    const hash = await setting.pay(wallet, expected_axon_wei)
    await mine(2)
    expect(await outcome(hash)).toEqual([202, 'review_required'])
    expect(await reviewReason(hash)).toBe('stale_quote')
    expect(setting.troubles.splice(0)).toContain('no source answers')
    expect(await credited()).toBe(0n)
  })

  test('that was made before the quote is not paid for it: a quote is no option on a payment', async () => {
    const hash = await setting.pay(wallet, 2n * COIN)
    await mine(2)
    await setting.database.sql('update axon_quotes set closed_at = now() where claim_id is null')
    const { quote_id } = await quote({ pay_axon: '2' })
    await setting.database.sql("update axon_quotes set created_at = created_at + interval '2 minutes' where id = $1", [
      quote_id,
    ])
    expect(await outcome(hash)).toEqual([202, 'review_required'])
    expect(await reviewReason(hash)).toBe('unquoted')
  })
})

describe('what is no payment of the caller', () => {
  test("another wallet: refused; when it is nobody's the operator sees it, and who links it is credited", async () => {
    const { expected_axon_wei } = await quote()
    const stranger = await setting.wallet()
    const hash = await setting.pay(stranger, expected_axon_wei)
    await setting.mine()
    const [status, code, body] = await redeem(hash)
    expect([status, code, body.error]).toEqual([400, 'wrong_payer', 'bad_request'])
    expect(body.message).toContain(stranger)
    await mine(1)
    const claim = () => setting.database.sql('select status, received_wei from axon_claims where tx_hash = $1', [hash])
    expect(await claim()).toEqual([{ status: 'failed', received_wei: expected_axon_wei }])
    await setting.database.sql('insert into account_wallets (address, account_id, added_by) values ($1, $2, $2)', [
      stranger,
      accountId,
    ])
    expect(await outcome(hash)).toEqual([200, 'completed'])
    expect(await credited()).toBe(4_000_000n)
  })

  test('a wallet of another account: refused, and left to that account', async () => {
    const others = await setting.wallet()
    const other = await setting.account(others)
    const hash = await setting.pay(others, 2n * COIN)
    await mine(2)
    expect(await outcome(hash)).toEqual([400, 'wrong_payer'])
    expect(
      await setting.database.sql('select final, received_wei from axon_claims where tx_hash = $1', [hash]),
    ).toEqual([{ final: true, received_wei: null }])
    expect(await outcome(hash, other)).toEqual([202, 'review_required'])
  })

  test('too little: refused with the minimum, and the operator sees that it arrived', async () => {
    await quote()
    const hash = await setting.pay(wallet, COIN / 4n)
    await mine(2)
    const [status, code, { message }] = await redeem(hash)
    expect([status, code]).toEqual([400, 'amount_below_minimum'])
    expect(message).toMatch(/smallest top-up of 1 dollars/)
    await mine(1)
    expect(
      await setting.database.sql('select status, received_wei from axon_claims where tx_hash = $1', [hash]),
    ).toEqual([{ status: 'failed', received_wei: String(COIN / 4n) }])
  })

  test('value that a contract passes on inside the transaction is refused: it is in no log', async () => {
    const { expected_axon_wei, pay_to_address } = await quote()
    // forwards what it gets to the address in its call
    const forwarder = await setting.chain.deploy('0x600f600c600039600f6000f36000600060006000346000355af100')
    const hash = await setting.chain.send({
      from: wallet,
      to: forwarder,
      value: `0x${BigInt(expected_axon_wei).toString(16)}`,
      data: `0x${pay_to_address.slice(2).padStart(64, '0')}`,
    })
    const before = await setting.chain.rpc('eth_getBalance', pay_to_address, 'latest')
    await mine(2)
    const after = await setting.chain.rpc('eth_getBalance', pay_to_address, 'latest')
    expect(BigInt(String(after)) - BigInt(String(before))).toBe(BigInt(expected_axon_wei))
    expect(await outcome(hash)).toEqual([400, 'wrong_recipient'])
    expect(await credited()).toBe(0n)
  })

  test('a payment to somebody else, and a transaction that failed, are refused', async () => {
    const { expected_axon_wei, pay_to_address } = await quote()
    const elsewhere = await setting.pay(wallet, expected_axon_wei, setting.chain.recipient)
    await mine(2)
    expect(await outcome(elsewhere)).toEqual([400, 'wrong_recipient'])
    await setting.chain.rpc('anvil_setCode', pay_to_address, '0xfe')
    const failed = await setting.pay(wallet, expected_axon_wei)
    await setting.mine()
    await setting.chain.rpc('anvil_setCode', pay_to_address, '0x')
    expect(await outcome(failed)).toEqual([202, 'confirming'])
    await setting.mine()
    expect(await outcome(failed)).toEqual([400, 'tx_failed'])
  })

  test('data in the transaction, a former address, and an amount that nobody quoted are reviewed', async () => {
    const [former = ''] = setting.config.retiredAddresses
    const data = await setting.chain.send({
      from: wallet,
      to: setting.config.payToAddress,
      value: `0x${(3n * COIN).toString(16)}`,
      data: '0x01',
    })
    const old = await setting.pay(wallet, 3n * COIN, former)
    const unquoted = await setting.pay(wallet, 3n * COIN + 1n)
    await quote()
    await mine(2)
    const reasons = []
    for (const hash of [data, old, unquoted]) reasons.push((await redeem(hash))[2].review_reason)
    expect(reasons).toEqual(['not_plain', 'old_recipient', 'unquoted'])
    const told =
      "select payload ->> 'review_reason' as reason from outbox where event = 'payment.review_required' and account_id = $1 order by id"
    expect(await setting.database.sql(told, [accountId])).toEqual(reasons.map((reason) => ({ reason })))
    expect(await credited()).toBe(0n)
  })

  test('an amount that nobody quoted is credited at the rate of its block where the operator says so', async () => {
    const generous = await setting.server({ config: { unquoted: 'spot' } })
    await quote()
    const hash = await setting.pay(wallet, 3n * COIN + 7n)
    await setting.mine(2)
    const { status, body } = await generous.send(accountId, 'POST', 'redeem-hash', { tx_hash: hash })
    expect([status, body.status, body.credited_micro_usdc]).toEqual([200, 'completed', 6_000_000])
  })

  test('what is no hash is refused before anything is written', async () => {
    expect(await outcome('0x12')).toEqual([400, 'invalid_tx_hash'])
    expect(await setting.database.sql('select from axon_claims where account_id = $1', [accountId])).toEqual([])
  })
})

const lapse = async (quoteId: number) => {
  await setting.database.sql(
    "update axon_quotes set created_at = created_at - interval '1 hour', expires_at = expires_at - interval '1 hour' where id = $1",
    [quoteId],
  )
}
