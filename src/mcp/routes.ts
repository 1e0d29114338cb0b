import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { Closed } from '../http/fields.ts'
import { type Route, route } from '../http/route.ts'
import { Fault } from '../kernel/errors.ts'
import { accountTools } from './account-tools.ts'
import { type OperationTool, toolOfOperation } from './operation-tools.ts'
import type { McpServerDeps } from './server.ts'

/** What the endpoint of the tools needs from outside. */
export interface McpDeps extends Omit<McpServerDeps, 'tools'> {
  readonly operations: () => readonly OperationTool[]
  readonly publicUrl: () => string
  readonly allowedHosts: readonly string[]
  readonly allowedOrigins: readonly string[]
}

const MCP_PATH = '/mcp'
/** Where a client looks for what a resource says of its credentials, before the path of the resource (RFC 9728). */
const METADATA_PATH = '/.well-known/oauth-protected-resource'

/** POST /mcp: the Model Context Protocol, for Agents that call tools instead of an API; and what it says of its credentials. */
export function mcpRoutes(deps: McpDeps): Route[] {
  const own = accountTools(deps.publicUrl)
  const tools = () => [...deps.operations().map(toolOfOperation), ...own]
  // the library of the protocol is large: only a server whose tools are called has it in its memory
  let opened: Promise<ReturnType<typeof import('./server.ts').createTools>> | undefined
  const handlerOf = () => (opened ??= import('./server.ts').then(({ createTools }) => createTools({ ...deps, tools })))
  return [
    route({
      method: 'POST',
      path: MCP_PATH,
      summary: 'Call tools by the Model Context Protocol: one for each operation of a capability, and some for paying.',
      description: 'JSON-RPC, stateless. Each tool goes through the endpoint of the same name, with its price.',
      tag: 'MCP',
      access: 'any',
      extension: true,
      body: Type.Object({}, { additionalProperties: true, description: 'A JSON-RPC message' }),
      replies: {
        200: { description: 'A JSON-RPC answer, plain or as one event of a stream', contentType: 'application/json' },
        202: { description: 'A notification was taken', contentType: '' },
      },
      refuses: ['origin_not_allowed'],
      challenge: () => `resource_metadata="${deps.publicUrl()}${METADATA_PATH}${MCP_PATH}"`,
      handle: async ({ request, reply, body }) => {
        refuseStrangers(request, deps)
        const token = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? ''
        const handler = await handlerOf()
        return passOn(reply, await handler(request.raw, body, { token, clientId: '', scopes: [] }))
      },
    }),
    metadataRoute(deps, '', 'The API: which credentials it takes (RFC 9728).'),
    metadataRoute(deps, MCP_PATH, 'The tools: which credentials they take (RFC 9728).'),
  ]
}

/**
 * Says that a resource takes a Bearer, in the header alone. It names no authorization server, since there is none here:
 * a client that could ask one for a token is told so by that, and shows its person the documentation.
 */
const metadataRoute = ({ publicUrl }: McpDeps, resourcePath: '' | typeof MCP_PATH, summary: string): Route =>
  route({
    method: 'GET',
    path: `${METADATA_PATH}${resourcePath}`,
    summary,
    tag: 'MCP',
    access: 'public',
    extension: true,
    cors: true,
    replies: {
      200: Closed({
        resource: Type.String({ format: 'uri' }),
        resource_name: Type.String(),
        resource_documentation: Type.String({ format: 'uri' }),
        bearer_methods_supported: Type.Array(Type.Literal('header')),
      }),
    },
    refuses: [],
    handle: ({ reply }) => {
      reply.header('cache-control', 'public, max-age=60')
      return {
        resource: `${publicUrl()}${resourcePath}`,
        resource_name: 'Farebox',
        resource_documentation: `${publicUrl()}/docs`,
        bearer_methods_supported: ['header'],
      }
    },
  })

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]']

/**
 * A web page must not reach the tools, neither by its own origin nor by a name that it points at this machine
 * (DNS rebinding): host and origin are ones that the operator knows.
 */
function refuseStrangers(request: FastifyRequest, { publicUrl, allowedHosts, allowedOrigins }: McpDeps): void {
  const own = URL.canParse(publicUrl()) ? [new URL(publicUrl()).hostname] : []
  const hosts = [...LOOPBACK, ...own, ...allowedHosts.map((host) => host.toLowerCase())]
  const host = hostnameOf(`http://${request.headers.host ?? ''}`)
  if (host === undefined || !hosts.includes(host))
    throw new Fault('origin_not_allowed', {
      message: 'This host name is not one of this server. Call it under its public address.',
    })
  const { origin } = request.headers
  if (origin === undefined || allowedOrigins.includes(origin)) return
  const from = hostnameOf(origin)
  if (from === undefined || !hosts.includes(from))
    throw new Fault('origin_not_allowed', { message: 'A web page of another origin may not call this endpoint.' })
}

const hostnameOf = (url: string): string | undefined => (URL.canParse(url) ? new URL(url).hostname : undefined)

/** Headers of the connection are the server's own. */
const OWN_HEADERS = new Set(['connection', 'transfer-encoding', 'content-length'])

function passOn(reply: FastifyReply, answer: Response): FastifyReply {
  reply.code(answer.status).header('cache-control', 'no-store')
  for (const [name, value] of answer.headers) if (!OWN_HEADERS.has(name)) reply.header(name, value)
  return reply.send(answer.body ?? '')
}
