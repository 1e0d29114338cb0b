import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { transferCall } from '../../../../test/chain.ts'
import { type LyingNode, lyingNode, RpcError } from '../../../../test/lying-node.ts'
import { stranger } from '../../../../test/payment-setting.ts'
import { openTopUps, type TopUpSetting } from '../../../../test/x402.ts'
import { eventually, mint, type Proof } from '../../../../test/x402-proofs.ts'

const key = generatePrivateKey()
const RELAYER = privateKeyToAddress(key).toLowerCase()
const AMOUNT = 1_000_000n
const GWEI = 10n ** 9n
const ETHER = 10n ** 18n

let setting: TopUpSetting
let node: LyingNode
beforeAll(async () => {
  setting = await openTopUps({
    relayerKey: key,
    rpcUrls: async (chain) => {
      node = await lyingNode(chain.rpcUrl)
      return [node.url]
    },
  })
})
beforeEach(async () => {
  node.lie = undefined
  node.mode = 'answer'
  await setting.automine(true)
  await balance(RELAYER, ETHER)
  await baseFee(GWEI)
  // circuit breakers that a test before opened have rested
  setting.advance(31_000)
})
afterAll(async () => {
  await setting.stop()
  await node.stop()
})

const balance = (address: string, wei: bigint) =>
  setting.chain.rpc('anvil_setBalance', address, `0x${wei.toString(16)}`)
/** What a unit of gas costs from the next block on. */
async function baseFee(wei: bigint): Promise<void> {
  await setting.chain.rpc('anvil_setNextBlockBaseFeePerGas', `0x${wei.toString(16)}`)
  await setting.chain.mine()
}
const ask = (proof: Proof) => setting.topUp({ amount: proof.authorization.value, headers: proof.headers })
const settled = (proof: Proof) => setting.settled({ amount: proof.authorization.value, headers: proof.headers })

type Transaction = { tx_hash: string; nonce: bigint; max_fee_wei: string; sent: boolean }
const transactionsOf = ({ authorization }: Proof): Promise<Transaction[]> =>
  setting.database.sql<Transaction>(
    `select t.tx_hash, t.nonce, t.max_fee_wei, t.sent_at is not null as sent from relayer_transactions t
     join x402_payments p on p.id = t.payment_id where p.nonce = $1 order by t.id`,
    [authorization.nonce],
  )
async function rowOf({ authorization }: Proof): Promise<{ status: string; reason: string | null } | undefined> {
  const [row] = await setting.database.sql<{ status: string; reason: string | null }>(
    'select status, reason from x402_payments where nonce = $1',
    [authorization.nonce],
  )
  return row
}
async function creditedOnce(proof: Proof): Promise<void> {
  const wallet = { address: proof.authorization.payer }
  expect(await setting.transfers(wallet)).toHaveLength(1)
  expect(await setting.credits(wallet)).toEqual({ grants: 1, micro: AMOUNT })
}
/** 503, and no trace of the payment. */
async function refusedUnsent(proof: Proof): Promise<void> {
  const { status, json, headers } = await ask(proof)
  expect([status, json.code, json.retry_action]).toEqual([503, 'topup_unavailable', 'retry_same_payment'])
  expect(headers.get('retry-after')).toBe('2')
  expect(await rowOf(proof)).toBeUndefined()
}

test('40 without gas money nothing is stored or sent, which /readyz says; the same proof works once there is some', async () => {
  await balance(RELAYER, 10_000n)
  const proof = await setting.sign({ wallet: await setting.wallet() })
  await refusedUnsent(proof)
  await eventually(async () => {
    const { checks } = (await setting.send('GET', '/readyz')).json
    return !checks.x402.ok && /gas money lasts for 0 payments/.test(checks.x402.detail)
  }, 'the alarm is raised')
  const metrics = (await setting.send('GET', '/metrics')).json
  expect(metrics).toMatch(/^farebox_relayer_payments_left 0$/m)
  await balance(RELAYER, ETHER)
  expect((await settled(proof)).status).toBe(200)
  await creditedOnce(proof)
})

test('above the operator’s price for gas nothing is sent; the same proof works when gas is cheaper', async () => {
  await baseFee(2_000n * GWEI)
  const proof = await setting.sign({ wallet: await setting.wallet() })
  await refusedUnsent(proof)
  await baseFee(GWEI)
  expect((await settled(proof)).status).toBe(200)
  await creditedOnce(proof)
})

test.each(['too_many_requests', 'not_json'] as const)(
  'a node that answers %j before anything is sent makes a 503, and the same proof works when it heals',
  async (mode) => {
    const proof = await setting.sign({ wallet: await setting.wallet() })
    node.mode = mode
    await refusedUnsent(proof)
    node.mode = 'answer'
    setting.advance(31_000)
    expect((await settled(proof)).status).toBe(200)
    await creditedOnce(proof)
  },
)

test('a node that takes no transaction makes a 202: what is stored is sent when it heals', async () => {
  const proof = await setting.sign({ wallet: await setting.wallet() })
  node.lie = async ({ method, params }, honest) => {
    if (method === 'eth_sendRawTransaction') throw new RpcError(-32_000, 'not now')
    return honest(method, ...params)
  }
  const asked = ask(proof)
  await eventually(async () => (await transactionsOf(proof)).some(({ sent }) => sent), 'it was tried')
  setting.advance(16_000)
  const { status, json } = await asked
  expect([status, json.status, json.payment_state]).toEqual([202, 'awaiting_settlement', 'in_flight'])
  node.lie = undefined
  setting.advance(31_000)
  expect((await settled(proof)).status).toBe(200)
  expect(new Set((await transactionsOf(proof)).map(({ nonce }) => nonce)).size).toBe(1)
  await creditedOnce(proof)
})

test('a node that falls silent when it has taken the transaction is found to have taken it', async () => {
  const proof = await setting.sign({ wallet: await setting.wallet() })
  node.lie = async ({ method, params }, honest) => {
    const answer = await honest(method, ...params)
    if (method === 'eth_sendRawTransaction') throw new Error('the answer is lost')
    return answer
  }
  expect((await settled(proof)).status).toBe(200)
  expect(new Set((await transactionsOf(proof)).map(({ nonce }) => nonce)).size).toBe(1)
  await creditedOnce(proof)
})

test('a transaction that gas became too dear for is replaced by a dearer one, and pays once', async () => {
  const proof = await setting.sign({ wallet: await setting.wallet() })
  await setting.automine(false)
  const asked = settled(proof)
  await eventually(async () => (await rowOf(proof))?.status === 'pending', 'it waits for a block')
  await baseFee(50n * GWEI)
  setting.advance(35_000)
  await eventually(
    async () => (await transactionsOf(proof)).filter(({ sent }) => sent).length === 2,
    'a dearer one is sent',
  )
  const [first, second] = await transactionsOf(proof)
  expect(second?.nonce).toBe(first?.nonce)
  expect(BigInt(second?.max_fee_wei ?? 0)).toBeGreaterThan(50n * GWEI)
  await setting.automine(true)
  await setting.chain.mine()
  expect((await asked).json.transaction_hash).toBe(second?.tx_hash)
  await creditedOnce(proof)
})

test('an account nonce that somebody else used with the relayer’s key costs a new transaction, not the payment', async () => {
  const proof = await setting.sign({ wallet: await setting.wallet() })
  await setting.automine(false)
  const asked = settled(proof)
  await eventually(async () => (await transactionsOf(proof)).some(({ sent }) => sent), 'it waits for a block')
  const [ours] = await transactionsOf(proof)
  await setting.chain.rpc('anvil_impersonateAccount', RELAYER)
  const nonce = `0x${ours?.nonce.toString(16)}`
  await setting.chain.send({
    from: RELAYER,
    to: stranger(),
    value: '0x1',
    nonce,
    gasPrice: '0x174876e800',
    gas: '0x5208',
  })
  await setting.chain.mine()
  await setting.automine(true)
  await setting.chain.mine()
  expect((await asked).status).toBe(200)
  expect(new Set((await transactionsOf(proof)).map(({ nonce }) => nonce)).size).toBe(2)
  await creditedOnce(proof)
})

test('an authorization that ended unused is failed by the chain’s own time, and says that paying again is safe', async () => {
  const wallet = await setting.wallet()
  const proof = await setting.sign({ wallet })
  await setting.automine(false)
  const asked = ask(proof)
  await eventually(async () => (await rowOf(proof))?.status === 'pending', 'it waits for a block')
  setting.advance(16_000)
  expect((await asked).status).toBe(202)
  await setting.chain.rpc('evm_setNextBlockTimestamp', Number(proof.authorization.validBefore) + 1)
  await setting.chain.mine()
  await eventually(async () => (await rowOf(proof))?.status === 'failed', 'it can land no more')
  const { status, json } = await ask(proof)
  expect([status, json.code, json.retry_action, json.payment_state]).toEqual([
    402,
    'payment_rejected',
    'resign',
    'unused',
  ])
  expect(await setting.transfers(wallet)).toEqual([])
  await setting.automine(true)
})

test('42 a payment that a reorganisation takes away after its credit is flagged, and restored without a second credit', async () => {
  const wallet = await setting.wallet()
  await balance(wallet.address, ETHER)
  const before = await setting.chain.rpc('evm_snapshot')
  const usual = await setting.sign({ wallet })
  const proof = await setting.sign({ wallet, validBefore: usual.authorization.validBefore + 500n })
  expect((await settled(proof)).status).toBe(200)
  await setting.automine(false)
  await setting.chain.rpc('evm_revert', before)
  // on the other branch the wallet's tokens are gone first, so the same transaction fails there
  await setting.chain.rpc('anvil_impersonateAccount', wallet.address)
  const rescue = stranger()
  await setting.chain.send({
    from: wallet.address,
    to: setting.chain.token,
    data: transferCall(rescue, 100_000_000n),
    gasPrice: '0x174876e800',
  })
  await setting.chain.mine(6)
  setting.advance(21_000)
  await eventually(async () => (await rowOf(proof))?.reason === 'reorganised_after_credit', 'it is flagged')
  expect((await rowOf(proof))?.status).toBe('review_required')
  await setting.automine(true)
  await mint(setting.chain, wallet.address, AMOUNT)
  await eventually(async () => {
    // the next look, and the next attempt
    setting.advance(21_000)
    await new Promise((resolve) => setTimeout(resolve, 200))
    return (await rowOf(proof))?.status === 'credited'
  }, 'the transfer is back')
  expect(await setting.credits(wallet)).toEqual({ grants: 1, micro: AMOUNT })
})

test('after all of it the ledger is whole', async () => {
  expect(await setting.audit()).toEqual([])
})
