import { expect, test } from 'vitest'
import { Fault } from '../kernel/errors.ts'
import { countingLimiter, limitFields, send, serve, statuses } from './limits.fixture.ts'

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
  expect(refused.headers).toMatchObject({
    'retry-after': '42',
    'retry-after-ms': '41500',
    'x-ratelimit-remaining-requests': '0',
    ratelimit: '"credential";r=0;t=42',
  })
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
  const found = await statuses(6, () =>
    send(to, n % 2 ? '/any' : '/spending', { token: 'alive-1', address: `203.0.113.${++n}` }),
  )
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

test('X-Forwarded-For is believed from trusted proxies only', async () => {
  const direct = serve().server
  let n = 0
  expect(await statuses(3, () => send(direct, '/topup', { forwarded: `198.51.100.${++n}` }))).toEqual([200, 200, 429])
  await direct.close()
  const proxied = serve(countingLimiter(), ['203.0.113.0/24']).server
  expect(await statuses(3, () => send(proxied, '/topup', { forwarded: `198.51.100.${++n}` }))).toEqual([200, 200, 200])
  // what the client itself put in front of the proxy's entry is not believed
  expect(await statuses(3, () => send(proxied, '/topup', { forwarded: `192.0.2.${++n}, 198.51.100.77` }))).toEqual([
    200, 200, 429,
  ])
  expect(
    await statuses(3, () => send(proxied, '/topup', { address: '192.0.2.9', forwarded: `198.51.100.${++n}` })),
  ).toEqual([200, 200, 429])
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

test('whoever guesses codes is slowed by account and by address, even with a right one; right codes cost nothing', async () => {
  const { limits } = serve()
  const attempt = (accountId: bigint, address: string, right: boolean) =>
    limits.guessGuard
      .attempt({ accountId, address }, async () => {
        if (!right) throw new Fault('device_login_not_found')
        return 'seen'
      })
      .catch((error: Fault) => `${error.code} ${error.fields.limit_name ?? ''}`.trim())
  for (let count = 0; count < 9; count++) expect(await attempt(1n, 'a', true)).toBe('seen')
  expect(await attempt(1n, 'a', false)).toBe('device_login_not_found')
  expect(await attempt(1n, 'b', true)).toBe('rate_limited unknown-codes-of-account')
  expect(await attempt(2n, 'a', false)).toBe('device_login_not_found')
  expect(await attempt(3n, 'a', true)).toBe('rate_limited unknown-codes')
  expect(await attempt(3n, 'b', true)).toBe('seen')
})
