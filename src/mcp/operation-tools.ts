import type { JsonObject } from '../providers/provider.ts'
import { queryOf, resultOf, type Tool } from './tool.ts'

/** An operation of a capability, as the room of capabilities describes it. */
export interface OperationTool {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly inputSchema: JsonObject
  readonly outputSchema: JsonObject
  readonly readOnly: boolean
  readonly idempotencyKeyRequired: boolean
  readonly free: boolean
  readonly pricing: JsonObject
}

const IDEMPOTENCY_KEY = {
  type: 'string',
  minLength: 1,
  maxLength: 128,
  description:
    'A fresh UUID for each thing that you want done. Send the same one again when you repeat a call whose answer was lost: it is then done and charged once.',
}

/**
 * The tool of an operation. It is called over the same path as over HTTP, so input, price, hold and answer are the
 * same; `idempotency_key` among the arguments becomes the Idempotency-Key header.
 */
export function toolOfOperation(operation: OperationTool): Tool {
  return {
    description: {
      name: operation.name,
      title: operation.title,
      description: operation.description,
      inputSchema: inputSchemaOf(operation),
      outputSchema: operation.outputSchema as { type: 'object' },
      annotations: {
        title: operation.title,
        readOnlyHint: operation.readOnly,
        destructiveHint: false,
        idempotentHint: operation.readOnly,
        openWorldHint: true,
      },
      _meta: { 'farebox/pricing': operation.pricing },
    },
    async call({ idempotency_key: key, ...input }, send) {
      const inQuery = operation.method === 'GET' || operation.method === 'DELETE'
      const answer = await send({
        method: operation.method,
        path: `${operation.path}${inQuery ? queryOf(input) : ''}`,
        ...(inQuery ? {} : { body: input }),
        ...(key === undefined ? {} : { headers: { 'idempotency-key': String(key) } }),
      })
      if (answer.status >= 400) return resultOf(answer)
      const { data, billing, request_id: requestId } = answer.body
      const { actual_amount_micro: charged, call_id: callId } = billing as JsonObject
      return {
        ...resultOf(answer, JSON.stringify(data)),
        _meta: {
          'farebox/charged_micro': charged ?? null,
          'farebox/request_id': requestId,
          ...(callId === undefined ? {} : { 'farebox/call_id': callId }),
        },
      }
    },
  }
}

/** The operation's own schema, with a place for the key where a repeat would cost. */
function inputSchemaOf({ inputSchema, free, idempotencyKeyRequired }: OperationTool): { type: 'object' } {
  const schema = { ...inputSchema, type: 'object' } as const
  if (free && !idempotencyKeyRequired) return schema
  const { properties = {}, required = [] } = inputSchema as { properties?: JsonObject; required?: string[] }
  return {
    ...schema,
    properties: { ...properties, idempotency_key: IDEMPOTENCY_KEY },
    ...(idempotencyKeyRequired ? { required: [...required, 'idempotency_key'] } : {}),
  } as { type: 'object' }
}
