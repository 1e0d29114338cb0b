import type { JsonObject } from '../provider.ts'
import { isObject } from './prompt.ts'

/**
 * A value that fits a simple JSON Schema: required properties only, the first choice wherever there are
 * several, `text` for strings. Patterns, formats besides dates, and conditions are not honoured.
 */
export function exampleOf(schema: unknown, text: string): unknown {
  return build(schema, { root: schema, text, depth: 0 })
}

interface Place {
  readonly root: unknown
  readonly text: string
  readonly depth: number
}

/** Schemas may refer to themselves; real ones are not deeper than this. */
const DEPTH_MAX = 16

function build(schema: unknown, place: Place): unknown {
  if (!isObject(schema) || place.depth > DEPTH_MAX) return null
  const inner = { ...place, depth: place.depth + 1 }
  if (typeof schema.$ref === 'string') return build(referred(schema.$ref, place.root), inner)
  if ('const' in schema) return schema.const
  if (Array.isArray(schema.enum)) return schema.enum[0]
  for (const choice of [schema.anyOf, schema.oneOf]) if (Array.isArray(choice)) return build(choice[0], inner)
  if (Array.isArray(schema.allOf)) return build(Object.assign({}, schema, { allOf: undefined }, ...schema.allOf), inner)
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type
  switch (type ?? (schema.properties ? 'object' : 'string')) {
    case 'object':
      return object(schema, inner)
    case 'array':
      return Array.from({ length: Math.min(count(schema.minItems, 1), 16) }, () =>
        build(schema.items ?? { type: 'string' }, inner),
      )
    case 'integer':
    case 'number':
      return number(schema, type === 'integer')
    case 'boolean':
      return true
    case 'null':
      return null
    default:
      return string(schema, place.text)
  }
}

function object(schema: JsonObject, place: Place): JsonObject {
  const properties = isObject(schema.properties) ? schema.properties : {}
  const required = Array.isArray(schema.required) ? schema.required.filter((name) => typeof name === 'string') : []
  // fromEntries defines own properties, so a property called __proto__ is one like any other.
  return Object.fromEntries(
    required.map((name) => [name, build(Object.hasOwn(properties, name) ? properties[name] : {}, place)]),
  )
}

function number(schema: JsonObject, integer: boolean): number {
  const step = integer ? 1 : 0.5
  const floor =
    typeof schema.minimum === 'number'
      ? schema.minimum
      : typeof schema.exclusiveMinimum === 'number'
        ? schema.exclusiveMinimum + step
        : Math.min(1, count(schema.maximum, 1))
  return integer ? Math.ceil(floor) : floor
}

function string(schema: JsonObject, text: string): string {
  if (schema.format === 'date') return '2026-01-01'
  if (schema.format === 'date-time') return '2026-01-01T00:00:00Z'
  const padded = text.padEnd(Math.min(count(schema.minLength, 0), 1000), '.')
  // Sliced by code points, which is what JSON Schema counts.
  return [...padded].slice(0, count(schema.maxLength, 200)).join('')
}

function referred(reference: string, root: unknown): unknown {
  if (reference !== '#' && !reference.startsWith('#/')) return undefined
  return reference
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>((at, step) => (isObject(at) && Object.hasOwn(at, step) ? at[step] : undefined), root)
}

const count = (value: unknown, fallback: number): number => (typeof value === 'number' ? value : fallback)
