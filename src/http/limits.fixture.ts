import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { onTestFinished } from 'vitest'
import type { Authenticator } from '../kernel/caller.ts'
import { Fault } from '../kernel/errors.ts'
import type { Limiter, Standing } from '../kernel/limiter.ts'
import { systemRandom } from '../kernel/random.ts'
import { createRequestLimits, type LimitSettings, type RequestLimits } from './limits.ts'
import { type Route, route } from './route.ts'
import { createServer } from './server.ts'

const Ok = Type.Object({ ok: Type.Boolean() })
const settings: LimitSettings = {
  requestsPerMinutePerCredential: 5,
  authRequestsPerMinutePerAddress: 6,
  topupRequestsPerMinutePerAddress: 2,
}
/** The names of all header fields that tell of limits. */
export const limitFields = [
  'ratelimit-policy',
  'ratelimit',
  'x-ratelimit-limit-requests',
  'x-ratelimit-remaining-requests',
  'x-ratelimit-reset-requests',
]

/** Counts in memory, in one endless window: the HTTP floor's part is what is tested here. */
export function countingLimiter(): Limiter & { away: boolean } {
  const counts = new Map<string, number>()
  const standing = (used: number, requests: number): Standing => ({
    allowed: used <= requests,
    remaining: Math.max(0, requests - used),
    resetMs: 41_500,
  })
  return {
    away: false,
    take({ name, requests }, key) {
      if (this.away) return Promise.resolve(undefined)
      const used = (counts.get(`${name} ${key}`) ?? 0) + 1
      counts.set(`${name} ${key}`, used)
      // both ways in which a standing may come
      return used % 2 === 0 ? standing(used, requests) : Promise.resolve(standing(used, requests))
    },
    spent({ name, requests }, key) {
      const used = counts.get(`${name} ${key}`) ?? 0
      return used >= requests ? standing(requests + 1, requests) : undefined
    },
  }
}

/** `alive-*` is accepted everywhere; `revoked-*` is remembered, and dead when it is checked; the rest never existed. */
const authenticator: Authenticator = {
  async authenticate(token) {
    if (token === 'banned') throw new Fault('account_banned')
    if (!token.startsWith('alive')) throw new Fault('unauthorized')
    return { accountId: 1n, credential: { kind: 'api_key', id: BigInt(token.split('-')[1] ?? 1) } }
  },
  async recognise(token) {
    if (token.startsWith('revoked')) return { accountId: 1n, credential: { kind: 'api_key', id: 99n } }
    return this.authenticate(token)
  },
}

/** A server with an endpoint of each kind, ended after the test. */
export function serve(
  limiter: Limiter = countingLimiter(),
  trustedProxies: readonly string[] = [],
): { server: FastifyInstance; limits: RequestLimits } {
  const limits = createRequestLimits({ limiter, settings })
  const plain = { summary: 'A test.', tag: 'Test', replies: { 200: Ok }, refuses: [] } as const
  const ok = () => ({ ok: true })
  const routes: Route[] = [
    route({ ...plain, method: 'GET', path: '/public', access: 'public', handle: ok }),
    route({
      ...plain,
      method: 'GET',
      path: '/healthz',
      access: 'public',
      limit: 'unlimited',
      handle: ok,
    }),
    route({ ...plain, method: 'GET', path: '/any', access: 'any', handle: ok }),
    route({ ...plain, method: 'GET', path: '/session', access: 'session', handle: ok }),
    route({
      ...plain,
      method: 'GET',
      path: '/spending',
      access: 'spending',
      handle: ({ request }) => {
        if (request.headers.authorization?.includes('revoked')) throw new Fault('unauthorized')
        return { ok: true }
      },
    }),
    route({
      ...plain,
      method: 'POST',
      path: '/topup',
      access: 'public',
      limit: 'topup',
      handle: ok,
    }),
    route({
      ...plain,
      method: 'POST',
      path: '/verify',
      access: 'public',
      limit: 'auth',
      refuses: ['unauthorized'],
      body: Type.Object({ wallet: Type.String(), good: Type.Boolean() }),
      handle: ({ body, request }) =>
        limits.signInGuard.attempt({ wallet: body.wallet, address: request.ip }, async () => {
          if (!body.good) throw new Fault('unauthorized')
          return { ok: true }
        }),
    }),
  ]
  const server = createServer({
    routes,
    authenticator,
    random: systemRandom,
    bodyLimit: 1000,
    trustedProxies,
    onAnswered: () => undefined,
    onFault: () => undefined,
    admit: limits.admit,
    refused: limits.refused,
  })
  onTestFinished(() => server.close())
  return { server, limits }
}

interface Sent {
  readonly token?: string
  readonly address?: string
  readonly forwarded?: string
  readonly payload?: object
}

/** Sends a request as a client at `address` does, by default always the same one. */
export async function send(
  to: FastifyInstance,
  url: string,
  { token, address = '203.0.113.1', forwarded, payload }: Sent = {},
) {
  return to.inject({
    method: url === '/topup' || url === '/verify' ? 'POST' : 'GET',
    url,
    remoteAddress: address,
    headers: {
      ...(token ? { authorization: `Bearer ${token}` } : {}),
      ...(forwarded ? { 'x-forwarded-for': forwarded } : {}),
    },
    ...(payload ? { payload } : {}),
  })
}

/** The statuses of so many requests, one after another. */
export async function statuses(count: number, one: () => Promise<{ statusCode: number }>): Promise<number[]> {
  const found: number[] = []
  for (let n = 0; n < count; n++) found.push((await one()).statusCode)
  return found
}
