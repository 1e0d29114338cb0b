import { encodeFunctionData, type Hex } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import batchAccount from '../../../contracts/artifacts/BatchAccount.json' with { type: 'json' }
import { openTopUps, RELAYER, type TopUpSetting } from '../../../test/x402.ts'
import { carryOutCall, eventually, type Proof } from '../../../test/x402-proofs.ts'

let setting: TopUpSetting
beforeAll(async () => {
  // two servers, as two processes would be: nothing is shared but the database and the chain
  setting = await openTopUps({ servers: 2 })
})
afterAll(() => setting.stop())

const AMOUNT = 1_000_000n
const send = (proof: Proof, at = 0) =>
  setting.settled({ amount: proof.authorization.value, headers: proof.headers, at })

test('10, 36 eight copies of one proof on two servers at once: one transfer, one credit, the same answer for all', async () => {
  const wallet = await setting.wallet()
  const proof = await setting.sign({ wallet })
  const answers = await Promise.all(Array.from({ length: 8 }, (_, copy) => send(proof, copy % 2)))
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
  expect(new Set(answers.map(({ json }) => JSON.stringify(json))).size).toBe(1)
  expect(new Set(answers.map(({ response }) => JSON.stringify(response))).size).toBe(1)
  expect(await setting.transfers(wallet)).toHaveLength(1)
  expect(await setting.credits(wallet)).toEqual({ grants: 1, micro: AMOUNT })
})

test('27 one authorization as version 1 and as version 2 at once is one payment', async () => {
  const wallet = await setting.wallet()
  const two = await setting.sign({ wallet })
  const inOne = { x402Version: 1, scheme: 'exact', network: 'base-sepolia', payload: two.payload.payload }
  const headers = { 'X-PAYMENT': Buffer.from(JSON.stringify(inOne)).toString('base64') }
  const answers = await Promise.all([send(two), setting.settled({ amount: AMOUNT, headers, at: 1 })])
  expect(answers.map(({ status, json }) => [status, json.payment_id])).toEqual(
    answers.map(({ json }) => [200, json.payment_id]),
  )
  expect(new Set(answers.map(({ json }) => json.payment_id)).size).toBe(1)
  expect(await setting.credits(wallet)).toMatchObject({ grants: 1 })
})

test('34 ten proofs of one new wallet at once are all credited, with ten account nonces of the relayer in a row', async () => {
  const wallet = await setting.wallet()
  const proofs = await Promise.all(Array.from({ length: 10 }, () => setting.sign({ wallet })))
  const answers = await Promise.all(proofs.map((proof, at) => send(proof, at % 2)))
  expect(answers.map(({ status }) => status)).toEqual(proofs.map(() => 200))
  expect(await setting.credits(wallet)).toEqual({ grants: 10, micro: 10n * AMOUNT })
  expect(new Set(answers.map(({ json }) => json.account_id)).size).toBe(1)
  const used = await setting.database.sql<{ nonce: bigint }>('select distinct nonce from relayer_transactions')
  const count = BigInt(String(await setting.chain.rpc('eth_getTransactionCount', RELAYER, 'latest')))
  expect(BigInt(used.length)).toBe(count)
})

test('28 an authorization that somebody else carried out already is credited, and not carried out again', async () => {
  const wallet = await setting.wallet()
  const proof = await setting.sign({ wallet })
  const txHash = await setting.carryOut(proof)
  const { status, json } = await send(proof)
  expect([status, json.transaction_hash]).toEqual([200, txHash])
  expect(await setting.transfers(wallet)).toHaveLength(1)
  expect(await setting.credits(wallet)).toEqual({ grants: 1, micro: AMOUNT })
})

test('28 one that the watcher of orders saw first and put up for review is credited, and its review closes', async () => {
  const wallet = await setting.wallet()
  const proof = await setting.sign({ wallet })
  const txHash = await setting.carryOut(proof)
  await setting.chain.mine(3)
  const state = async () =>
    (await setting.database.sql<{ state: string }>('select state from chain_transfers where tx_hash = $1', [txHash]))[0]
      ?.state
  await eventually(async () => (await state()) === 'unmatched', 'the watcher knows nothing of the authorization')
  expect((await send(proof)).status).toBe(200)
  // the block is final already, which the watcher notes at its next look, before or after this one
  expect(['credited', 'final']).toContain(await state())
  expect(await setting.credits(wallet)).toEqual({ grants: 1, micro: AMOUNT })
})

test('29 a nonce that paid one micro unit pays nothing more, and what it did pay can still be credited', async () => {
  const wallet = await setting.wallet()
  const small = await setting.sign({ wallet, amount: 1n })
  const large = await setting.sign({ wallet, amount: 900_000n, nonce: small.authorization.nonce })
  await setting.carryOut(small)
  const refused = await send(large)
  expect([refused.status, refused.json.reason]).toEqual([402, 'authorization_used'])
  expect(await setting.credits(wallet)).toEqual({ grants: 0, micro: 0n })
  expect((await send(small)).status).toBe(200)
  expect(await setting.credits(wallet)).toEqual({ grants: 1, micro: 1n })
})

test('29 a nonce that is spent on other terms while its payment is on the way is reviewed, not credited', async () => {
  const wallet = await setting.wallet()
  const large = await setting.sign({ wallet, amount: 900_000n })
  const small = await setting.sign({ wallet, amount: 1n, nonce: large.authorization.nonce })
  await setting.automine(false)
  const answer = send(large)
  await eventually(
    async () =>
      (
        await setting.database.sql(
          'select from relayer_transactions t join x402_payments p on p.id = t.payment_id where p.payer = $1 and t.sent_at is not null',
          [wallet.address.toLowerCase()],
        )
      ).length > 0,
    'the relayer has sent it',
  )
  // a miner takes the dearer one first
  await setting.chain.send({
    from: setting.chain.payers[3] ?? '',
    to: setting.chain.token,
    data: carryOutCall(small),
    gasPrice: '0x174876e800',
  })
  await setting.chain.mine()
  await setting.automine(true)
  const { status, json } = await answer
  expect([status, json.status, json.retry_action]).toEqual([202, 'review_required', 'human_required'])
  expect(await setting.credits(wallet)).toEqual({ grants: 0, micro: 0n })
})

test('30 a canceled authorization moves nothing and says so', async () => {
  const wallet = await setting.wallet()
  const proof = await setting.sign({ wallet })
  const signature = await wallet.signTypedData({
    domain: { name: 'USD Coin', version: '2', chainId: 31_337, verifyingContract: setting.chain.token as Hex },
    types: {
      CancelAuthorization: [
        { name: 'authorizer', type: 'address' },
        { name: 'nonce', type: 'bytes32' },
      ],
    },
    primaryType: 'CancelAuthorization',
    message: { authorizer: wallet.address, nonce: proof.authorization.nonce as Hex },
  })
  const cancel = {
    type: 'function',
    name: 'cancelAuthorization',
    stateMutability: 'nonpayable',
    inputs: ['address', 'bytes32', 'uint8', 'bytes32', 'bytes32'].map((type) => ({ type, name: '' })),
    outputs: [],
  } as const
  const data = encodeFunctionData({
    abi: [cancel],
    args: [
      wallet.address,
      proof.authorization.nonce,
      Number.parseInt(signature.slice(130), 16),
      `0x${signature.slice(2, 66)}`,
      `0x${signature.slice(66, 130)}`,
    ],
  })
  await setting.sent({ to: setting.chain.token, data })
  const { status, json } = await send(proof)
  expect([status, json.reason]).toEqual([402, 'authorization_canceled'])
  expect(await setting.credits(wallet)).toEqual({ grants: 0, micro: 0n })
})

describe('while no block is made', () => {
  test('31 a client that hangs up in the middle is credited all the same, once', async () => {
    const wallet = await setting.wallet()
    const proof = await setting.sign({ wallet })
    await setting.automine(false)
    const gone = new AbortController()
    const hungUp = setting.topUp({ amount: AMOUNT, headers: proof.headers, signal: gone.signal }).catch(() => 'gone')
    await eventually(async () => (await rowOf(wallet)) === 'pending', 'the payment is sent')
    gone.abort()
    expect(await hungUp).toBe('gone')
    await setting.automine(true)
    await setting.chain.mine()
    const { status, json } = await send(proof, 1)
    expect([status, json.status]).toEqual([200, 'credited'])
    expect(await setting.credits(wallet)).toEqual({ grants: 1, micro: AMOUNT })
  })

  test('32 a request whose time is up says 202 and where to look, never 402; afterwards the same proof is credited', async () => {
    const wallet = await setting.wallet()
    const proof = await setting.sign({ wallet })
    await setting.automine(false)
    const asked = setting.topUp({ amount: AMOUNT, headers: proof.headers })
    await eventually(async () => (await rowOf(wallet)) === 'pending', 'the payment is sent')
    // the servers' clock, not this test, waits
    setting.advance(16_000)
    const answer = await asked
    expect(answer.status).toBe(202)
    expect(answer.json).toMatchObject({
      status: 'pending',
      amount_added: 0,
      payment_state: 'in_flight',
      retry_action: 'poll',
    })
    expect(answer.response).toMatchObject({ success: false, errorReason: 'settlement_pending' })
    expect(answer.headers.get('location')).toBe(answer.json.poll_url)
    const { token } = await setting.signIn(wallet)
    expect((await setting.send('GET', answer.json.poll_url, { token })).json.status).toBe('pending')
    await setting.automine(true)
    await setting.chain.mine()
    expect((await setting.send('GET', answer.json.poll_url, { token })).json.status).toBe('credited')
    expect((await send(proof)).status).toBe(200)
    expect(await setting.transfers(wallet)).toHaveLength(1)
    expect(await setting.credits(wallet)).toEqual({ grants: 1, micro: AMOUNT })
  })
})

test('41 two authorizations of one wallet in one transaction of a contract are two payments, each of its own value', async () => {
  const wallet = await setting.wallet()
  const [one, two] = await Promise.all([
    setting.sign({ wallet, amount: 300_000n }),
    setting.sign({ wallet, amount: 700_000n }),
  ])
  await setting.automine(false)
  const batch = await setting.chain.deploy(batchAccount.bytecode)
  await setting.automine(true)
  const calls = [one, two].map((proof) => ({ to: setting.chain.token as Hex, data: carryOutCall(proof) as Hex }))
  const data = encodeFunctionData({ abi: batchAccount.abi, functionName: 'execute', args: [calls] })
  await setting.sent({ to: batch, data })
  const answers = await Promise.all([send(one), send(two, 1)])
  expect(answers.map(({ status, json }) => [status, json.amount_added])).toEqual([
    [200, 300_000],
    [200, 700_000],
  ])
  expect(new Set(answers.map(({ json }) => json.transaction_hash)).size).toBe(1)
  expect(await setting.credits(wallet)).toEqual({ grants: 2, micro: AMOUNT })
})

test('after all of it the ledger is whole', async () => {
  await setting.quiet()
  expect(await setting.audit()).toEqual([])
})

async function rowOf(wallet: { address: string }): Promise<string | undefined> {
  const [row] = await setting.database.sql<{ status: string }>('select status from x402_payments where payer = $1', [
    wallet.address.toLowerCase(),
  ])
  return row?.status
}
