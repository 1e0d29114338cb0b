import { createHash } from 'node:crypto'
import { stringify } from 'yaml'
import type { CapabilityConfig } from './capabilities.ts'
import type { Config, Secrets } from './config.ts'

/**
 * The settings in force as YAML, for `farebox config show`, with the words of farebox.yaml. A secret is only
 * `set (sha256:ab12…)`: enough to see whether two servers have the same, too little to guess it.
 */
export function describeConfig(config: Config, secrets: Secrets): string {
  const providers = Object.entries(config.providers).map(([name, provider]) => {
    if (provider.kind === 'demo') return [name, provider] as const
    // Values of headers are not meant to be secret, but are not ours to show.
    const headers = Object.fromEntries(
      Object.entries(provider.headers).map(([header, value]) => [header, shown(value)]),
    )
    return [name, { ...provider, headers, apiKey: shown(secrets.providerKeys[name]) }] as const
  })
  const assets = Object.entries(config.payments.assets).map(([id, asset]) => {
    const rpcUrls = (secrets.rpcUrls[id] ?? []).map(shown)
    return [id, { ...asset, rpcUrls }] as const
  })
  const identityProviders = Object.entries(config.oidc.providers).map(
    ([name, provider]) => [name, { ...provider, clientSecret: shown(secrets.oidcClientSecrets[name]) }] as const,
  )
  const { capabilities, ...rest } = config
  const { x402 } = config.payments
  const settings = {
    ...rest,
    providers: Object.fromEntries(providers),
    payments: {
      assets: Object.fromEntries(assets),
      x402: x402 && { ...x402, facilitatorKey: shown(secrets.facilitatorKey) },
      ...(config.payments.axon && { axon: { ...config.payments.axon, ...describedAxon(secrets) } }),
    },
    oidc: { ...config.oidc, providers: Object.fromEntries(identityProviders) },
  }
  const hidden = {
    databaseUrl: shown(secrets.databaseUrl),
    keyPepper: shown(secrets.keyPepper),
    relayerKey: shown(secrets.relayerKey),
  }
  const described = {
    ...(inWordsOfTheFile(settings) as object),
    capabilities: capabilities.map((capability) => describeCapability(capability, secrets)),
    secrets: inWordsOfTheFile(hidden),
  }
  return stringify(described, { lineWidth: 0 })
}

/** Versions stay as they were written: the keys of a JSON Schema are not ours. */
function describeCapability({ upstream, versions, ...rest }: CapabilityConfig, secrets: Secrets): object {
  const values = secrets.capabilityHeaders[rest.slug] ?? {}
  const hidden = (record: Readonly<Record<string, string>>, value: (name: string) => string | undefined): object =>
    Object.fromEntries(Object.keys(record).map((name) => [name, shown(value(name))]))
  return {
    ...(inWordsOfTheFile(rest) as object),
    upstream:
      upstream.kind === 'demo'
        ? upstream
        : {
            ...(inWordsOfTheFile(upstream) as object),
            headers: hidden(upstream.headers, (name) => upstream.headers[name]),
            headers_env: hidden(upstream.headersEnv, (name) => values[name]),
          },
    versions: versions.map(({ hash, descriptor }) => ({ hash, ...descriptor })),
  }
}

function describedAxon({ axon }: Secrets) {
  return { rpcUrls: axon.rpcUrls.map(shown), rateUrls: axon.rateUrls.map(shown) }
}

/** Tells whether a secret is set, and the first four hexadecimal digits of its hash. */
function shown(secret: string | Uint8Array | undefined): string {
  if (secret === undefined) return 'not set'
  return `set (sha256:${createHash('sha256').update(secret).digest('hex').slice(0, 4)}…)`
}

/** Snake case keys, times as RFC 3339, exact integers. Names of providers and headers hold no capitals, so they stay. */
function inWordsOfTheFile(value: unknown): unknown {
  if (value === undefined) return 'not set'
  if (value instanceof Date) return value.toISOString()
  if (Array.isArray(value)) return value.map(inWordsOfTheFile)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([key, member]) => [snakeCase(key), inWordsOfTheFile(member)])
  return Object.fromEntries(entries)
}

function snakeCase(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
