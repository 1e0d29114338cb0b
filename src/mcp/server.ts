import type { IncomingMessage } from 'node:http'
import { toWebRequest } from '@modelcontextprotocol/node'
import { type AuthInfo, createMcpHandler, ProtocolError, ProtocolErrorCode, Server } from '@modelcontextprotocol/server'
import type { JsonObject } from '../providers/provider.ts'
import type { Send, Tool } from './tool.ts'

/** What the tools are served with. */
export interface McpServerDeps {
  readonly version: string
  /** What can be called now. */
  readonly tools: () => readonly Tool[]
  /** Sends as whoever holds the token. */
  readonly sendAs: (token: string) => Send
  readonly onTrouble: (message: string, error: unknown) => void
}

const INSTRUCTIONS =
  'Tools that are charged say their price. What a call cost is in billing.actual_amount_micro of its result (1 Credit = 1000000 microcredits). When Credits run out, create_topup says how to buy more. Give charged tools an idempotency_key, and the same one when you repeat a call.'

/** The protocol, stateless: each request is served alone, by any process. The token of each comes as `authInfo`. */
export function createTools(
  deps: McpServerDeps,
): (request: IncomingMessage, body: unknown, authInfo: AuthInfo) => Promise<Response> {
  const handler = createMcpHandler(
    ({ authInfo }) => {
      const send = deps.sendAs(authInfo?.token ?? '')
      const server = new Server(
        { name: 'farebox', version: deps.version },
        { capabilities: { tools: {} }, instructions: INSTRUCTIONS },
      )
      server.setRequestHandler('tools/list', async () => ({
        tools: deps.tools().map(({ description }) => description),
      }))
      server.setRequestHandler('tools/call', async ({ params }) => {
        const tool = deps.tools().find(({ description }) => description.name === params.name)
        if (!tool) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no tool ${params.name}.`)
        return tool.call((params.arguments ?? {}) as JsonObject, send)
      })
      return server
    },
    // nothing is pushed, so no stream is kept open
    { maxSubscriptions: 0, onerror: (error) => deps.onTrouble('a request to /mcp could not be served', error) },
  )
  return async (request, body, authInfo) =>
    // a request that was parsed has a method and headers, which the types of Node leave open
    handler.fetch(await toWebRequest(request as Parameters<typeof toWebRequest>[0], body), {
      parsedBody: body,
      authInfo,
    })
}
