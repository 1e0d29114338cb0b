import type { Misfit } from '../config/json-schema.ts'
import { Fault } from '../kernel/errors.ts'
import type { JsonObject } from '../providers/provider.ts'
import type { Invocation } from './invocation.ts'

/** What a caller asks of an operation: its input, checked and with defaults filled in. */
export interface Asked {
  readonly mode: 'sync' | 'async'
  readonly input: JsonObject
  readonly webhookUrl: string | undefined
  /** Where the input begins in what was sent, for pointers: `/input` or nothing. */
  readonly base: '' | '/input'
}

/** Names of ours in a query, beside the input. */
const QUERY_NAMES = ['version', 'mode', 'webhook_url']

/**
 * Reads a body, which is the input itself or `{mode, input, webhook_url}`, or a query, which is the input beside
 * `mode` and `webhook_url`. Refuses with `missing_field`, `unknown_field` or `invalid_field`; each names the JSON
 * pointer (RFC 6901) into what was sent.
 */
export function readInput({ served, sent, inQuery }: Pick<Invocation, 'served' | 'sent' | 'inQuery'>): Asked {
  const { operation } = served
  const wrapped = inQuery ? fromQuery(sent) : fromBody(operation.inputSchema, sent)
  const mode = wrapped.mode ?? operation.modes[0]
  if (mode !== 'sync' && mode !== 'async') throw misfitFault({ pointer: '/mode', ...NO_MODE }, '')
  if (!operation.modes.includes(mode)) {
    const message = `must be ${operation.modes.join(' or ')}: that is what the operation ${operation.slug} offers`
    throw misfitFault({ pointer: '/mode', keyword: 'enum', message }, '')
  }
  const webhookUrl = wrapped.webhookUrl
  if (webhookUrl !== undefined && typeof webhookUrl !== 'string')
    throw misfitFault({ pointer: '/webhook_url', keyword: 'type', message: 'must be string' }, '')
  // checking fills in defaults, and what was sent stays as it was: repeats are compared with it
  const input = structuredClone(wrapped.input)
  const misfit = served.input.misfit(input)
  if (misfit) throw misfitFault(misfit, wrapped.base)
  return { mode, input, webhookUrl, base: wrapped.base }
}

/** The refusal of an input, by what is wrong with it and where. */
export function misfitFault({ pointer, keyword, message }: Misfit, base: '' | '/input'): Fault {
  const whole = `${base}${pointer}`
  const code =
    keyword === 'required'
      ? 'missing_field'
      : keyword === 'additionalProperties' || keyword === 'unevaluatedProperties'
        ? 'unknown_field'
        : 'invalid_field'
  return new Fault(code, {
    message: `The input does not fit: ${whole === '' ? 'it' : whole} ${message}. Nothing was charged.`,
    fields: { pointer: whole, field: whole.slice(1).replaceAll('/', '.') },
  })
}

const NO_MODE = { keyword: 'enum', message: 'must be sync or async' }

interface Wrapped {
  readonly input: JsonObject
  readonly mode: unknown
  readonly webhookUrl: unknown
  readonly base: '' | '/input'
}

/** The body is a wrapper when it could be one and the operation has no field of that name itself. */
function fromBody(inputSchema: Readonly<Record<string, unknown>>, body: JsonObject): Wrapped {
  const own = (inputSchema.properties ?? {}) as JsonObject
  const names = Object.keys(body)
  const couldBe =
    names.length > 0 &&
    names.every((name) => name === 'input' || name === 'mode' || name === 'webhook_url') &&
    !names.some((name) => Object.hasOwn(own, name)) &&
    (body.input === undefined || isObject(body.input))
  if (!couldBe) return { input: body, mode: undefined, webhookUrl: undefined, base: '' }
  const { input = {}, mode, webhook_url: webhookUrl } = body
  return { input: input as JsonObject, mode, webhookUrl, base: '/input' }
}

function fromQuery(query: JsonObject): Wrapped {
  const input = Object.fromEntries(Object.entries(query).filter(([name]) => !QUERY_NAMES.includes(name)))
  return { input, mode: query.mode, webhookUrl: query.webhook_url, base: '' }
}

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value)
