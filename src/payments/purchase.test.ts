import { createWalletClient, defineChain, erc20Abi, type Hex, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readAnswer, startTestApp, type TestApp } from '../../test/app.ts'
import { type TestChain, testChain } from '../../test/chain.ts'
import type { JsonObject } from '../providers/provider.ts'

// A purchase as a stranger makes it: over HTTP and with viem, against the whole server.

/** The chain's first payer, whose key everybody knows. */
const account = privateKeyToAccount('0x8b3a350cf5c34c9194ca85829a2df0ec3153be0318b5e2d3348e872092edffba')

let chain: TestChain
let app: TestApp
beforeAll(async () => {
  chain = await testChain()
  app = await startTestApp({ assets: `dev_usdc: { recipient: "${chain.recipient}", rpc_urls: ["${chain.rpcUrl}"] }` })
  app.clock.set(new Date())
})
afterAll(async () => {
  await app.stop()
  await chain.stop()
})

async function get(path: string, token?: string): Promise<JsonObject> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
  return (await readAnswer(await fetch(app.url + path, { headers }))).json
}
const data = (body: JsonObject) => body.data as JsonObject

/** Signs in with the wallet's own signature; gives an access token. */
async function signIn(): Promise<string> {
  const challenge = await app.post('/v1/auth/challenge', { wallet_address: account.address })
  const { challenge_id, message } = challenge.json as { challenge_id: string; message: string }
  const verified = await app.post('/v1/auth/verify', {
    challenge_id,
    signature: await account.signMessage({ message }),
  })
  expect([verified.status, verified.json.message]).toEqual([200, undefined])
  return String((verified.json.tokens as JsonObject).access_token)
}

/** Asks until it is so: the server works in between, and the test's own time limit is the only one. */
async function eventually<T>(ask: () => Promise<T>, isSo: (answer: T) => boolean): Promise<T> {
  for (;;) {
    const answer = await ask()
    if (isSo(answer)) return answer
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

test('a purchase with no hash registered, by viem alone: completed, with its own transaction and exactly its Credits', async () => {
  const token = await signIn()
  await eventually(
    () => get('/v1/payments/options'),
    (body) => (data(body).assets as JsonObject[]).some(({ enabled }) => enabled === true),
  )
  const made = await app.post(
    '/v1/payments/orders',
    { asset_id: 'dev_usdc', amount_micro: '2500000', idempotency_key: 'first' },
    token,
  )
  expect([made.status, made.json.message]).toEqual([200, undefined])
  const order = data(made.json)
  expect(order).toMatchObject({ status: 'pending', payer_address: account.address, credit_micro: '2500000' })

  const wallet = createWalletClient({
    account,
    transport: http(chain.rpcUrl),
    chain: defineChain({
      id: Number(order.chain_id),
      name: String(order.network_name),
      nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
      rpcUrls: { default: { http: [chain.rpcUrl] } },
    }),
  })
  const hash = await wallet.writeContract({
    address: order.token_address as Hex,
    abi: erc20Abi,
    functionName: 'transfer',
    args: [order.recipient_address as Hex, BigInt(String(order.amount_micro))],
  })
  // one node is asked: two blocks are enough on the development chain
  await chain.mine(2)
  const paid = await eventually(
    () => get(`/v1/payments/orders/${order.id}`, token).then(data),
    ({ status }) => status === 'completed',
  )
  expect(paid).toMatchObject({ tx_hash: hash, credit_micro: '2500000', review: null })
  expect(await get('/v1/credits/balance', token)).toMatchObject({ balance_micro: 2_500_000 })
  expect(await app.audit()).toEqual([])
}, 60_000)

test('a chain that is stopped is said by /readyz with what to run, and by the metrics; models are served all the same', async () => {
  const metric = async (name: string) => {
    const text = await (await fetch(`${app.url}/metrics`)).text()
    return new RegExp(`^${name}{[^}]*} (.*)$`, 'm').exec(text)?.[1]
  }
  const check = async () => {
    const answer = await readAnswer(await fetch(`${app.url}/readyz`))
    return { status: answer.status, chain: (answer.json.checks as JsonObject).chain_31337 }
  }
  await eventually(check, ({ chain: found }) => (found as JsonObject).ok === true)
  expect([await metric('farebox_chain_stopped'), await metric('farebox_payment_reviews')]).toEqual(['0', '0'])
  await app.database.sql(`update chain_cursors set stopped = 'it was reorganised: see \`farebox chain show 31337\`'`)
  const stopped = await eventually(check, ({ chain: found }) => (found as JsonObject).ok === false)
  expect(stopped).toEqual({
    status: 200,
    chain: { ok: false, detail: 'stopped: it was reorganised: see `farebox chain show 31337`' },
  })
  expect(await metric('farebox_chain_stopped')).toBe('1')
})
