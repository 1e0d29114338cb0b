/** The JSON Schema keywords that schema.ts uses: all that the check of a file and the documentation need to know. */
export interface SchemaNode {
  readonly type?: string
  readonly description?: string
  readonly default?: unknown
  readonly properties?: Readonly<Record<string, SchemaNode>>
  readonly required?: readonly string[] | undefined
  readonly patternProperties?: Readonly<Record<string, SchemaNode>>
  readonly additionalProperties?: unknown
  readonly items?: SchemaNode
  readonly anyOf?: readonly SchemaNode[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly pattern?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly minItems?: number
  readonly maxItems?: number
}

/** What a value of the schema may be, in words: "a whole number from 0 to 10". */
export function takes(schema: SchemaNode): string {
  if (schema.enum) return schema.enum.map((word) => `\`${word}\``).join(' or ')
  if (schema.const !== undefined) return `\`${schema.const}\``
  if (schema.type === 'integer') return `a whole number from ${schema.minimum ?? '-'} to ${schema.maximum ?? '-'}`
  if (schema.type === 'boolean') return '`true` or `false`'
  if (schema.type === 'array') return `a list of ${schema.minItems ?? 0} to ${schema.maxItems ?? '-'}`
  if (schema.type === 'string')
    return schema.maxLength === undefined
      ? 'a text'
      : `a text of ${schema.minLength ?? 0} to ${schema.maxLength} characters`
  return 'keys and values'
}

/** The schema with what has a default no longer required: how a file may be written, not what the server sees afterwards. */
export function withoutDefaultsRequired(schema: SchemaNode): SchemaNode {
  const mapped = (children: Readonly<Record<string, SchemaNode>>) =>
    Object.fromEntries(Object.entries(children).map(([key, child]) => [key, withoutDefaultsRequired(child)]))
  return {
    ...schema,
    ...(schema.properties && { properties: mapped(schema.properties) }),
    ...(schema.patternProperties && { patternProperties: mapped(schema.patternProperties) }),
    ...(schema.items && { items: withoutDefaultsRequired(schema.items) }),
    ...(schema.anyOf && { anyOf: schema.anyOf.map(withoutDefaultsRequired) }),
    ...(schema.required && {
      required: schema.required.filter((key) => schema.properties?.[key]?.default === undefined),
    }),
  }
}
