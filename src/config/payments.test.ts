import { mnemonicToAccount } from 'viem/accounts'
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

describe('top-ups by x402', () => {
  const file = (x402: string): string =>
    `${models}payments:\n  assets: { base_usdc: { recipient: '${recipient}', rpc_urls: ['http://a'] } }\n  x402: ${x402}\n`
  const wired = { HOST: '127.0.0.1', DATABASE_URL: 'postgres://db/x', FAREBOX_KEY_PEPPER: 'ab'.repeat(32) }
  const problems = (x402: string, environment: Record<string, string> = {}): string => {
    try {
      loadConfig({
        environment: { FAREBOX_CONFIG: 'file', ...wired, ...environment },
        readFile: (path) => (path === 'key' ? `${'7'.repeat(64)}\n` : file(x402)),
        now: new Date('2026-06-01T00:00:00Z'),
        mode: 'production',
      })
    } catch (error) {
      if (error instanceof ConfigurationFault) return error.message
      throw error
    }
    return ''
  }

  test('need a relayer key, from the variable or from a file, unless a facilitator sends', () => {
    expect(problems('{ asset: base_usdc }')).toMatch(/FAREBOX_RELAYER_KEY: It is not set/)
    expect(problems('{ asset: base_usdc }', { FAREBOX_RELAYER_KEY: '7'.repeat(64) })).toBe('')
    expect(problems('{ asset: base_usdc }', { FAREBOX_RELAYER_KEY_FILE: 'key' })).toBe('')
    expect(problems(`{ asset: base_usdc, facilitator: { url: 'https://f' } }`)).toBe('')
  })

  test('refuse a key that everybody knows, and never show what a wrong one was', () => {
    const mnemonic = 'test test test test test test test test test test test junk'
    const wellKnown = Array.from({ length: 10 }, (_, addressIndex) =>
      Buffer.from(mnemonicToAccount(mnemonic, { addressIndex }).getHdKey().privateKey ?? []).toString('hex'),
    )
    for (const key of [...wellKnown, `0x${'1'.padStart(64, '0')}`])
      expect(problems('{ asset: base_usdc }', { FAREBOX_RELAYER_KEY: key })).toMatch(/Everybody knows this key/)
    const short = problems('{ asset: base_usdc }', { FAREBOX_RELAYER_KEY: '0x1234planted' })
    expect(short).toMatch(/32 bytes as hex/)
    expect(short).not.toContain('planted')
  })

  test('are refused with another asset than an accepted one, crossed limits, or a facilitator whose key is not set', () => {
    const key = { FAREBOX_RELAYER_KEY: '7'.repeat(64) }
    expect(problems('{ asset: other }', key)).toMatch(/`other` is not among the accepted assets/)
    expect(problems('{ asset: base_usdc, min_amount_micro: 3, max_amount_micro: 2 }', key)).toMatch(
      /larger than the largest/,
    )
    expect(problems(`{ asset: base_usdc, facilitator: { url: 'https://f', api_key_env: NOWHERE } }`)).toMatch(
      /`NOWHERE` is not set/,
    )
  })
})
