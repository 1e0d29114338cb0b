import { expect, test } from 'vitest'
import { loadConfig } from './config.ts'
import { describeConfig } from './describe.ts'
import { ConfigurationFault } from './problem.ts'

const US = `0x${'1'.repeat(40)}`
const models = `providers: { local: { kind: openai-compatible, base_url: 'http://127.0.0.1:1/v1' } }
models:
  - id: small
    name: Small
    context_length: 1000
    max_output_tokens: 100
    default_output_tokens: 50
    providers: [{ provider: local, model: small }]
    prices: [{ version: 1, effective_from: 2026-01-01T00:00:00Z, input_micro_per_m: 1, output_micro_per_m: 2 }]
`
const required = `chain_id: 8453, network_name: Base, symbol: ETH, public_rpc_url: 'https://mainnet.base.org'`
const whole = {
  to: `pay_to_address: '${US}'`,
  nodes: `rpc_urls: ['http://a', 'http://b']`,
  rate: `rate: { kind: fixed, usd: '2500.5' }`,
}
const load = (change: Partial<typeof whole> & { more?: string } = {}, environment: Record<string, string> = {}) => {
  const parts = [required, ...Object.values({ ...whole, ...change })].filter((part) => part !== '')
  return loadConfig({
    environment: { FAREBOX_CONFIG: 'file', ...environment },
    readFile: () => `${models}payments: { axon: { ${parts.join(', ')} } }\n`,
    now: new Date('2026-06-01T00:00:00Z'),
    mode: 'development',
  })
}
const problemsOf = (...given: Parameters<typeof load>): string => {
  try {
    load(...given)
  } catch (error) {
    if (error instanceof ConfigurationFault) return error.message
    throw error
  }
  return ''
}
const http = (...sources: string[]) => `rate: { kind: http, sources: [${sources.join(', ')}] }`
const source = (address: string) => `{ ${address}, pointer: /data/price }`

test('the coin that is taken has defaults for everything that can have one, and its amounts are exact', () => {
  const { config } = load({ more: `min_topup_usd: '0.5'` })
  expect(config.payments.axon).toEqual({
    enabled: true,
    chainId: 8453,
    networkName: 'Base',
    symbol: 'ETH',
    payToAddress: US,
    retiredAddresses: [],
    publicRpcUrl: 'https://mainnet.base.org',
    explorerUrl: '',
    minTopupMicro: 500_000n,
    maxTopupMicro: 10_000_000_000n,
    unquoted: 'review',
    confirmations: { blocks: 10, blocksUpToMicro: 100_000_000n, safeUpToMicro: 1_000_000_000n },
    safeBlocks: 65,
    finalizedBlocks: 600,
    rate: { kind: 'fixed', rate: 2_500_500_000_000_000_000_000n, maxAgeMs: 120_000 },
  })
})

test('addresses of nodes and sources are kept with the secrets, and never shown', () => {
  const { config, secrets } = load(
    { nodes: 'rpc_urls_env: NODES', rate: http(source(`url: 'https://c/d'`), source('url_env: RATES')) },
    { NODES: 'https://a/key-1, https://b/key-2', RATES: 'https://e/key-3' },
  )
  expect(secrets.axon).toEqual({
    rpcUrls: ['https://a/key-1', 'https://b/key-2'],
    rateUrls: ['https://c/d', 'https://e/key-3'],
  })
  const text = describeConfig(config, secrets)
  expect(text).toMatch(/rate_urls:\n +- set \(sha256:/)
  expect(text).not.toMatch(/key-\d/)
})

test.each<[string, Parameters<typeof load>[0], RegExp]>([
  ['no node', { nodes: '' }, /there is no node to ask/],
  ['the same node twice', { nodes: `rpc_urls: ['http://a', 'http://a']` }, /a node is named twice/],
  ['a variable that is not set', { nodes: 'rpc_urls_env: NODES' }, /`NODES` is not set/],
  ['a recipient that is also retired', { more: `retired_addresses: ['${US}']` }, /its recipient is also retired/],
  ['a smallest top-up above the largest', { more: `max_topup_usd: '0.5'` }, /smallest top-up/],
  ['a smallest top-up of nothing', { more: `min_topup_usd: '0'` }, /smallest top-up/],
  ['a rate of nothing', { rate: `rate: { kind: fixed, usd: '0.0' }` }, /the rate is nothing/],
  ['a rate as a number', { rate: 'rate: { kind: fixed, usd: 2500 }' }, /a text/],
  ['one source', { rate: http(source(`url: 'https://c'`)) }, /The list has 1 entries/],
  ['the same source twice', { rate: http(source(`url: 'https://c'`), source(`url: 'https://c'`)) }, /named twice/],
  ['a source without an address', { rate: http(source(`url: 'https://c'`), '{ pointer: /a }') }, /no address, or two/],
  ['a kind that is none', { rate: 'rate: { kind: guess }' }, /There is no such kind/],
  ['no rate', { rate: '' }, /`rate` is missing/],
])('%s is refused', (_, change, message) => {
  expect(problemsOf(change)).toMatch(message)
})
