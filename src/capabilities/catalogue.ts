import {
  type CapabilityConfig,
  type CapabilityVersion,
  type Operation,
  resolveVersion,
} from '../config/capabilities.ts'
import { thaw } from '../config/frozen.ts'
import { type CompiledSchema, compileSchema, type Reading } from '../config/json-schema.ts'
import type { Database } from '../db/database.ts'
import { assert } from '../kernel/assert.ts'
import type { CapabilityProvider } from '../providers/capability.ts'
import * as store from './store.ts'

/** One operation with all that a call of it needs. Calls in flight keep it, whatever the configuration becomes. */
export interface ServedOperation {
  readonly capability: CapabilityConfig
  readonly version: CapabilityVersion
  readonly operation: Operation
  readonly input: CompiledSchema
  readonly output: CompiledSchema
  readonly provider: CapabilityProvider
}

/** One version as it is served. */
export interface ServedVersion {
  readonly version: CapabilityVersion
  readonly operations: ReadonlyMap<string, ServedOperation>
  /** True: the file has other content under this name than was frozen, so it is not called. */
  readonly drifted: boolean
}

/** One capability as it is served. */
export interface ServedCapability {
  readonly config: CapabilityConfig
  readonly provider: CapabilityProvider
  /** Those of the file, and those that were served before and not withdrawn. */
  readonly versions: ReadonlyMap<string, ServedVersion>
}

/** What clients can call, by slug: one reading of the configuration. */
export type Catalogue = ReadonlyMap<string, ServedCapability>

/** What a catalogue is made from. */
export interface CatalogueSource {
  readonly db: Database
  readonly capabilities: readonly CapabilityConfig[]
  readonly openProvider: (capability: CapabilityConfig) => CapabilityProvider
}

/**
 * Freezes the versions that are new (spec 9) and gives what can be called. A version whose content is not what
 * was frozen under its name is `drifted`; one that left the file is served from what was frozen.
 */
export async function openCatalogue({ db, capabilities, openProvider }: CatalogueSource): Promise<Catalogue> {
  const served = capabilities.filter(({ enabled }) => enabled)
  await store.freeze(
    db,
    served.flatMap(({ slug, versions }) =>
      versions.map(({ version, hash, descriptor }) => ({ slug, version, hash: Buffer.from(hash, 'hex'), descriptor })),
    ),
  )
  const frozen = Map.groupBy(
    await store.frozen(
      db,
      served.map(({ slug }) => slug),
    ),
    ({ slug }) => slug,
  )
  return new Map(
    served.map((config) => [config.slug, serve(config, frozen.get(config.slug) ?? [], openProvider(config))]),
  )
}

function serve(
  config: CapabilityConfig,
  frozen: readonly store.FrozenRow[],
  provider: CapabilityProvider,
): ServedCapability {
  const written = new Map(config.versions.map((version) => [version.version, version]))
  const left = frozen.filter((row) => !written.has(row.version)).map((row) => resolveVersion(thaw(row.descriptor)))
  const hashes = new Map(frozen.map((row) => [row.version, row.hash.toString('hex')]))
  const versions = [...left, ...written.values()]
    .filter(({ version }) => !config.withdrawnVersions.includes(version))
    .map((version): [string, ServedVersion] => [
      version.version,
      {
        version,
        // what left the file was not changed: it is what was frozen
        drifted: written.has(version.version) && hashes.get(version.version) !== version.hash,
        operations: new Map(
          version.operations.map((operation) => [
            operation.slug,
            {
              capability: config,
              version,
              operation,
              provider,
              input: compiled(operation.inputSchema, inQuery(operation) ? 'text' : 'exact'),
              output: compiled(operation.outputSchema, 'exact'),
            },
          ]),
        ),
      },
    ])
  return { config, provider, versions: new Map(versions) }
}

/** Whether the input of an operation is in the query: texts, read as what the schema asks for. */
const inQuery = ({ method }: Pick<Operation, 'method'>): boolean => method === 'GET' || method === 'DELETE'

/** Versions that are blocked, as `slug version`. */
export function driftedVersions(catalogue: Catalogue): string[] {
  return [...catalogue.values()].flatMap(({ config, versions }) =>
    [...versions.values()].filter(({ drifted }) => drifted).map(({ version }) => `${config.slug} ${version.version}`),
  )
}

function compiled(schema: object, reading: Reading): CompiledSchema {
  const result = compileSchema(schema, reading)
  // the configuration was checked, and what is frozen was checked when it was written
  assert('misfit' in result, 'a schema that was served before cannot be compiled')
  return result
}
