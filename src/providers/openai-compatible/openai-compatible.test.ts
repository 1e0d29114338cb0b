import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Server } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { type ChatOutcome, type ChatProvider, ProviderLost } from '../provider.ts'
import { createOpenAiCompatible, type OpenAiCompatibleOptions } from './index.ts'

const API_KEY = 'sk-test-0123456789abcdef'
const opened: (() => unknown)[] = []

afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close()
})

describe('the request', () => {
  test('goes to the base path with the key only in the Authorization header', async () => {
    let seen: IncomingMessage | undefined
    let body = ''
    const provider = await talkingTo(async (request, response) => {
      seen = request
      for await (const piece of request) body += piece
      json(response, 200, ANSWER, { 'x-request-id': 'upstream-7' })
    })
    expect(await ask(provider)).toEqual({
      kind: 'answer',
      body: ANSWER,
      usage: { inputTokens: 5, outputTokens: 7, cachedInputTokens: 2 },
      providerRequestId: 'upstream-7',
    })
    expect(seen?.method).toBe('POST')
    expect(seen?.url).toBe('/base/v1/chat/completions')
    expect(seen?.headers).toMatchObject({
      authorization: `Bearer ${API_KEY}`,
      'content-type': 'application/json',
      'x-request-id': 'req_1',
      'x-extra': 'extra-secret',
    })
    expect(body).toBe('{"model":"m"}')
    expect(JSON.stringify([seen?.url, body])).not.toContain(API_KEY)
  })

  test('reuses its socket for the next one', async () => {
    const ports = new Set<number | undefined>()
    const provider = await talkingTo(
      (request, response) => {
        ports.add(request.socket.remotePort)
        json(response, 200, ANSWER)
      },
      { connections: 1 },
    )
    for (let index = 0; index < 5; index += 1) await ask(provider)
    expect(ports.size).toBe(1)
  })

  test.each([
    ['credentials', 'https://user:hunter22@host/v1'],
    ['a query', 'https://host/v1?key=hunter22'],
    ['an empty query', 'https://host/v1?'],
    ['another protocol', 'ftp://host/hunter22'],
    ['no URL', 'hunter22'],
  ])('a base URL with %s is refused at creation, without repeating it', (_what, baseUrl) => {
    expect(() => createOpenAiCompatible({ ...OPTIONS, baseUrl })).toThrow(TypeError)
    expect(() => createOpenAiCompatible({ ...OPTIONS, baseUrl })).not.toThrow(/hunter22/)
  })
})

describe('nothing is owed', () => {
  test('when the connection is refused', async () => {
    const { port, close } = await listening(createTcpServer())
    await close()
    const outcome = await ask(providerAt(port))
    expect(outcome).toMatchObject({ kind: 'refused', status: undefined, retryable: true })
    expect(outcome).toHaveProperty('message', 'mock could not be reached (ECONNREFUSED).')
  })

  test('when the name does not resolve', async () => {
    const provider = createOpenAiCompatible({ ...OPTIONS, baseUrl: 'http://nowhere.invalid/v1' })
    opened.push(() => provider.close())
    expect(await ask(provider)).toMatchObject({
      kind: 'refused',
      status: undefined,
      retryable: true,
    })
  })

  test('when the TLS handshake fails', async () => {
    const { port } = await listening(createTcpServer((socket) => socket.end('not TLS')))
    const provider = createOpenAiCompatible({ ...OPTIONS, baseUrl: `https://127.0.0.1:${port}/v1` })
    opened.push(() => provider.close())
    expect(await ask(provider)).toMatchObject({
      kind: 'refused',
      status: undefined,
      retryable: true,
    })
  })

  test('when connecting or waiting for a socket takes too long, and the late request is never sent', async () => {
    let requests = 0
    const held = Promise.withResolvers<void>()
    const provider = await talkingTo(
      async (_request, response) => {
        requests += 1
        await held.promise
        json(response, 200, ANSWER)
      },
      { connections: 1, connectTimeoutMs: 1000 },
    )
    const first = ask(provider)
    expect(await ask(provider)).toMatchObject({
      kind: 'refused',
      status: undefined,
      retryable: true,
    })
    held.resolve()
    expect(await first).toMatchObject({ kind: 'answer' })
    expect(await ask(provider)).toMatchObject({ kind: 'answer' })
    expect(requests).toBe(2)
  })

  test('when too many attempts wait already', async () => {
    const provider = await talkingTo(() => {}, { connections: 1 })
    const waiting = Array.from({ length: 9 }, () => ask(provider))
    expect(await ask(provider)).toMatchObject({
      kind: 'refused',
      retryable: true,
      retryAfterMs: 1000,
    })
    await provider.close()
    const kinds = (await Promise.all(waiting)).map(({ kind }) => kind)
    expect(kinds.filter((kind) => kind === 'lost').length).toBeLessThanOrEqual(1)
  })

  test('when a 5xx has a broken, huge or senseless body', async () => {
    const bodies = ['<html>bad gateway</html>', 'x'.repeat(2 * OPTIONS.maxResponseBytes), '{"error":', '']
    for (const body of bodies) {
      const provider = await talkingTo((_request, response) => {
        response.writeHead(502, { 'content-length': body.length + 10 })
        response.write(body, () => response.destroy())
      })
      expect(await ask(provider)).toMatchObject({
        kind: 'refused',
        status: 502,
        retryable: true,
        message: 'mock answered 502.',
      })
    }
  })

  test('when a 200 carries an error object, whose numeric code decides about a retry', async () => {
    const cases = [
      [
        { message: 'no such model', code: 404 },
        { status: 404, retryable: false, message: 'no such model' },
      ],
      [
        { message: 'busy', code: 429 },
        { status: 429, retryable: true },
      ],
      [
        { message: 'hm', code: 'other' },
        { status: undefined, retryable: true },
      ],
      ['plain words', { message: 'plain words' }],
    ] as const
    for (const [error, expected] of cases) {
      const provider = await talkingTo((_request, response) => json(response, 200, { error }))
      expect(await ask(provider)).toMatchObject({ kind: 'refused', ...expected })
    }
  })

  test('and Retry-After is read as seconds, as milliseconds and as a date', async () => {
    const cases = [
      [{ 'retry-after': '2' }, 2000],
      [{ 'retry-after': '2', 'retry-after-ms': '1500' }, 1500],
      [{ date: 'Fri, 20 Nov 2026 10:00:00 GMT', 'retry-after': 'Fri, 20 Nov 2026 10:00:07 GMT' }, 7000],
      [{ 'retry-after': 'soon' }, undefined],
    ] as const
    for (const [headers, expected] of cases) {
      const provider = await talkingTo((_request, response) => json(response, 429, {}, headers))
      const outcome = await ask(provider)
      expect(outcome).toMatchObject({ kind: 'refused', status: 429, retryable: true })
      expect(outcome.kind === 'refused' && outcome.retryAfterMs).toBe(expected)
    }
  })

  test("and the message is the provider's own, without keys and at most 500 characters", async () => {
    const told = `Wrong key ${API_KEY} or Bearer abcdefghijkl or sk-proj-abc***********wxyz or extra-secret. ${'long '.repeat(200)}`
    const provider = await talkingTo((_request, response) => json(response, 401, { error: { message: told } }))
    const outcome = await ask(provider)
    expect(outcome).toMatchObject({ kind: 'refused', status: 401, retryable: false })
    const { message } = outcome as { message: string }
    expect(message).toMatch(/^Wrong key \[removed\] or \[removed\] or \[removed\] or \[removed\]\. long /)
    expect(message.length).toBe(500)
  })

  test('and a key at the edge of the cut leaves no half behind', async () => {
    const told = `${'word '.repeat(98)}${API_KEY}`
    const provider = await talkingTo((_request, response) => json(response, 400, { error: told }))
    expect(await ask(provider)).toHaveProperty('message', expect.not.stringContaining('sk-'))
  })
})

describe('what is owed is unknown', () => {
  test('when the headers do not come in time', async () => {
    const provider = await talkingTo(() => {}, { headersTimeoutMs: 50 })
    expect(await ask(provider)).toMatchObject({
      kind: 'lost',
      message: expect.stringContaining('UND_ERR_HEADERS_TIMEOUT'),
    })
  })

  test('when the socket is reset after the request was sent, and it is not sent again', async () => {
    let requests = 0
    const provider = await talkingTo((request) => {
      requests += 1
      request.socket.resetAndDestroy()
    })
    expect(await ask(provider)).toMatchObject({ kind: 'lost' })
    expect(requests).toBe(1)
  })

  test('when a reused socket is reset before any byte of the response, and it is not sent again', async () => {
    let requests = 0
    const provider = await talkingTo((request, response) => {
      requests += 1
      if (requests === 1) json(response, 200, ANSWER)
      else request.socket.destroy()
    })
    expect(await ask(provider)).toMatchObject({ kind: 'answer' })
    expect(await ask(provider)).toMatchObject({ kind: 'lost' })
    expect(requests).toBe(2)
  })

  test.each([
    ['is not JSON', 'hello'],
    ['is JSON but no object', '[1]'],
    ['is empty', ''],
    ['is larger than allowed', JSON.stringify({ text: 'x'.repeat(100_000) })],
  ])('when the body of a 200 %s', async (_what, body) => {
    const provider = await talkingTo((_request, response) => response.writeHead(200).end(body))
    expect(await ask(provider)).toMatchObject({ kind: 'lost' })
  })

  test('when the body of a 200 is cut', async () => {
    const provider = await talkingTo((_request, response) => {
      response.writeHead(200, { 'content-length': 500 })
      response.write('{"id":', () => response.destroy())
    })
    expect(await ask(provider)).toMatchObject({ kind: 'lost' })
  })

  test('when the attempt is aborted after the request was sent', async () => {
    const abort = new AbortController()
    const provider = await talkingTo(() => abort.abort())
    expect(await ask(provider, { signal: abort.signal })).toMatchObject({ kind: 'lost' })
  })

  test('when a stream falls silent', async () => {
    const provider = await talkingTo((_request, response) => sse(response).write('data: 1\n\n'), {
      idleTimeoutMs: 50,
    })
    const { payloads, error } = await read(await ask(provider, { stream: true }))
    expect(payloads).toEqual(['1'])
    expect(error).toBeInstanceOf(ProviderLost)
  })

  test('when a stream ends inside an event', async () => {
    const provider = await talkingTo((_request, response) => sse(response).end('data: 1\n\ndata: {"usa'))
    const { payloads, error } = await read(await ask(provider, { stream: true }))
    expect(payloads).toEqual(['1'])
    expect(error).toBeInstanceOf(ProviderLost)
  })

  test('when a stream is aborted', async () => {
    const abort = new AbortController()
    const provider = await talkingTo((_request, response) => sse(response).write('data: 1\n\n'))
    const outcome = await ask(provider, { stream: true, signal: abort.signal })
    abort.abort()
    expect((await read(outcome)).error).toBeInstanceOf(ProviderLost)
  })
})

describe('a stream', () => {
  test('ends after [DONE] even if the body stays open, and its socket is used again once it ends', async () => {
    const ports = new Set<number | undefined>()
    const rest = Promise.withResolvers<void>()
    const provider = await talkingTo(
      async (request, response) => {
        ports.add(request.socket.remotePort)
        sse(response).write('data: 1\n\ndata: [DONE]\n\n')
        await rest.promise
        response.end()
      },
      { connections: 1 },
    )
    expect(await read(await ask(provider, { stream: true }))).toEqual({
      payloads: ['1'],
      error: undefined,
    })
    rest.resolve()
    expect(await read(await ask(provider, { stream: true }))).toEqual({
      payloads: ['1'],
      error: undefined,
    })
    expect(ports.size).toBe(1)
  })

  test('ends with a body that ends cleanly without [DONE] or a last empty line', async () => {
    const provider = await talkingTo((_request, response) => sse(response).end('data: 1\n\ndata: {"usage":{}}'))
    expect(await read(await ask(provider, { stream: true }))).toEqual({
      payloads: ['1', '{"usage":{}}'],
      error: undefined,
    })
  })

  test('survives bytes that are cut anywhere, characters included', async () => {
    const bytes = Buffer.from('data: {"a":"漢🦊"}\r\n\r\n: ping\n\ndata: "é"\n\ndata: [DONE]\n\n')
    const provider = await talkingTo(async (_request, response) => {
      sse(response)
      for (const byte of bytes) await new Promise((resolve) => response.write(Buffer.of(byte), resolve))
      response.end()
    })
    expect(await read(await ask(provider, { stream: true }))).toEqual({
      payloads: ['{"a":"漢🦊"}', '"é"'],
      error: undefined,
    })
  })

  test('is a plain answer when the provider answers with JSON', async () => {
    const provider = await talkingTo((_request, response) => json(response, 200, ANSWER))
    expect(await ask(provider, { stream: true })).toMatchObject({ kind: 'answer', body: ANSWER })
  })

  test('pauses the provider while nobody reads, and loses nothing', async () => {
    const blocked = Promise.withResolvers<void>()
    const total = 2000
    const payload = JSON.stringify('x'.repeat(16 * 1024))
    let sent = 0
    const provider = await talkingTo(
      async (_request, response) => {
        sse(response)
        for (; sent < total; sent += 1) {
          if (response.write(`data: ${payload}\n\n`)) continue
          // Full: if the socket does not drain soon, the other side has really stopped reading.
          const stuck = setTimeout(() => blocked.resolve(), 300)
          await once(response, 'drain')
          clearTimeout(stuck)
        }
        response.end('data: [DONE]\n\n')
      },
      { maxResponseBytes: 64 * 1024 * 1024 },
    )
    const outcome = await ask(provider, { stream: true })
    await blocked.promise
    expect(sent).toBeLessThan(total)
    const { payloads, error } = await read(outcome)
    expect(error).toBeUndefined()
    expect(payloads.length).toBe(total)
    expect(payloads.every((text) => text === payload)).toBe(true)
  })

  test('whose reader leaves early closes its connection', async () => {
    const closed = Promise.withResolvers<void>()
    const provider = await talkingTo((_request, response) => {
      response.on('close', closed.resolve)
      sse(response).write('data: 1\n\n')
    })
    const outcome = await ask(provider, { stream: true })
    if (outcome.kind === 'stream') for await (const _batch of outcome.batches) break
    await closed.promise
  })

  test('larger than the limit is lost', async () => {
    const provider = await talkingTo((_request, response) => sse(response).end(`data: ${'x'.repeat(100_000)}\n\n`))
    expect((await read(await ask(provider, { stream: true }))).error).toBeInstanceOf(ProviderLost)
  })
})

const ANSWER = {
  id: 'chatcmpl-1',
  choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
  usage: {
    prompt_tokens: 5,
    completion_tokens: 7,
    total_tokens: 12,
    prompt_tokens_details: { cached_tokens: 2 },
  },
}

const OPTIONS: OpenAiCompatibleOptions = {
  name: 'mock',
  baseUrl: 'http://127.0.0.1:9/base/v1/',
  apiKey: API_KEY,
  headers: { 'X-Extra': 'extra-secret' },
  connections: 4,
  connectTimeoutMs: 5000,
  headersTimeoutMs: 5000,
  idleTimeoutMs: 5000,
  maxResponseBytes: 64 * 1024,
}

async function talkingTo(
  listener: RequestListener,
  options: Partial<OpenAiCompatibleOptions> = {},
): Promise<ChatProvider> {
  const server = createServer(listener)
  opened.push(() => server.closeAllConnections())
  const { port } = await listening(server)
  return providerAt(port, options)
}

function providerAt(port: number, options: Partial<OpenAiCompatibleOptions> = {}): ChatProvider {
  const provider = createOpenAiCompatible({
    ...OPTIONS,
    baseUrl: `http://127.0.0.1:${port}/base/v1/`,
    ...options,
  })
  opened.push(() => provider.close())
  return provider
}

async function listening(server: Server): Promise<{ port: number; close: () => Promise<unknown> }> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const close = () => new Promise((resolve) => server.close(resolve))
  opened.push(() => void server.close())
  return { port: (server.address() as AddressInfo).port, close }
}

function ask(provider: ChatProvider, more: { stream?: boolean; signal?: AbortSignal } = {}): Promise<ChatOutcome> {
  return provider.chat({ body: { model: 'm' }, stream: false, requestId: 'req_1', ...more })
}

async function read(outcome: ChatOutcome): Promise<{ payloads: string[]; error: unknown }> {
  expect(outcome.kind).toBe('stream')
  const payloads: string[] = []
  try {
    if (outcome.kind === 'stream') for await (const batch of outcome.batches) payloads.push(...batch)
    return { payloads, error: undefined }
  } catch (error) {
    return { payloads, error }
  }
}

function json(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}

function sse(response: ServerResponse): ServerResponse {
  return response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
}
