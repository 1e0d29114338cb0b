import { Ajv, type ErrorObject } from 'ajv'
import addFormats from 'ajv-formats'
import fastJsonStringify from 'fast-json-stringify'
import { type ErrorCode, Fault } from '../kernel/errors.ts'

const shared = { allErrors: false, strict: false, useDefaults: true, removeAdditional: false } as const
/** Bodies mean exactly what they say: "5" is not 5. */
const exact = new Ajv({ ...shared, coerceTypes: false })
/** Path and query are text: "5" is 5 where a number is asked for. */
const fromText = new Ajv({ ...shared, coerceTypes: true })
addFormats.default(exact)
addFormats.default(fromText)

/** Compiles a schema of a body or of parameters; the first thing wrong becomes a Fault that names it. */
export function validatorFor(
  schema: unknown,
  part: string | undefined,
): (data: unknown) => { value: unknown } | { error: Fault } {
  const isBody = part === 'body'
  const validate = (isBody ? exact : fromText).compile(schema as object)
  return (data) => {
    const value = isBody && (data === undefined || data === null) ? {} : data
    if (isBody && (typeof value !== 'object' || Array.isArray(value))) return { error: new Fault('invalid_body') }
    if (validate(value)) return { value }
    return { error: faultOf(validate.errors?.[0], isBody) }
  }
}

/** Compiles a reply's schema: fields that it does not declare never leave the server. */
export function serializerFor(schema: unknown): (data: unknown) => string {
  return fastJsonStringify(schema as Parameters<typeof fastJsonStringify>[0], { ajv: { strict: false } })
}

function faultOf(error: ErrorObject | undefined, isBody: boolean): Fault {
  const where = (error?.instancePath ?? '').slice(1).replaceAll('/', '.')
  if (!isBody)
    return new Fault('invalid_parameter', {
      message: `The parameter ${where || String(error?.params.missingProperty ?? '')} ${error?.message ?? 'is not valid'}.`,
    })
  const member = (name: unknown) => (where ? `${where}.${String(name)}` : String(name))
  const refuse = (code: ErrorCode, field: string, message: string) => new Fault(code, { message, fields: { field } })
  switch (error?.keyword) {
    case 'required':
      return refuse(
        'missing_field',
        member(error.params.missingProperty),
        `The field ${member(error.params.missingProperty)} is required.`,
      )
    case 'additionalProperties':
      return refuse(
        'unknown_field',
        member(error.params.additionalProperty),
        `The field ${member(error.params.additionalProperty)} is not known here: remove it or correct its spelling.`,
      )
    case 'enum':
      return refuse(
        'invalid_field',
        where,
        `The field ${where} must be one of ${(error.params.allowedValues as unknown[]).join(', ')}.`,
      )
    default:
      return refuse('invalid_field', where, `The field ${where || 'body'} ${error?.message ?? 'is not valid'}.`)
  }
}
