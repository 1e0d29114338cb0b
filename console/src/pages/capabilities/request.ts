import type { Capability, Operation } from './operation.ts'

type Field = Operation['input_fields'][number]
type Input = Readonly<Record<string, unknown>>

const samples: Readonly<Record<string, unknown>> = { string: 'hello', integer: 1, number: 1, boolean: true, array: [] }

/** Something that fits the field, as far as its type says. */
function sampleOf(field: Field): unknown {
  if (field.default !== undefined) return field.default
  if (field.enum) return field.enum[0]
  return samples[String(field.type)] ?? {}
}

/** An input with something in each field that the operation needs. */
export function sampleInput({ input_fields }: Pick<Operation, 'input_fields'>): Input {
  const wanted = input_fields.filter((field) => field.required || field.default !== undefined)
  return Object.fromEntries(wanted.map((field) => [field.name, sampleOf(field)]))
}

/** Whether the input stands in the address. */
export const inQuery = ({ method }: Pick<Operation, 'method'>): boolean => method === 'GET' || method === 'DELETE'

/** The path of a call, with its input where the method wants it. */
export function addressOf(operation: Pick<Operation, 'method' | 'path'>, input: Input): string {
  if (!inQuery(operation)) return operation.path
  const pairs = Object.entries(input).map(([name, value]) => [
    name,
    typeof value === 'string' ? value : JSON.stringify(value),
  ])
  const query = new URLSearchParams(pairs as string[][]).toString()
  return operation.path + (query && `?${query}`)
}

/** The call as a command for a terminal. */
export function asCurl(
  operation: Pick<Operation, 'method' | 'path' | 'idempotency_key_required'>,
  input: Input,
  origin: string,
): string {
  const { method } = operation
  const parts = [
    `curl -s ${method === 'GET' || method === 'POST' ? '' : `-X ${method} `}"${origin}${addressOf(operation, input)}"`,
    '-H "authorization: Bearer $FAREBOX_API_KEY"',
    ...(operation.idempotency_key_required ? ['-H "idempotency-key: $(uuidgen)"'] : []),
    ...(inQuery(operation)
      ? []
      : [`-H 'content-type: application/json'`, `-d '${JSON.stringify(input).replaceAll("'", "'\\''")}'`]),
  ]
  return parts.join(' \\\n  ')
}

/** The call with @farebox/sdk. */
export function asSdk({ slug }: Pick<Capability, 'slug'>, operation: Operation, input: Input, origin: string): string {
  const sent = {
    path: { slug, operation: operation.slug },
    ...(inQuery(operation) ? { query: input } : { body: input }),
  }
  const key = operation.idempotency_key_required ? '\n  idempotencyKey: crypto.randomUUID(),' : ''
  const lines = Object.entries(sent).map(([name, value]) => `\n  ${name}: ${JSON.stringify(value)},`)
  return `import { createFarebox } from '@farebox/sdk'

const farebox = createFarebox({ baseUrl: '${origin}', apiKey: process.env.FAREBOX_API_KEY })
const answer = await farebox.request('${operation.method}', '/v1/capabilities/{slug}/operations/{operation}', {${lines.join('')}${key}
})
console.log(answer.data)`
}

/** The same operation as a tool of /mcp: what a client calls it with. */
export const asMcp = ({ slug }: Pick<Capability, 'slug'>, operation: Operation, input: Input): string =>
  JSON.stringify({ method: 'tools/call', params: { name: `${slug}_${operation.slug}`, arguments: input } }, null, 2)
