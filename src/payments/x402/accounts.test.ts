import { afterAll, beforeAll, expect, test } from 'vitest'
import { openTopUps, type TopUpSetting } from '../../../test/x402.ts'
import { openKeyring } from '../../identity/tokens/keyring.ts'
import { createTokens } from '../../identity/tokens/service.ts'
import { systemClock } from '../../kernel/clock.ts'
import { systemRandom } from '../../kernel/random.ts'
import { contextTokens } from '../context/tokens.ts'
import type { PaymentContext } from '../orders/context-port.ts'

let setting: TopUpSetting
let contextFor: (context: PaymentContext, issuedAt?: Date) => Promise<string>
beforeAll(async () => {
  setting = await openTopUps({
    x402: { min_amount_micro: 1_000, max_amount_micro: 50_000_000, payments_per_minute_per_payer: 3 },
  })
  const { db } = setting.database
  const keyring = await openKeyring({ db, random: systemRandom, pepper: setting.pepper, clock: systemClock })
  const tokens = contextTokens(createTokens({ keyring, clock: systemClock }))
  contextFor = (context, issuedAt = new Date()) => tokens.sign(context, issuedAt)
})
afterAll(() => setting.stop())

const AMOUNT = 1_000_000n

test('44 an unknown wallet becomes an Agent account; it signs in later and finds its Credits', async () => {
  const wallet = await setting.wallet()
  const { json } = await setting.pay({ wallet })
  const { accountId, token } = await setting.signIn(wallet)
  expect(accountId).toBe(BigInt(json.account_id))
  expect((await setting.send('GET', '/v1/me', { token })).json.account).toMatchObject({
    account_type: 'agent',
    wallet_address: wallet.address,
  })
  expect((await setting.send('GET', '/v1/credits/balance', { token })).json.available_micro).toBe(1_000_000)
})

test('a wallet that has an account credits it, with its own credential or with none', async () => {
  const wallet = await setting.wallet()
  const { accountId, token } = await setting.signIn(wallet)
  const without = await setting.pay({ wallet })
  const proof = await setting.sign({ wallet })
  const headers = { ...proof.headers, authorization: `Bearer ${token}` }
  const withOwn = await setting.settled({ amount: AMOUNT, headers })
  expect([without, withOwn].map(({ status, json }) => [status, json.account_id])).toEqual([
    [200, Number(accountId)],
    [200, Number(accountId)],
  ])
})

test('a credential of another account, or of nobody, is refused before anything is sent', async () => {
  const other = await setting.signIn(await setting.wallet(0n))
  const wallet = await setting.wallet()
  const { headers } = await setting.sign({ wallet })
  const refused = await setting.topUp({
    amount: AMOUNT,
    headers: { ...headers, authorization: `Bearer ${other.token}` },
  })
  expect([refused.status, refused.json.code]).toEqual([403, 'payer_of_another_account'])
  const dead = await setting.topUp({ amount: AMOUNT, headers: { ...headers, authorization: 'Bearer fbx_nobody' } })
  expect(dead.status).toBe(401)
  expect(await setting.transfers(wallet)).toEqual([])
  const stored = await setting.database.sql('select from x402_payments where payer = $1', [
    wallet.address.toLowerCase(),
  ])
  expect(stored).toEqual([])
})

test('45 the payments of another account cannot be read, and are in nobody else’s list', async () => {
  const { json } = await setting.pay({ wallet: await setting.wallet() })
  const { token } = await setting.signIn(await setting.wallet(0n))
  const refused = await setting.send('GET', json.poll_url, { token })
  expect([refused.status, refused.json.code]).toEqual([403, 'not_original_account'])
  expect((await setting.send('GET', '/v1/payments/x402', { token })).json.data).toEqual([])
})

test.each(['banned', 'deactivated'])(
  '46 an account that is %s pays nothing: it is refused before anything is sent',
  async (status) => {
    const wallet = await setting.wallet()
    const { accountId } = await setting.signIn(wallet)
    await setting.database.sql('update accounts set status = $2 where id = $1', [accountId, status])
    const { status: answered, json } = await setting.pay({ wallet })
    expect([answered, json.code]).toEqual([403, `account_${status}`])
    expect(await setting.transfers(wallet)).toEqual([])
  },
)

test('43 a payment context credits the account that it names', async () => {
  const wallet = await setting.wallet()
  const payer = await setting.signIn(wallet)
  const recipient = await setting.signIn(await setting.wallet(0n))
  const token = await contextFor({
    payerAccountId: payer.accountId,
    recipientAccountId: recipient.accountId,
    amountMicro: AMOUNT,
  })
  const { headers } = await setting.sign({ wallet })
  const answer = await setting.settled({ amount: AMOUNT, headers: { ...headers, 'payment-context': token } })
  expect([answer.status, answer.json.account_id]).toEqual([200, Number(recipient.accountId)])
  expect((await setting.send('GET', answer.json.poll_url, { token: recipient.token })).json.status).toBe('credited')
  expect((await setting.send('GET', answer.json.poll_url, { token: payer.token })).status).toBe(403)
})

test('43 a payment context of another payer, of another amount, expired or made up settles nothing', async () => {
  const wallet = await setting.wallet()
  const { accountId } = await setting.signIn(wallet)
  const stranger = (await setting.signIn(await setting.wallet(0n))).accountId
  const own = { payerAccountId: accountId, recipientAccountId: accountId, amountMicro: AMOUNT }
  const tokens = {
    'another payer': await contextFor({ ...own, payerAccountId: stranger }),
    'another amount': await contextFor({ ...own, amountMicro: 2n * AMOUNT }),
    expired: await contextFor(own, new Date(Date.now() - 16 * 60_000)),
    'made up': 'no.such.token',
  }
  const { headers } = await setting.sign({ wallet })
  const codes = await Promise.all(
    Object.values(tokens).map(
      async (token) =>
        (await setting.topUp({ amount: AMOUNT, headers: { ...headers, 'payment-context': token } })).json.code,
    ),
  )
  expect(codes).toEqual(['context_mismatch', 'context_mismatch', 'context_expired', 'invalid_context'])
  expect(await setting.transfers(wallet)).toEqual([])
  expect((await setting.settled({ amount: AMOUNT, headers })).status).toBe(200)
})

test('amounts outside of the operator’s limits are refused by name before any terms are given', async () => {
  expect((await setting.topUp({ amount: 999n })).json).toMatchObject({
    error: 'bad_request',
    code: 'amount_below_minimum',
  })
  expect((await setting.topUp({ amount: 50_000_001n })).json).toMatchObject({ code: 'amount_above_maximum' })
  expect((await setting.topUp({ amount: 1_000n })).status).toBe(402)
})

test('a wallet makes no more new payments in a minute than the operator allows; replays do not count', async () => {
  const wallet = await setting.wallet()
  const made = []
  for (let count = 0; count < 3; count += 1) made.push(await setting.pay({ wallet, amount: 1_000n }))
  const proof = await setting.sign({ wallet, amount: 1_000n })
  const refused = await setting.topUp({ amount: 1_000n, headers: proof.headers })
  expect([refused.status, refused.json.limit_name]).toEqual([429, 'payments-of-wallet'])
  expect((await setting.topUp({ amount: 1_000n, headers: made[0]?.proof.headers ?? {} })).status).toBe(200)
  setting.advance(61_000)
  expect((await setting.settled({ amount: 1_000n, headers: proof.headers })).status).toBe(200)
})

test('after all of it the ledger is whole', async () => {
  expect(await setting.audit()).toEqual([])
})
