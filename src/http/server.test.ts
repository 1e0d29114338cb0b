import type { AddressInfo } from 'node:net'
import { connect } from 'node:net'
import { Type } from 'typebox'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Authenticator } from '../kernel/caller.ts'
import { Fault } from '../kernel/errors.ts'
import { systemRandom } from '../kernel/random.ts'
import { Closed, Micro } from './fields.ts'
import { route } from './route.ts'
import { type Answered, createServer } from './server.ts'

const plain = { tag: 'Test', summary: 'A test.', replies: {}, refuses: [] } as const
let closing = false
let answered: Answered[] = []
let faults: { requestId: string; error: unknown }[] = []
let dead: Fault | Error | undefined

const authenticator: Authenticator = {
  authenticate: async () => {
    if (dead) throw dead
    return { accountId: 7n, credential: { kind: 'api_key', id: 1n } }
  },
  recognise: async () => ({ accountId: 7n, credential: { kind: 'api_key', id: 1n } }),
}

const server = createServer({
  routes: [
    route({ ...plain, method: 'GET', path: '/public', access: 'public', handle: () => ({ ok: true }) }),
    route({
      ...plain,
      method: 'GET',
      path: '/whitelist',
      access: 'public',
      replies: { 200: Closed({ amount: Micro() }) },
      handle: () => ({ amount: 5, secret: 'never' }) as never,
    }),
    route({
      ...plain,
      method: 'POST',
      path: '/spend',
      access: 'spending',
      refuses: ['insufficient_credits'],
      body: Closed({ a: Type.Optional(Type.Integer()) }),
      handle: () => {
        throw new Fault('insufficient_credits', { fields: { required_micro: '5' } })
      },
    }),
    route({ ...plain, method: 'POST', path: '/session', access: 'session', handle: () => ({ ok: true }) }),
    route({
      ...plain,
      method: 'POST',
      path: '/nothing',
      access: 'any',
      body: Closed({}),
      handle: ({ body }) => ({ body }),
    }),
    route({
      ...plain,
      method: 'GET',
      path: '/broken',
      access: 'public',
      handle: () => {
        throw new Error('the private cause')
      },
    }),
    route({
      ...plain,
      method: 'GET',
      path: '/undeclared',
      access: 'public',
      handle: () => {
        throw new Fault('model_not_found')
      },
    }),
    route({
      ...plain,
      method: 'GET',
      path: '/lost',
      access: 'public',
      handle: () => {
        throw Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })
      },
    }),
    route({
      ...plain,
      method: 'GET',
      path: '/lost/:n',
      access: 'public',
      params: Type.Object({ n: Type.Integer({ minimum: 1 }) }),
      query: Type.Object({ page: Type.Optional(Type.Integer({ default: 1 })) }),
      handle: ({ params, query }) => ({ n: params.n, page: query.page }),
    }),
  ],
  authenticator,
  random: systemRandom,
  bodyLimit: 1000,
  trustedProxies: [],
  closing: () => closing,
  onAnswered: (one) => void answered.push(one),
  onFault: (requestId, error) => void faults.push({ requestId, error }),
})
let port = 0

beforeAll(async () => {
  await server.listen({ host: '127.0.0.1', port: 0 })
  port = (server.server.address() as AddressInfo).port
})
beforeEach(() => {
  closing = false
  answered = []
  faults = []
  dead = undefined
})
afterAll(() => server.close())

/** Writes bytes to a fresh socket and gives all that comes back until the server closes it. */
function raw(bytes: string | Buffer): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  let text = ''
  const socket = connect(port, '127.0.0.1', () => socket.write(bytes))
  socket.on('data', (data) => {
    text += data
  })
  socket.on('error', () => undefined)
  socket.on('close', () => resolve(text))
  return promise
}

const parsed = (text: string): { status: number; head: string; body: Record<string, unknown> } => {
  const [head = '', body = ''] = text.split('\r\n\r\n')
  return { status: Number(head.split(' ')[1]), head: head.toLowerCase(), body: JSON.parse(body) }
}

describe('bytes that are no request', () => {
  test.each([
    ['garbage', 'hello\r\n\r\n'],
    ['zeros', Buffer.alloc(64)],
    ['a TLS handshake', Buffer.from('16030100f8010000f40303', 'hex')],
    ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['another version', 'GET /public HTTP/9.9\r\nhost: a\r\n\r\n'],
    ['a method that does not exist', 'FETCH /public HTTP/1.1\r\nhost: a\r\n\r\n'],
    ['two lengths', 'POST /spend HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab'],
    [
      'a length and chunks',
      'POST /spend HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    ['a negative length', 'POST /spend HTTP/1.1\r\nhost: a\r\ncontent-length: -1\r\n\r\n'],
    [
      'a broken chunk',
      'POST /spend HTTP/1.1\r\nhost: a\r\nauthorization: Bearer x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n',
    ],
    ['a header with NUL', 'GET /public HTTP/1.1\r\nhost: a\r\nx: a\0b\r\n\r\n'],
    ['a line of a header that is folded', 'GET /public HTTP/1.1\r\nhost: a\r\nx: a\r\n b\r\n\r\n'],
    ['a space before the colon', 'GET /public HTTP/1.1\r\nhost: a\r\nx : a\r\n\r\n'],
  ])('such as %s get the documented body, and the connection ends', async (_what, bytes) => {
    const { status, head, body } = parsed(await raw(bytes))
    expect(status).toBe(400)
    expect(body).toMatchObject({
      error: 'bad_request',
      code: 'invalid_body',
      type: 'invalid_request_error',
      message: 'The request is not valid HTTP.',
    })
    expect(head).toContain(`x-request-id: ${String(body.request_id)}`)
    expect(head).toContain('connection: close')
  })

  test('but headers that are too large get a documented 431', async () => {
    const { status, body } = parsed(await raw(`GET /public HTTP/1.1\r\nhost: a\r\nx: ${'a'.repeat(20_000)}\r\n\r\n`))
    expect([status, body.error]).toEqual([431, 'headers_too_large'])
  })

  test('but headers that do not arrive in time get a documented 408', async () => {
    // the framework looks at its clock every half minute: what it then does is told here
    server.server.once('connection', (socket) =>
      server.server.emit('clientError', Object.assign(new Error('late'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' }), socket),
    )
    const { status, body } = parsed(await raw('GET /public HTTP/1.1\r\nhos'))
    expect([status, body.error]).toEqual([408, 'request_timeout'])
  })

  test('such as nothing at all leave the server serving', async () => {
    const socket = connect(port, '127.0.0.1')
    await new Promise((resolve) => socket.once('connect', resolve))
    socket.destroy()
    expect((await server.inject('/public')).statusCode).toBe(200)
  })
})

describe('requests that are unusual', () => {
  test.each([
    ['without a Host', 'GET /public HTTP/1.1\r\nconnection: close\r\n\r\n', 400],
    ['of HTTP/1.0', 'GET /public HTTP/1.0\r\n\r\n', 200],
    [
      'that expect 100-continue',
      'POST /nothing HTTP/1.1\r\nhost: a\r\nauthorization: Bearer x\r\nexpect: 100-continue\r\nconnection: close\r\n\r\n',
      200,
    ],
    [
      'that would upgrade',
      'GET /public HTTP/1.1\r\nhost: a\r\nconnection: close, upgrade\r\nupgrade: websocket\r\n\r\n',
      200,
    ],
    ['to an absolute address', 'GET http://a/public HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n', 200],
    ['by TRACE', 'TRACE /public HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n', 405],
    ['by PROPFIND', 'PROPFIND /public HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n', 405],
    ['by OPTIONS *', 'OPTIONS * HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n', 404],
    ['that expect something else', 'GET /public HTTP/1.1\r\nhost: a\r\nexpect: cake\r\nconnection: close\r\n\r\n', 200],
  ])('%s are answered', async (_what, bytes, expected) => {
    const text = await raw(bytes)
    const answers = text.split(/(?=HTTP\/1\.1 )/).filter((answer) => !answer.startsWith('HTTP/1.1 100'))
    expect(answers.length).toBe(1)
    const { status, head, body } = parsed(answers[0] ?? '')
    expect(status).toBe(expected)
    if (status === 405) expect(head).toContain('allow: get\r\n')
    if (status >= 400) expect(head).toContain(`x-request-id: ${String(body.request_id)}`)
  })
})

describe('an error', () => {
  test('is flat, and nested for clients that ask for OpenAI’s form, with the reason phrase in both', async () => {
    const ask = (headers: Record<string, string>) =>
      server.inject({ method: 'POST', url: '/spend', headers: { authorization: 'Bearer x', ...headers } })
    const [flat, nested] = [await ask({}), await ask({ 'x-error-format': 'openai' })]
    expect([flat.statusCode, flat.statusMessage, flat.headers['x-should-retry']]).toEqual([
      402,
      'Insufficient credits',
      'false',
    ])
    expect(flat.json()).toMatchObject({
      error: 'insufficient_credits',
      code: 'insufficient_credits',
      required_micro: '5',
    })
    expect(nested.json()).toEqual({
      error: {
        message: flat.json().message,
        type: 'payment_required_error',
        code: 'insufficient_credits',
        param: null,
        required_micro: '5',
        request_id: nested.headers['x-request-id'],
      },
    })
  })

  test('of ours hides its cause from the caller and gives it to the log under the same request id', async () => {
    const reply = await server.inject('/broken')
    expect(reply.statusCode).toBe(500)
    expect(reply.body).not.toContain('private')
    expect(faults).toMatchObject([
      { requestId: reply.headers['x-request-id'], error: { message: 'the private cause' } },
    ])
  })

  test('that the route does not declare is answered all the same and told to the log', async () => {
    expect((await server.inject('/undeclared')).statusCode).toBe(404)
    expect(String(faults[0]?.error)).toContain('GET /undeclared does not declare model_not_found')
  })

  test('of a lost database is a 503 with Retry-After', async () => {
    const reply = await server.inject('/lost')
    expect([
      reply.statusCode,
      reply.json().error,
      reply.headers['retry-after'],
      reply.headers['retry-after-ms'],
    ]).toEqual([503, 'unavailable', '1', '1000'])
  })

  test('of a spending route is that of the credential where it died after it was remembered', async () => {
    const ask = () =>
      server.inject({ method: 'POST', url: '/spend', headers: { authorization: 'Bearer x' }, payload: { b: 1 } })
    expect((await ask()).json().code).toBe('unknown_field')
    dead = new Fault('unauthorized')
    expect((await ask()).statusCode).toBe(401)
    dead = Object.assign(new Error('gone'), { code: 'ECONNRESET' })
    expect((await ask()).statusCode).toBe(503)
  })

  test('names the parameter of a path or query that is wrong', async () => {
    expect((await server.inject('/lost/x')).json()).toMatchObject({ error: 'bad_request', code: 'invalid_parameter' })
    expect((await server.inject('/lost/2?page=x')).json()).toMatchObject({ code: 'invalid_parameter' })
    expect((await server.inject('/lost/2?unknown=1')).json()).toEqual({ n: 2, page: 1 })
  })
})

test('a reply never has a field that its schema does not declare', async () => {
  expect((await server.inject('/whitelist')).json()).toEqual({ amount: 5 })
})

test('an empty body counts as {} and an API key is refused where a session is needed', async () => {
  const headers = { authorization: 'Bearer x' }
  expect((await server.inject({ method: 'POST', url: '/nothing', headers })).json()).toEqual({ body: {} })
  expect((await server.inject({ method: 'POST', url: '/nothing', headers, payload: { a: 1 } })).json()).toMatchObject({
    code: 'unknown_field',
    field: 'a',
  })
  expect((await server.inject({ method: 'POST', url: '/session', headers })).json().error).toBe('access_token_required')
})

test('while it closes, requests on kept connections are refused with 503 and the connection ends', async () => {
  closing = true
  const { status, head, body } = parsed(await raw('GET /v1/public HTTP/1.1\r\nhost: a\r\n\r\n'))
  expect([status, body.error]).toEqual([503, 'shutting_down'])
  expect(head).toMatch(/connection: close/)
  expect(head).toMatch(/retry-after: 1/)
})

test('what is told of an answer is its pattern, never its address', async () => {
  await server.inject('/lost/5?secret=1')
  await server.inject('/somewhere/secret')
  expect(answered.map(({ route, status }) => [route, status])).toEqual([
    ['/lost/:n', 200],
    ['unmatched', 404],
  ])
})
