import { fileURLToPath } from 'node:url'
import type { Microcredits } from '../kernel/money.ts'
import { type AxonSecrets, readAxon } from './axon.ts'
import { type CapabilityConfig, readCapabilities } from './capabilities.ts'
import { contradictions } from './contradictions.ts'
import { type Environment, type RawEnvironment, readEnvironment, reason } from './environment.ts'
import { readConfigurationFile } from './file.ts'
import { type Limits, readLimits } from './limits.ts'
import { type MediaModelConfig, readMediaModels } from './media-models.ts'
import { type ModelConfig, readModels } from './models.ts'
import { type OidcConfig, readOidc } from './oidc.ts'
import { isLoopback } from './parsers.ts'
import { type PaymentsConfig, readPayments } from './payments.ts'
import { ConfigurationFault, type Problem } from './problem.ts'
import { type ProviderConfig, readProviders } from './providers.ts'
import type { ReadFile } from './read-file.ts'
import { type AccessKey, type OutgoingConfig, type ResultsConfig, readResults } from './results.ts'
import { readX402 } from './x402.ts'

/** `development` is the economy of `npm start`, `production` is `farebox serve`. */
export type Mode = 'development' | 'production'

/** Everything the server is told, without a secret. Deeply frozen. */
export interface Config {
  readonly mode: Mode
  readonly host: string
  /** 0: any free port. */
  readonly port: number
  /** undefined: /metrics on the main port. */
  readonly metricsPort: number | undefined
  /** The address clients use, without a trailing slash. undefined: only known once the server listens, because its port is 0. */
  readonly publicUrl: string | undefined
  readonly dataFolder: string
  /** The file that was read. */
  readonly configurationFile: string
  readonly logLevel: Environment['LOG_LEVEL']
  /** Networks in CIDR notation, or single addresses. */
  readonly trustedProxies: readonly string[]
  readonly drainMs: number
  /** undefined: the host's name and the process id. */
  readonly processName: string | undefined
  /** Decisions on a payment of more than this, in microcredits, take two operators. */
  readonly reviewAloneMicro: Microcredits
  readonly allowDemo: boolean
  /** By name; without prototype. */
  readonly providers: Readonly<Record<string, ProviderConfig>>
  readonly models: readonly ModelConfig[]
  readonly capabilities: readonly CapabilityConfig[]
  readonly mcp: McpConfig
  /** What makes pictures and films. */
  readonly mediaModels: readonly MediaModelConfig[]
  readonly payments: PaymentsConfig
  /** How owners sign in. */
  readonly oidc: OidcConfig
  readonly results: ResultsConfig
  readonly outgoing: OutgoingConfig
  /** Below which balance an account is told, in microcredits; 0 tells nobody. */
  readonly balanceLowMicro: bigint
  readonly limits: Limits
}

/** Who may call /mcp besides loopback and the public address. */
export interface McpConfig {
  readonly allowedHosts: readonly string[]
  readonly allowedOrigins: readonly string[]
}

/** What must never be logged, shown or stored. Kept apart from Config so that no dump of settings can hold it. */
export interface Secrets {
  /** undefined in development: the embedded database. */
  readonly databaseUrl: string | undefined
  /** undefined in development: made once and kept in the data folder. */
  readonly keyPepper: Buffer | undefined
  /** By provider name; absent for providers without a key. */
  readonly providerKeys: Readonly<Record<string, string>>
  /** Secret headers of capabilities' upstreams, by slug and header name; without prototype. */
  readonly capabilityHeaders: Readonly<Record<string, Readonly<Record<string, string>>>>
  /** What callbacks are signed with, by provider name; absent for providers without. */
  readonly callbackSecrets: Readonly<Record<string, string>>
  /** Addresses of nodes by asset id: they often hold keys. */
  readonly rpcUrls: Readonly<Record<string, readonly string[]>>
  /** Nodes and rate sources of the native token. */
  readonly axon: AxonSecrets
  /** By identity provider name; absent for public clients. */
  readonly oidcClientSecrets: Readonly<Record<string, string>>
  /** undefined: results are kept in the data folder. */
  readonly resultsKey: AccessKey | undefined
  /** The private key of the account that sends x402 payments. */
  readonly relayerKey: string | undefined
  readonly facilitatorKey: string | undefined
}

/** The configuration file that comes with the package: the demo provider and its models. */
export const packagedConfigurationFile = fileURLToPath(new URL('../../farebox.yaml', import.meta.url))

/**
 * Reads environment and configuration file into the settings of a server. `now` decides which prices are in force.
 * Throws one ConfigurationFault with everything that is wrong.
 */
export function loadConfig({
  environment: raw,
  readFile,
  now,
  mode,
}: {
  environment: RawEnvironment
  readFile: ReadFile
  now: Date
  mode: Mode
}): { config: Config; secrets: Secrets } {
  const { environment, problems: environmentProblems } = readEnvironment(raw, readFile)
  const problems = [...environmentProblems]
  const source = openConfigurationFile(environment, readFile)
  if ('problem' in source) throw new ConfigurationFault([...problems, source])

  const file = readConfigurationFile(source.text, source.path)
  const providers = readProviders(file, raw, readFile)
  const models = readModels(file, now)
  const capabilities = readCapabilities(file, raw, readFile)
  const media = readMediaModels(file, now)
  const payments = readPayments(file, raw, readFile)
  const axon = readAxon(file, raw, readFile)
  const x402 = readX402(file, raw, readFile)
  const oidc = readOidc({ file, raw, readFile, development: mode === 'development' })
  const results = readResults(file, raw, { readFile, development: mode === 'development' })
  const host = environment.HOST ?? (mode === 'development' ? '127.0.0.1' : '0.0.0.0')
  const parts = [file, providers, models, media, capabilities, payments, axon, x402, oidc, results]
  problems.push(...parts.flatMap((part) => part.problems))
  const mentioned = new Set(problems.map(({ where }) => where))
  problems.push(...contradictions({ mode, host, environment, file, mentioned }))
  if (problems.length > 0) throw new ConfigurationFault(problems)

  const config: Config = {
    mode,
    host,
    port: environment.PORT,
    metricsPort: environment.FAREBOX_METRICS_PORT,
    publicUrl: environment.FAREBOX_PUBLIC_URL ?? localAddress(host, environment.PORT),
    dataFolder: environment.FAREBOX_DATA,
    configurationFile: source.path,
    logLevel: environment.LOG_LEVEL,
    trustedProxies: environment.FAREBOX_TRUSTED_PROXIES,
    drainMs: environment.FAREBOX_DRAIN_MS,
    processName: environment.FAREBOX_PROCESS_NAME,
    reviewAloneMicro: environment.FAREBOX_REVIEW_ALONE_CREDITS,
    allowDemo: file.content.allow_demo,
    providers: providers.providers,
    models: models.models,
    capabilities: capabilities.capabilities,
    mcp: { allowedHosts: file.content.mcp.allowed_hosts, allowedOrigins: file.content.mcp.allowed_origins },
    mediaModels: media.mediaModels,
    payments: { ...payments.payments, axon: axon.axon, x402: x402.settings },
    oidc: oidc.oidc,
    results: results.results,
    outgoing: results.outgoing,
    balanceLowMicro: BigInt(file.content.credits.balance_low_micro),
    limits: readLimits(file, mode),
  }
  return {
    config: deeplyFrozen(config),
    secrets: Object.freeze(gathered(environment, { providers, capabilities, payments, axon, x402, oidc, results })),
  }
}

/** The secrets of all parts, in one place. */
function gathered(
  environment: Environment,
  parts: {
    readonly providers: Pick<ReturnType<typeof readProviders>, 'providerKeys' | 'callbackSecrets'>
    readonly capabilities: Pick<ReturnType<typeof readCapabilities>, 'capabilityHeaders'>
    readonly payments: Pick<ReturnType<typeof readPayments>, 'rpcUrls'>
    readonly axon: Pick<ReturnType<typeof readAxon>, 'secrets'>
    readonly x402: Pick<ReturnType<typeof readX402>, 'facilitatorKey'>
    readonly oidc: Pick<ReturnType<typeof readOidc>, 'clientSecrets'>
    readonly results: Pick<ReturnType<typeof readResults>, 'accessKey'>
  },
): Secrets {
  return {
    databaseUrl: environment.DATABASE_URL,
    keyPepper: environment.FAREBOX_KEY_PEPPER,
    providerKeys: parts.providers.providerKeys,
    capabilityHeaders: parts.capabilities.capabilityHeaders,
    callbackSecrets: parts.providers.callbackSecrets,
    rpcUrls: parts.payments.rpcUrls,
    axon: parts.axon.secrets,
    oidcClientSecrets: parts.oidc.clientSecrets,
    resultsKey: parts.results.accessKey,
    relayerKey: environment.FAREBOX_RELAYER_KEY,
    facilitatorKey: parts.x402.facilitatorKey,
  }
}

function openConfigurationFile(environment: Environment, readFile: ReadFile): { path: string; text: string } | Problem {
  const named = environment.FAREBOX_CONFIG
  for (const path of named === undefined ? ['farebox.yaml', packagedConfigurationFile] : [named]) {
    try {
      const text = readFile(path)
      if (text !== undefined) return { path, text }
    } catch (error) {
      return {
        where: path,
        problem: `The file cannot be read (${reason(error)}).`,
        fix: 'Let the server read it.',
      }
    }
  }
  const where = named === undefined ? packagedConfigurationFile : 'FAREBOX_CONFIG'
  return {
    where,
    problem: `There is no file ${named ?? packagedConfigurationFile}.`,
    fix: 'Correct the path, or install the package again.',
  }
}

/** How this machine reaches a server on `host`; undefined while the port is not known. */
function localAddress(host: string, port: number): string | undefined {
  if (port === 0) return undefined
  const name = isLoopback(host) ? host : 'localhost'
  return `http://${name === '::1' ? '[::1]' : name}:${port}`
}

/** Freezes a value and all it holds. A Date keeps its setters, which nothing calls. */
function deeplyFrozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const member of Object.values(value)) deeplyFrozen(member)
  }
  return value
}
