import { fileURLToPath } from 'node:url'
import { type AxonSecrets, readAxon } from './axon.ts'
import { type Environment, type RawEnvironment, readEnvironment, reason } from './environment.ts'
import { type CheckedFile, readConfigurationFile } from './file.ts'
import { type ModelConfig, readModels } from './models.ts'
import { type OidcConfig, readOidc } from './oidc.ts'
import { isLoopback } from './parsers.ts'
import { type PaymentsConfig, readPayments } from './payments.ts'
import { ConfigurationFault, type Problem } from './problem.ts'
import { type ProviderConfig, readProviders } from './providers.ts'
import type { ReadFile } from './read-file.ts'

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
  readonly allowDemo: boolean
  /** By name; without prototype. */
  readonly providers: Readonly<Record<string, ProviderConfig>>
  readonly models: readonly ModelConfig[]
  readonly payments: PaymentsConfig
  /** How owners sign in. */
  readonly oidc: OidcConfig
  /** Below which balance an account is told, in microcredits; 0 tells nobody. */
  readonly balanceLowMicro: bigint
  readonly limits: Limits
}

/** What bounds the load one server takes. */
export interface Limits {
  readonly requestsPerMinutePerCredential: number
  readonly authRequestsPerMinutePerAddress: number
  readonly topupRequestsPerMinutePerAddress: number
  /** undefined: no bound but memory. */
  readonly concurrentStreams: number | undefined
  readonly queueOperationsMax: number
  readonly bodyBytes: number
  readonly chatBodyBytes: number
}

/** What must never be logged, shown or stored. Kept apart from Config so that no dump of settings can hold it. */
export interface Secrets {
  /** undefined in development: the embedded database. */
  readonly databaseUrl: string | undefined
  /** undefined in development: made once and kept in the data folder. */
  readonly keyPepper: Buffer | undefined
  /** By provider name; absent for providers without a key. */
  readonly providerKeys: Readonly<Record<string, string>>
  /** Addresses of nodes by asset id: they often hold keys. */
  readonly rpcUrls: Readonly<Record<string, readonly string[]>>
  /** Nodes and rate sources of the native token. */
  readonly axon: AxonSecrets
  /** By identity provider name; absent for public clients. */
  readonly oidcClientSecrets: Readonly<Record<string, string>>
}

/** The configuration file that comes with the package: the demo provider and its models. */
export const packagedConfigurationFile = fileURLToPath(new URL('../../farebox.yaml', import.meta.url))

/** Requests per minute where the file says nothing (decisions 0): what a public server takes, and what a developer's own machine takes. */
const requestsPerMinute = {
  production: { credential: 600, auth: 60, topup: 10 },
  development: { credential: 60_000, auth: 60_000, topup: 60_000 },
} as const satisfies Record<Mode, object>

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
  const payments = readPayments(file, raw, readFile)
  const axon = readAxon(file, raw, readFile)
  const oidc = readOidc({ file, raw, readFile, development: mode === 'development' })
  const host = environment.HOST ?? (mode === 'development' ? '127.0.0.1' : '0.0.0.0')
  const parts = [file, providers, models, payments, axon, oidc]
  problems.push(...parts.flatMap((part) => part.problems))
  problems.push(
    ...contradictions({
      mode,
      host,
      environment,
      file,
      mentioned: new Set(problems.map(({ where }) => where)),
    }),
  )
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
    allowDemo: file.content.allow_demo,
    providers: providers.providers,
    models: models.models,
    payments: { ...payments.payments, axon: axon.axon },
    oidc: oidc.oidc,
    balanceLowMicro: BigInt(file.content.credits.balance_low_micro),
    limits: readLimits(file, mode),
  }
  const secrets: Secrets = {
    databaseUrl: environment.DATABASE_URL,
    keyPepper: environment.FAREBOX_KEY_PEPPER,
    providerKeys: providers.providerKeys,
    rpcUrls: payments.rpcUrls,
    axon: axon.secrets,
    oidcClientSecrets: oidc.clientSecrets,
  }
  return { config: deeplyFrozen(config), secrets: Object.freeze(secrets) }
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

interface Situation {
  readonly mode: Mode
  readonly host: string
  readonly environment: Environment
  readonly file: CheckedFile
  /** Where a problem is known already: a value that could not be read is not called missing too. */
  readonly mentioned: ReadonlySet<string>
}

/** Settings that are fine one by one and wrong together. */
function contradictions({ mode, host, environment, file, mentioned }: Situation): Problem[] {
  const problems: Problem[] = []
  const refuse = (where: string, problem: string, fix: string) => {
    if (!mentioned.has(where) && !mentioned.has(`${where}_FILE`)) problems.push({ where, problem, fix })
  }
  const { PORT: port, FAREBOX_METRICS_PORT: metricsPort, FAREBOX_PUBLIC_URL: publicUrl } = environment
  if (metricsPort !== undefined && metricsPort === port) {
    refuse('FAREBOX_METRICS_PORT', `It is ${port}, like PORT.`, 'Take another port, or unset it.')
  }
  if (mode === 'development') {
    if (environment.NODE_ENV === 'production') {
      refuse(
        'NODE_ENV',
        'It is production, but this is the development economy with well-known keys.',
        'Run `farebox serve`, or unset NODE_ENV.',
      )
    }
    return problems
  }
  if (!isLoopback(host) && !publicUrl?.startsWith('https://')) {
    refuse(
      'FAREBOX_PUBLIC_URL',
      publicUrl === undefined ? 'It is not set.' : 'It is not https: keys would travel in the clear.',
      'Set the https:// address that clients use, or HOST=127.0.0.1 for this machine only.',
    )
  }
  if (environment.DATABASE_URL === undefined) {
    refuse(
      'DATABASE_URL',
      'It is not set.',
      'Set the address of a PostgreSQL database, or DATABASE_URL_FILE. The embedded one is for development.',
    )
  }
  if (environment.FAREBOX_KEY_PEPPER === undefined) {
    refuse(
      'FAREBOX_KEY_PEPPER',
      'It is not set.',
      'Set it once to the output of `openssl rand -hex 32`, or FAREBOX_KEY_PEPPER_FILE, and keep it.',
    )
  }
  if (!file.content.allow_demo) problems.push(...demoOffers(file))
  return problems
}

/** Demo providers and models: made-up answers that would be charged for. */
function demoOffers(file: CheckedFile): Problem[] {
  const fix = 'Remove it, or set `allow_demo: true`.'
  const { providers, models } = file.content
  return [
    ...Object.entries(providers)
      .filter(([, provider]) => provider.kind === 'demo')
      .map(([name, provider]) => ({
        where: file.place(provider, 'kind'),
        problem: `\`${name}\` is a demo provider.`,
        fix,
      })),
    ...models
      .filter((model) => model.enabled && model.id.startsWith('demo'))
      .map((model) => ({
        where: file.place(model, 'id'),
        problem: `\`${model.id}\` is a demo model.`,
        fix,
      })),
  ]
}

function readLimits(file: CheckedFile, mode: Mode): Limits {
  const { limits } = file.content
  const fallback = requestsPerMinute[mode]
  return {
    requestsPerMinutePerCredential: limits.requests_per_minute_per_credential ?? fallback.credential,
    authRequestsPerMinutePerAddress: limits.auth_requests_per_minute_per_address ?? fallback.auth,
    topupRequestsPerMinutePerAddress: limits.topup_requests_per_minute_per_address ?? fallback.topup,
    concurrentStreams: limits.concurrent_streams,
    queueOperationsMax: limits.queue_operations_max,
    bodyBytes: limits.body_bytes,
    chatBodyBytes: limits.chat_body_bytes,
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
