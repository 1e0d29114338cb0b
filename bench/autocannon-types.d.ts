/** The part of autocannon that the benchmark uses; the package brings no types. */
declare module 'autocannon' {
  interface Request {
    readonly method: 'GET' | 'POST'
    readonly headers: Record<string, string>
    readonly body: string
  }
  interface Client {
    setRequests(requests: Request[]): void
  }
  interface Options extends Request {
    readonly url: string
    readonly connections: number
    readonly duration: number
    readonly timeout: number
    setupClient(client: Client): void
  }
  interface Result {
    readonly '2xx': number
    readonly non2xx: number
    readonly errors: number
    readonly duration: number
    readonly statusCodeStats: Record<string, { count: number }>
    readonly latency: { p50: number; p99: number }
  }
  // biome-ignore lint/style/noDefaultExport: it is what the package exports
  export default function autocannon(options: Options): Promise<Result>
}
