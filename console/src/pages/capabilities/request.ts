import type { Operation } from './operation-part.tsx'

type Field = Operation['input_fields'][number]

const samples: Readonly<Record<string, unknown>> = { string: 'hello', integer: 1, number: 1, boolean: true, array: [] }

/** Something that fits the field, as far as its type says. */
function sampleOf(field: Field): unknown {
  if (field.default !== undefined) return field.default
  if (field.enum) return field.enum[0]
  return samples[String(field.type)] ?? {}
}

/** The operation as a command for a terminal, with something in each field that it needs. */
export function asCurl(
  operation: Pick<Operation, 'method' | 'path' | 'input_fields' | 'idempotency_key_required'>,
  origin: string,
): string {
  const wanted = operation.input_fields.filter((field) => field.required || field.default !== undefined)
  const input = Object.fromEntries(wanted.map((field) => [field.name, sampleOf(field)]))
  const inQuery = operation.method === 'GET' || operation.method === 'DELETE'
  const query = new URLSearchParams(Object.entries(input).map(([name, value]) => [name, String(value)])).toString()
  const url = `${origin}${operation.path}${inQuery && query ? `?${query}` : ''}`
  const parts = [
    `curl -s ${operation.method === 'GET' || operation.method === 'POST' ? '' : `-X ${operation.method} `}"${url}"`,
    '-H "authorization: Bearer $FAREBOX_API_KEY"',
    ...(operation.idempotency_key_required ? ['-H "idempotency-key: $(uuidgen)"'] : []),
    ...(inQuery
      ? []
      : [`-H 'content-type: application/json'`, `-d '${JSON.stringify(input).replaceAll("'", "'\\''")}'`]),
  ]
  return parts.join(' \\\n  ')
}
