import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Lie, type LyingNode, lyingNode } from '../../../test/lying-node.ts'
import { openTopUps, type TopUpSetting } from '../../../test/x402.ts'

let setting: TopUpSetting
let liar: LyingNode
beforeAll(async () => {
  setting = await openTopUps({
    rpcUrls: async (chain) => {
      liar = await lyingNode(chain.rpcUrl)
      return [chain.rpcUrl, liar.url]
    },
  })
})
beforeEach(() => {
  liar.lie = undefined
  setting.advance(31_000)
})
afterAll(async () => {
  await setting.stop()
  await liar.stop()
})

const TRUE = `0x${'1'.padStart(64, '0')}`
const lies: readonly (readonly [string, Lie])[] = [
  [
    'that every authorization is used',
    async ({ method, params }, honest) =>
      JSON.stringify(params).includes('0xe94a0102') ? TRUE : honest(method, ...params),
  ],
  [
    'that blocks are others',
    async ({ method, params }, honest) => {
      const answer = await honest(method, ...params)
      const isBlock = method === 'eth_getBlockByNumber' && params[0] !== 'latest' && answer !== null
      return isBlock ? { ...(answer as object), hash: TRUE } : answer
    },
  ],
]

test.each(lies)(
  'while one of two nodes says %s, nothing is credited; once they agree the same proof is',
  async (_, lie) => {
    const wallet = await setting.wallet()
    const proof = await setting.sign({ wallet })
    liar.lie = lie
    const asked = setting.topUp({ amount: 1_000_000n, headers: proof.headers })
    const doubtful = await Promise.race([asked, new Promise<'waits'>((resolve) => setTimeout(resolve, 1_000, 'waits'))])
    expect(await setting.credits(wallet)).toEqual({ grants: 0, micro: 0n })
    if (doubtful !== 'waits') expect(doubtful.status).toBe(503)
    liar.lie = undefined
    setting.advance(31_000)
    await asked
    expect((await setting.settled({ amount: 1_000_000n, headers: proof.headers })).status).toBe(200)
    expect(await setting.transfers(wallet)).toHaveLength(1)
    expect(await setting.credits(wallet)).toEqual({ grants: 1, micro: 1_000_000n })
  },
)
