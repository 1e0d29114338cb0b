import { Pool } from 'undici'
import type { CapabilityProvider, OperationCall } from '../capability.ts'
import type { JsonObject } from '../provider.ts'
import { Scrubber } from '../scrubber.ts'
import { poolOptions } from '../transport.ts'
import { Exchange } from './exchange.ts'

/** How to reach one service that speaks JSON over HTTP. */
export interface HttpCapabilityOptions {
  /** Shown in messages: the capability's slug. */
  readonly name: string
  /** http or https, without a trailing slash, user, query or fragment. */
  readonly baseUrl: string
  /** Sent with each call; their values count as secrets in messages. Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly connections: number
  readonly connectTimeoutMs: number
  readonly timeoutMs: number
  readonly maxResponseBytes: number
}

/** How many calls may wait for each socket. */
const WAITING_PER_CONNECTION = 8

/**
 * A capability whose work an operator's own service does. The service is told `x-request-id`, `x-farebox-call-id`
 * and `x-farebox-account-id`; nothing is retried and no redirect is followed.
 */
export function createHttpCapability(options: HttpCapabilityOptions): CapabilityProvider {
  const base = new URL(options.baseUrl)
  const prefix = base.pathname.replace(/\/+$/, '')
  const scrubber = new Scrubber(Object.values(options.headers))
  const { timeoutMs } = options
  const pool = new Pool(base.origin, poolOptions({ ...options, headersTimeoutMs: timeoutMs, idleTimeoutMs: timeoutMs }))
  const callsMax = options.connections * (1 + WAITING_PER_CONNECTION)
  let calls = 0
  return {
    async call(call) {
      if (call.signal.aborted) return refused(`${options.name} was not called: the server is shutting down.`)
      if (calls >= callsMax) return { ...refused(`${options.name} has ${calls} calls in flight.`), retryAfterMs: 1000 }
      calls += 1
      const exchange = new Exchange({
        name: options.name,
        scrubber,
        signal: call.signal,
        timeoutMs,
        startTimeoutMs: options.connectTimeoutMs,
        ended: () => {
          calls -= 1
        },
      })
      const inQuery = call.method === 'GET' || call.method === 'DELETE'
      pool.dispatch(
        {
          path: `${prefix}${call.path}${inQuery ? queryOf(call.input) : ''}`,
          method: call.method,
          headers: { ...options.headers, ...headersOf(call), ...(inQuery ? {} : { 'content-type': JSON_TYPE }) },
          body: inQuery ? null : JSON.stringify(call.input),
        },
        exchange,
      )
      return exchange.outcome
    },
    retire: () => pool.close(),
    close: () => pool.destroy(),
  }
}

const JSON_TYPE = 'application/json'

const headersOf = ({ requestId, callId, accountId }: OperationCall): Record<string, string> => ({
  accept: JSON_TYPE,
  'accept-encoding': 'identity',
  'x-request-id': requestId,
  'x-farebox-account-id': accountId,
  // the same for each attempt at one call, so that the service can tell a repeat
  ...(callId === '' ? {} : { 'x-farebox-call-id': callId, 'idempotency-key': callId }),
})

/** Lists as repeated parameters, objects as JSON. */
function queryOf(input: JsonObject): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(input))
    for (const one of Array.isArray(value) ? value : [value])
      query.append(name, typeof one === 'object' ? JSON.stringify(one) : String(one))
  const text = query.toString()
  return text === '' ? '' : `?${text}`
}

const refused = (message: string) => ({ kind: 'refused', status: undefined, message }) as const
