import { Type } from 'typebox'
import { Closed } from '../../http/fields.ts'
import { type Route, route } from '../../http/route.ts'
import { Fault } from '../../kernel/errors.ts'
import { type ObjectName, type ObjectStore, StoreUnavailable } from '../../storage/object-store.ts'
import type { ResultLinks } from './links.ts'
import { rangeOf } from './range.ts'

/** What downloads of results need. */
export interface ResultRoutesDeps {
  readonly store: Pick<ObjectStore, 'read' | 'size'>
  readonly links: Pick<ResultLinks, 'nameOf'>
}

const TYPES: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  webp: 'image/webp',
  gif: 'image/gif',
  avif: 'image/avif',
  mp4: 'video/mp4',
  mov: 'video/quicktime',
  webm: 'video/webm',
  avi: 'video/x-msvideo',
}

/**
 * A file is only ever shown: nothing in it runs, and it can load nothing. A film that is opened by itself is loaded by a
 * page that the browser makes, which has to be of the same origin as the film.
 */
const contentSecurityPolicy =
  "default-src 'none'; img-src 'self'; media-src 'self'; style-src 'unsafe-inline'; sandbox allow-same-origin; frame-ancestors *"

const LINK = 'The URL in the result of a task, with its expiry and signature.'

/** Pictures and films by the links in results. The link is the right to open it: no key is asked for. */
export function resultRoutes(deps: ResultRoutesDeps): Route[] {
  return [
    route({
      method: 'GET',
      path: '/v1/results/:day/:file',
      summary: 'A picture or film that was made, by the signed URL in the result of its task.',
      description:
        'Answers single ranges with 206, so that films can be played from anywhere. `download=1` saves the file instead of showing it.',
      tag: 'Media',
      access: 'public',
      limit: 'unlimited',
      extension: true,
      params: Closed({ day: Type.String({ maxLength: 10 }), file: Type.String({ maxLength: 120 }) }),
      query: Type.Object({
        expires: Type.Integer({ minimum: 0, maximum: 253_402_300_799, description: LINK }),
        signature: Type.String({ maxLength: 64, description: LINK }),
        download: Type.Optional(Type.Enum(['1'], { description: 'Saves the file instead of showing it' })),
      }),
      replies: {
        200: { description: 'The file', contentType: '*/*' },
        206: { description: 'The part of the file that was asked for', contentType: '*/*' },
        304: { description: 'The file is the one that the reader has', contentType: '*/*' },
      },
      refuses: ['invalid_result_link', 'result_expired', 'result_not_found', 'range_not_satisfiable'],
      async handle({ params, query, request, reply }) {
        const name = deps.links.nameOf(`${params.day}/${params.file}`, query)
        if (name === undefined) throw new Fault('invalid_result_link')
        if (name === 'expired') throw new Fault('result_expired')
        const etag = `"${params.file}"`
        if (request.headers['if-none-match'] === etag) return reply.code(304).header('etag', etag).send()
        const { status, headers, stream } = await content(deps.store, name, request.headers.range)
        reply.raw.on('close', () => stream.destroy())
        return reply
          .code(status)
          .headers({
            ...headers,
            etag,
            'content-type': TYPES[params.file.split('.').at(-1) ?? ''] ?? 'application/octet-stream',
            'content-disposition': `${query.download ? 'attachment' : 'inline'}; filename="${params.file}"`,
            'cache-control': 'private, max-age=86400, immutable',
            'content-security-policy': contentSecurityPolicy,
            'x-content-type-options': 'nosniff',
            'cross-origin-resource-policy': 'cross-origin',
            'referrer-policy': 'no-referrer',
            'accept-ranges': 'bytes',
          })
          .send(stream)
      },
    }),
  ]
}

async function content(store: ResultRoutesDeps['store'], name: ObjectName, header: string | undefined) {
  try {
    const size = header === undefined ? undefined : await store.size(name)
    const range = size === undefined ? 'whole' : rangeOf(header, size)
    if (range === 'unsatisfiable') {
      throw new Fault('range_not_satisfiable', { headers: { 'content-range': `bytes */${size}` } })
    }
    const found = await store.read(name, range === 'whole' ? undefined : range)
    if (!found) throw new Fault('result_not_found')
    if (range === 'whole') return { status: 200, headers: { 'content-length': found.bytes }, stream: found.stream }
    return {
      status: 206,
      headers: {
        'content-length': range.last - range.first + 1,
        'content-range': `bytes ${range.first}-${range.last}/${found.bytes}`,
      },
      stream: found.stream,
    }
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error
    throw new Fault('unavailable', {
      message: 'Results cannot be read now. Try again.',
      cause: error,
      retryAfterMs: 5000,
    })
  }
}
