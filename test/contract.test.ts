import { randomBytes } from 'node:crypto'
import { Agent, METHODS, request } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { impliedRefusals, type Route } from '../src/http/route.ts'
import { isWellFormed, newKey } from '../src/identity/keys/secret.ts'
import { catalogue, type ErrorCode } from '../src/kernel/errors.ts'
import { systemRandom } from '../src/kernel/random.ts'
import type { JsonObject } from '../src/providers/provider.ts'
import { signInByWallet } from './admin.ts'
import { type Person, startTestApp, type TestApp } from './app.ts'
import { BAD_CHAT, UNREADABLE, VALID } from './bad-bodies.ts'

let app: TestApp
let person: Person
let accessToken: string
let adminToken: string
let credentials: Record<string, string | undefined>

/** A credential that the route takes. */
const bearerFor = (route: Route): string =>
  `Bearer ${route.access === 'admin' ? adminToken : route.access === 'session' ? accessToken : person.key}`

beforeAll(async () => {
  app = await startTestApp()
  person = await app.person()
  accessToken = (await signInByWallet(app)).token
  const admin = await signInByWallet(app)
  adminToken = admin.token
  await app.database.sql(`update accounts set role = 'admin' where id = $1`, [admin.accountId])
  const [revoked, expired, banned] = await Promise.all([app.person(), app.person(), app.person()])
  // each was used while it was alive, so that the server remembers it
  for (const { key } of [person, revoked, expired, banned]) await app.post('/v1/chat/completions', {}, key)
  await app.database.sql('update api_keys set revoked_at = now() where id = $1', [revoked.keyId])
  await app.database.sql(`update api_keys set expires_at = now() - interval '1 second' where id = $1`, [expired.keyId])
  await app.database.sql(`update accounts set status = 'banned' where id = $1`, [banned.accountId])
  const typo = person.key.slice(0, -1) + (person.key.endsWith('0') ? '1' : '0')
  credentials = {
    none: undefined,
    empty: '',
    'scheme only': 'Bearer',
    'scheme and spaces': 'Bearer    ',
    basic: `Basic ${Buffer.from(`a:${person.key}`).toString('base64')}`,
    'bare key': person.key,
    'key and more': `Bearer ${person.key} ${person.key}`,
    'another service’s key': 'Bearer sk-proj-0123456789abcdefghijklmnop',
    'a token that is no key': `Bearer ey${randomBytes(20).toString('hex')}.e30.x`,
    'a well-formed key that never existed': `Bearer ${newKey(systemRandom)}`,
    typo: `Bearer ${typo}`,
    'upper case': `Bearer ${person.key.toUpperCase()}`,
    'a long one': `Bearer ${'k'.repeat(8_000)}`,
    revoked: `Bearer ${revoked.key}`,
    expired: `Bearer ${expired.key}`,
    banned: `Bearer ${banned.key}`,
  }
})
afterAll(() => {
  kept.destroy()
  return app.stop()
})

interface Reply {
  readonly status: number
  readonly headers: Record<string, string | string[] | undefined>
  readonly text: string
}

/** Many addresses are asked for; requests with bodies may break their connection, so those get their own. */
const kept = new Agent({ keepAlive: true })

/** Any request at all, with nothing added or checked on the way. */
function send(
  method: string,
  path: string,
  options: { headers?: Record<string, string>; body?: string | Buffer | undefined } = {},
): Promise<Reply> {
  const { promise, resolve, reject } = Promise.withResolvers<Reply>()
  const { headers = {}, body } = options
  const framed =
    body === undefined || 'transfer-encoding' in headers ? {} : { 'content-length': Buffer.byteLength(body) }
  const sent = request(
    app.url + path,
    { method, headers: { ...framed, ...headers }, agent: method === 'GET' ? kept : false },
    async (response) => {
      let text = ''
      for await (const piece of response.setEncoding('utf8')) text += piece
      resolve({ status: response.statusCode ?? 0, headers: response.headers, text })
    },
  )
  sent.on('error', reject)
  sent.end(body)
  return promise
}

/** An error as every client may rely on it; gives its code. */
function documented(reply: Reply, declared?: Route): ErrorCode {
  const body = JSON.parse(reply.text) as JsonObject
  for (const [name, value] of Object.entries(body)) expect(typeof value, `${name} of ${reply.text}`).toBe('string')
  const code = body.code as ErrorCode
  expect(catalogue, `the code ${code}`).toHaveProperty(code)
  const refusal = catalogue[code]
  expect(reply.status).toBe(refusal.status)
  expect(body.type).toBe(refusal.type)
  expect(body.error).toBe(refusal.status === 400 && refusal.type === 'invalid_request_error' ? 'bad_request' : code)
  expect(body.request_id).toMatch(/^req_[0-9a-f]{32}$/)
  expect(reply.headers['x-request-id']).toBe(body.request_id)
  expect(reply.headers['content-type']).toBe('application/json; charset=utf-8')
  if (declared) expect([...declared.refuses, ...impliedRefusals(declared)]).toContain(code)
  return code
}

/** How many rows every table has, and what every balance is. */
async function digest(): Promise<string> {
  const tables = await app.database.sql<{ name: string }>(
    `select format('%I', tablename) as name from pg_tables where schemaname = 'public' and tablename <> 'rate_limit_windows' order by 1`,
  )
  const counts = await Promise.all(
    tables.map(({ name }) =>
      app.database.sql<{ n: string }>(`select count(*) as n from ${name}`).then(([row]) => `${name}=${row?.n}`),
    ),
  )
  const [sums] = await app.database.sql<{ posted: string; held: string }>(
    'select sum(posted_micro) as posted, sum(held_micro) as held from buckets',
  )
  return [...counts, sums?.posted, sums?.held].join(' ')
}

/** The path with ids of the right form: orders have UUIDs. */
const sampleOf = (path: string): string =>
  path.replace(/:\w+/g, path.includes('/orders/') ? '01a1fb04-c84b-761b-b290-dc3d95aed53b' : '1')
const posts = (): Route[] => app.app.routes.filter(({ method }) => method === 'POST')

test('every path answers every method that it does not take with 405 and Allow', async () => {
  const paths = Map.groupBy(app.app.routes, ({ path }) => path)
  expect(paths.size).toBeGreaterThan(4)
  for (const [path, routes] of paths) {
    const allow = routes.map(({ method }) => method).join(', ')
    for (const method of METHODS.filter((name) => name !== 'CONNECT').filter(
      (name) => !routes.some(({ method, cors }) => method === name || (cors && name === 'OPTIONS')),
    )) {
      for (const body of ['GET', 'HEAD', 'TRACE'].includes(method) ? [undefined] : [undefined, '{"a":']) {
        const reply = await send(method, sampleOf(path), {
          body,
          headers: { authorization: `Bearer ${person.key}`, 'content-type': 'application/json' },
        })
        expect([method, path, reply.status, reply.headers.allow]).toEqual([method, path, 405, allow])
        if (method !== 'HEAD') expect(documented(reply)).toBe('method_not_allowed')
      }
    }
  }
})

test.each([
  '/index.html',
  '/v1',
  '/v1/',
  '/v1/chat/completions/',
  '/V1/chat/completions',
  '/v1/chat/completions/x',
  '//v1/models',
  '/v1/models/%2e%2e',
  '/%00',
  '/%zz',
  '/v1/%ff',
  '/v1/models;x',
  '/.env',
  '/v1/chat%2Fcompletions',
])('the path %s is a documented 404 for every method', async (path) => {
  for (const method of ['GET', 'POST', 'DELETE'])
    expect(documented(await send(method, path, { body: method === 'GET' ? undefined : '{}' }))).toBe('not_found')
})

test('a path of 8,000 characters is a 404 that does not repeat all of it', async () => {
  const reply = await send('GET', `/${'a'.repeat(8_000)}`)
  expect(documented(reply)).toBe('not_found')
  expect(reply.text.length).toBeLessThan(1_000)
})

describe('credentials', () => {
  test('that may not call are refused alike on every endpoint, and change nothing', async () => {
    const before = await digest()
    for (const route of app.app.routes.filter(({ access }) => access !== 'public')) {
      for (const [what, authorization] of Object.entries(credentials)) {
        const reply = await send(route.method, sampleOf(route.path), {
          body: route.method === 'GET' ? undefined : VALID,
          headers: { ...(authorization === undefined ? {} : { authorization }), 'content-type': 'application/json' },
        })
        expect([what, documented(reply, route)]).toEqual([what, what === 'banned' ? 'account_banned' : 'unauthorized'])
        if (reply.status === 401) expect(reply.headers['www-authenticate']).toMatch(/^Bearer (.+, )?realm="farebox"$/)
      }
    }
    expect(await digest()).toBe(before)
  })

  test('are not looked for anywhere but in the Authorization header', async () => {
    for (const headers of [
      { 'x-api-key': person.key },
      { cookie: `key=${person.key}` },
      { 'proxy-authorization': `Bearer ${person.key}` },
    ]) {
      expect(
        (
          await send('POST', `/v1/chat/completions?api_key=${person.key}`, {
            body: VALID,
            headers: { 'content-type': 'application/json', ...headers } as Record<string, string>,
          })
        ).status,
      ).toBe(401)
    }
  })

  test.each([
    ['authorization', 'bearer'],
    ['AUTHORIZATION', 'BEARER'],
    ['Authorization', 'Bearer  '],
  ])('are taken whatever the case of %s: %s', async (name, scheme) => {
    expect(
      (
        await send('POST', '/v1/chat/completions/estimate', {
          body: VALID,
          headers: { [name]: `${scheme} ${person.key}`, 'Content-Type': 'APPLICATION/JSON' },
        })
      ).status,
    ).toBe(200)
  })

  test('with a typo are known to be wrong before the database is asked', () => {
    expect(isWellFormed(person.key)).toBe(true)
    expect(isWellFormed(String(credentials.typo).slice(7))).toBe(false)
  })
})

describe.each([true, false])('bodies, with the length announced: %s', (announced) => {
  const bodyHeaders = (body: string | Buffer): Record<string, string> =>
    announced ? { 'content-length': String(Buffer.byteLength(body)) } : { 'transfer-encoding': 'chunked' }

  test.each(Object.entries(UNREADABLE))(
    'that are %s are refused by every POST as documented, and change nothing',
    async (_what, [body, headers, codes]) => {
      const before = await digest()
      for (const route of posts()) {
        const reply = await send('POST', sampleOf(route.path), {
          body,
          headers: {
            authorization: bearerFor(route),
            'content-type': 'application/json',
            ...bodyHeaders(body),
            ...headers,
          },
        })
        expect(codes).toContain(documented(reply, route))
      }
      expect(await digest()).toBe(before)
    },
  )

  test.each(Object.entries(BAD_CHAT))(
    'with %s are refused by chat and its estimate as documented, and change nothing',
    async (_what, [body, code]) => {
      const before = await digest()
      for (const route of posts().filter(({ path }) => path.startsWith('/v1/chat/'))) {
        const reply = await send('POST', route.path, {
          body,
          headers: {
            authorization: `Bearer ${person.key}`,
            'content-type': 'application/json',
            ...bodyHeaders(body),
            ...(body.includes('ud800') ? {} : { 'idempotency-key': randomBytes(8).toString('hex') }),
          },
        })
        expect(documented(reply, route)).toBe(code)
      }
      expect(await digest()).toBe(before)
      expect(app.mock.calls.length).toBe(0)
    },
  )

  test('that are too large are a documented 413 on every POST, and change nothing', async () => {
    const before = await digest()
    for (const route of posts()) {
      const body = `{"a":"${'x'.repeat((route.bodyLimit ?? 1024 * 1024) + 1)}"}`
      const reply = await send('POST', sampleOf(route.path), {
        body,
        headers: { authorization: bearerFor(route), 'content-type': 'application/json', ...bodyHeaders(body) },
      })
      expect(documented(reply, route)).toBe('body_too_large')
    }
    expect(await digest()).toBe(before)
  })
})

describe('addresses', () => {
  const ODD = [
    '',
    '0',
    '-1',
    '1.5',
    '1e400',
    '9007199254740993',
    '99999999999999999999999999',
    'abc',
    'null',
    '%00',
    '%F0%9F%98%80',
    '%ED%A0%80',
    "1'%20or%201=1",
    '__proto__',
    'constructor',
    '2026-13-45',
    '2026-01-01T00:00:00',
    'x'.repeat(150),
    'x'.repeat(400),
    '[object%20Object]',
    '%5B%5D',
  ]

  test('with odd values of declared parameters are answered with 200 or a documented 4xx, and change nothing', async () => {
    const before = await digest()
    for (const route of app.app.routes.filter(({ method, query }) => method === 'GET' && query)) {
      const { properties = {} } = route.query as { properties?: Record<string, unknown> }
      for (const name of [...Object.keys(properties), 'unknown', '__proto__']) {
        for (const value of ODD) {
          for (const query of value === 'abc'
            ? [`${name}=${value}`, `${name}=${value}&${name}=2`, `${name}[]=${value}`]
            : [`${name}=${value}`]) {
            const reply = await send('GET', `${sampleOf(route.path)}?${query}`, {
              headers: { authorization: `Bearer ${person.key}` },
            })
            if (reply.status !== 200) documented(reply, route)
          }
        }
      }
    }
    expect(await digest()).toBe(before)
  })

  test('with odd ids are a documented 4xx on every path that has one, and change nothing', async () => {
    const before = await digest()
    // every address of the console gives its first file, which knows what is there
    for (const route of app.app.routes.filter(({ path }) => path.includes(':') && !/^\/(console|topup)/.test(path))) {
      for (const value of ODD.filter((odd) => odd !== '')) {
        const reply = await send(route.method, route.path.replace(/:\w+/g, value), {
          body: route.method === 'GET' ? undefined : '{}',
          headers: { authorization: `Bearer ${person.key}`, 'content-type': 'application/json' },
        })
        if (reply.status < 400) throw new Error(`${route.path} took ${value}: ${reply.text.slice(0, 200)}`)
        documented(reply, reply.status === 404 ? undefined : route)
      }
    }
    expect(await digest()).toBe(before)
  })
})

test('a client’s own x-request-id is not trusted, and every answer has one of ours', async () => {
  const seen = new Set<unknown>()
  for (const route of app.app.routes) {
    const reply = await send(route.method, sampleOf(route.path), {
      headers: { 'x-request-id': 'mine', 'request-id': 'mine' },
    })
    expect(reply.headers['x-request-id']).toMatch(/^req_[0-9a-f]{32}$/)
    seen.add(reply.headers['x-request-id'])
  }
  expect(seen.size).toBe(app.app.routes.length)
})

test('no route answered with a refusal that it does not declare', () => {
  expect(app.log.filter((line) => line.includes('does not declare'))).toEqual([])
})
