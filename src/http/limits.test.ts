import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { afterEach, expect, test } from 'vitest'
import type { Authenticator } from '../kernel/caller.ts'
import { Fault } from '../kernel/errors.ts'
import type { Limiter, Standing } from '../kernel/limiter.ts'
import { systemRandom } from '../kernel/random.ts'
import { createRequestLimits, type LimitSettings, type RequestLimits } from './limits.ts'
import { type Route, route } from './route.ts'
import { createServer } from './server.ts'

const Ok = Type.Object({ ok: Type.Boolean() })
const settings: LimitSettings = { requestsPerMinutePerCredential: 5, authRequestsPerMinutePerAddress: 6, topupRequestsPerMinutePerAddress: 2 }
const limitFields = ['ratelimit-policy', 'ratelimit', 'x-ratelimit-limit-requests', 'x-ratelimit-remaining-requests', 'x-ratelimit-reset-requests']

/** Counts in memory, in one endless window: the HTTP floor's part is what is tested here. */
function countingLimiter(): Limiter & { away: boolean } {
  const counts = new Map<string, number>()
  const standing = (used: number, requests: number): Standing => ({ allowed: used <= requests, remaining: Math.max(0, requests - used), resetMs: 41_500 })
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

let server: FastifyInstance | undefined
afterEach(() => server?.close())

function serve(limiter: Limiter = countingLimiter(), trustedProxies: readonly string[] = []): { server: FastifyInstance; limits: RequestLimits } {
  const limits = createRequestLimits({ limiter, settings })
  const plain = { summary: 'A test.', tag: 'Test', replies: { 200: Ok }, refuses: [] } as const
  const ok = () => ({ ok: true })
  const routes: Route[] = [
    route({ ...plain, method: 'GET', path: '/public', access: 'public', handle: ok }),
    route({ ...plain, method: 'GET', path: '/healthz', access: 'public', limit: 'unlimited', handle: ok }),
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
    route({ ...plain, method: 'POST', path: '/topup', access: 'public', limit: 'topup', handle: ok }),
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
  server = createServer({ routes, authenticator, random: systemRandom, bodyLimit: 1000, trustedProxies, onAnswered: () => undefined, onFault: () => undefined, admit: limits.admit, refused: limits.refused })
  return { server, limits }
}

interface Sent {
  readonly token?: string
  readonly address?: string
  readonly forwarded?: string
  readonly payload?: object
}

async function send(to: FastifyInstance, url: string, { token, address = '203.0.113.1', forwarded, payload }: Sent = {}) {
  return to.inject({
    method: url === '/topup' || url === '/verify' ? 'POST' : 'GET',
    url,
    remoteAddress: address,
    headers: { ...(token ? { authorization: `Bearer ${token}` } : {}), ...(forwarded ? { 'x-forwarded-for': forwarded } : {}) },
    ...(payload ? { payload } : {}),
  })
}

async function statuses(count: number, one: () => Promise<{ statusCode: number }>): Promise<number[]> {
  const found: number[] = []
  for (let n = 0; n < count; n++) found.push((await one()).statusCode)
  return found
}

test('every limited answer says the limit, what is left and when it begins again, in all forms that clients read', async () => {
  const { headers } = await send(serve().server, '/any', { token: 'alive-1' })
  expect(headers).toMatchObject({
    'ratelimit-policy': '"credential";q=5;w=60',
    ratelimit: '"credential";r=4;t=42',
    'x-ratelimit-limit-requests': '5',
    'x-ratelimit-remaining-requests': '4',
    'x-ratelimit-reset-requests': '42s',
  })
  expect(headers).not.toHaveProperty('retry-after')
})

test('a request over the limit is refused with the numbers, the binding limit and when to come back', async () => {
  const { server: to } = serve()
  expect(await statuses(5, () => send(to, '/any', { token: 'alive-1' }))).toEqual(Array(5).fill(200))
  const refused = await send(to, '/any', { token: 'alive-1' })
  expect(refused.statusCode).toBe(429)
  expect(refused.headers).toMatchObject({ 'retry-after': '42', 'retry-after-ms': '41500', 'x-ratelimit-remaining-requests': '0', ratelimit: '"credential";r=0;t=42' })
  expect(refused.json()).toEqual({
    error: 'rate_limited',
    code: 'rate_limited',
    type: 'rate_limit_error',
    message: 'The limit "credential" allows 5 in 60 seconds and is used up. Try again in 42 seconds.',
    limit_name: 'credential',
    limit_requests: '5',
    limit_window_seconds: '60',
    retry_after_seconds: '42',
    request_id: refused.headers['x-request-id'],
  })
})

test('a credential is counted wherever it is used from, and apart from others at the same address', async () => {
  const { server: to } = serve()
  let n = 0
  const found = await statuses(6, () => send(to, n % 2 ? '/any' : '/spending', { token: 'alive-1', address: `203.0.113.${++n}` }))
  expect(found).toEqual([200, 200, 200, 200, 200, 429])
  expect((await send(to, '/any', { token: 'alive-2', address: '203.0.113.1' })).statusCode).toBe(200)
})

test('a key at an endpoint for sessions is counted like every use of it', async () => {
  const { server: to } = serve()
  expect(await statuses(6, () => send(to, '/session', { token: 'alive-1' }))).toEqual([403, 403, 403, 403, 403, 429])
})

test('public, sign-in and top-up endpoints are counted by address, each by its own limit', async () => {
  const { server: to } = serve()
  const payload = { wallet: '0xa', good: true }
  expect(await statuses(6, () => send(to, '/public'))).toEqual([200, 200, 200, 200, 200, 429])
  expect(await statuses(3, () => send(to, '/topup'))).toEqual([200, 200, 429])
  expect(await statuses(7, () => send(to, '/verify', { payload }))).toEqual([200, 200, 200, 200, 200, 200, 429])
  expect((await send(to, '/topup', { address: '203.0.113.2' })).headers['ratelimit-policy']).toBe('"topup";q=2;w=60')
})

test('endpoints of machines that watch the server are never limited', async () => {
  const { server: to } = serve()
  expect(await statuses(20, () => send(to, '/healthz'))).toEqual(Array(20).fill(200))
  expect(Object.keys((await send(to, '/healthz')).headers).filter((name) => limitFields.includes(name))).toEqual([])
})

test('garbage, missing and banned credentials count against the address, and no other credential suffers', async () => {
  const { server: to } = serve()
  const tokens = ['garbage', '', 'nothing', 'banned', 'x', 'banned', 'y', '']
  const found = await statuses(8, () => send(to, '/any', { token: tokens.shift() as string }))
  expect(found).toEqual([401, 401, 401, 403, 401, 403, 429, 429])
  expect((await send(to, '/any', { token: 'alive-1' })).statusCode).toBe(200)
  expect((await send(to, '/any', { token: 'z', address: '203.0.113.2' })).statusCode).toBe(401)
})

test('unknown and revoked keys are answered and limited alike, header by header', async () => {
  const seen = async (token: string) => {
    const { server: to } = serve()
    const answers: unknown[] = []
    for (let n = 0; n < 9; n++) {
      const { statusCode, headers, json } = await send(to, '/spending', { token })
      const { 'x-request-id': requestId, date: _date, ...others } = headers
      answers.push({ statusCode, others, body: { ...json<object>(), request_id: requestId === undefined } })
    }
    await to.close()
    return answers
  }
  expect(await seen('revoked-1')).toEqual(await seen('unknown-1'))
})

test('a dead key learns nothing of its own limit, not even while failures cannot be counted', async () => {
  const counting = countingLimiter()
  const limiter: Limiter = { take: (quota, key) => (quota.name === 'failed-credentials' ? undefined : counting.take(quota, key)), spent: () => undefined }
  const { statusCode, headers } = await send(serve(limiter).server, '/spending', { token: 'revoked-1' })
  expect(statusCode).toBe(401)
  expect(Object.keys(headers).filter((name) => limitFields.includes(name))).toEqual([])
})

test('failed sign-ins are counted apart: they slow the address while its good ones would still be allowed', async () => {
  const { server: to } = serve()
  const attempt = (good: boolean, address = '203.0.113.1', wallet = `0x${Math.random()}`) => send(to, '/verify', { address, payload: { wallet, good } })
  expect(await statuses(2, () => attempt(false))).toEqual([401, 401])
  const refused = await attempt(true)
  expect(refused.json()).toMatchObject({ code: 'rate_limited', limit_name: 'failed-sign-ins', limit_requests: '2' })
  expect((await send(to, '/public')).statusCode).toBe(200)
  expect((await attempt(true, '203.0.113.2')).statusCode).toBe(200)
})

test('a wallet with too many failures is refused at the addresses that failed, and its owner elsewhere gets in', async () => {
  const { server: to } = serve()
  const attempt = (good: boolean, address: string) => send(to, '/verify', { address, payload: { wallet: '0xA', good } })
  expect((await attempt(false, '203.0.113.1')).statusCode).toBe(401)
  // the wallet's one failure a minute is used up: the next address has its first, and then no more
  expect((await attempt(false, '203.0.113.2')).statusCode).toBe(401)
  const refused = await attempt(true, '203.0.113.2')
  expect(refused.json()).toMatchObject({ code: 'rate_limited', limit_name: 'failed-sign-ins-of-wallet' })
  expect((await attempt(true, '203.0.113.3')).statusCode).toBe(200)
  expect((await send(to, '/verify', { address: '203.0.113.2', payload: { wallet: '0xB', good: true } })).statusCode).toBe(200)
})

test('X-Forwarded-For is believed from trusted proxies only', async () => {
  const direct = serve().server
  let n = 0
  expect(await statuses(3, () => send(direct, '/topup', { forwarded: `198.51.100.${++n}` }))).toEqual([200, 200, 429])
  await direct.close()
  const proxied = serve(countingLimiter(), ['203.0.113.0/24']).server
  expect(await statuses(3, () => send(proxied, '/topup', { forwarded: `198.51.100.${++n}` }))).toEqual([200, 200, 200])
  // what the client itself put in front of the proxy's entry is not believed
  expect(await statuses(3, () => send(proxied, '/topup', { forwarded: `192.0.2.${++n}, 198.51.100.77` }))).toEqual([200, 200, 429])
  expect(await statuses(3, () => send(proxied, '/topup', { address: '192.0.2.9', forwarded: `198.51.100.${++n}` }))).toEqual([200, 200, 429])
})

test('addresses of one IPv6 network of 64 bits are one client', async () => {
  const { server: to } = serve()
  let n = 0
  expect(await statuses(3, () => send(to, '/topup', { address: `2001:db8::${++n}` }))).toEqual([200, 200, 429])
  expect((await send(to, '/topup', { address: '2001:db8:0:1::1' })).statusCode).toBe(200)
})

test('while counts cannot be known, sign-in and top-up are closed and everything else goes on', async () => {
  const limiter = countingLimiter()
  const { server: to } = serve(limiter)
  limiter.away = true
  for (const url of ['/verify', '/topup']) {
    const refused = await send(to, url, { payload: { wallet: '0xa', good: true } })
    expect(refused.statusCode).toBe(503)
    expect(refused.headers).toMatchObject({ 'retry-after': '1', 'retry-after-ms': '1000' })
  }
  expect(await statuses(10, () => send(to, '/any', { token: 'alive-1' }))).toEqual(Array(10).fill(200))
  expect(await statuses(10, () => send(to, '/public'))).toEqual(Array(10).fill(200))
  expect((await send(to, '/any', { token: 'garbage' })).statusCode).toBe(401)
  expect(Object.keys((await send(to, '/public')).headers).filter((name) => limitFields.includes(name))).toEqual([])
})
