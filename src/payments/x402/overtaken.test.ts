import { afterAll, beforeAll, expect, test } from 'vitest'
import { type LyingNode, lyingNode } from '../../../test/lying-node.ts'
import { openTopUps, type TopUpSetting } from '../../../test/x402.ts'

const AMOUNT = 1_000_000n

let setting: TopUpSetting
let node: LyingNode
beforeAll(async () => {
  setting = await openTopUps({
    // answers are held back here for as long as it takes
    asset: { rpc_timeout_ms: 60_000 },
    rpcUrls: async (chain) => {
      node = await lyingNode(chain.rpcUrl)
      return [node.url]
    },
  })
})
afterAll(async () => {
  await setting.stop()
  await node.stop()
})

/** Does something else first when a transfer is tried for the first time from now on. */
function beforeTheNextTry(work: () => Promise<unknown>): void {
  let done = false
  node.lie = async ({ method, params }, honest) => {
    if (method === 'eth_estimateGas' && !done) {
      done = true
      await work()
    }
    return honest(method, ...params)
  }
}

test.each([
  ['holds more than that', 100_000_000n],
  ['then holds nothing', AMOUNT],
])(
  'a copy of a proof that is carried out while this one is looked at, by a wallet that %s, gets the answer of the first, never a 402',
  async (_, tokens) => {
    const wallet = await setting.wallet(tokens)
    const proof = await setting.sign({ wallet })
    const send = () => setting.settled({ amount: AMOUNT, headers: proof.headers })
    let first: Awaited<ReturnType<typeof send>> | undefined
    beforeTheNextTry(async () => {
      first = await send()
    })
    const second = await send()
    expect([first?.status, second.status]).toEqual([200, 200])
    expect(second.json).toEqual(first?.json)
    expect(await setting.transfers(wallet)).toHaveLength(1)
    expect(await setting.credits(wallet)).toEqual({ grants: 1, micro: AMOUNT })
  },
)

test('one that somebody else carries out while it is looked at is credited, never answered with a 402', async () => {
  const wallet = await setting.wallet(AMOUNT)
  const proof = await setting.sign({ wallet })
  let txHash: string | undefined
  beforeTheNextTry(async () => {
    txHash = await setting.carryOut(proof)
  })
  const { status, json } = await setting.settled({ amount: AMOUNT, headers: proof.headers })
  expect([status, json.transaction_hash]).toEqual([200, txHash])
  expect(await setting.transfers(wallet)).toHaveLength(1)
  expect(await setting.credits(wallet)).toEqual({ grants: 1, micro: AMOUNT })
})

test('and what cannot be carried out is a 402 as before', async () => {
  node.lie = undefined
  const wallet = await setting.wallet(0n)
  const proof = await setting.sign({ wallet })
  const { status, json } = await setting.topUp({ amount: AMOUNT, headers: proof.headers })
  expect([status, json.reason]).toEqual([402, 'insufficient_funds'])
  expect(await setting.audit()).toEqual([])
})
