import type { FastifyReply, FastifyRequest } from 'fastify'

/**
 * A page that sends this header as `cookie` keeps no refresh token of its own: it travels in an HttpOnly cookie and
 * the body has "". Another site cannot send the header without leave, so the cookie alone moves nothing.
 */
const ASKS = 'x-farebox-session'
const NAME = 'farebox_refresh'
/** As long as a refresh token lives. */
const LIFETIME_SECONDS = 30 * 24 * 60 * 60

/** True for requests of pages that leave their refresh token to the browser. */
export const wantsCookie = (request: FastifyRequest): boolean => request.headers[ASKS] === 'cookie'

/** The refresh token of the cookie; undefined unless the page asked for cookies and sent one. */
export function cookieRefreshToken(request: FastifyRequest): string | undefined {
  if (!wantsCookie(request)) return undefined
  for (const part of (request.headers.cookie ?? '').split(';')) {
    const [name, value] = part.trim().split('=', 2)
    if (name === NAME && value) return value
  }
  return undefined
}

/** Gives the refresh token to the browser's own keeping where the page asked for that; what is left for the body. */
export function keepRefreshToken(
  { request, reply, publicUrl }: { request: FastifyRequest; reply: FastifyReply; publicUrl: string },
  refreshToken: string,
): string {
  if (!wantsCookie(request)) return refreshToken
  reply.header('set-cookie', cookie(refreshToken, LIFETIME_SECONDS, publicUrl))
  return ''
}

/** Takes the cookie back. */
export function forgetRefreshToken(reply: FastifyReply, publicUrl: string): void {
  reply.header('set-cookie', cookie('', 0, publicUrl))
}

function cookie(value: string, lifetimeSeconds: number, publicUrl: string): string {
  const secure = publicUrl.startsWith('https:') ? '; Secure' : ''
  return `${NAME}=${value}; Path=/v1/auth; Max-Age=${lifetimeSeconds}; HttpOnly; SameSite=Strict${secure}`
}
