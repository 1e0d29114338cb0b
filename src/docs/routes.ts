import { Type } from 'typebox'
import { Closed } from '../http/fields.ts'
import { openApi } from '../http/openapi.ts'
import type { WebhookDescription } from '../http/openapi-webhooks.ts'
import { type Call, type Route, route } from '../http/route.ts'
import { catalogue, Fault } from '../kernel/errors.ts'
import { type Document, documentOf, readAsset } from './documents.ts'
import { docsPage, errorPage, errorsPage } from './pages.ts'

/** What the documents are made from. */
export interface DocsDeps {
  /** Every route that is served, these included; asked for when the first reader comes. */
  readonly routes: () => readonly Route[]
  readonly version: string
  /** What this service sends by itself. */
  readonly webhooks?: readonly WebhookDescription[]
}

/** `/openapi.json`, `/docs` and a page for each error. All of it is served from here: no page asks another host for anything. */
export function docsRoutes(deps: DocsDeps): Route[] {
  const description = once(() => {
    const text = JSON.stringify(openApi(deps.routes(), deps))
    return documentOf('application/json; charset=utf-8', text)
  })
  const page = (text: string) => documentOf('text/html; charset=utf-8', text)
  const docs = once(() => page(docsPage()))
  const errors = once(() => page(errorsPage()))
  return [
    shown('/openapi.json', 'This API as an OpenAPI 3.1 document', 'application/json', description),
    shown('/docs', 'This API as a page to read and to try', 'text/html', docs),
    shown('/errors', 'Every error that this API answers with', 'text/html', errors),
    route({
      ...common,
      path: '/docs/:file',
      summary: 'A file of the documentation pages',
      params: Closed({ file: Type.String() }),
      replies: replies('Script, style or image', '*/*'),
      refuses: ['not_found'],
      handle: async (call) => {
        const asset = await readAsset(call.params.file)
        if (!asset) throw new Fault('not_found', { message: 'The documentation has no such file.' })
        return send(call, asset)
      },
    }),
    route({
      ...common,
      path: '/errors/:slug',
      summary: 'What an error means and what to do about it',
      params: Closed({ slug: Type.String({ description: 'The `code` of the error' }) }),
      replies: replies('The page', 'text/html'),
      refuses: ['not_found'],
      handle: (call) => {
        const { slug } = call.params
        if (!isCode(slug))
          throw new Fault('not_found', {
            message: 'No error has this code. GET /errors lists all.',
          })
        return send(call, page(errorPage(slug)))
      },
    }),
  ]
}

const common = { method: 'GET', tag: 'Documents', access: 'public', extension: true } as const

const replies = (description: string, contentType: string) => ({
  200: { description, contentType },
  304: { description: 'Not changed since the ETag that was sent', contentType },
})

function shown(path: string, summary: string, contentType: string, document: () => Document): Route {
  return route({
    ...common,
    path,
    summary,
    replies: replies('The document', contentType),
    refuses: [],
    handle: (call) => send(call, document()),
  })
}

/** Pages may load what this server has, and nothing else. */
const contentSecurityPolicy =
  "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

function send({ request, reply }: Call<unknown, unknown, unknown>, document: Document) {
  reply
    .header('etag', document.etag)
    .header('cache-control', 'no-cache')
    .header('content-security-policy', contentSecurityPolicy)
    .header('x-content-type-options', 'nosniff')
    .header('referrer-policy', 'no-referrer')
  if (request.headers['if-none-match'] === document.etag) return reply.code(304).send()
  return reply.header('content-type', document.contentType).send(document.content)
}

const isCode = (slug: string): slug is keyof typeof catalogue => Object.hasOwn(catalogue, slug)

function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}
