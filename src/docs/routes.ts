import { Type } from 'typebox'
import { Closed } from '../http/fields.ts'
import { openApi } from '../http/openapi.ts'
import type { WebhookDescription } from '../http/openapi-webhooks.ts'
import { type Route, route } from '../http/route.ts'
import { catalogue, Fault } from '../kernel/errors.ts'
import { discoveryRoutes, guidesOf, markdown } from './discovery.ts'
import { type Document, documentOf, readAsset, readPicture } from './documents.ts'
import { readShelves, type Shelf, served } from './guides.ts'
import { docsPage, errorJson, errorMarkdown, errorPage, errorsPage, guidePage, guidesPage } from './pages.ts'
import { common, once, replies, send, shown } from './reply.ts'

/** What the documents are made from. */
export interface DocsDeps {
  /** Every route that is served, these included; asked for when the first reader comes. */
  readonly routes: () => readonly Route[]
  readonly version: string
  /** Where clients reach the server; asked for when the first reader comes. */
  readonly publicUrl: () => string
  /** What this service sends by itself. */
  readonly webhooks?: readonly WebhookDescription[]
}

/**
 * `/openapi.json`, `/docs`, a page for each guide and each error, and what programs look for. All of it is served from
 * here: no page asks another host for anything.
 */
export function docsRoutes(deps: DocsDeps): Route[] {
  const description = once(() => {
    const text = JSON.stringify(openApi(deps.routes(), deps))
    return documentOf('application/json; charset=utf-8', text)
  })
  const docs = once(() => page(docsPage()))
  const errors = once(() => page(errorsPage()))
  const shelves = once(readShelves)
  const guides = once(async () => guideDocuments(await shelves(), deps.publicUrl()))
  return [
    route({
      ...common,
      path: '/',
      summary: 'To the guides: where a visitor begins',
      replies: { 302: { description: 'To /docs/guides', contentType: 'text/html' } },
      refuses: [],
      handle: ({ reply }) => reply.redirect('docs/guides', 302),
    }),
    shown('/openapi.json', 'This API as an OpenAPI 3.1 document', 'application/json', description),
    shown('/docs', 'This API as a page to read and to try', 'text/html', docs),
    shown('/errors', 'Every error that this API answers with', 'text/html', errors),
    file('/docs/:file', 'A guide, as a page or (.md) as Markdown, or a file of the pages', async (name) => {
      return (await readAsset(name)) ?? (await guides()).get(name)
    }),
    file('/docs/pictures/:file', 'A picture of the guides', readPicture),
    errorRoute,
    ...discoveryRoutes({ publicUrl: deps.publicUrl, shelves }),
  ]
}

const page = (text: string): Document => documentOf('text/html; charset=utf-8', text)

function file(path: string, summary: string, read: (name: string) => Promise<Document | undefined>): Route {
  return route({
    ...common,
    path,
    summary,
    params: Closed({ file: Type.String() }),
    replies: replies('Page, Markdown, script, style or picture', '*/*'),
    refuses: ['not_found'],
    handle: async (call) => {
      const found = await read(call.params.file)
      if (!found)
        throw new Fault('not_found', { message: 'The documentation has no such file. /docs/guides lists all guides.' })
      return send(call, found)
    },
  })
}

/** Every guide by the name of its file: as a page, and with `.md` as Markdown; and `guides`, which lists them. */
function guideDocuments(shelves: readonly Shelf[], publicUrl: string): ReadonlyMap<string, Document> {
  const guides = guidesOf(shelves)
  const made = new Map([['guides', page(guidesPage(shelves))]])
  for (const guide of guides) {
    const read = served(guide.text, { publicUrl, guides, address: (name) => name })
    const twin = served(guide.text, { publicUrl, guides, address: (name) => `${publicUrl}/docs/${name}.md` })
    made.set(guide.name, page(guidePage(guide, read)))
    made.set(`${guide.name}.md`, markdown(twin.replaceAll('](pictures/', `](${publicUrl}/docs/pictures/`)))
  }
  return made
}

const errorForms = {
  html: (code: keyof typeof catalogue) => page(errorPage(code)),
  md: (code: keyof typeof catalogue) => markdown(errorMarkdown(code)),
  json: (code: keyof typeof catalogue) => documentOf('application/json; charset=utf-8', errorJson(code)),
}

const errorRoute = route({
  ...common,
  path: '/errors/:slug',
  summary: 'What an error means and what to do about it: a page, or with .md or .json behind the code for programs',
  params: Closed({ slug: Type.String({ description: 'The `code` of the error' }) }),
  replies: replies('The page', 'text/html'),
  refuses: ['not_found'],
  handle: (call) => {
    const [, code = '', form = 'html'] = /^(\w+)(?:\.(md|json))?$/.exec(call.params.slug) ?? []
    if (!isCode(code)) throw new Fault('not_found', { message: 'No error has this code. GET /errors lists all.' })
    return send(call, errorForms[form as keyof typeof errorForms](code))
  },
})

const isCode = (slug: string): slug is keyof typeof catalogue => Object.hasOwn(catalogue, slug)
