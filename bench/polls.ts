import { setTimeout as pause } from 'node:timers/promises'
import type { Measured, Tools } from './scenario.ts'

const CONNECTIONS = 64
const PATIENCE_MS = 60_000

/** Makes a task, waits for its end, and polls it as clients do that have seen it: each poll is answered 304. */
export async function measurePolls({ load, target, seconds }: Tools): Promise<Measured> {
  const origin = new URL(target.url).origin
  const headers = { authorization: `Bearer ${target.tokens[0]}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ model: 'mock-image', prompt: 'a night train' })
  const created = await fetch(`${origin}/v1/images/generations`, { method: 'POST', headers, body })
  const { poll_url: path } = (await created.json()) as { poll_url: string }
  const etag = await endedTag(origin + path, headers)
  const polled = {
    url: origin + path,
    method: 'GET',
    headers: { 'if-none-match': etag },
    tokens: target.tokens,
    body: '',
  } as const
  const result = await load.run(polled, { connections: CONNECTIONS, seconds })
  return {
    metrics: {
      'polls/s': result.answered / result.seconds,
      'p50 ms': result.p50Ms,
      'p99 ms': result.p99Ms,
    },
    // nothing of this is billed
    answered: 0,
    notAnswered: result.refused + result.failed,
    cutOff: 0,
  }
}

async function endedTag(url: string, headers: Record<string, string>): Promise<string> {
  const deadline = performance.now() + PATIENCE_MS
  while (performance.now() < deadline) {
    const response = await fetch(url, { headers })
    const { completed_at } = (await response.json()) as { completed_at: number | null }
    if (completed_at !== null) return response.headers.get('etag') ?? ''
    await pause(50)
  }
  throw new Error('the task that is polled does not end')
}
