import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, describe, expect, test } from 'vitest'
import { systemClock } from '../kernel/clock.ts'
import { createProvider, type ProviderKind, providerKinds } from './index.ts'
import { type ChatAttempt, type ChatOutcome, type ChatProvider, type JsonObject, ProviderLost } from './provider.ts'

/** Runs every kind of provider against the same requests. The demo provider also plays the server of the wire kind. */
const demo = createProvider('demo', { clock: systemClock, wait: async () => {} })
const server = createServer(async (request, response) => {
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece)
  const body = JSON.parse(Buffer.concat(pieces).toString()) as JsonObject
  answerOverHttp(response, await demo.chat({ body, stream: body.stream === true, requestId: 'req_1' }))
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')

const makers: Record<ProviderKind, () => ChatProvider> = {
  demo: () => demo,
  'openai-compatible': () =>
    createProvider('openai-compatible', {
      name: 'mock',
      baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
      connections: 4,
      connectTimeoutMs: 5000,
      headersTimeoutMs: 5000,
      idleTimeoutMs: 5000,
      maxResponseBytes: 1024 * 1024,
    }),
}

afterAll(async () => {
  await demo.close()
  server.close()
})

describe.each(Object.keys(providerKinds) as ProviderKind[])('a provider of kind %s', (kind) => {
  const provider = makers[kind]()
  afterAll(() => provider.close())
  const ask = (model: string, content: unknown, more: JsonObject = {}) =>
    provider.chat(attempt({ model, messages: [{ role: 'user', content }], ...more }))

  test('gives a whole answer with the usage as reported', async () => {
    const outcome = await ask('chat', 'Hello Farebox')
    expect(outcome).toMatchObject({ kind: 'answer', body: { object: 'chat.completion' } })
    if (outcome.kind !== 'answer') return
    expect(textOf(outcome.body)).toContain('Hello Farebox')
    const usage = outcome.body.usage as { prompt_tokens: number; completion_tokens: number }
    expect(outcome.usage).toEqual({
      inputTokens: usage.prompt_tokens,
      outputTokens: usage.completion_tokens,
      cachedInputTokens: 0,
    })
  })

  test('reports unknown usage as undefined', async () => {
    expect(await ask('unmetered', 'hi')).toMatchObject({ kind: 'answer', usage: undefined })
  })

  test('streams the same text that a plain answer has, and the usage in the last chunk', async () => {
    const plain = await ask('slow', 'naïve 漢字 🦊')
    const chunks = await streamed(
      ask('slow', 'naïve 漢字 🦊', { stream: true, stream_options: { include_usage: true } }),
    )
    expect(chunks.map((chunk) => deltaOf(chunk).content ?? '').join('')).toBe(
      plain.kind === 'answer' ? textOf(plain.body) : '',
    )
    expect(deltaOf(chunks[0]).role).toBe('assistant')
    expect(new Set(chunks.map(({ id }) => id)).size).toBe(1)
    expect(chunks.at(-2)).toMatchObject({ choices: [{ finish_reason: 'stop' }], usage: null })
    expect(chunks.at(-1)).toMatchObject({
      choices: [],
      usage: plain.kind === 'answer' ? plain.body.usage : {},
    })
  })

  test('streams tool calls as deltas whose pieces join to the arguments', async () => {
    const parameters = {
      type: 'object',
      properties: { city: { type: 'string' } },
      required: ['city'],
    }
    const tools = [{ type: 'function', function: { name: 'get_weather', parameters } }]
    const chunks = await streamed(ask('chat', 'use get_weather in Zürich', { stream: true, tools }))
    const calls = chunks.flatMap((chunk) => deltaOf(chunk).tool_calls ?? [])
    expect(calls[0]).toMatchObject({
      index: 0,
      id: expect.any(String),
      function: { name: 'get_weather' },
    })
    expect(JSON.parse(calls.map((call) => call.function.arguments).join(''))).toEqual({
      city: 'use get_weather in Zürich',
    })
    expect(chunks.at(-1)).toMatchObject({ choices: [{ finish_reason: 'tool_calls' }] })
  })

  test.each([
    [400, false],
    [404, false],
    [409, true],
    [429, true],
    [500, true],
    [503, true],
  ])('calls an answer of %i refused, retryable: %s', async (status, retryable) => {
    for (const stream of [false, true]) {
      const outcome = await ask('failing', `fail:${status}`, { stream })
      expect(outcome).toMatchObject({
        kind: 'refused',
        status,
        retryable,
        message: expect.stringContaining(String(status)),
      })
    }
  })

  test('passes on how long to wait after 429', async () => {
    expect(await ask('failing', 'fail:429')).toMatchObject({ retryAfterMs: 1000 })
  })

  test('calls a broken plain answer lost', async () => {
    expect(await ask('failing', 'fail:cut')).toMatchObject({ kind: 'lost' })
  })

  test('hands over what arrived of a broken stream and then throws ProviderLost', async () => {
    const outcome = await ask('failing', 'fail:cut', { stream: true })
    const payloads: string[] = []
    const reading = async () => {
      if (outcome.kind !== 'stream') return
      for await (const batch of outcome.batches) payloads.push(...batch)
    }
    await expect(reading()).rejects.toBeInstanceOf(ProviderLost)
    expect(payloads.length).toBeGreaterThan(1)
  })

  test('does not call anyone when the attempt was aborted before', async () => {
    const body = { model: 'chat', messages: [{ role: 'user', content: 'x' }] }
    const outcome = await provider.chat({ ...attempt(body), signal: AbortSignal.abort() })
    expect(outcome).toMatchObject({ kind: 'refused' })
  })
})

interface Delta {
  role?: string
  content?: string | null
  tool_calls?: { index: number; function: { name?: string; arguments: string } }[]
}

function attempt(body: JsonObject): ChatAttempt {
  return { body, stream: body.stream === true, requestId: 'req_1' }
}

async function streamed(pending: Promise<ChatOutcome>): Promise<JsonObject[]> {
  const outcome = await pending
  expect(outcome.kind).toBe('stream')
  const chunks: JsonObject[] = []
  if (outcome.kind !== 'stream') return chunks
  for await (const batch of outcome.batches) for (const payload of batch) chunks.push(JSON.parse(payload))
  return chunks
}

function deltaOf(chunk: JsonObject | undefined): Delta {
  return (chunk?.choices as { delta: Delta }[] | undefined)?.[0]?.delta ?? {}
}

function textOf(body: JsonObject): string {
  return (body.choices as { message: { content: string } }[])[0]?.message.content ?? ''
}

async function answerOverHttp(response: ServerResponse, outcome: ChatOutcome): Promise<void> {
  const json = { 'content-type': 'application/json' }
  if (outcome.kind === 'answer') response.writeHead(200, json).end(JSON.stringify(outcome.body))
  else if (outcome.kind === 'lost') response.writeHead(200, json).write('{"half":', () => response.destroy())
  else if (outcome.kind === 'refused') {
    const wait = outcome.retryAfterMs ? { 'retry-after': String(outcome.retryAfterMs / 1000) } : {}
    response
      .writeHead(outcome.status ?? 503, { ...json, ...wait })
      .end(JSON.stringify({ error: { message: outcome.message } }))
  } else {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    try {
      for await (const batch of outcome.batches)
        for (const payload of batch) await written(response, `data: ${payload}\n\n`)
      response.end('data: [DONE]\n\n')
    } catch {
      response.destroy()
    }
  }
}

const written = (response: ServerResponse, text: string) =>
  new Promise<void>((resolve) => response.write(text, () => resolve()))
