import { expect, test } from 'vitest'
import type { Limiter } from '../kernel/limiter.ts'
import { countingLimiter, limitFields, send, serve, statuses } from './limits.fixture.ts'

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
      answers.push({
        statusCode,
        others,
        body: { ...json<object>(), request_id: requestId === undefined },
      })
    }
    await to.close()
    return answers
  }
  expect(await seen('revoked-1')).toEqual(await seen('unknown-1'))
})

test('a dead key learns nothing of its own limit, not even while failures cannot be counted', async () => {
  const counting = countingLimiter()
  const limiter: Limiter = {
    take: (quota, key) => (quota.name === 'failed-credentials' ? undefined : counting.take(quota, key)),
    spent: () => undefined,
  }
  const { statusCode, headers } = await send(serve(limiter).server, '/spending', {
    token: 'revoked-1',
  })
  expect(statusCode).toBe(401)
  expect(Object.keys(headers).filter((name) => limitFields.includes(name))).toEqual([])
})

test('failed sign-ins are counted apart: they slow the address while its good ones would still be allowed', async () => {
  const { server: to } = serve()
  const attempt = (good: boolean, address = '203.0.113.1', wallet = `0x${Math.random()}`) =>
    send(to, '/verify', { address, payload: { wallet, good } })
  expect(await statuses(2, () => attempt(false))).toEqual([401, 401])
  const refused = await attempt(true)
  expect(refused.json()).toMatchObject({
    code: 'rate_limited',
    limit_name: 'failed-sign-ins',
    limit_requests: '2',
  })
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
  expect(refused.json()).toMatchObject({
    code: 'rate_limited',
    limit_name: 'failed-sign-ins-of-wallet',
  })
  expect((await attempt(true, '203.0.113.3')).statusCode).toBe(200)
  expect(
    (await send(to, '/verify', { address: '203.0.113.2', payload: { wallet: '0xB', good: true } })).statusCode,
  ).toBe(200)
})
