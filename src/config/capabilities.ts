import { type Microcredits, microcredits } from '../kernel/money.ts'
import { checkOperations, checkUpstream, checkVersions, type Refuse } from './capability-checks.ts'
import type { RawEnvironment } from './environment.ts'
import type { CheckedFile } from './file.ts'
import { freeze } from './frozen.ts'
import type { Problem } from './problem.ts'
import type { ReadFile } from './read-file.ts'
import type { FileCapability, FileVersion } from './schema-capabilities.ts'

/** Whose money an Agent's calls take (decisions 1). */
export type FundingMode = 'self_only' | 'self_then_owner' | 'owner_only'

/** What a call of an operation costs. `micro` is microcredits for one call, or for one unit. */
export type OperationPrice =
  | { readonly kind: 'fixed'; readonly micro: Microcredits }
  | {
      readonly kind: 'input_units' | 'output_units'
      readonly unit: string
      readonly micro: Microcredits
      /** A JSON pointer into the input or the answer. */
      readonly at: string
      readonly unitsMax: number
    }

/** One operation of a version. */
export interface Operation {
  readonly slug: string
  readonly name: string
  readonly summary: string
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** At the upstream. */
  readonly path: string
  readonly readOnly: boolean
  /** The first is the default. Never empty. */
  readonly modes: readonly ('sync' | 'async')[]
  readonly idempotencyKeyRequired: boolean
  /** 0: none. */
  readonly flowStep: number
  readonly etaSeconds: number
  readonly price: OperationPrice
  readonly inputSchema: Readonly<Record<string, unknown>>
  readonly outputSchema: Readonly<Record<string, unknown>>
  readonly outputHighlights: readonly string[]
  readonly trustSignals: readonly string[]
}

/** One version of a capability. */
export interface CapabilityVersion {
  readonly version: string
  /** The slug of one of its operations. */
  readonly defaultOperation: string
  readonly operations: readonly Operation[]
  /** What is compared with what was frozen when the version was first served: hexadecimal SHA-256. */
  readonly hash: string
  /** What is stored when it is frozen. */
  readonly descriptor: object
}

/** What does the work of a capability. Secret headers are in Secrets.capabilityHeaders. */
export type UpstreamConfig =
  | { readonly kind: 'demo' }
  | {
      readonly kind: 'http'
      /** Without a trailing slash. */
      readonly baseUrl: string
      /** Names in lower case. */
      readonly headers: Readonly<Record<string, string>>
      /** Variables that hold the values of secret headers. Names in lower case. */
      readonly headersEnv: Readonly<Record<string, string>>
      readonly connections: number
      readonly connectTimeoutMs: number
      readonly timeoutMs: number
      readonly maxResponseBytes: number
    }

/** A capability that clients can call. */
export interface CapabilityConfig {
  readonly slug: string
  readonly name: string
  readonly category: string
  readonly shortDescription: string
  readonly providerName: string
  readonly tags: readonly string[]
  readonly agentDocWhat: string
  readonly agentDocHow: string
  readonly outputHighlights: readonly string[]
  readonly trustSignals: readonly string[]
  readonly fundingModes: readonly FundingMode[]
  readonly enabled: boolean
  readonly upstream: UpstreamConfig
  /** The version of one of `versions`. */
  readonly defaultVersion: string
  readonly withdrawnVersions: readonly string[]
  /** Never empty. */
  readonly versions: readonly CapabilityVersion[]
}

/** The capabilities of the file, their secret headers by slug, and what of them breaks the rules that a schema cannot state. */
export function readCapabilities(
  file: CheckedFile,
  raw: RawEnvironment,
  readFile: ReadFile,
): {
  capabilities: readonly CapabilityConfig[]
  capabilityHeaders: Readonly<Record<string, Readonly<Record<string, string>>>>
  problems: readonly Problem[]
} {
  const problems: Problem[] = []
  const capabilityHeaders: Record<string, Record<string, string>> = Object.create(null)
  const slugs = new Set<string>()
  const capabilities = file.content.capabilities.map((capability) => {
    const refuse: Refuse = (object, key, problem, fix) =>
      problems.push({ where: file.place(object, key), problem: `Capability \`${capability.slug}\`: ${problem}`, fix })
    if (slugs.has(capability.slug))
      refuse(capability, 'slug', 'the slug is used twice.', 'Give each capability its own slug.')
    slugs.add(capability.slug)
    const headers = checkUpstream(capability, { raw, readFile }, refuse)
    if (Object.keys(headers).length > 0) capabilityHeaders[capability.slug] = headers
    checkVersions(capability, refuse)
    for (const version of capability.versions) checkOperations(version, refuse)
    return resolveCapability(capability)
  })
  return { capabilities, capabilityHeaders, problems }
}

/** A version with its hash, from the file or from what was frozen. */
export function resolveVersion(version: FileVersion): CapabilityVersion {
  const { hash, descriptor } = freeze(version)
  return {
    version: version.version,
    defaultOperation: version.default_operation || (version.operations[0]?.slug ?? ''),
    operations: version.operations.map(resolveOperation),
    hash: hash.toString('hex'),
    descriptor,
  }
}

function resolveCapability(capability: FileCapability): CapabilityConfig {
  const versions = capability.versions.map(resolveVersion)
  return {
    slug: capability.slug,
    name: capability.name,
    category: capability.category,
    shortDescription: capability.short_description,
    providerName: capability.provider_name,
    tags: capability.tags,
    agentDocWhat: capability.agent_doc_what,
    agentDocHow: capability.agent_doc_how,
    outputHighlights: capability.output_highlights,
    trustSignals: capability.trust_signals,
    fundingModes: capability.funding_modes,
    enabled: capability.enabled,
    upstream: resolveUpstream(capability.upstream),
    defaultVersion: capability.default_version || (versions.at(-1)?.version ?? ''),
    withdrawnVersions: capability.withdrawn_versions,
    versions,
  }
}

function resolveUpstream(upstream: FileCapability['upstream']): UpstreamConfig {
  if (upstream.kind === 'demo') return { kind: 'demo' }
  const lowerCase = (record: Readonly<Record<string, string>>): Record<string, string> =>
    Object.fromEntries(Object.entries(record).map(([name, value]) => [name.toLowerCase(), value]))
  return {
    kind: 'http',
    baseUrl: upstream.base_url.replace(/\/+$/, ''),
    headers: lowerCase(upstream.headers),
    headersEnv: lowerCase(upstream.headers_env),
    connections: upstream.connections,
    connectTimeoutMs: upstream.connect_timeout_ms,
    timeoutMs: upstream.timeout_ms,
    maxResponseBytes: upstream.max_response_bytes,
  }
}

function resolveOperation(operation: FileVersion['operations'][number]): Operation {
  const { price } = operation
  return {
    slug: operation.slug,
    name: operation.name,
    summary: operation.summary,
    method: operation.method,
    path: operation.path,
    readOnly: operation.read_only,
    modes: operation.modes,
    idempotencyKeyRequired: operation.idempotency_key_required,
    flowStep: operation.flow_step,
    etaSeconds: operation.eta_seconds,
    price:
      price.kind === 'fixed'
        ? { kind: 'fixed', micro: microcredits(price.micro) }
        : {
            kind: price.kind,
            unit: price.unit,
            micro: microcredits(price.micro),
            at: price.at,
            unitsMax: price.units_max,
          },
    inputSchema: operation.input_schema,
    outputSchema: operation.output_schema,
    outputHighlights: operation.output_highlights,
    trustSignals: operation.trust_signals,
  }
}
