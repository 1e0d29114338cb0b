import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** One call as the upstream sees it. */
export interface UpstreamCall {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
  readonly response: ServerResponse
}

/** How the upstream treats a call. */
export type UpstreamBehaviour = (call: UpstreamCall) => void | Promise<void>

/** A scripted service on loopback, as an operator could have one. */
export interface Upstream {
  readonly baseUrl: string
  readonly calls: UpstreamCall[]
  behaviour: UpstreamBehaviour
  close(): Promise<void>
}

/** Answers with this JSON. */
export const saying =
  (data: unknown, status = 200): UpstreamBehaviour =>
  ({ response }) =>
    void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(data))

/** Starts an upstream that answers `{"text":"pong"}` until told otherwise. */
export async function startUpstream(): Promise<Upstream> {
  const server = createServer(async (request, response) => {
    response.on('error', () => undefined)
    let body = ''
    for await (const piece of request) body += piece
    const call = { method: request.method ?? '', url: request.url ?? '', headers: request.headers, body, response }
    upstream.calls.push(call)
    await upstream.behaviour(call)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const upstream: Upstream = {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/api`,
    calls: [],
    behaviour: saying({ text: 'pong' }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  return upstream
}

const TEXT =
  '{ type: object, required: [text], additionalProperties: false, properties: { text: { type: string, maxLength: 100 } } }'

/** YAML of one operation with a fixed price of 500 microcredits, unless `more` says otherwise. */
export const operation = (slug: string, more: Readonly<Record<string, string>> = {}): string => {
  const keys = {
    name: slug,
    path: `/${slug}`,
    price: '{ kind: fixed, micro: 500 }',
    input_schema: TEXT,
    output_schema: '{ type: object, required: [text] }',
    ...more,
  }
  return `{ slug: ${slug}, ${Object.entries(keys)
    .map(([key, value]) => `${key}: ${value}`)
    .join(', ')} }`
}

/** YAML of a capability at an upstream; each version with its operations. */
export const capability = (
  slug: string,
  baseUrl: string,
  versions: Readonly<Record<string, readonly string[]>>,
  more = '',
  timeoutMs = 30_000,
): string => `  - slug: ${slug}
    name: Test of ${slug}
    category: tests
    tags: [one, two]
${more}    upstream: { kind: http, base_url: "${baseUrl}", headers: { x-kind: test }, headers_env: { authorization: UPSTREAM_AUTHORIZATION }, timeout_ms: ${timeoutMs}, max_response_bytes: 2048 }
    versions:
${Object.entries(versions)
  .map(([version, operations]) => `      - { version: ${version}, operations: [${operations.join(', ')}] }`)
  .join('\n')}
`
