import { expect, test } from 'vitest'
import { loadConfig, type Mode } from './config.ts'
import { describeConfig } from './describe.ts'
import type { RawEnvironment } from './environment.ts'
import { ConfigurationFault } from './problem.ts'

const model = `
providers: { local: { kind: openai-compatible, base_url: "http://127.0.0.1:1/v1" } }
models:
  - id: small
    name: Small
    context_length: 1000
    max_output_tokens: 100
    default_output_tokens: 50
    providers: [{ provider: local, model: small }]
    prices: [{ version: 1, effective_from: 2026-01-01T00:00:00Z, input_micro_per_m: 1, output_micro_per_m: 1 }]
`
const wired = {
  DATABASE_URL: 'postgres://localhost/farebox',
  FAREBOX_KEY_PEPPER: 'ab'.repeat(32),
  FAREBOX_PUBLIC_URL: 'https://api.example.com',
}

function load(oidc: string, given: { environment?: RawEnvironment; mode?: Mode } = {}) {
  const readFile = (path: string) => (path === 'farebox.yaml' ? `oidc: ${oidc}\n${model}` : undefined)
  const { environment = {}, mode = 'development' } = given
  const now = new Date('2026-06-01T00:00:00Z')
  return loadConfig({ environment: { ...wired, ...environment }, readFile, now, mode })
}

function problemsOf(...given: Parameters<typeof load>): string[] {
  try {
    load(...given)
    return []
  } catch (error) {
    if (!(error instanceof ConfigurationFault)) throw error
    return error.problems.map(({ where, problem }) => `${where}: ${problem}`)
  }
}

const google = '{ issuer: "https://accounts.google.com", client_id: a }'

test('without a word about it nobody signs in by OIDC, and registration is open', () => {
  expect(load('').config.oidc).toEqual({
    providers: {},
    requireInvitation: false,
    consoleUrl: undefined,
    supportContact: '',
  })
})

test('several providers are read, each with its secret from the environment and none in the configuration', () => {
  const file = `{ require_invitation: true, console_url: "https://c.example.com/x/", support_contact: help@example.com, providers: { google: ${google},
    acme: { issuer: "https://id.acme.example", client_id: b, client_secret_env: ACME_SECRET, scopes: [openid, profile], label: Acme } } }`
  const environment = { ACME_SECRET: 'planted' }
  const { config, secrets } = load(file, { environment, mode: 'production' })
  expect(config.oidc).toEqual({
    requireInvitation: true,
    consoleUrl: 'https://c.example.com/x',
    supportContact: 'help@example.com',
    providers: {
      google: {
        issuer: 'https://accounts.google.com',
        clientId: 'a',
        scopes: ['openid', 'email'],
        label: 'google',
      },
      acme: {
        issuer: 'https://id.acme.example',
        clientId: 'b',
        scopes: ['openid', 'profile'],
        label: 'Acme',
      },
    },
  })
  expect(secrets.oidcClientSecrets).toEqual({ acme: 'planted' })
  expect(JSON.stringify(config.oidc)).not.toContain('planted')
  expect(describeConfig(config, secrets)).not.toContain('planted')
  expect(describeConfig(config, secrets)).toMatch(/ {6}client_secret: set \(sha256:/)
})

test('an issuer in the clear is for loopback in development: production refuses it everywhere', () => {
  const at = (issuer: string) => `{ providers: { x: { issuer: "${issuer}", client_id: a } } }`
  for (const host of ['127.0.0.1:9', 'localhost', '[::1]:9']) {
    expect(problemsOf(at(`http://${host}`))).toEqual([])
    expect(problemsOf(at(`http://${host}`), { mode: 'production' })).toHaveLength(1)
  }
  expect(problemsOf(at('http://id.example.com'))).toEqual(['farebox.yaml:1: Identity provider `x`: it is not https.'])
  expect(problemsOf('{ console_url: "http://console.example.com" }')).toHaveLength(1)
})

test('the provider of the development economy cannot be configured anywhere', () => {
  for (const mode of ['development', 'production'] as const)
    expect(problemsOf(`{ providers: { dev: ${google} } }`, { mode })[0]).toContain('taken by')
})

test('a missing secret, a variable of our own and scopes without openid are refused by name', () => {
  const provider = (more: string) => `{ providers: { x: { issuer: "https://x.example", client_id: a, ${more} } } }`
  expect(problemsOf(provider('client_secret_env: NOT_SET'))[0]).toContain('`NOT_SET` is not set')
  expect(problemsOf(provider('client_secret_env: DATABASE_URL'))[0]).toContain('server itself')
  expect(problemsOf(provider('scopes: [email]'))[0]).toContain('`openid` is missing')
})
