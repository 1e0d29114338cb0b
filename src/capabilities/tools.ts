import { inCredits } from '../kernel/money.ts'
import type { JsonObject } from '../providers/provider.ts'
import type { Catalogue, ServedOperation } from './catalogue.ts'
import { describePrice } from './descriptor.ts'

/** An operation as a tool: of the default version, under a name that every model API takes. */
export interface OperationTool {
  /** `slug_operation`: slugs have no underscores, so no two are alike. */
  readonly name: string
  readonly title: string
  readonly description: string
  readonly method: ServedOperation['operation']['method']
  /** Where the operation is called over HTTP. */
  readonly path: string
  readonly inputSchema: JsonObject
  /** Of the whole answer, with `data` as the operation declares it. */
  readonly outputSchema: JsonObject
  readonly readOnly: boolean
  readonly idempotencyKeyRequired: boolean
  readonly free: boolean
  readonly pricing: JsonObject
}

/** Every operation that can be called now, in the order of the file. */
export function operationTools(catalogue: Catalogue): OperationTool[] {
  return [...catalogue.values()].flatMap(({ config, versions }) => {
    const served = versions.get(config.defaultVersion)
    return served === undefined || served.drifted ? [] : [...served.operations.values()].map(toolOf)
  })
}

function toolOf(served: ServedOperation): OperationTool {
  const { capability, operation } = served
  const asynchronous = operation.modes[0] === 'async'
  const description = [
    operation.summary,
    capability.shortDescription,
    capability.agentDocWhat,
    priceInWords(served),
    asynchronous ? 'It answers with a task at once: ask get_task with its task_id for the result.' : '',
  ]
  return {
    name: `${capability.slug}_${operation.slug}`,
    title: `${capability.name}: ${operation.name}`,
    description: description.filter((part) => part !== '').join('\n'),
    method: operation.method,
    path: `/v1/capabilities/${capability.slug}/operations/${operation.slug}`,
    inputSchema: operation.inputSchema,
    outputSchema: outputSchemaOf(served, asynchronous),
    readOnly: operation.readOnly,
    idempotencyKeyRequired: operation.idempotencyKeyRequired,
    free: operation.price.micro === 0n,
    pricing: describePrice(operation.price),
  }
}

function priceInWords({ operation: { price } }: ServedOperation): string {
  if (price.micro === 0n) return 'Price: free.'
  if (price.kind === 'fixed') return `Price: ${inCredits(price.micro)} Credits for each call.`
  const most = inCredits(price.micro * BigInt(price.unitsMax))
  return `Price: ${inCredits(price.micro)} Credits for each ${price.unit} of the ${price.kind === 'input_units' ? 'input' : 'answer'}, at most ${most} Credits.`
}

function outputSchemaOf({ capability, version, operation }: ServedOperation, asynchronous: boolean): JsonObject {
  const { outputSchema } = operation
  // a schema with references of its own keeps its own root, wherever it stands
  const id = `urn:farebox:${capability.slug}:${version.version}:${operation.slug}`
  const ownRoot = outputSchema.$id === undefined && JSON.stringify(outputSchema).includes('"$ref"')
  return {
    type: 'object',
    required: ['request_id', 'capability', 'capability_version', 'operation', 'mode', 'data', 'billing'],
    properties: {
      request_id: { type: 'string' },
      capability: { type: 'string' },
      capability_version: { type: 'string' },
      operation: { type: 'string' },
      mode: { type: 'string', enum: ['sync', 'async'] },
      data: asynchronous ? { type: 'object' } : { ...(ownRoot ? { $id: id } : {}), ...outputSchema },
      billing: {
        type: 'object',
        required: ['status', 'reserve_amount_micro', 'actual_amount_micro'],
        properties: {
          status: { type: 'string' },
          reserve_amount_micro: { type: 'integer', description: 'Microcredits held: 1 Credit = 1000000' },
          actual_amount_micro: { type: ['integer', 'null'], description: 'Microcredits charged' },
        },
      },
    },
  }
}
