import type { ErrorObject, ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'

/** What is wrong with a value: where, as a JSON pointer, and what, in words. */
export interface Misfit {
  /** RFC 6901; of what is missing or unknown, the pointer that it would have. Empty: the value itself. */
  readonly pointer: string
  readonly keyword: string
  readonly message: string
}

/** A compiled JSON Schema 2020-12. */
export interface CompiledSchema {
  /** The first thing that does not fit; undefined when the value fits. Fills in defaults, in the value itself. */
  misfit(value: unknown): Misfit | undefined
}

/** How texts are read: `exact` takes "5" for a text, `text` for a number where one is asked for, as in a query. */
export type Reading = 'exact' | 'text'

const options = {
  allErrors: false,
  useDefaults: true,
  strictSchema: true,
  strictTypes: false,
  strictTuples: false,
  strictRequired: false,
  // the value that does not fit may be a prompt: it is never repeated
  verbose: false,
  addUsedSchema: false,
} as const

/**
 * Compiles a JSON Schema 2020-12. Gives text instead when it is none: a keyword that does not exist, a reference
 * that leads nowhere. Nothing is ever fetched.
 */
export function compileSchema(schema: object, reading: Reading): CompiledSchema | { readonly problem: string } {
  const text = `${reading} ${JSON.stringify(schema)}`
  const known = compiled.get(text)
  if (known) return known
  const result = compile(schema, reading)
  if (compiled.size >= COMPILED_MAX) compiled.clear()
  compiled.set(text, result)
  return result
}

/** By their text: the same schema stands in many operations, and is read again with each configuration. */
const compiled = new Map<string, ReturnType<typeof compile>>()
const COMPILED_MAX = 2_000

function compile(schema: object, reading: Reading): CompiledSchema | { readonly problem: string } {
  const ajv = compilerFor(reading)
  let validate: ValidateFunction
  try {
    validate = ajv.compile(schema)
  } catch (error) {
    return { problem: error instanceof Error ? error.message.slice(0, 300) : 'it cannot be compiled' }
  } finally {
    ajv.removeSchema(schema)
  }
  return { misfit: (value) => (validate(value) ? undefined : misfitOf(validate.errors?.[0])) }
}

/** Made once, because its own meta-schemas take longer to compile than any of ours. */
const compilers = new Map<Reading, Ajv2020>()

function compilerFor(reading: Reading): Ajv2020 {
  const known = compilers.get(reading)
  if (known) return known
  const ajv = new Ajv2020({ ...options, ...(reading === 'text' ? { coerceTypes: 'array' } : {}), logger: false })
  addFormats.default(ajv)
  compilers.set(reading, ajv)
  return ajv
}

function misfitOf(error: ErrorObject | undefined): Misfit {
  const member = memberOf(error)
  const pointer = `${error?.instancePath ?? ''}${member === undefined ? '' : `/${escaped(member)}`}`
  return { pointer, keyword: error?.keyword ?? '', message: wordsFor(error) }
}

/** The member that a complaint is about, where it is about one that the value has not, or should not have. */
function memberOf(error: ErrorObject | undefined): string | undefined {
  const { missingProperty, additionalProperty, unevaluatedProperty } = (error?.params ?? {}) as Record<string, unknown>
  const named = missingProperty ?? additionalProperty ?? unevaluatedProperty
  return typeof named === 'string' ? named : undefined
}

function wordsFor(error: ErrorObject | undefined): string {
  switch (error?.keyword) {
    case 'required':
      return 'is required'
    case 'additionalProperties':
    case 'unevaluatedProperties':
      return 'is not known here'
    case 'enum':
      return `must be one of ${(error.params.allowedValues as unknown[]).join(', ')}`
    case 'const':
      return `must be ${JSON.stringify(error.params.allowedValue)}`
    default:
      return error?.message ?? 'is not valid'
  }
}

const escaped = (member: string): string => member.replaceAll('~', '~0').replaceAll('/', '~1')
