import type { Clock } from '../kernel/clock.ts'
import { CallReverted, NodeUnavailable, RangeRefused } from './chain.ts'

/** One question to a node: a method and its parameters. */
export type Question = readonly [method: string, ...parameters: unknown[]]

/** Asks one node. Several questions travel in one request and are answered in their order. */
export interface JsonRpc {
  /** Throws NodeUnavailable, or RangeRefused when the node wants a smaller question. */
  ask(questions: readonly Question[]): Promise<unknown[]>
}

/** A node that is asked answers within this or is given up, unless the operator says otherwise. */
const RPC_TIMEOUT_MS = 3_000
const ANSWER_BYTES_MAX = 16 * 1024 * 1024
/** As many questions travel together. */
const BATCH_MAX = 50
/** After so many failures in a row the node is left alone for a while, longer each time. */
const FAILURES_MAX = 5
const REST_MS_MIN = 1_000
const REST_MS_MAX = 30_000
/** Words with which nodes refuse a question for too many blocks or logs; there is no one code for it. */
const TOO_MUCH = /range|limit|too many|too large|exceed|more than|response size/i
const REVERTED = 3
const TOO_MUCH_CODES = new Set([-32005, -32602])

/** A client of one node: no retries, no cache, and a circuit breaker. `name` is what errors call it. */
export function openJsonRpc({
  url,
  name,
  clock,
  timeoutMs = RPC_TIMEOUT_MS,
}: {
  readonly url: string
  readonly name: string
  readonly clock: Clock
  readonly timeoutMs?: number | undefined
}): JsonRpc {
  let failures = 0
  let restsUntilMs = 0
  const guarded = async <T>(work: () => Promise<T>): Promise<T> => {
    if (clock.monotonicMs() < restsUntilMs)
      throw new NodeUnavailable(`${name} failed ${failures} times and is left alone for a moment`)
    try {
      const answer = await work()
      failures = 0
      return answer
    } catch (error) {
      if (error instanceof RangeRefused || error instanceof CallReverted) throw error
      failures += 1
      const rest = Math.min(REST_MS_MAX, REST_MS_MIN * 2 ** (failures - FAILURES_MAX))
      if (failures >= FAILURES_MAX) restsUntilMs = clock.monotonicMs() + rest
      throw error
    }
  }
  return {
    async ask(questions) {
      const answers: unknown[] = []
      for (let from = 0; from < questions.length; from += BATCH_MAX)
        answers.push(...(await guarded(() => post({ url, name, timeoutMs }, questions.slice(from, from + BATCH_MAX)))))
      return answers
    },
  }
}

async function post(
  { url, name, timeoutMs }: { url: string; name: string; timeoutMs: number },
  questions: readonly Question[],
): Promise<unknown[]> {
  const bodies = questions.map(([method, ...params], id) => ({
    jsonrpc: '2.0',
    id,
    method,
    params,
  }))
  let status: number
  let text: string
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(bodies.length === 1 ? bodies[0] : bodies),
      redirect: 'error',
      // covers the body as well: a node may also hang in the middle of it
      signal: AbortSignal.timeout(timeoutMs),
    })
    status = response.status
    text = await limitedText(response, name)
  } catch (cause) {
    if (cause instanceof NodeUnavailable || cause instanceof RangeRefused) throw cause
    // the cause of a failed fetch may name the address, which may hold a key: it is not passed on
    const why = (cause as Error).name === 'TimeoutError' ? `did not answer within ${timeoutMs} ms` : 'cannot be reached'
    throw new NodeUnavailable(`${name} ${why}`)
  }
  if (status === 413) throw new RangeRefused(`${name} finds the question too large`)
  return answersIn(parsed(text, name, status), bodies.length, name)
}

async function limitedText(response: Response, name: string): Promise<string> {
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const part of response.body ?? []) {
    bytes += part.byteLength
    if (bytes > ANSWER_BYTES_MAX) throw new RangeRefused(`${name} answers with more than ${ANSWER_BYTES_MAX} bytes`)
    parts.push(part)
  }
  return Buffer.concat(parts).toString('utf8')
}

function parsed(text: string, name: string, status: number): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new NodeUnavailable(`${name} answers ${status} and no JSON`)
  }
}

function answersIn(body: unknown, count: number, name: string): unknown[] {
  const list = Array.isArray(body) ? body : [body]
  const byId = new Map(list.map((answer: unknown) => [isObject(answer) ? answer.id : undefined, answer]))
  // a node that refuses the whole request answers once, without an id
  const refusal = list.find((answer) => isObject(answer) && isObject(answer.error))
  if (refusal !== undefined) throw refusalOf((refusal as { error: Record<string, unknown> }).error, name)
  return Array.from({ length: count }, (_, id) => {
    const answer = byId.get(id)
    if (!isObject(answer) || !('result' in answer)) throw new NodeUnavailable(`${name} gives no answer to a question`)
    return answer.result
  })
}

function refusalOf(error: Record<string, unknown>, name: string): Error {
  const message = typeof error.message === 'string' ? error.message.slice(0, 200) : 'no reason'
  const isTooMuch = TOO_MUCH_CODES.has(Number(error.code)) || TOO_MUCH.test(message)
  if (error.code === REVERTED || /revert/i.test(message)) return new CallReverted(`${name} says: ${message}`)
  // "rate limit" is about the asker, not the question
  if (isTooMuch && !/rate|request limit|per second/i.test(message))
    return new RangeRefused(`${name} refuses: ${message}`)
  return new NodeUnavailable(`${name} refuses: ${message}`)
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
