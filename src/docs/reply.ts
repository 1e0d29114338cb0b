import type { Call, Route } from '../http/route.ts'
import { route } from '../http/route.ts'
import type { Document } from './documents.ts'

/** What all routes of documents have in common. A page comes with its style and pictures, so no limit by address counts them. */
export const common = {
  method: 'GET',
  tag: 'Documents',
  access: 'public',
  limit: 'unlimited',
  extension: true,
} as const

/** The answers of a route that gives a document. */
export const replies = (description: string, contentType: string) => ({
  200: { description, contentType },
  304: { description: 'Not changed since the ETag that was sent', contentType },
})

/** A route that gives one document. */
export function shown(
  path: string,
  summary: string,
  contentType: string,
  document: () => Document | Promise<Document>,
): Route {
  return route({
    ...common,
    path,
    summary,
    replies: replies('The document', contentType),
    refuses: [],
    handle: async (call) => send(call, await document()),
  })
}

/** Pages may load what this server has, and nothing else. */
const contentSecurityPolicy =
  "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** Answers with the document, or with 304 when the reader has it. */
export function send({ request, reply }: Call<unknown, unknown, unknown>, document: Document) {
  reply
    .header('etag', document.etag)
    .header('cache-control', 'no-cache')
    .header('content-security-policy', contentSecurityPolicy)
    .header('x-content-type-options', 'nosniff')
    .header('referrer-policy', 'no-referrer')
    .header('link', '</.well-known/api-catalog>; rel="api-catalog"')
  if (request.headers['if-none-match'] === document.etag) return reply.code(304).send()
  return reply.header('content-type', document.contentType).send(document.content)
}

/** Makes a thing when it is first asked for, and keeps it; a promise that fails is made again. */
export function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined
  return () => {
    if (made) return made.value
    const value = make()
    made = { value }
    if (value instanceof Promise) value.catch(() => (made = undefined))
    return value
  }
}
