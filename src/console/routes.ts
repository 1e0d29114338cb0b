import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import { Closed } from '../http/fields.ts'
import { type Call, type Route, route } from '../http/route.ts'
import { Fault } from '../kernel/errors.ts'
import { type ConsoleFile, type ConsoleFiles, readConsole } from './files.ts'

/** The console and the pay page: one program in the browser, whose addresses all give its first file. */
export function consoleRoutes(): Route[] {
  let files: Promise<ConsoleFiles> | undefined
  const read = (): Promise<ConsoleFiles> => {
    files ??= readConsole()
    return files
  }
  const page = (path: string, summary: string, params?: readonly string[]) =>
    route({
      ...common,
      path,
      summary,
      ...(params ? { params: Closed(Object.fromEntries(params.map((name) => [name, Type.String()]))) } : {}),
      refuses: ['not_found'],
      handle: async (call) => {
        const index = (await read()).get('index.html')
        if (!index) throw new Fault('not_found', { message: 'The console is not built: run npm ci, then start again.' })
        return send(call, index, 'no-store')
      },
    })
  return [
    page('/console', 'The console for owners and operators'),
    page('/console/:page', 'A page of the console', ['page']),
    page('/console/:page/:detail', 'One thing of a page of the console', ['page', 'detail']),
    page('/console/:page/:detail/:id', 'One thing of a page of the console, by its id', ['page', 'detail', 'id']),
    page('/topup', 'Where Credits are bought with a wallet'),
    page('/topup/:order', 'The page of one order', ['order']),
    file(read, '/console/icon.svg', 'The icon', () => 'icon.svg'),
    file(read, '/console/assets/:file', 'A script or style of the console', ({ file: name }) => `assets/${name}`),
  ]
}

const common = {
  method: 'GET',
  tag: 'Documents',
  access: 'public',
  limit: 'unlimited',
  extension: true,
  replies: {
    200: { description: 'The file', contentType: 'text/html' },
    304: { description: 'Not changed since the ETag that was sent', contentType: 'text/html' },
  },
} as const

function file(
  read: () => Promise<ConsoleFiles>,
  path: string,
  summary: string,
  nameOf: (params: { file: string }) => string,
): Route {
  return route({
    ...common,
    path,
    summary,
    ...(path.includes(':') ? { params: Closed({ file: Type.String() }) } : {}),
    replies: {
      200: { description: 'The file', contentType: '*/*' },
      304: { description: 'Not changed since the ETag that was sent', contentType: '*/*' },
    },
    refuses: ['not_found'],
    handle: async (call) => {
      const found = (await read()).get(nameOf(call.params as { file: string }))
      if (!found) throw new Fault('not_found', { message: 'The console has no such file.' })
      // its name has the hash of its content
      return send(call, found, path.includes('assets') ? 'public, max-age=31536000, immutable' : 'no-cache')
    },
  })
}

/** The page may load and ask what this server has, and nothing else; and no text ever becomes a script. */
const contentSecurityPolicy = [
  "default-src 'self'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "object-src 'none'",
  "form-action 'self'",
  "require-trusted-types-for 'script'",
].join('; ')

function send({ request, reply }: Call<unknown, unknown, unknown>, found: ConsoleFile, caching: string): FastifyReply {
  reply
    .header('etag', found.etag)
    .header('cache-control', caching)
    .header('vary', 'accept-encoding')
    .header('content-security-policy', contentSecurityPolicy)
    .header('cross-origin-opener-policy', 'same-origin')
    .header('x-content-type-options', 'nosniff')
    .header('referrer-policy', 'no-referrer')
  if (request.headers['if-none-match'] === found.etag) return reply.code(304).send()
  reply.header('content-type', found.contentType)
  if (found.gzipped && /\bgzip\b/.test(request.headers['accept-encoding'] ?? ''))
    return reply.header('content-encoding', 'gzip').send(found.gzipped)
  return reply.send(found.content)
}
