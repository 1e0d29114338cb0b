import { type EventName, eventType, eventTypes, type Members, type OutboxEvent } from './event-types.ts'

/** What stands in an outbox payload for us, not for receivers. */
const reserved = new Set(['at', 'owner_account_id', 'webhook_url'])

/** The body of every delivery. */
export interface EventBody {
  readonly type: string
  readonly timestamp: string
  readonly data: Members
}

/** What is sent of an event to an account: the same at every attempt, only members that the type's schema documents. */
export function bodyOf(event: OutboxEvent, receiverAccountId: bigint): EventBody {
  const payload = membersOf(event.payload)
  return {
    type: event.event,
    timestamp: timeOf(payload.at) ?? event.created_at.toISOString(),
    data: dataOf(event, payload, receiverAccountId),
  }
}

function dataOf(event: OutboxEvent, payload: Members, receiverAccountId: bigint): Members {
  const type = eventType(event.event)
  if (!type) return {}
  const given: Members = { ...type.defaults?.(event), ...payload }
  const members: Members = { ...given, ...type.forms?.(given) }
  const withheld = new Set([...reserved, ...(receiverAccountId === event.account_id ? [] : (type.own ?? []))])
  const documented = new Set(Object.keys('properties' in type.data ? Object(type.data.properties) : {}))
  return Object.fromEntries(
    Object.entries(members).filter(([name]) => !withheld.has(name) && (type.open === true || documented.has(name))),
  )
}

/** The body of a delivery of this type, for the OpenAPI document. */
export function bodySchema(name: EventName): Record<string, unknown> {
  return {
    type: 'object',
    required: ['type', 'timestamp', 'data'],
    properties: {
      type: { const: name },
      timestamp: { type: 'string', format: 'date-time', description: 'When it happened' },
      data: eventTypes[name].data,
    },
  }
}

function membersOf(payload: unknown): Members {
  return typeof payload === 'object' && payload !== null && !Array.isArray(payload) ? (payload as Members) : {}
}

function timeOf(value: unknown): string | undefined {
  const at = typeof value === 'string' ? new Date(value) : undefined
  return at && !Number.isNaN(at.getTime()) ? at.toISOString() : undefined
}
