import { createHash } from 'node:crypto'
import canonicalize from 'canonicalize'
import { Default } from 'typebox/value'
import { CapabilityVersion, type FileVersion } from './schema-capabilities.ts'
import type { SchemaNode } from './schema-node.ts'

/** A version as it is frozen: what was written, without what was left to defaults, and the hash of that. */
export interface Frozen {
  /** SHA-256 over the canonical form (RFC 8785). */
  readonly hash: Buffer
  readonly descriptor: object
}

/**
 * Freezes a version. What equals a default is left out first, so that a later release of this program, with more
 * settings, gives the same hash for the same file.
 */
export function freeze(version: FileVersion): Frozen {
  const descriptor = withoutDefaults(CapabilityVersion as SchemaNode, version) as object
  return { hash: createHash('sha256').update(canonical(descriptor)).digest(), descriptor }
}

/** The version that was frozen, with the defaults of today for what it does not have. */
export function thaw(descriptor: unknown): FileVersion {
  return Default(CapabilityVersion, structuredClone(descriptor)) as FileVersion
}

function withoutDefaults(schema: SchemaNode, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutDefaults(schema.items ?? {}, item))
  const properties = schema.properties
  if (!properties || typeof value !== 'object' || value === null) return value
  const kept = Object.entries(value).filter(([key, member]) => {
    const fallback = properties[key]?.default
    return fallback === undefined || canonical(member) !== canonical(fallback)
  })
  return Object.fromEntries(kept.map(([key, member]) => [key, withoutDefaults(properties[key] ?? {}, member)]))
}

const canonical = (value: unknown): string => canonicalize(value) ?? ''
