import { decodePaymentRequiredHeader } from '@x402/core/http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { PaymentRequirementsSchema } from 'x402/types'
import { openTopUps, type TopUpSetting } from '../../../test/x402.ts'
import { headerOf } from '../../../test/x402-proofs.ts'

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

test('what can be paid is found at the well-known address and in the OpenAPI document', async () => {
  const { json } = await setting.send('GET', '/.well-known/x402')
  expect(json.resources).toEqual([`${setting.urls[0]}/v1/payments/topup`])
  const document = (await setting.send('GET', '/openapi.json')).json
  const operation = document.paths['/v1/payments/topup'].get
  expect(operation['x-payment-info'].protocols).toEqual([{ x402: {} }])
  expect(operation.responses['402'].content['application/json']).toBeDefined()
})
