import type { FastifyReply, FastifyRequest } from 'fastify'
import { isConnectionLost } from '../kernel/connection-lost.ts'
import { catalogue, errorBody, Fault } from '../kernel/errors.ts'
import { type Random, requestId } from '../kernel/random.ts'

/** Writes a fault as this request wants it: flat, or nested as OpenAI's clients read it. */
export function sendFault(request: FastifyRequest, reply: FastifyReply, fault: Fault): FastifyReply {
  const { status, phrase, type } = fault.refusal
  const body = errorBody(fault, request.id)
  reply.raw.statusMessage = phrase
  // no hook has run for an address that could not be parsed
  reply.header('x-request-id', request.id)
  for (const [name, value] of Object.entries(fault.headers)) reply.header(name, value)
  if (status === 401) {
    const challenge = request.route_?.challenge?.()
    reply.header('www-authenticate', `Bearer ${challenge === undefined ? '' : `${challenge}, `}realm="farebox"`)
  }
  if (fault.retryAfterMs !== undefined || status === 503 || status === 429) {
    const ms = fault.retryAfterMs ?? 1000
    reply.header('retry-after', String(Math.ceil(ms / 1000))).header('retry-after-ms', String(ms))
  }
  // after a 504 the work may have been done: a client that repeats it by itself could pay twice
  if (status === 402 || status === 504 || (status === 409 && fault.code !== 'request_in_progress'))
    reply.header('x-should-retry', 'false')
  const nested = request.headers['x-error-format'] === 'openai'
  return reply
    .code(status)
    .header('cache-control', 'no-store')
    .header('content-type', 'application/json; charset=utf-8')
    .serializer((value: unknown) => value as string)
    .send(
      JSON.stringify(
        nested
          ? { error: { ...body, error: undefined, message: fault.message, type, code: fault.code, param: null } }
          : body,
      ),
    )
}

/** PostgreSQL's code for a statement that took longer than it may. */
const STATEMENT_CUT_OFF = '57014'

/** The refusal that an error becomes: what nobody foresaw is `internal_error`, its cause kept for the log. */
export function faultFrom(error: unknown): Fault {
  if (error instanceof Fault) return error
  if (isConnectionLost(error)) return new Fault('unavailable', { cause: error, retryAfterMs: 1000 })
  const code = (error as { code?: unknown } | null)?.code
  switch (code) {
    case STATEMENT_CUT_OFF:
      return new Fault('unavailable', { cause: error, retryAfterMs: 1000 })
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new Fault('body_too_large')
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return new Fault('unsupported_media_type')
    case 'FST_ERR_BAD_URL':
      return new Fault('not_found', { message: 'The path is not valid.' })
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return new Fault('uri_too_long')
  }
  if (error instanceof SyntaxError || (error as { statusCode?: number } | null)?.statusCode === 400) {
    return new Fault('invalid_json', { message: 'The body is not valid JSON.' })
  }
  return new Fault('internal_error', { cause: error })
}

/** Bytes that are no HTTP request never reach a route; they get the documented body all the same. */
export function refuseUnparsed(random: Random) {
  return (
    error: Error & { code?: string },
    socket: { writable: boolean; destroyed: boolean; end(text: string): void; destroy(): void },
  ): void => {
    if (error.code === 'ECONNRESET' || socket.destroyed || !socket.writable) {
      socket.destroy()
      return
    }
    const code =
      error.code === 'HPE_HEADER_OVERFLOW'
        ? 'headers_too_large'
        : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
          ? 'request_timeout'
          : 'invalid_body'
    const id = requestId(random)
    const fault = new Fault(code, code === 'invalid_body' ? { message: 'The request is not valid HTTP.' } : {})
    const body = JSON.stringify(errorBody(fault, id))
    const { status } = catalogue[code]
    socket.end(
      `HTTP/1.1 ${status} ${fault.refusal.phrase}\r\nx-request-id: ${id}\r\ncontent-type: application/json; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
    )
  }
}
