import { Agent, type IncomingMessage, request } from 'node:http'
import type { Target } from './load.ts'
import { percentile } from './statistics.ts'
import { streamText } from './workload.ts'

// The benchmark's own clients, for what the load tools cannot see: single calls to the microsecond, the first
// token of a stream, and whether each stream came whole.

const TIMEOUT_MS = 30_000

/** Calls one after another on one connection. Times in milliseconds. */
export interface Latency {
  readonly answered: number
  readonly refused: number
  readonly p50Ms: number
  readonly p99Ms: number
}

/** Calls one after another on one connection for some seconds. */
export async function measureLatency(target: Target, seconds: number): Promise<Latency> {
  return onOneConnection(seconds, async (agent) => {
    const begin = performance.now()
    const response = await post(target, agent)
    for await (const _ of response);
    return { ok: response.statusCode === 200, tookMs: performance.now() - begin }
  })
}

/** Streams one after another on one connection for some seconds: the time to the first chunk that carries text. */
export async function measureFirstToken(target: Target, seconds: number): Promise<Latency> {
  return onOneConnection(seconds, async (agent) => {
    const { firstTokenMs, whole } = await readStream(target, agent)
    return { ok: whole, tookMs: firstTokenMs ?? TIMEOUT_MS }
  })
}

/** Streams at once. */
export interface Streams {
  readonly answered: number
  /** Streams of which any text, the usage or [DONE] was missing, or that came in another order. */
  readonly broken: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly longestMs: number
}

/** Opens `count` streams at the same moment, each on its own connection, and reads them to their ends. */
export async function measureStreams(target: Target, count: number): Promise<Streams> {
  const agent = new Agent({ keepAlive: false, maxSockets: count })
  const begin = performance.now()
  const streams = await Promise.all(Array.from({ length: count }, () => readStream(target, agent)))
  const firstTokens = streams.map(({ firstTokenMs }) => firstTokenMs ?? TIMEOUT_MS)
  const answered = streams.filter(({ whole }) => whole).length
  return {
    answered,
    broken: count - answered,
    p50Ms: percentile(firstTokens, 50),
    p99Ms: percentile(firstTokens, 99),
    longestMs: performance.now() - begin,
  }
}

async function onOneConnection(
  seconds: number,
  call: (agent: Agent) => Promise<{ ok: boolean; tookMs: number }>,
): Promise<Latency> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const times: number[] = []
  let refused = 0
  const end = performance.now() + seconds * 1000
  do {
    const { ok, tookMs } = await call(agent)
    if (ok) times.push(tookMs)
    else refused += 1
  } while (performance.now() < end)
  agent.destroy()
  if (times.length === 0) return { answered: 0, refused, p50Ms: Number.NaN, p99Ms: Number.NaN }
  return {
    answered: times.length,
    refused,
    p50Ms: percentile(times, 50),
    p99Ms: percentile(times, 99),
  }
}

interface StreamRead {
  readonly firstTokenMs: number | undefined
  readonly whole: boolean
}

async function readStream(target: Target, agent: Agent): Promise<StreamRead> {
  const begin = performance.now()
  let firstTokenMs: number | undefined
  let text = ''
  let hasUsage = false
  let done = false
  try {
    const response = await post(target, agent)
    for await (const payload of payloads(response)) {
      if (payload === '[DONE]') {
        done = true
        continue
      }
      const chunk = JSON.parse(payload) as Chunk
      const content = chunk.choices?.[0]?.delta?.content
      if (content) firstTokenMs ??= performance.now() - begin
      text += content ?? ''
      hasUsage ||= chunk.usage !== undefined && chunk.usage !== null
    }
  } catch {
    return { firstTokenMs, whole: false }
  }
  return { firstTokenMs, whole: done && hasUsage && text === streamText }
}

interface Chunk {
  readonly choices?: ReadonlyArray<{ readonly delta?: { readonly content?: string } }>
  readonly usage?: object | null
}

/** The `data:` payloads of a stream of server-sent events. */
async function* payloads(response: IncomingMessage): AsyncGenerator<string> {
  response.setEncoding('utf8')
  let rest = ''
  for await (const text of response as AsyncIterable<string>) {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) if (line.startsWith('data:')) yield line.slice(5).trim()
  }
}

function post(target: Target, agent: Agent): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const [token] = target.tokens
  const headers = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(target.body),
    ...target.headers,
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  }
  const call = request(target.url, { method: 'POST', agent, headers, timeout: TIMEOUT_MS }, resolve)
  call.on('timeout', () => call.destroy(new Error('no answer in time')))
  call.on('error', reject)
  call.end(target.body)
  return promise
}
