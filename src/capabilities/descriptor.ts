import type { Operation, OperationPrice } from '../config/capabilities.ts'
import { toJsonInteger } from '../kernel/money.ts'
import type { JsonObject } from '../providers/provider.ts'
import type { ServedCapability, ServedVersion } from './catalogue.ts'

/** Where the tasks of asynchronous operations are read. */
const TASK_PATH = '/v1/tasks/{task_id}'

/** A capability as clients see it, in one of its versions (spec 2.13). */
export function describeCapability({ config, versions }: ServedCapability, served: ServedVersion): JsonObject {
  const { version, drifted } = served
  const path = `/v1/capabilities/${config.slug}`
  const operations = version.operations.map((operation) => describeOperation(operation, path, drifted))
  const [first] = version.operations.filter(({ slug }) => slug === version.defaultOperation)
  const prices = new Set(operations.map(({ pricing }) => JSON.stringify(pricing)))
  return {
    slug: config.slug,
    name: config.name,
    category: config.category,
    short_description: config.shortDescription,
    provider_name: config.providerName,
    type: 'api',
    status: 'active',
    visibility: 'consumer_listed',
    version: version.version,
    default_version: config.defaultVersion,
    versions: [...versions.keys()],
    tags: config.tags,
    ...supports(version.operations.flatMap(({ modes }) => modes)),
    default_invoke_mode: first?.modes[0] ?? 'sync',
    funding_modes: config.fundingModes,
    invoke_path: `${path}/invoke`,
    ...(operations.some(({ supports_async }) => supports_async) ? { task_path_template: TASK_PATH } : {}),
    // operations that differ in price each say their own
    ...(prices.size === 1 ? { pricing: operations[0]?.pricing } : {}),
    input_fields: first ? inputFields(first) : [],
    output_highlights: config.outputHighlights,
    trust_signals: config.trustSignals,
    agent_doc_what: config.agentDocWhat,
    agent_doc_how: config.agentDocHow,
    default_operation_slug: version.defaultOperation,
    operations,
    availability: availability(drifted),
  }
}

function describeOperation(operation: Operation, path: string, drifted: boolean): JsonObject {
  return {
    slug: operation.slug,
    name: operation.name,
    method: operation.method,
    path: `${path}/operations/${operation.slug}`,
    summary: operation.summary,
    read_only: operation.readOnly,
    ...(operation.flowStep === 0 ? {} : { flow_step: operation.flowStep }),
    pricing: describePrice(operation.price),
    input_fields: inputFields(operation),
    output_highlights: operation.outputHighlights,
    trust_signals: operation.trustSignals,
    default_invoke_mode: operation.modes[0],
    idempotency_key_required: operation.idempotencyKeyRequired,
    ...supports(operation.modes),
    ...(operation.modes.includes('async') ? { task_path_template: TASK_PATH } : {}),
    availability: availability(drifted),
    input_schema: operation.inputSchema,
    output_schema: operation.outputSchema,
  }
}

/** What a call costs, in microcredits: 1 Credit = 1000000. */
export function describePrice(price: OperationPrice): JsonObject {
  const micro = toJsonInteger(price.micro)
  const common = {
    billing_kind: 'credit',
    currency: 'USDC',
    unit_price_micro: micro,
    unit_price_micro_usdc: micro,
  }
  if (price.kind === 'fixed') return { ...common, mode: 'fixed', unit: 'call', max_hold_micro: micro }
  return {
    ...common,
    mode: 'per_unit',
    unit: price.unit,
    units_from: price.kind === 'input_units' ? 'input' : 'output',
    units_at: price.at,
    units_max: price.unitsMax,
    max_hold_micro: toJsonInteger(price.micro * BigInt(price.unitsMax)),
  }
}

/** True when `mode` and the words of `q` are both met by the capability, in its default version. */
export function matches(
  { config }: ServedCapability,
  { version }: ServedVersion,
  { q, mode }: { q: string | undefined; mode: 'sync' | 'async' | undefined },
): boolean {
  if (mode !== undefined && !version.operations.some(({ modes }) => modes.includes(mode))) return false
  const { slug, name, category, shortDescription, providerName, tags } = config
  const words = [slug, name, 'api', category, shortDescription, providerName, ...tags].join('\n').toLowerCase()
  return q === undefined || words.includes(q.toLowerCase())
}

const supports = (modes: readonly ('sync' | 'async')[]): JsonObject => ({
  supports_sync: modes.includes('sync'),
  supports_async: modes.includes('async'),
  supports_polling: modes.includes('async'),
  supports_webhook: modes.includes('async'),
})

const availability = (drifted: boolean): JsonObject =>
  drifted
    ? {
        invoke_allowed: false,
        reason: 'capability_version_drifted',
        message: 'This version is configured otherwise than it was frozen; the operator has to mend it.',
      }
    : { invoke_allowed: true }

/** The first level of the input schema as a list, for forms. */
function inputFields({ inputSchema }: Operation): JsonObject[] {
  const { properties = {}, required = [] } = inputSchema as { properties?: JsonObject; required?: unknown[] }
  return Object.entries(properties).map(([name, schema]) => {
    const { type, description, enum: choices, default: fallback } = (schema ?? {}) as JsonObject
    return {
      name,
      required: required.includes(name),
      ...(type === undefined ? {} : { type }),
      ...(description === undefined ? {} : { description }),
      ...(choices === undefined ? {} : { enum: choices }),
      ...(fallback === undefined ? {} : { default: fallback }),
    }
  })
}
