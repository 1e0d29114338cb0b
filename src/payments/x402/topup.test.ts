import { afterAll, beforeAll, expect, test } from 'vitest'
import { openTopUps, type TopUpSetting } from '../../../test/x402.ts'
import { eventually, headerOf, proofOf } from '../../../test/x402-proofs.ts'

let setting: TopUpSetting
beforeAll(async () => {
  setting = await openTopUps()
})
afterAll(() => setting.stop())

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
  expect(await setting.transfers(wallet)).toEqual([])
  await setting.chain.pay({ from: setting.chain.payers[0] ?? '', to: wallet.address, amount: 1n })
  expect((await setting.settled({ amount: 1_000_000n, headers: proof.headers })).status).toBe(200)
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

test('after all of it the ledger is whole, and the watcher of orders leaves these payments alone', async () => {
  await setting.chain.mine(3)
  const [paid] = await setting.database.sql<{ payments: number }>(
    `select count(*)::int as payments from x402_payments where status = 'credited'`,
  )
  const seen = (states: string[]) =>
    setting.database.sql('select tx_hash from chain_transfers where state::text = any($1)', [states])
  await eventually(
    async () => (await seen(['credited', 'final'])).length === paid?.payments,
    'the watcher has seen each of them',
  )
  expect(await seen(['unmatched', 'matched', 'ignored', 'seen'])).toEqual([])
  expect(await setting.audit()).toEqual([])
})
