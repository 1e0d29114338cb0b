import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A call as it travels. */
export interface Call {
  readonly id: number
  readonly method: string
  readonly params: readonly unknown[]
}

/** How a node lies: given a call and the honest way to answer it, another answer. */
export type Lie = (
  call: Call,
  honest: (method: string, ...params: readonly unknown[]) => Promise<unknown>,
) => Promise<unknown>

/** An RPC node in front of an honest one. */
export interface LyingNode {
  readonly url: string
  /** How it lies from now on; undefined: not at all. */
  lie: Lie | undefined
  /** Instead of any answer: a status, or silence. */
  mode: 'answer' | 'too_many_requests' | 'hang' | 'hang_in_body' | 'not_json'
  /** Requests since the last reset, and the calls in them. */
  requests: number
  calls: number
  stop(): Promise<void>
}

/** A node's error, as JSON-RPC has it. */
export class RpcError extends Error {
  readonly rpcCode: number
  constructor(code: number, message: string) {
    super(message)
    this.rpcCode = code
  }
}

/** Starts one on loopback. It is honest until it is told to lie. */
export async function lyingNode(honestUrl: string): Promise<LyingNode> {
  const server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      node.requests += 1
      if (node.mode === 'hang') return
      if (node.mode === 'too_many_requests') return void response.writeHead(429).end('slow down')
      if (node.mode === 'not_json') return void response.writeHead(200).end('<html>')
      if (node.mode === 'hang_in_body')
        return void response.writeHead(200, { 'content-type': 'application/json' }).write('{"jsonrpc"')
      const body = JSON.parse(Buffer.concat(parts).toString()) as Call | Call[]
      const calls = Array.isArray(body) ? body : [body]
      node.calls += calls.length
      Promise.all(calls.map(answer)).then(
        (answers) =>
          response
            .writeHead(200, { 'content-type': 'application/json' })
            .end(JSON.stringify(Array.isArray(body) ? answers : answers[0])),
        () => response.destroy(),
      )
    })
  })
  const honest = async (method: string, ...params: readonly unknown[]): Promise<unknown> => {
    const response = await fetch(honestUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    })
    const { result, error } = (await response.json()) as {
      result?: unknown
      error?: { code: number; message: string }
    }
    if (error) throw new RpcError(error.code, error.message)
    return result
  }
  const answer = async (call: Call): Promise<unknown> => {
    try {
      const result = await (node.lie ? node.lie(call, honest) : honest(call.method, ...call.params))
      return { jsonrpc: '2.0', id: call.id, result }
    } catch (error) {
      if (!(error instanceof RpcError)) throw error
      return { jsonrpc: '2.0', id: call.id, error: { code: error.rpcCode, message: error.message } }
    }
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const node: LyingNode = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    lie: undefined,
    mode: 'answer',
    requests: 0,
    calls: 0,
    stop() {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
  return node
}
