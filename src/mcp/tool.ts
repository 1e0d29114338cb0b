import type { CallToolResult, Tool as ToolDescription } from '@modelcontextprotocol/server'
import type { JsonObject } from '../providers/provider.ts'

/** A request to our own API, as the caller of a tool. */
export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** With its query. */
  readonly path: string
  readonly body?: JsonObject
  readonly headers?: Readonly<Record<string, string>>
}

/** What our own API answered. */
export interface ApiAnswer {
  readonly status: number
  readonly body: JsonObject
}

/** Sends a request through the same routes as everybody's, with the caller's own credential. */
export type Send = (request: ApiRequest) => Promise<ApiAnswer>

/** A tool: what clients are told of it, and what it does. */
export interface Tool {
  readonly description: ToolDescription
  readonly call: (input: JsonObject, send: Send) => Promise<CallToolResult>
}

/** The result of an answer: its body as structured content, an error where it was refused. */
export function resultOf({ status, body }: ApiAnswer, text?: string): CallToolResult {
  const said = status >= 400 ? String(body.message ?? `status ${status}`) : (text ?? JSON.stringify(body))
  return {
    content: [{ type: 'text', text: said }],
    structuredContent: body,
    ...(status >= 400 ? { isError: true } : {}),
  }
}

/** Query parameters; a list is repeated, what is undefined is left out. Empty, or beginning with `?`. */
export function queryOf(input: JsonObject): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(input)) {
    if (value === undefined) continue
    for (const one of Array.isArray(value) ? value : [value])
      query.append(name, typeof one === 'object' ? JSON.stringify(one) : String(one))
  }
  return query.size === 0 ? '' : `?${query}`
}
