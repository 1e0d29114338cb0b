import { describe, expect, test } from 'vitest'
import { loadConfig } from './config.ts'
import { describeConfig } from './describe.ts'
import { ConfigurationFault } from './problem.ts'

const recipient = `0x${'1'.repeat(40)}`
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
const load = (asset: string, environment: Record<string, string> = {}) =>
  loadConfig({
    environment: { FAREBOX_CONFIG: 'file', ...environment },
    readFile: () => `${models}payments:\n  assets:\n    base_usdc: { ${asset} }\n`,
    now: new Date('2026-06-01T00:00:00Z'),
    mode: 'development',
  })
const problemsOf = (...given: Parameters<typeof load>): string => {
  try {
    load(...given)
  } catch (error) {
    if (error instanceof ConfigurationFault) return error.message
    throw error
  }
  return ''
}

describe('an accepted asset', () => {
  test('says what differs from its row, and nothing about what does not', () => {
    const { config } = load(
      `recipient: '${recipient}', rpc_urls: ['http://a', 'http://b'], rate_ppm: 900000, confirmations: { blocks: 20 }`,
    )
    expect(config.payments.assets.base_usdc).toEqual({
      recipient,
      retiredRecipients: [],
      enabled: true,
      ratePpm: 900_000n,
      confirmations: { blocks: 20 },
    })
  })

  test('has its nodes among the secrets, from the file and from the variable', () => {
    const asset = `recipient: '${recipient}', rpc_urls: ['http://a'], rpc_urls_env: NODES`
    const { config, secrets } = load(asset, { NODES: 'https://b/key-1, https://c/key-2' })
    expect(secrets.rpcUrls).toEqual({
      base_usdc: ['http://a', 'https://b/key-1', 'https://c/key-2'],
    })
    const text = describeConfig(config, secrets)
    expect(text).toMatch(/rpc_urls:\n +- set \(sha256:/)
    expect(text).not.toMatch(/key-1|key-2/)
  })

  test.each([
    ['no node', `recipient: '${recipient}'`, {}, /there is no node to ask/],
    ['a variable that is not set', `recipient: '${recipient}', rpc_urls_env: NODES`, {}, /`NODES` is not set/],
    ['the same node twice', `recipient: '${recipient}', rpc_urls: ['http://a', 'http://a']`, {}, /named twice/],
    [
      'a node that is no address',
      `recipient: '${recipient}', rpc_urls_env: NODES`,
      { NODES: 'postgres://me:secret@db' },
      /no http:\/\/ or https:\/\/ address/,
    ],
    ['an address without quotes', `recipient: ${recipient}, rpc_urls: ['http://a']`, {}, /a text/],
  ])('is refused with %s', (_, asset, environment, message) => {
    const problems = problemsOf(asset, environment)
    expect(problems).toMatch(message)
    expect(problems).not.toContain('secret')
  })
})
