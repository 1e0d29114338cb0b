import { randomBytes } from 'node:crypto'
import { METHODS, request } from 'node:http'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { impliedRefusals, type Route } from '../src/http/route.ts'
import { isWellFormed, newKey } from '../src/identity/keys/secret.ts'
import { catalogue, type ErrorCode } from '../src/kernel/errors.ts'
import { systemRandom } from '../src/kernel/random.ts'
import type { JsonObject } from '../src/providers/provider.ts'
import { type Person, startTestApp, type TestApp } from './app.ts'

let app: TestApp
let person: Person
let credentials: Record<string, string | undefined>

beforeAll(async () => {
  app = await startTestApp()
  person = await app.person()
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
afterAll(() => app.stop())

interface Reply {
  readonly status: number
  readonly headers: Record<string, string | string[] | undefined>
  readonly text: string
}

/** Any request at all, with nothing added or checked on the way. */
function send(method: string, path: string, options: { headers?: Record<string, string>; body?: string | Buffer | undefined } = {}): Promise<Reply> {
  const { promise, resolve, reject } = Promise.withResolvers<Reply>()
  const { headers = {}, body } = options
  const framed = body === undefined || 'transfer-encoding' in headers ? {} : { 'content-length': Buffer.byteLength(body) }
  const sent = request(app.url + path, { method, headers: { ...framed, ...headers }, agent: false }, async (response) => {
    let text = ''
    for await (const piece of response.setEncoding('utf8')) text += piece
    resolve({ status: response.statusCode ?? 0, headers: response.headers, text })
  })
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
  const tables = await app.database.sql<{ name: string }>(`select format('%I', tablename) as name from pg_tables where schemaname = 'public' order by 1`)
  const counts = await Promise.all(tables.map(({ name }) => app.database.sql<{ n: string }>(`select count(*) as n from ${name}`).then(([row]) => `${name}=${row?.n}`)))
  const [sums] = await app.database.sql<{ posted: string; held: string }>('select sum(posted_micro) as posted, sum(held_micro) as held from buckets')
  return [...counts, sums?.posted, sums?.held].join(' ')
}

const sampleOf = (path: string): string => path.replace(/:\w+/g, '1')
const posts = (): Route[] => app.app.routes.filter(({ method }) => method === 'POST')

test('every path answers every method that it does not take with 405 and Allow', async () => {
  const paths = Map.groupBy(app.app.routes, ({ path }) => path)
  expect(paths.size).toBeGreaterThan(4)
  for (const [path, routes] of paths) {
    const allow = routes.map(({ method }) => method).join(', ')
    for (const method of METHODS.filter((name) => name !== 'CONNECT').filter((name) => !routes.some((route) => route.method === name))) {
      for (const body of ['GET', 'HEAD', 'TRACE'].includes(method) ? [undefined] : [undefined, '{"a":']) {
        const reply = await send(method, sampleOf(path), { body, headers: { authorization: `Bearer ${person.key}`, 'content-type': 'application/json' } })
        expect([method, path, reply.status, reply.headers.allow]).toEqual([method, path, 405, allow])
        if (method !== 'HEAD') expect(documented(reply)).toBe('method_not_allowed')
      }
    }
  }
})

test.each(['/', '/v1', '/v1/', '/v1/chat/completions/', '/V1/chat/completions', '/v1/chat/completions/x', '//v1/models', '/v1/models/%2e%2e', '/%00', '/%zz', '/v1/%ff', '/v1/models;x', '/.env', '/v1/chat%2Fcompletions'])(
  'the path %s is a documented 404 for every method',
  async (path) => {
    for (const method of ['GET', 'POST', 'DELETE']) expect(documented(await send(method, path, { body: method === 'GET' ? undefined : '{}' }))).toBe('not_found')
  },
)

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
        const reply = await send(route.method, sampleOf(route.path), { body: route.method === 'GET' ? undefined : VALID, headers: { ...(authorization === undefined ? {} : { authorization }), 'content-type': 'application/json' } })
        expect([what, documented(reply, route)]).toEqual([what, what === 'banned' ? 'account_banned' : 'unauthorized'])
        if (reply.status === 401) expect(reply.headers['www-authenticate']).toBe('Bearer realm="farebox"')
      }
    }
    expect(await digest()).toBe(before)
  })

  test('are not looked for anywhere but in the Authorization header', async () => {
    for (const headers of [{ 'x-api-key': person.key }, { cookie: `key=${person.key}` }, { 'proxy-authorization': `Bearer ${person.key}` }]) {
      expect((await send('POST', `/v1/chat/completions?api_key=${person.key}`, { body: VALID, headers: { 'content-type': 'application/json', ...headers } as Record<string, string> })).status).toBe(401)
    }
  })

  test.each([['authorization', 'bearer'], ['AUTHORIZATION', 'BEARER'], ['Authorization', 'Bearer  ']])('are taken whatever the case of %s: %s', async (name, scheme) => {
    expect((await send('POST', '/v1/chat/completions/estimate', { body: VALID, headers: { [name]: `${scheme} ${person.key}`, 'Content-Type': 'APPLICATION/JSON' } })).status).toBe(200)
  })

  test('with a typo are known to be wrong before the database is asked', () => {
    expect(isWellFormed(person.key)).toBe(true)
    expect(isWellFormed(String(credentials.typo).slice(7))).toBe(false)
  })
})

const VALID = JSON.stringify({ model: 'mock-model', messages: [{ role: 'user', content: 'x' }] })
const withField = (name: string, value: string): string => `${VALID.slice(0, -1)},${JSON.stringify(name)}:${value}}`
const withMessages = (value: string): string => `{"model":"mock-model","messages":${value}}`

/** Bodies that no endpoint with a chat body takes, and the codes that may answer them. */
const BAD_CHAT: Record<string, [string, ErrorCode]> = {
  'no model': ['{"messages":[{"role":"user"}]}', 'missing_field'],
  'no messages': ['{"model":"mock-model"}', 'missing_field'],
  'an empty object': ['{}', 'missing_field'],
  'nothing at all': ['', 'missing_field'],
  'a model of the wrong type': ['{"model":1,"messages":[{"role":"user","content":"x"}]}', 'invalid_field'],
  'a model of null': ['{"model":null,"messages":[{"role":"user","content":"x"}]}', 'invalid_field'],
  'a model that is not here': ['{"model":"gpt-9","messages":[{"role":"user","content":"x"}]}', 'model_not_found'],
  'a model called __proto__': ['{"model":"__proto__","messages":[{"role":"user","content":"x"}]}', 'model_not_found'],
  'a model with lone surrogates': ['{"model":"\\ud800","messages":[{"role":"user","content":"x"}]}', 'model_not_found'],
  'a model with NUL': ['{"model":"mock-model\\u0000","messages":[{"role":"user","content":"x"}]}', 'model_not_found'],
  'a model of a megabyte': [`{"model":"${'m'.repeat(1_000_000)}","messages":[{"role":"user","content":"x"}]}`, 'invalid_field'],
  'messages of null': [withMessages('null'), 'invalid_field'],
  'messages as text': [withMessages('"x"'), 'invalid_field'],
  'no message': [withMessages('[]'), 'invalid_field'],
  'too many messages': [withMessages(`[${Array(10_001).fill('{"role":"user","content":"x"}').join()}]`), 'invalid_field'],
  'a message that is text': [withMessages('["x"]'), 'invalid_field'],
  'a message of null': [withMessages('[null]'), 'invalid_field'],
  'a message without role': [withMessages('[{"content":"x"}]'), 'missing_field'],
  'content that is a number': [withMessages('[{"role":"user","content":1}]'), 'invalid_field'],
  'content that is an object': [withMessages('[{"role":"user","content":{}}]'), 'invalid_field'],
  'parts of null': [withMessages('[{"role":"user","content":[null]}]'), 'invalid_field'],
  'parts without type': [withMessages('[{"role":"user","content":[{}]}]'), 'invalid_field'],
  'stream as text': [withField('stream', '"true"'), 'invalid_field'],
  'stream_options as a list': [withField('stream_options', '[]'), 'invalid_field'],
  'max_tokens of 0': [withField('max_tokens', '0'), 'invalid_field'],
  'max_tokens of -0': [withField('max_tokens', '-0'), 'invalid_field'],
  'max_tokens below 0': [withField('max_tokens', '-5'), 'invalid_field'],
  'max_tokens of 2^53': [withField('max_tokens', '9007199254740992'), 'invalid_field'],
  'max_tokens of 1e400': [withField('max_tokens', '1e400'), 'invalid_field'],
  'max_tokens of 1.5': [withField('max_tokens', '1.5'), 'invalid_field'],
  'max_tokens as text': [withField('max_tokens', '"5"'), 'invalid_field'],
  'max_completion_tokens as a list': [withField('max_completion_tokens', '[5]'), 'invalid_field'],
  'n of 0': [withField('n', '0'), 'invalid_field'],
  'n of 129': [withField('n', '129'), 'invalid_field'],
  'n of 1e400': [withField('n', '1e400'), 'invalid_field'],
  'the last of two models wrong': [withField('model', '5'), 'invalid_field'],
}

/** Bodies that are wrong before any endpoint looks at them, with their headers. */
const UNREADABLE: Record<string, [string | Buffer, Record<string, string>, ErrorCode[]]> = {
  'an array': ['[]', {}, ['invalid_body']],
  text: ['"x"', {}, ['invalid_body']],
  'a number': ['5', {}, ['invalid_body']],
  true: ['true', {}, ['invalid_body']],
  'half an object': ['{"model":', {}, ['invalid_json']],
  'two objects': ['{}{}', {}, ['invalid_json']],
  'a trailing comma': ['{"a":1,}', {}, ['invalid_json']],
  'single quotes': [`{'a':1}`, {}, ['invalid_json']],
  NaN: ['{"a":NaN}', {}, ['invalid_json']],
  spaces: ['   ', {}, ['invalid_json']],
  'bytes that are no UTF-8': [Buffer.from([0xff, 0xfe, 0x00, 0x7b]), {}, ['invalid_json']],
  __proto__: ['{"__proto__":{"model":"x"}}', {}, ['invalid_json']],
  'constructor.prototype': ['{"constructor":{"prototype":{"a":1}}}', {}, ['invalid_json']],
  'a hundred thousand open brackets': ['['.repeat(100_000), {}, ['invalid_json']],
  'ten thousand levels': [`${'['.repeat(10_000)}${']'.repeat(10_000)}`, {}, ['invalid_body']],
  'gzip that is not announced': [gzipSync(VALID), {}, ['invalid_json']],
  'gzip that is announced': [gzipSync(VALID), { 'content-encoding': 'gzip' }, ['invalid_json', 'unsupported_media_type']],
  'a form': ['a=b', { 'content-type': 'application/x-www-form-urlencoded' }, ['unsupported_media_type']],
  'plain text': [VALID, { 'content-type': 'text/plain' }, ['unsupported_media_type']],
  multipart: ['--x\r\n\r\n--x--', { 'content-type': 'multipart/form-data; boundary=x' }, ['unsupported_media_type']],
  'no content type': [VALID, { 'content-type': '' }, ['unsupported_media_type']],
  'a broken content type': [VALID, { 'content-type': ';;;' }, ['unsupported_media_type']],
}

describe.each([true, false])('bodies, with the length announced: %s', (announced) => {
  const bodyHeaders = (body: string | Buffer): Record<string, string> => (announced ? { 'content-length': String(Buffer.byteLength(body)) } : { 'transfer-encoding': 'chunked' })

  test.each(Object.entries(UNREADABLE))('that are %s are refused by every POST as documented, and change nothing', async (_what, [body, headers, codes]) => {
    const before = await digest()
    for (const route of posts()) {
      const reply = await send('POST', sampleOf(route.path), { body, headers: { authorization: `Bearer ${person.key}`, 'content-type': 'application/json', ...bodyHeaders(body), ...headers } })
      expect(codes).toContain(documented(reply, route))
    }
    expect(await digest()).toBe(before)
  })

  test.each(Object.entries(BAD_CHAT))('with %s are refused by chat and its estimate as documented, and change nothing', async (_what, [body, code]) => {
    const before = await digest()
    for (const route of posts().filter(({ path }) => path.startsWith('/v1/chat/'))) {
      const reply = await send('POST', route.path, { body, headers: { authorization: `Bearer ${person.key}`, 'content-type': 'application/json', ...bodyHeaders(body), ...(body.includes('ud800') ? {} : { 'idempotency-key': randomBytes(8).toString('hex') }) } })
      expect(documented(reply, route)).toBe(code)
    }
    expect(await digest()).toBe(before)
    expect(app.mock.calls.length).toBe(0)
  })

  test('that are too large are a documented 413 on every POST, and change nothing', async () => {
    const before = await digest()
    for (const route of posts()) {
      const body = `{"a":"${'x'.repeat((route.bodyLimit ?? 1024 * 1024) + 1)}"}`
      const reply = await send('POST', sampleOf(route.path), { body, headers: { authorization: `Bearer ${person.key}`, 'content-type': 'application/json', ...bodyHeaders(body) } })
      expect(documented(reply, route)).toBe('body_too_large')
    }
    expect(await digest()).toBe(before)
  })
})

test('a client’s own x-request-id is not trusted, and every answer has one of ours', async () => {
  const seen = new Set<unknown>()
  for (const route of app.app.routes) {
    const reply = await send(route.method, sampleOf(route.path), { headers: { 'x-request-id': 'mine', 'request-id': 'mine' } })
    expect(reply.headers['x-request-id']).toMatch(/^req_[0-9a-f]{32}$/)
    seen.add(reply.headers['x-request-id'])
  }
  expect(seen.size).toBe(app.app.routes.length)
})

test('no route answered with a refusal that it does not declare', () => {
  expect(app.log.filter((line) => line.includes('does not declare'))).toEqual([])
})
