import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type LyingNode, lyingNode } from '../../../test/lying-node.ts'
import { openTopUps, type TopUpAnswer, type TopUpSetting } from '../../../test/x402.ts'
import { eventually, type Proof } from '../../../test/x402-proofs.ts'

/** Long enough for a busy machine; each test waits for it once or twice. */
const RPC_TIMEOUT_MS = 1_000
const AMOUNT = 1_000_000n

let setting: TopUpSetting
let node: LyingNode
beforeAll(async () => {
  setting = await openTopUps({
    asset: { rpc_timeout_ms: RPC_TIMEOUT_MS },
    rpcUrls: async (chain) => {
      node = await lyingNode(chain.rpcUrl)
      return [node.url]
    },
  })
})
beforeEach(heal)
afterAll(async () => {
  heal()
  await setting.stop()
  await node.stop()
})

/** The node answers again, and is not left alone any more for its failures. */
function heal(): void {
  node.lie = undefined
  node.mode = 'answer'
  setting.advance(31_000)
}

/** Sends a proof as a client does that does what it is told: the same one again, as long as that is the answer. */
async function creditedBy(proof: Proof): Promise<TopUpAnswer> {
  for (;;) {
    const answer = await setting.settled({ amount: AMOUNT, headers: proof.headers })
    if (answer.json.retry_action !== 'retry_same_payment') return answer
    setting.advance(31_000)
  }
}

async function creditedOnce(proof: Proof, wallet: { address: string }): Promise<void> {
  expect((await creditedBy(proof)).status).toBe(200)
  expect(await setting.transfers(wallet)).toHaveLength(1)
  expect(await setting.credits(wallet)).toEqual({ grants: 1, micro: AMOUNT })
}

test.each(['hang', 'hang_in_body'] as const)(
  'a node that does not answer (%s) before anything is sent makes a 503; the same proof is credited once it heals',
  async (mode) => {
    const wallet = await setting.wallet()
    const proof = await setting.sign({ wallet })
    node.mode = mode
    const refused = await setting.topUp({ amount: AMOUNT, headers: proof.headers })
    expect(refused.status).toBe(503)
    expect(refused.json).toMatchObject({
      code: 'topup_unavailable',
      payment_state: 'unused',
      retry_action: 'retry_same_payment',
    })
    expect(await setting.transfers(wallet)).toEqual([])
    heal()
    await creditedOnce(proof, wallet)
  },
)

test('a node that hangs when it is given the transaction, before it took it: nothing is lost, and it is sent when it heals', async () => {
  const wallet = await setting.wallet()
  const proof = await setting.sign({ wallet })
  const given = hangingBroadcasts(() => undefined)
  const asks = setting.topUp({ amount: AMOUNT, headers: proof.headers })
  await eventually(() => given.count > 0, 'the transaction is given to the node')
  setting.advance(16_000)
  const { status, json } = await asks
  expect([status, json.payment_state, json.retry_action]).toEqual([202, 'in_flight', 'poll'])
  expect(await setting.credits(wallet)).toEqual({ grants: 0, micro: 0n })
  heal()
  await creditedOnce(proof, wallet)
})

test('a node that hangs after it took the transaction: it is credited from the chain, and sent by nobody else', async () => {
  const wallet = await setting.wallet()
  const proof = await setting.sign({ wallet })
  const given = hangingBroadcasts((take) => void take())
  const asks = setting.topUp({ amount: AMOUNT, headers: proof.headers })
  await eventually(async () => (await setting.transfers(wallet)).length > 0, 'the node took the transaction')
  expect(given.count).toBeGreaterThan(0)
  await asks
  heal()
  await creditedOnce(proof, wallet)
})

test('a node that hangs while the payment is on its way: 202, never 402, and credited once it heals', async () => {
  const wallet = await setting.wallet()
  const proof = await setting.sign({ wallet })
  await setting.automine(false)
  const asks = setting.topUp({ amount: AMOUNT, headers: proof.headers })
  const sent = `select from x402_payments where nonce = $1 and status = 'pending'`
  await eventually(async () => (await setting.database.sql(sent, [proof.authorization.nonce])).length > 0, 'it is sent')
  node.mode = 'hang'
  await setting.automine(true)
  await setting.chain.mine()
  setting.advance(16_000)
  const { status, json } = await asks
  expect([status, json.status, json.retry_action]).toEqual([202, 'pending', 'poll'])
  expect(await setting.credits(wallet)).toEqual({ grants: 0, micro: 0n })
  heal()
  await creditedOnce(proof, wallet)
})

test('after all of it the ledger is whole', async () => {
  heal()
  await setting.quiet()
  expect(await setting.audit()).toEqual([])
})

/** From now on whoever gives the node a transaction gets no answer; `take` is the honest way to take it. */
function hangingBroadcasts(then: (take: () => Promise<unknown>) => void): { count: number } {
  const given = { count: 0 }
  node.lie = ({ method, params }, honest) => {
    if (method !== 'eth_sendRawTransaction') return honest(method, ...params)
    given.count += 1
    then(() => honest(method, ...params))
    return new Promise(() => undefined)
  }
  return given
}
