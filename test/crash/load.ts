/** What clients know: calls that were answered whole, with what the answer said they cost. */
export interface Load {
  /** Cost in microcredits by call id, of every answer that came through to its end. */
  readonly acknowledged: ReadonlyMap<bigint, number>
  /** Requests that were sent, answered or not. */
  readonly sent: number
  /** What the last request that failed was told. */
  readonly lastFailure: string
  /** Where the server is now; clients of a dead one try again until it moves. */
  baseUrl: string
  stop(): Promise<void>
}

const ANSWER_TIMEOUT_MS = 30_000
/** How long a client that got no answer waits before its next call: two dozen of them would keep a processor busy with nothing else. */
const BACK_OFF_MS = 50

/**
 * Clients that call `demo-chat`, plain and streamed in turn, and now and then `demo-slow`, each with the next
 * of the keys, one call after another until stopped.
 */
export function startLoad(options: { baseUrl: string; keys: readonly string[]; clients: number }): Load {
  const acknowledged = new Map<bigint, number>()
  let sent = 0
  let lastFailure = 'nothing'
  let stopped = false

  async function call(key: string, n: number): Promise<void> {
    const stream = n % 2 === 0
    sent += 1
    const response = await fetch(`${load.baseUrl}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: n % 10 === 0 ? 'demo-slow' : 'demo-chat',
        messages: [{ role: 'user', content: 'a word '.repeat(1 + (n % 40)) }],
        stream,
        ...(stream ? { stream_options: { include_usage: true } } : {}),
      }),
      signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
    })
    const text = await response.text()
    const callId = response.headers.get('x-call-id')
    if (response.status !== 200 || callId === null) throw new Error(`${response.status} ${text.slice(0, 200)}`)
    if (stream && !text.endsWith('data: [DONE]\n\n')) throw new Error('the stream broke off')
    const cost = /"cost_micro":(\d+)/.exec(text)?.[1]
    if (cost === undefined) throw new Error(`no cost in ${text.slice(-200)}`)
    acknowledged.set(BigInt(callId), Number(cost))
  }

  async function client(number: number): Promise<void> {
    const key = options.keys[number % options.keys.length] ?? ''
    for (let n = number; !stopped; n += 1) {
      await call(key, n).catch((error: unknown) => {
        lastFailure = String(error)
        return new Promise((resolve) => setTimeout(resolve, BACK_OFF_MS))
      })
    }
  }

  const load: Load = {
    acknowledged,
    get sent() {
      return sent
    },
    get lastFailure() {
      return lastFailure
    },
    baseUrl: options.baseUrl,
    async stop() {
      stopped = true
      await running
    },
  }
  const running = Promise.all(Array.from({ length: options.clients }, (_, number) => client(number)))
  return load
}
