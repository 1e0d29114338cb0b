import type { Operation } from './operation.ts'

/** One field of a form, made from a property of the JSON Schema. */
export interface FormField {
  readonly name: string
  readonly kind: 'text' | 'number' | 'integer' | 'boolean' | 'choice' | 'json'
  readonly required: boolean
  readonly description: string
  /** What the field begins with, as it is typed. */
  readonly initial: string
  /** The choices of an enum, as JSON. */
  readonly choices: readonly string[]
  /** Several lines are wanted. */
  readonly long: boolean
}

/** The fields that a form has, or `whole`: the schema is no plain object, and its input is typed as JSON. */
export type Form = { readonly fields: readonly FormField[] } | { readonly whole: true }

/** What was typed, by the names of the fields; the whole input stands under an empty name. */
export type Typed = Readonly<Record<string, string>>

/** What is sent, or what is wrong, by the names of the fields. */
export type Read = { readonly input: Readonly<Record<string, unknown>> } | { readonly problems: Typed }

interface Property {
  readonly type?: unknown
  readonly enum?: readonly unknown[]
  readonly description?: string
  readonly default?: unknown
  readonly maxLength?: number
}

const LONG_FROM = 200

/** The form of an operation's input. */
export function formOf(schema: Operation['input_schema']): Form {
  const {
    type,
    properties,
    required = [],
  } = schema as {
    type?: unknown
    properties?: Readonly<Record<string, Property>>
    required?: readonly string[]
  }
  const combined = ['oneOf', 'anyOf', 'allOf', '$ref', 'if'].some((keyword) => keyword in schema)
  if (combined || type !== 'object' || (properties === undefined && schema.additionalProperties !== false))
    return { whole: true }
  const fields = Object.entries(properties ?? {}).map(([name, property]) =>
    fieldOf(name, property, required.includes(name)),
  )
  return { fields }
}

function fieldOf(name: string, property: Property, required: boolean): FormField {
  const kind = kindOf(property)
  const { default: value } = property
  const initial = value === undefined ? '' : kind === 'text' ? String(value) : JSON.stringify(value)
  return {
    name,
    kind,
    required,
    description: property.description ?? '',
    initial,
    choices: (property.enum ?? []).map((choice) => JSON.stringify(choice)),
    long: (property.maxLength ?? 0) > LONG_FROM,
  }
}

function kindOf({ type, enum: choices }: Property): FormField['kind'] {
  if (choices) return 'choice'
  if (type === 'string') return 'text'
  return type === 'number' || type === 'integer' || type === 'boolean' ? type : 'json'
}

/** What the form begins with. */
export const blank = (form: Form): Typed =>
  'whole' in form ? { '': '{}' } : Object.fromEntries(form.fields.map(({ name, initial }) => [name, initial]))

/** Reads what was typed. What is empty and not required is left out; the server checks the rest. */
export function readForm(form: Form, typed: Typed): Read {
  if ('whole' in form) {
    const whole = parsed(typed[''] ?? '')
    return typeof whole === 'object' && whole !== null && !Array.isArray(whole)
      ? { input: whole as Record<string, unknown> }
      : { problems: { '': 'A JSON object, such as {"text": "hello"}.' } }
  }
  const input: Record<string, unknown> = {}
  const problems: Record<string, string> = {}
  for (const field of form.fields) {
    const text = typed[field.name] ?? ''
    const value = text === '' ? undefined : readValue(field, text)
    if (value !== undefined) input[field.name] = value
    else if (text !== '') problems[field.name] = wanted[field.kind] ?? ''
    else if (field.required) problems[field.name] = 'This is needed.'
  }
  return Object.keys(problems).length > 0 ? { problems } : { input }
}

const wanted: Readonly<Record<string, string>> = {
  number: 'A number, such as 1.5.',
  integer: 'A whole number, such as 3.',
  json: 'JSON, such as ["a", "b"].',
}

function readValue({ kind }: FormField, text: string): unknown {
  if (kind === 'text') return text
  const value = parsed(text.trim())
  if (kind === 'number') return typeof value === 'number' ? value : undefined
  if (kind === 'integer') return Number.isSafeInteger(value) ? value : undefined
  return value
}

/** Undefined for what is no JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
