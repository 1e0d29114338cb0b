import { decodePaymentRequiredHeader } from '@x402/core/http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { PaymentRequirementsSchema } from 'x402/types'
import { until } from '../../../test/app.ts'
import { headerOf, openTopUps, proofOf, type TopUpSetting } from '../../../test/x402.ts'

let setting: TopUpSetting
beforeAll(async () => {
  setting = await openTopUps()
})
afterAll(() => setting.stop())

/** No money moved and no Credits were given. */
async function nothingMoved(wallet: { address: string }): Promise<void> {
  expect(await setting.transfers(wallet)).toEqual([])
  expect(await setting.credits(wallet)).toEqual({ grants: 0, micro: 0n })
}

test('01 without a proof the answer is 402 with the whole terms of version 2, in the token’s own words, and is stored nowhere', async () => {
  const { status, headers, json } = await setting.topUp({ amount: 7_000_000n })
  expect([status, headers.get('cache-control')]).toEqual([402, 'no-store'])
  const offer = decodePaymentRequiredHeader(headers.get('payment-required') ?? '')
  expect(offer).toMatchObject({
    x402Version: 2,
    resource: { url: `${setting.urls[0]}/v1/payments/topup?amount_micro=7000000` },
    accepts: [
      {
        scheme: 'exact',
        network: 'eip155:31337',
        amount: '7000000',
        maxTimeoutSeconds: 300,
        extra: { name: 'USD Coin', version: '2' },
      },
    ],
  })
  expect(offer.accepts[0]?.asset.toLowerCase()).toBe(setting.chain.token)
  expect(offer.accepts[0]?.payTo.toLowerCase()).toBe(setting.chain.recipient)
  expect(json).toMatchObject({ error: 'payment_required', code: 'payment_required', payment_state: 'unused' })
})

test('02 the body has the terms of version 1 as its clients parse them, and 5000000 is asked for where nothing is said', async () => {
  const { json } = await setting.topUp()
  expect(json.x402Version).toBe(1)
  const [terms] = json.accepts.map((each: unknown) => PaymentRequirementsSchema.parse(each))
  expect(terms).toMatchObject({ network: 'base-sepolia', maxAmountRequired: '5000000' })
  expect(json.error).toBeTypeOf('string')
})

test.each(['0', '-1', 'abc', '1.5', '1e6', '', '0x10', '9'.repeat(25), '1&amount_micro=2', '01'])(
  '03 an amount_micro of %j is a malformed request',
  async (amount) => {
    const { status, json } = await setting.topUp({ amount })
    expect([status, json.error]).toEqual([400, 'bad_request'])
  },
)

test('03 the smallest amount is one micro unit', async () => {
  expect((await setting.topUp({ amount: 1n })).json.accepts[0].maxAmountRequired).toBe('1')
})

test('04 no other method settles a proof, and neither does a browser that asks ahead of time', async () => {
  const wallet = await setting.wallet()
  const { headers } = await setting.sign({ wallet })
  for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'HEAD'])
    expect([method, (await setting.topUp({ amount: 1_000_000n, headers, method })).status]).toEqual([method, 405])
  const preflight = await setting.topUp({ headers, method: 'OPTIONS' })
  expect(preflight.status).toBe(204)
  expect(preflight.headers.get('access-control-allow-headers')).toMatch(/PAYMENT-SIGNATURE.*X-PAYMENT/)
  for (const purpose of [{ 'sec-purpose': 'prefetch;prerender' }, { purpose: 'prefetch' }, { 'x-moz': 'prefetch' }])
    expect((await setting.topUp({ amount: 1_000_000n, headers: { ...headers, ...purpose } })).status).toBe(402)
  await nothingMoved(wallet)
})

test('04 pages of any origin may call it and read the headers of payments', async () => {
  const { headers } = await setting.topUp()
  expect(headers.get('access-control-allow-origin')).toBe('*')
  expect(headers.get('access-control-expose-headers')).toMatch(/PAYMENT-REQUIRED, PAYMENT-RESPONSE, X-PAYMENT-RESPONSE/)
  const models = await setting.send('OPTIONS', '/v1/models')
  expect([models.status, models.headers.get('access-control-allow-origin')]).toEqual([204, '*'])
})

test('05 a payment by version 2 is on the chain, and its account has the Credits', async () => {
  const wallet = await setting.wallet()
  const { status, json, response, headers } = await setting.pay({ wallet, amount: 3_000_000n })
  expect([status, headers.get('cache-control')]).toEqual([200, 'no-store'])
  const [transfer] = await setting.transfers(wallet)
  expect(transfer).toEqual({ amount: 3_000_000n, txHash: json.transaction_hash })
  expect(json).toMatchObject({
    status: 'credited',
    wallet_address: wallet.address,
    amount_added: 3_000_000,
    payment_state: 'settled',
    retry_action: 'none',
    poll_url: `/v1/payments/x402/${json.payment_id}`,
  })
  expect(response).toMatchObject({
    success: true,
    network: 'eip155:31337',
    transaction: transfer?.txHash,
    payer: wallet.address,
    extra: { paymentId: json.payment_id },
  })
  expect(await setting.credits(wallet)).toEqual({ grants: 1, micro: 3_000_000n })
})

test('06 the same proof again gets the same answer and moves nothing', async () => {
  const wallet = await setting.wallet()
  const first = await setting.pay({ wallet })
  const again = await setting.settled({ amount: 1_000_000n, headers: first.proof.headers })
  expect([again.status, again.json, again.response]).toEqual([200, first.json, first.response])
  expect(again.headers.get('idempotent-replayed')).toBe('true')
  expect(await setting.transfers(wallet)).toHaveLength(1)
  expect(await setting.credits(wallet)).toEqual({ grants: 1, micro: 1_000_000n })
})

test('07 the same authorization in other letters and another order is the same payment', async () => {
  const wallet = await setting.wallet()
  const { proof, json } = await setting.pay({ wallet })
  const { authorization, signature } = proof.payload.payload
  const shuffled = Object.fromEntries(
    Object.entries(authorization)
      .reverse()
      .map(([name, value]) => [
        name,
        String(value)
          .replace(/[a-f]/g, (letter) => letter.toUpperCase())
          .replace('0X', '0x'),
      ]),
  )
  const upper = {
    ...proof.payload,
    payload: { authorization: shuffled, signature: `0x${signature.slice(2).toUpperCase()}` },
  }
  const again = await setting.topUp({ amount: 1_000_000n, headers: headerOf(2, upper) })
  expect([again.status, again.json.payment_id]).toEqual([200, json.payment_id])
  expect(await setting.credits(wallet)).toMatchObject({ grants: 1 })
})

test('08 the twin of a signature is no signature', async () => {
  const wallet = await setting.wallet()
  const { proof } = await setting.pay({ wallet })
  const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
  const s = order - BigInt(`0x${proof.signature.slice(66, 130)}`)
  const v = proof.signature.endsWith('1b') ? '1c' : '1b'
  const twin = `${proof.signature.slice(0, 66)}${s.toString(16).padStart(64, '0')}${v}`
  const again = proofOf(setting.chain, 2, proof.authorization, twin)
  const answer = await setting.topUp({ amount: 1_000_000n, headers: again.headers })
  expect([answer.status, answer.json.reason]).toEqual([402, 'invalid_signature'])
  expect(await setting.credits(wallet)).toMatchObject({ grants: 1 })
})

test('09 a small payment that was made is no larger one', async () => {
  const wallet = await setting.wallet()
  const { proof } = await setting.pay({ wallet, amount: 1_000n })
  const larger = { ...proof.payload, accepted: { ...proof.payload.accepted, amount: '9000000' } }
  const answer = await setting.topUp({ amount: 9_000_000n, headers: headerOf(2, larger) })
  expect([answer.status, answer.json.code]).toEqual([409, 'payment_conflict'])
  expect(await setting.credits(wallet)).toEqual({ grants: 1, micro: 1_000n })
})

test.each([
  ['11 a small proof at a larger amount', 9_000_000n, 1_000n],
  ['12 a proof of one unit too little', 1_000_000n, 999_999n],
  ['13 a proof of one unit too much', 1_000_000n, 1_000_001n],
])('%s is refused and nothing is kept', async (_, amount, signedFor) => {
  const wallet = await setting.wallet()
  const proof = await setting.sign({ wallet, amount: signedFor })
  const answer = await setting.topUp({ amount, headers: proof.headers })
  expect([answer.status, answer.json.reason, answer.response.success]).toEqual([402, 'amount_mismatch', false])
  await nothingMoved(wallet)
})

const stranger = '0x00000000000000000000000000000000000000aa'
const inAMinute = (): bigint => BigInt(Math.floor(Date.now() / 1000)) + 60n
test.each([
  ['14 a proof that pays another address', { to: stranger }, 'wrong_recipient'],
  ['16 a proof signed for another token', { token: stranger }, 'invalid_signature'],
  ['17 a proof signed for another chain', { chainId: 8453 }, 'invalid_signature'],
  ['18 an expired proof', { validBefore: 1_700_000_000n }, 'expired'],
  ['18 a proof with five seconds left', { validBefore: inAMinute() - 55n }, 'expired'],
  ['18 a proof that never ends', { validBefore: inAMinute() + 86_400n }, 'valid_for_too_long'],
  ['19 a proof that is not valid yet', { validAfter: inAMinute() }, 'not_yet_valid'],
])('%s is refused as such and nothing moves', async (_, wanted, reason) => {
  const wallet = await setting.wallet()
  const { status, json } = await setting.pay({ wallet, ...wanted })
  expect([status, json.reason, json.retry_action]).toEqual([402, reason, 'resign'])
  await nothingMoved(wallet)
})

test.each([
  ['15 another payTo', { payTo: stranger }, 'wrong_recipient'],
  ['16 another asset', { asset: stranger }, 'wrong_asset'],
  ['17 another network', { network: 'eip155:8453' }, 'wrong_network'],
  ['17 another scheme', { scheme: 'upto' }, 'unsupported_scheme'],
  ['11 another amount', { amount: '5' }, 'amount_mismatch'],
])('%s in the terms that a client says it accepted is refused', async (_, change, reason) => {
  const wallet = await setting.wallet()
  const { payload } = await setting.sign({ wallet })
  const accepted = { ...payload.accepted, ...change }
  const answer = await setting.topUp({ amount: 1_000_000n, headers: headerOf(2, { ...payload, accepted }) })
  expect([answer.status, answer.json.reason]).toEqual([402, reason])
  await nothingMoved(wallet)
})

test('20 a bad signature uses nothing up: the good one works afterwards', async () => {
  const wallet = await setting.wallet()
  const good = await setting.sign({ wallet })
  const bad = proofOf(setting.chain, 2, good.authorization, `0x${'11'.repeat(64)}1b`)
  expect((await setting.topUp({ amount: 1_000_000n, headers: bad.headers })).json.reason).toBe('invalid_signature')
  expect((await setting.settled({ amount: 1_000_000n, headers: good.headers })).status).toBe(200)
})

test('21 a bad signature on a paid nonce is told nothing about the payment', async () => {
  const wallet = await setting.wallet()
  const { proof, json } = await setting.pay({ wallet })
  const bad = proofOf(setting.chain, 2, proof.authorization, `0x${'11'.repeat(64)}1b`)
  const answer = await setting.topUp({ amount: 1_000_000n, headers: bad.headers })
  expect([answer.status, answer.json.reason]).toEqual([402, 'invalid_signature'])
  expect(JSON.stringify([answer.json, answer.response])).not.toContain(json.transaction_hash)
  expect(answer.json.payment_id).toBeUndefined()
})

test('22 a wallet without the funds is refused by the number, and the same proof works once it has them', async () => {
  const wallet = await setting.wallet(999_999n)
  const { proof, status, json } = await setting.pay({ wallet })
  expect([status, json.reason]).toEqual([402, 'insufficient_funds'])
  expect(json.message).toContain('999999')
  await nothingMoved(wallet)
  await setting.chain.pay({ from: setting.chain.payers[0] ?? '', to: wallet.address, amount: 1n })
  expect((await setting.settled({ amount: 1_000_000n, headers: proof.headers })).status).toBe(200)
})

const base64 = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64')
test.each([
  ['', 'empty'],
  ['!!!', 'no base64'],
  ['e30', 'no padding, and an empty object'],
  ['eyJhIjo_', 'base64 of the other alphabet'],
  [Buffer.from('not json').toString('base64'), 'no JSON'],
  [base64(null), 'null'],
  [base64([]), 'a list'],
  [base64('text'), 'a text'],
  [base64({}), 'an empty object'],
  [base64({ x402Version: 3 }), 'a version of the future'],
  [base64({ x402Version: 2, accepted: {}, payload: {} }), 'nothing inside'],
  [base64({ x402Version: 2, accepted: null, payload: null }), 'null inside'],
  [base64({ x402Version: 2, accepted: { scheme: 1 }, payload: { signature: 7 } }), 'numbers for texts'],
  [`${base64({ x402Version: 2 })}, ${base64({ x402Version: 2 })}`, 'two headers'],
  [base64({ __proto__: { x402Version: 2 }, constructor: 1 }), 'names of the language'],
  ['A'.repeat(12_000), '24 twelve kilobytes'],
])('23 a header of %#: malformed, and no more than that', async (text) => {
  for (const name of ['PAYMENT-SIGNATURE', 'X-PAYMENT']) {
    const { status, json } = await setting.topUp({ headers: { [name]: text } })
    expect([status, json.code]).toEqual([400, 'invalid_payment'])
  }
})

test('25 a proof in the header of the other version is malformed', async () => {
  const wallet = await setting.wallet()
  const two = await setting.sign({ wallet })
  const one = await setting.sign({ wallet, version: 1 })
  for (const headers of [headerOf(1, two.payload), headerOf(2, one.payload)])
    expect((await setting.topUp({ amount: 1_000_000n, headers })).json.code).toBe('invalid_payment')
  await nothingMoved(wallet)
})

test('26 a payment by version 1 is credited and answered in its words', async () => {
  const wallet = await setting.wallet()
  const { status, json, response, headers } = await setting.pay({ wallet, version: 1 })
  expect([status, json.status]).toEqual([200, 'credited'])
  expect(headers.get('payment-response')).toBeNull()
  expect(response).toMatchObject({ success: true, network: 'base-sepolia', transaction: json.transaction_hash })
  expect(await setting.credits(wallet)).toEqual({ grants: 1, micro: 1_000_000n })
})

test('33 the status needs a credential, and is of existing payments of one’s own', async () => {
  const wallet = await setting.wallet()
  const { json } = await setting.pay({ wallet })
  expect((await setting.send('GET', json.poll_url)).status).toBe(401)
  const { token } = await setting.signIn(wallet)
  for (const id of ['0', '-1', 'abc', '9223372036854775808', '9223372036854775807'])
    expect([id, (await setting.send('GET', `/v1/payments/x402/${id}`, { token })).status]).toEqual([id, 400])
  expect((await setting.send('GET', '/v1/payments/x402/999999', { token })).json.code).toBe('payment_not_found')
  const status = await setting.send('GET', json.poll_url, { token })
  expect(status.json).toMatchObject({
    payment_id: json.payment_id,
    status: 'credited',
    amount_micro: 1_000_000,
    network: 'eip155:31337',
    transaction_hash: json.transaction_hash,
  })
  expect(new Date(status.json.credited_at).getTime()).toBeGreaterThanOrEqual(new Date(status.json.created_at).getTime())
  const list = await setting.send('GET', '/v1/payments/x402?limit=1', { token })
  expect(list.json).toEqual({ data: [status.json], next_cursor: null })
})

test('what can be paid is found at the well-known address and in the OpenAPI document', async () => {
  const { json } = await setting.send('GET', '/.well-known/x402')
  expect(json.resources).toEqual([`${setting.urls[0]}/v1/payments/topup`])
  const document = (await setting.send('GET', '/openapi.json')).json
  const operation = document.paths['/v1/payments/topup'].get
  expect(operation['x-payment-info'].protocols).toEqual([{ x402: {} }])
  expect(operation.responses['402'].content['application/json']).toBeDefined()
})

test('after all of it the ledger is whole, and the watcher of orders leaves these payments alone', async () => {
  await setting.chain.mine(3)
  const [paid] = await setting.database.sql<{ payments: number }>(
    `select count(*)::int as payments from x402_payments where status = 'credited'`,
  )
  const seen = (states: string[]) =>
    setting.database.sql('select tx_hash from chain_transfers where state::text = any($1)', [states])
  await until(
    async () => (await seen(['credited', 'final'])).length === paid?.payments,
    'the watcher has seen each of them',
  )
  expect(await seen(['unmatched', 'matched', 'ignored', 'seen'])).toEqual([])
  expect(await setting.audit()).toEqual([])
})
