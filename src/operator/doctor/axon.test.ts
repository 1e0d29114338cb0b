import { afterAll, beforeAll, expect, test } from 'vitest'
import { testCoin, USD } from '../../../test/axon-setting.ts'
import { type TestChain, testChain } from '../../../test/chain.ts'
import type { AxonConfig } from '../../config/axon.ts'
import { loadConfig } from '../../config/config.ts'
import { shipped } from '../../config/shipped.fixture.ts'
import { systemClock } from '../../kernel/clock.ts'
import { checkAxon } from './axon.ts'

let chain: TestChain
beforeAll(async () => {
  chain = await testChain()
})
afterAll(() => chain.stop())

const check = (change: Partial<AxonConfig>, { rpcUrls = [chain.rpcUrl, `${chain.rpcUrl}/`], offline = false } = {}) => {
  const { config, secrets } = loadConfig({
    environment: {},
    readFile: () => shipped(),
    now: systemClock.now(),
    mode: 'development',
  })
  const settings = {
    config: { ...config, payments: { ...config.payments, axon: testCoin(chain, change) } },
    secrets: { ...secrets, axon: { rpcUrls, rateUrls: [] } },
    clock: systemClock,
  }
  return checkAxon(settings, { offline })
}
const found = async (...given: Parameters<typeof check>) =>
  (await check(...given)).map((line) => `${line.status} ${line.name}: ${line.found}`)

test('a coin that is what its settings say has nodes, recipient and rate in order', async () => {
  expect(await found({})).toEqual([
    `ok native token: AXON on the test chain, paid to 0x${'a0'.repeat(20)}`,
    'ok native rate: 2 dollars for one AXON, fixed',
  ])
})

test('another chain, a recipient that is a contract, a silent node, one node and an unreadable rate are found', async () => {
  expect(await found({ chainId: 8453 })).toContainEqual(
    expect.stringMatching(/^failed native token: .*on chain 31337, not 8453/),
  )
  expect(await found({ payToAddress: chain.token })).toContainEqual(expect.stringMatching(/^failed .*is a contract/))
  expect(await found({}, { rpcUrls: ['http://127.0.0.1:9'] })).toEqual([
    'failed native token: node 1 of the test chain cannot be reached',
    'warning native nodes: one node is asked: it is believed alone',
    'ok native rate: 2 dollars for one AXON, fixed',
  ])
  expect(await found({ rate: { kind: 'feed', address: chain.recipient, maxAgeMs: 1 } })).toContainEqual(
    expect.stringMatching(/^failed native rate: none can be read/),
  )
})

test('nothing is asked offline, and nothing is said where no coin is taken', async () => {
  expect(await found({ rate: { kind: 'fixed', rate: USD, maxAgeMs: 1 } }, { offline: true })).toEqual([
    'skipped native token: AXON on the test chain, not asked (--offline)',
  ])
})
