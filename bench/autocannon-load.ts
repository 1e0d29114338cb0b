import autocannon from 'autocannon'
import type { LoadResult, Target } from './load.ts'

// One load with autocannon, in a process of its own so that the benchmark's own work does not slow it down.

process.on('message', (job: { target: Target; connections: number; seconds: number }) => {
  void load(job).then((result) => process.send?.(result))
})
process.on('disconnect', () => process.exit())

async function load(job: { target: Target; connections: number; seconds: number }): Promise<LoadResult> {
  const { target, connections, seconds } = job
  const { method = 'POST' } = target
  const headers = { 'content-type': 'application/json', ...target.headers }
  const shares = sharesOf(target.tokens, connections)
  let connection = 0
  const result = await autocannon({
    url: target.url,
    method,
    headers,
    body: target.body,
    connections,
    duration: seconds,
    timeout: 10,
    setupClient(client) {
      const tokens = shares[connection++ % shares.length] ?? []
      if (tokens.length === 0) return
      client.setRequests(
        tokens.map((token) => ({
          method,
          body: target.body,
          headers: { ...headers, authorization: `Bearer ${token}` },
        })),
      )
    },
  })
  const count = (status: string): number => result.statusCodeStats[status]?.count ?? 0
  const answered = count('200') + count('304')
  return {
    answered,
    refused: Math.max(0, result['2xx'] + result.non2xx - answered),
    failed: result.errors,
    seconds: result.duration,
    p50Ms: result.latency.p50,
    p99Ms: result.latency.p99,
  }
}

/** Deals the tokens to the connections, each of which takes its own in turn: together they use all of them. */
function sharesOf(tokens: readonly string[], connections: number): string[][] {
  const shares = Array.from({ length: connections }, (): string[] => [])
  const rounds = Math.max(tokens.length, connections)
  for (let n = 0; n < rounds && tokens.length > 0; n += 1) {
    shares[n % connections]?.push(tokens[n % tokens.length] as string)
  }
  return shares
}
