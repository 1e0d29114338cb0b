import { type Document, isAlias, isMap, isScalar, isSeq, type Node, type YAMLMap } from 'yaml'
import { type SchemaNode, takes } from './schema-node.ts'
import { closestWord, suggestion } from './suggestion.ts'

/** Told of each thing that is wrong, with the place in the text where it stands. */
export type Report = (offset: number, problem: string, fix: string) => void

/** A value that was refused; its problem has been reported. */
const refused = Symbol('refused')

/** What the walk needs everywhere. */
export interface Walk {
  readonly document: Document
  readonly report: Report
  /** Remembers which part of the text an object was read from. */
  readonly origins: WeakMap<object, Node>
}

/**
 * Checks a YAML node against a schema and returns its plain value with defaults filled in. Every problem is
 * reported, and a broken entry is left out of its list or map, so that its neighbours can still be checked.
 * TypeBox's own checker is not used because it stops after eight errors and knows no lines; a test holds the two
 * together. Knows the keywords of SchemaNode.
 */
export function check(walk: Walk, schema: SchemaNode, node: Node | undefined, where: Node | undefined): unknown {
  const resolved = isAlias(node) ? node.resolve(walk.document) : node
  if (resolved === undefined) {
    if (schema.default !== undefined) return filledDefault(schema)
    walk.report(offsetOf(where), 'The value is missing.', `It takes ${takes(schema)}.`)
    return refused
  }
  if (schema.anyOf) return checkUnion(walk, schema.anyOf, resolved)
  if (schema.additionalProperties === true) return checkFree(walk, schema, resolved)
  if (schema.properties) return checkObject(walk, schema, schema.properties, resolved)
  if (schema.patternProperties) return checkRecord(walk, schema, schema.patternProperties, resolved)
  if (schema.items) return checkList(walk, schema, schema.items, resolved)
  return checkScalar(walk, schema, resolved)
}

/** The value of each key of a map, with the key's own node. Keys that are no text are reported. */
export function entriesOf(walk: Walk, map: YAMLMap): { key: string; keyNode: Node; value: Node | undefined }[] {
  const entries = []
  for (const pair of map.items) {
    const keyNode = pair.key as Node
    if (isScalar(keyNode) && ['string', 'number', 'boolean'].includes(typeof keyNode.value)) {
      // `key:` with nothing behind it is YAML's null: the key is there, its value is not.
      const empty = isScalar(pair.value) && pair.value.value === null
      entries.push({
        key: String(keyNode.value),
        keyNode,
        value: empty ? undefined : (pair.value as Node | undefined),
      })
    } else walk.report(offsetOf(keyNode), 'The key is no text.', 'Use a plain word.')
  }
  return entries
}

/** Where a node begins in the text. */
export function offsetOf(node: Node | undefined): number {
  return node?.range?.[0] ?? 0
}

function checkObject(
  walk: Walk,
  schema: SchemaNode,
  properties: Readonly<Record<string, SchemaNode>>,
  node: Node,
): unknown {
  if (!isMap(node)) return refuseType(walk, schema, node)
  const known = Object.keys(properties)
  const result: Record<string, unknown> = {}
  const seen = new Set<string>()
  for (const { key, keyNode, value } of entriesOf(walk, node)) {
    const property = known.includes(key) ? properties[key] : undefined
    // A key whose values are all commented out is as good as absent, where it may be absent.
    if (property && value === undefined && !isNeeded(schema, key)) continue
    seen.add(key)
    if (property) result[key] = check(walk, property, value, keyNode)
    else walk.report(offsetOf(keyNode), `Unknown key \`${key}\`.`, suggestion(key, known))
  }
  for (const key of known) {
    const property = properties[key]
    if (seen.has(key) || property === undefined) continue
    if (property.default !== undefined) result[key] = filledDefault(property)
    else if (isNeeded(schema, key)) {
      walk.report(offsetOf(node), `The key \`${key}\` is missing.`, `Add it; it takes ${takes(property)}.`)
      result[key] = refused
    }
  }
  walk.origins.set(result, node)
  return result
}

/** Whether the file must have the key: it is required and has no default. */
function isNeeded(schema: SchemaNode, key: string): boolean {
  return schema.required?.includes(key) === true && schema.properties?.[key]?.default === undefined
}

function checkRecord(
  walk: Walk,
  schema: SchemaNode,
  patterns: Readonly<Record<string, SchemaNode>>,
  node: Node,
): unknown {
  if (!isMap(node)) return refuseType(walk, schema, node)
  // No prototype, so that a name such as `constructor` is only there when the file has it.
  const result: Record<string, unknown> = Object.create(null)
  for (const { key, keyNode, value } of entriesOf(walk, node)) {
    const entry = Object.entries(patterns).find(([pattern]) => new RegExp(pattern, 'u').test(key))
    if (!entry) {
      walk.report(offsetOf(keyNode), `\`${key}\` is no name.`, `A name matches ${Object.keys(patterns).join(' or ')}.`)
      continue
    }
    const checked = check(walk, entry[1], value, keyNode)
    if (!isBroken(checked)) result[key] = checked
  }
  walk.origins.set(result, node)
  return result
}

/** JSON of the operator's own, such as the JSON Schema of an operation: any keys and values, taken as they are. */
function checkFree(walk: Walk, schema: SchemaNode, node: Node): unknown {
  if (!isMap(node)) return refuseType(walk, schema, node)
  const value: unknown = node.toJS(walk.document, { maxAliasCount: ALIASES_MAX })
  if (typeof value === 'object' && value !== null) walk.origins.set(value, node)
  return value
}

const ALIASES_MAX = 100

function checkList(walk: Walk, schema: SchemaNode, items: SchemaNode, node: Node): unknown {
  if (!isSeq(node)) return refuseType(walk, schema, node)
  const count = node.items.length
  if (count < (schema.minItems ?? 0) || count > (schema.maxItems ?? count)) {
    walk.report(offsetOf(node), `The list has ${count} entries.`, `It takes ${takes(schema)}.`)
  }
  const list = node.items.map((item) => {
    const empty = isScalar(item) && item.value === null
    return check(walk, items, empty ? undefined : (item as Node), item as Node)
  })
  const result = list.filter((value) => !isBroken(value))
  walk.origins.set(result, node)
  return result
}

/** Objects that differ by the fixed value of `kind`. */
function checkUnion(walk: Walk, branches: readonly SchemaNode[], node: Node): unknown {
  if (!isMap(node)) return refuseType(walk, branches[0] ?? {}, node)
  const entry = entriesOf(walk, node).find(({ key }) => key === 'kind')
  const kind = entry?.value && isScalar(entry.value) ? entry.value.value : undefined
  const branch = branches.find((candidate) => candidate.properties?.kind?.const === kind)
  if (kind !== undefined && branch) return check(walk, branch, node, node)
  const kinds = branches.map((candidate) => String(candidate.properties?.kind?.const))
  if (entry === undefined) {
    walk.report(offsetOf(node), 'The key `kind` is missing.', suggestion('', kinds))
  } else {
    walk.report(offsetOf(entry.value ?? entry.keyNode), 'There is no such kind.', suggestion(String(kind ?? ''), kinds))
  }
  // Keys are still checked against all kinds together, so that a typo beside a wrong kind is found at once.
  const known = [...new Set(branches.flatMap((candidate) => Object.keys(candidate.properties ?? {})))]
  for (const { key, keyNode } of entriesOf(walk, node)) {
    if (!known.includes(key)) walk.report(offsetOf(keyNode), `Unknown key \`${key}\`.`, suggestion(key, known))
  }
  return refused
}

function checkScalar(walk: Walk, schema: SchemaNode, node: Node): unknown {
  if (!isScalar(node)) return refuseType(walk, schema, node)
  const { value } = node
  if (schema.type === 'string' && typeof value === 'string') {
    // JSON Schema counts characters, not UTF-16 units.
    const { length } = [...value]
    const fits = length >= (schema.minLength ?? 0) && length <= (schema.maxLength ?? length)
    if (fits && (schema.pattern === undefined || new RegExp(schema.pattern, 'u').test(value))) return value
    walk.report(
      offsetOf(node),
      'The text cannot be used.',
      `It takes ${takes(schema)}. ${schema.description ?? `It matches ${schema.pattern}.`}`,
    )
    return refused
  }
  if (schema.type === 'integer' && typeof value === 'number') {
    // Written in digits only: a fraction or an exponent may already have been rounded by the parser.
    const exact = /^[+-]?\d+$/.test(node.source ?? '') && Number.isSafeInteger(value)
    if (exact && value >= (schema.minimum ?? value) && value <= (schema.maximum ?? value)) return value
  }
  if (schema.type === 'boolean' && typeof value === 'boolean') return value
  if (schema.const !== undefined && value === schema.const) return value
  if (schema.enum?.includes(value)) return value
  return refuseType(walk, schema, node)
}

/** Says what was found without repeating a text: it may be a secret that went to the wrong line. */
function refuseType(walk: Walk, schema: SchemaNode, node: Node): typeof refused {
  const meant =
    isScalar(node) && typeof node.value === 'string'
      ? closestWord(node.value, (schema.enum ?? []).map(String))
      : undefined
  const fix = meant === undefined ? `It takes ${takes(schema)}.` : `Did you mean \`${meant}\`?`
  walk.report(offsetOf(node), `It cannot be ${found(node)}.`, fix)
  return refused
}

function found(node: Node): string {
  if (isMap(node)) return 'keys and values'
  if (isSeq(node)) return 'a list'
  const value = isScalar(node) ? node.value : undefined
  if (typeof value === 'string') return 'this text'
  return isScalar(node) && value !== null ? `\`${node.source?.slice(0, 32) ?? String(value)}\`` : 'empty'
}

/** Whether a value was refused or has a member that was. Broken members of lists and maps are gone already. */
export function isBroken(value: unknown): boolean {
  if (value === refused) return true
  return typeof value === 'object' && value !== null && !Array.isArray(value) && Object.values(value).some(isBroken)
}

function filledDefault(schema: SchemaNode): unknown {
  if (!schema.properties) return structuredClone(schema.default)
  const entries = Object.entries(schema.properties).filter(([, property]) => property.default !== undefined)
  return Object.fromEntries(entries.map(([key, property]) => [key, filledDefault(property)]))
}
