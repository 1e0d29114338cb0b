import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, describe, expect, test } from 'vitest'
import {
  createGuardedFetch,
  type GuardedFetch,
  type GuardedFetchOptions,
  type GuardedRequest,
} from './guarded-fetch.ts'

const closing: (() => unknown)[] = []
afterAll(() => Promise.all(closing.map((close) => close())))

const seen: string[] = []
const port = await listening(async (request, response) => {
  seen.push(`${request.method} ${request.url}`)
  const path = request.url ?? ''
  if (path === '/echo') {
    response.writeHead(200, { 'x-twice': ['a', 'b'] })
    response.end(JSON.stringify({ method: request.method, headers: request.headers, body: await bodyOf(request) }))
  } else if (path.startsWith('/to/')) {
    const [, , status, target = ''] = path.split('/')
    response.writeHead(Number(status), { location: decodeURIComponent(target) }).end('moved')
  } else if (path === '/round') response.writeHead(302, { location: '/round' }).end()
  else if (path.startsWith('/bytes/')) response.end(Buffer.alloc(Number(path.slice(7)), 'x'))
  else if (path === '/cut') response.writeHead(200, { 'content-length': '100' }).write('x', () => response.destroy())
  else if (path === '/drip') {
    response.writeHead(200).write('x')
    const drip = setInterval(() => response.write('x'), 20)
    response.on('close', () => clearInterval(drip))
  } else if (path !== '/hang') response.writeHead(500).end('oops')
})
const at = (path: string, host = '127.0.0.1') => `http://${host}:${port}${path}`
const open = guarded({ allowedNetworks: ['127.0.0.0/8'] })
const strict = guarded({})

const ask = (url: string, more: Partial<GuardedRequest> = {}, by: GuardedFetch = open) =>
  by.fetch({
    url,
    method: 'GET',
    headersTimeoutMs: 10_000,
    totalTimeoutMs: 10_000,
    bodyBytesMax: 100_000,
    redirectsMax: 3,
    ...more,
  })

describe('an answer', () => {
  test('comes whole, whatever its status', async () => {
    const answer = await ask(at('/echo'), { method: 'POST', body: 'hello', headers: { 'X-Mine': '1' } })
    expect(answer).toMatchObject({ kind: 'answer', status: 200, cut: false, headers: { 'x-twice': 'a, b' } })
    expect(JSON.parse(textOf(answer))).toMatchObject({ method: 'POST', headers: { 'x-mine': '1' }, body: 'hello' })
    expect(await ask(at('/other'))).toMatchObject({ kind: 'answer', status: 500 })
  })

  test('can be taken piece by piece, and then only if it is a success', async () => {
    let bytes = 0
    const onPiece = (piece: Buffer) => {
      bytes += piece.length
    }
    expect(await ask(at('/bytes/90000'), { onPiece })).toMatchObject({ kind: 'answer', body: Buffer.alloc(0) })
    expect(bytes).toBe(90_000)
    expect(textOf(await ask(at('/other'), { onPiece }))).toBe('oops')
    expect(bytes).toBe(90_000)
  })

  test('larger than allowed is refused, or cut where the caller says so', async () => {
    expect(await ask(at('/bytes/100000'))).toMatchObject({ kind: 'answer' })
    expect(await ask(at('/bytes/100001'))).toMatchObject({ kind: 'failed', reason: 'too_large' })
    const cut = await ask(at('/bytes/100001'), { excess: 'cut', bodyBytesMax: 10 })
    expect(cut).toMatchObject({ kind: 'answer', cut: true })
    expect(textOf(cut)).toBe('x'.repeat(10))
  })
})

describe('an address that is not public', () => {
  test.each([
    ...['127.0.0.1', '2130706433', '0x7f.1', '017700000001', '127.1', '0', '[::1]', '[::ffff:127.0.0.1]'],
    ...['169.254.169.254', '[fd00:ec2::254]', '10.0.0.1', '[64:ff9b::7f00:1]', '100.64.0.1'],
  ])('%s is refused before anything is sent', async (host) => {
    seen.length = 0
    expect(await ask(at('/echo', host), {}, strict)).toMatchObject({ kind: 'refused', reason: 'address' })
    expect(seen).toEqual([])
  })

  test('is refused behind a name, also when only one of its addresses is private', async () => {
    seen.length = 0
    for (const addresses of [['127.0.0.1'], ['93.184.216.34', '10.0.0.1'], ['::ffff:127.0.0.1'], []]) {
      const by = guarded({ resolve: async () => addresses })
      expect(await ask(at('/echo', 'evil.example'), {}, by)).toMatchObject({ kind: 'refused', reason: 'address' })
    }
    expect(await ask(at('/echo', 'localhost'), {}, strict)).toMatchObject({ kind: 'refused', reason: 'address' })
    expect(seen).toEqual([])
  })

  test('does not slip in by a name that changes its address: only the judged answer is connected to', async () => {
    let asked = 0
    const by = guarded({
      allowedNetworks: ['127.0.0.1/32'],
      resolve: async () => (asked++ === 0 ? ['127.0.0.1'] : ['127.0.0.9']),
    })
    const headers = { connection: 'close' }
    expect(await ask(at('/echo', 'rebinding.example'), { headers }, by)).toMatchObject({ kind: 'answer', status: 200 })
    expect(asked).toBe(1)
    expect(await ask(at('/echo', 'rebinding.example'), {}, by)).toMatchObject({ kind: 'refused', reason: 'address' })
    expect(asked).toBe(2)
  })

  test('is refused as the target of a redirect', async () => {
    for (const target of ['http://10.0.0.1/', 'http://[::1]/', 'http://169.254.169.254/latest/meta-data', '//0/']) {
      const answer = await ask(at(`/to/307/${encodeURIComponent(target)}`))
      expect(answer, target).toMatchObject({ kind: 'refused', reason: 'address' })
    }
  })
})

test.each(['ftp://example.com/', 'file:///etc/passwd', 'gopher://127.0.0.1:1/', 'data:,x', 'http://', ''])(
  'the URL %j is refused, also as the target of a redirect',
  async (url) => {
    expect(await ask(url)).toMatchObject({ kind: 'refused', reason: 'url' })
    const redirected = await ask(at(`/to/302/${encodeURIComponent(url || 'x:')}`))
    expect(redirected).toMatchObject({ kind: 'refused', reason: 'url' })
  },
)

test('credentials in a URL are refused, and no message repeats a path, a query or a credential', async () => {
  const answers = [
    await ask('http://user:s3cret@example.com/hidden?key=s3cret'),
    await ask('http://127.0.0.1:1/hidden?key=s3cret'),
    await ask('http://10.0.0.1/hidden?key=s3cret', {}, strict),
  ]
  expect(answers.map(({ kind }) => kind)).toEqual(['refused', 'failed', 'refused'])
  expect(JSON.stringify(answers)).not.toMatch(/s3cret|hidden/)
})

describe('a redirect', () => {
  test('is followed so often and no more; with 0 it is the answer', async () => {
    expect(await ask(at('/round'))).toMatchObject({ kind: 'refused', reason: 'redirects' })
    seen.length = 0
    expect(await ask(at('/round'), { redirectsMax: 0 })).toMatchObject({ kind: 'answer', status: 302 })
    expect(seen).toHaveLength(1)
  })

  test.each([
    [302, 'GET', ''],
    [303, 'GET', ''],
    [307, 'POST', 'hello'],
    [308, 'POST', 'hello'],
  ])('of status %i asks by %s', async (status, method, body) => {
    const answer = await ask(at(`/to/${status}/${encodeURIComponent('/echo')}`), { method: 'POST', body: 'hello' })
    expect(JSON.parse(textOf(answer))).toMatchObject({ method, body })
  })

  test('takes secret headers along within one origin only', async () => {
    const by = guarded({ allowedNetworks: ['127.0.0.0/8'], resolve: async () => ['127.0.0.1'] })
    const headers = { authorization: 'Bearer x', cookie: 'x', 'x-kept': 'x' }
    const within = await ask(at(`/to/307/${encodeURIComponent('/echo')}`), { headers }, by)
    expect(JSON.parse(textOf(within)).headers).toMatchObject(headers)
    const away = await ask(at(`/to/307/${encodeURIComponent(at('/echo', 'other.example'))}`), { headers }, by)
    expect(JSON.parse(textOf(away)).headers).toMatchObject({ 'x-kept': 'x' })
    expect(JSON.parse(textOf(away)).headers).not.toMatchObject({ authorization: 'Bearer x' })
    expect(JSON.parse(textOf(away)).headers).not.toHaveProperty('cookie')
  })
})

test('every way to get no answer has its own reason', async () => {
  const nowhere = guarded({
    resolve: async () => {
      throw Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' })
    },
  })
  expect(await ask('http://nowhere.example/', {}, nowhere)).toMatchObject({ kind: 'failed', reason: 'dns' })
  expect(await ask('http://127.0.0.1:1/')).toMatchObject({ kind: 'failed', reason: 'connect' })
  expect(await ask(at('/').replace('http:', 'https:'))).toMatchObject({ kind: 'failed', reason: 'tls' })
  expect(await ask(at('/cut'))).toMatchObject({ kind: 'failed', reason: 'broken' })
  expect(await ask(at('/hang'), { headersTimeoutMs: 50 })).toMatchObject({ kind: 'failed', reason: 'timeout' })
  expect(await ask(at('/hang'), { totalTimeoutMs: 50 })).toMatchObject({ kind: 'failed', reason: 'timeout' })
  expect(await ask(at('/drip'), { totalTimeoutMs: 200 })).toMatchObject({ kind: 'failed', reason: 'timeout' })
  const signal = AbortSignal.abort()
  expect(await ask(at('/echo'), { signal })).toMatchObject({ kind: 'failed', reason: 'aborted' })
  const slow = guarded({ connectTimeoutMs: 50, resolve: () => new Promise(() => {}) })
  expect(await ask('http://slow.example/', {}, slow)).toMatchObject({ kind: 'failed', reason: 'timeout' })
})

function guarded(options: Partial<GuardedFetchOptions>): GuardedFetch {
  const made = createGuardedFetch({
    allowedNetworks: [],
    connectionsPerOrigin: 4,
    connectTimeoutMs: 10_000,
    ...options,
  })
  closing.push(() => made.close())
  return made
}

async function listening(listener: RequestListener): Promise<number> {
  const server = createServer(listener)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  closing.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const piece of request) text += piece
  return text
}

const textOf = (answer: Awaited<ReturnType<typeof ask>>): string =>
  answer.kind === 'answer' ? answer.body.toString() : JSON.stringify(answer)
