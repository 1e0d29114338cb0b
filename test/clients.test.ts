import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { APICallError, generateText, jsonSchema, Output, streamText, tool } from 'ai'
import OpenAI, { APIError } from 'openai'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Person, startTestApp, type TestApp } from './app.ts'
import { answering, chunk, closing, gated, hangingUp, streaming, usageOf } from './mock-provider.ts'

let app: TestApp
let person: Person
let openai: OpenAI
let sdk: ReturnType<typeof createOpenAICompatible>
/** Requests that reached the server, whatever became of them. */
let hits: number

beforeAll(async () => {
  app = await startTestApp()
  app.app.server.server.on('request', () => {
    hits += 1
  })
})
beforeEach(async () => {
  hits = 0
  person = await app.person()
  openai = new OpenAI({ baseURL: `${app.url}/v1`, apiKey: person.key })
  sdk = createOpenAICompatible({
    name: 'farebox',
    baseURL: `${app.url}/v1`,
    apiKey: person.key,
    includeUsage: true,
    supportsStructuredOutputs: true,
  })
})
afterEach(async () => {
  app.mock.behaviour = answering()
  app.mock.calls.length = 0
  expect(await app.audit()).toEqual([])
})
afterAll(() => app.stop())

const WEATHER = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } as const
const PIXEL =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const ask = (content: string) => ({ model: 'demo-chat', messages: [{ role: 'user' as const, content }] })
const thrown = async (promise: PromiseLike<unknown>): Promise<unknown> =>
  Promise.resolve(promise).then(
    () => undefined,
    (error: unknown) => error,
  )

describe('openai, unmodified', () => {
  test('lists the models', async () => {
    const ids: string[] = []
    for await (const { id } of await openai.models.list()) ids.push(id)
    expect(ids).toContain('demo-chat')
  })

  test('reads a plain answer with what it cost', async () => {
    const { data, response } = await openai.chat.completions.create(ask('hello')).withResponse()
    expect(data.choices[0]?.message.content).toContain('You said: "hello"')
    expect(data.model).toBe('demo-chat')
    expect((data.usage as unknown as { cost_micro: number }).cost_micro).toBe(
      Number(response.headers.get('x-credits-charged-micro')),
    )
  })

  test('reads a stream with its usage at the end', async () => {
    const stream = await openai.chat.completions.create({
      ...ask('hello'),
      stream: true,
      stream_options: { include_usage: true },
    })
    let text = ''
    let cost: unknown
    for await (const part of stream) {
      text += part.choices[0]?.delta.content ?? ''
      if (part.usage) cost = (part.usage as unknown as { cost_micro: number }).cost_micro
    }
    expect(text).toContain('You said: "hello"')
    expect(cost).toBe(Number((await app.holds(person))[0]?.actual_micro))
  })

  test('gets no frame without choices when it did not ask for usage', async () => {
    for await (const part of await openai.chat.completions.create({ ...ask('hello'), stream: true }))
      expect(part.choices.length).toBe(1)
  })

  test.each([[false], [true]])('runs a tool and gives its result back (streamed: %s)', async (streamed) => {
    const tools = [{ type: 'function' as const, function: { name: 'weather', parameters: WEATHER } }]
    const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'use weather for Rome' }]
    const call = streamed
      ? await openai.chat.completions.stream({ model: 'demo-chat', messages, tools }).finalChatCompletion()
      : await openai.chat.completions.create({ model: 'demo-chat', messages, tools })
    const said = call.choices[0]?.message
    expect(call.choices[0]?.finish_reason).toBe('tool_calls')
    const [asked] = said?.tool_calls ?? []
    if (!said || asked?.type !== 'function') throw new Error('no tool call')
    expect(JSON.parse(asked.function.arguments)).toHaveProperty('city')
    messages.push(said, { role: 'tool', tool_call_id: asked.id, content: 'sunny' })
    const answer = await openai.chat.completions.create({ model: 'demo-chat', messages, tools })
    expect(answer.choices[0]?.message.content).toContain('The tool answered: "sunny"')
  })

  test('sends images in parts, and asks for several choices, JSON and log probabilities', async () => {
    const answer = await openai.chat.completions.create({
      model: 'demo-chat',
      n: 2,
      logprobs: true,
      top_logprobs: 1,
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'look' },
            { type: 'image_url', image_url: { url: PIXEL } },
          ],
        },
      ],
    })
    expect(answer.choices.map(({ index }) => index)).toEqual([0, 1])
    expect(answer.choices[1]?.message.content).toContain('1 image')
    expect(answer.choices[0]?.logprobs?.content?.length).toBeGreaterThan(3)
    const json = await openai.chat.completions.create({
      ...ask('hello'),
      response_format: { type: 'json_schema', json_schema: { name: 'w', schema: WEATHER } },
    })
    expect(JSON.parse(json.choices[0]?.message.content ?? '')).toHaveProperty('city')
  })

  test('reads 402 with its code and request id, once: it is not retried', async () => {
    const poor = new OpenAI({ baseURL: `${app.url}/v1`, apiKey: (await app.person({ creditsMicro: 0n })).key })
    const error = await thrown(poor.chat.completions.create(ask('hello')))
    if (!(error instanceof APIError)) throw new Error('no APIError')
    expect([error.status, error.message]).toEqual([402, '402 "insufficient_credits"'])
    expect(error.requestID).toMatch(/^req_/)
    expect(hits).toBe(1)
  })

  test('reads message, type and code of an error when it asks for OpenAI’s form', async () => {
    const poor = new OpenAI({
      baseURL: `${app.url}/v1`,
      apiKey: (await app.person({ creditsMicro: 0n })).key,
      defaultHeaders: { 'X-Error-Format': 'openai' },
    })
    const error = await thrown(poor.chat.completions.create(ask('hello')))
    if (!(error instanceof APIError)) throw new Error('no APIError')
    expect([error.status, error.code, error.type, error.param]).toEqual([
      402,
      'insufficient_credits',
      'payment_required_error',
      null,
    ])
    expect(error.message).toMatch(/402 This call reserves up to [\d.]+ Credits and 0 are available/)
    expect((error.error as { shortfall_micro: string }).shortfall_micro).toMatch(/^\d+$/)
  })

  test('does not retry a 409 for another body, nor a 504 whose usage is unknown', async () => {
    const headers = { 'idempotency-key': 'same' }
    await openai.chat.completions.create(ask('one'), { headers })
    hits = 0
    expect(await thrown(openai.chat.completions.create(ask('two'), { headers }))).toMatchObject({ status: 409 })
    expect(hits).toBe(1)
    app.mock.behaviour = hangingUp
    expect(await thrown(openai.chat.completions.create({ ...ask('three'), model: 'mock-model' }))).toMatchObject({
      status: 504,
    })
    expect(hits).toBe(2)
    expect((await app.holds(person)).length).toBe(2)
  })

  test('waits for a call that still runs under its key, and gets its answer', async () => {
    const { behaviour, open } = gated(answering())
    app.mock.behaviour = behaviour
    const request = () =>
      openai.chat.completions.create({ ...ask('slow'), model: 'mock-model' }, { headers: { 'idempotency-key': 'run' } })
    const first = request()
    await app.mock.arrived(1)
    const second = request()
    const third = fetch(`${app.url}/healthz`)
    await third
    open()
    expect((await second).id).toBe((await first).id)
    expect(app.mock.calls.length).toBe(1)
  })

  test('sees an error inside a stream as one, with its message and code', async () => {
    app.mock.behaviour = streaming([chunk('a')], 'cut')
    const stream = await openai.chat.completions.create({ ...ask('x'), model: 'mock-model', stream: true })
    let text = ''
    const error = await thrown(
      (async () => {
        for await (const part of stream) text += part.choices[0]?.delta.content ?? ''
      })(),
    )
    expect(text).toBe('a')
    expect(error).toMatchObject({ code: 'upstream_interrupted', type: 'upstream_error' })
    expect((error as Error).message).toContain('broke off')
  })

  test('reads a wrong key as its AuthenticationError and an unknown model as its NotFoundError', async () => {
    expect(
      await thrown(new OpenAI({ baseURL: `${app.url}/v1`, apiKey: 'sk-wrong' }).chat.completions.create(ask('x'))),
    ).toBeInstanceOf(OpenAI.AuthenticationError)
    expect(await thrown(openai.chat.completions.create({ ...ask('x'), model: 'gpt-9' }))).toBeInstanceOf(
      OpenAI.NotFoundError,
    )
  })
})

describe('the Vercel AI SDK, unmodified', () => {
  test('generates text with its usage and cost', async () => {
    const { text, usage, finishReason } = await generateText({ model: sdk('demo-chat'), prompt: 'hello' })
    expect(text).toContain('You said: "hello"')
    expect(finishReason).toBe('stop')
    expect((usage.raw as { cost_micro: number }).cost_micro).toBe(Number((await app.holds(person))[0]?.actual_micro))
  })

  test('streams text with its usage', async () => {
    const result = streamText({ model: sdk('demo-chat'), prompt: 'hello' })
    let text = ''
    for await (const piece of result.textStream) text += piece
    expect(text).toContain('You said: "hello"')
    expect((await result.usage).outputTokens).toBeGreaterThan(5)
  })

  test.each([[false], [true]])('runs a tool in steps (streamed: %s)', async (streamed) => {
    const weather = tool({ inputSchema: jsonSchema<{ city: string }>(WEATHER), execute: async () => 'sunny' })
    const options = {
      model: sdk('demo-chat'),
      prompt: 'use weather for Rome',
      tools: { weather },
      stopWhen: ({ steps }: { steps: readonly unknown[] }) => steps.length >= 2,
    }
    const text = streamed ? await streamText(options).text : (await generateText(options)).text
    expect(text).toContain('The tool answered')
    expect((await app.holds(person)).length).toBe(2)
  })

  test('sends images in parts and asks for objects', async () => {
    const { text } = await generateText({
      model: sdk('demo-chat'),
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'look' },
            { type: 'file', mediaType: 'image/png', data: PIXEL.slice(22) },
          ],
        },
      ],
    })
    expect(text).toContain('1 image')
    const { output } = await generateText({
      model: sdk('demo-chat'),
      prompt: 'hello',
      output: Output.object({ schema: jsonSchema<{ city: string }>(WEATHER) }),
    })
    expect(output).toHaveProperty('city')
  })

  test('reads 402 by its reason phrase and body, once: it is not retried', async () => {
    const poor = createOpenAICompatible({
      name: 'farebox',
      baseURL: `${app.url}/v1`,
      apiKey: (await app.person({ creditsMicro: 0n })).key,
    })
    const error = await thrown(generateText({ model: poor('demo-chat'), prompt: 'hello' }))
    if (!APICallError.isInstance(error)) throw new Error('no APICallError')
    expect([error.statusCode, error.message, error.isRetryable]).toEqual([402, 'Insufficient credits', false])
    expect(JSON.parse(error.responseBody ?? '')).toMatchObject({ error: 'insufficient_credits', available_micro: '0' })
    expect(hits).toBe(1)
  })

  test('reads the message of an error when it asks for OpenAI’s form', async () => {
    const poor = createOpenAICompatible({
      name: 'farebox',
      baseURL: `${app.url}/v1`,
      apiKey: (await app.person({ creditsMicro: 0n })).key,
      headers: { 'X-Error-Format': 'openai' },
    })
    expect(await thrown(generateText({ model: poor('demo-chat'), prompt: 'hello' }))).toMatchObject({
      message: expect.stringMatching(/This call reserves up to/),
    })
  })

  test('is never charged twice by its own retries of a 409, which it makes whatever the answer says', async () => {
    const headers = { 'idempotency-key': 'same' }
    await generateText({ model: sdk('demo-chat'), prompt: 'one', headers })
    hits = 0
    await thrown(generateText({ model: sdk('demo-chat'), prompt: 'two', headers, maxRetries: 1 }))
    expect(hits).toBeLessThanOrEqual(2)
    expect((await app.holds(person)).length).toBe(1)
  })

  test('sees an error inside a stream as an error part', async () => {
    app.mock.behaviour = streaming([chunk('a')], 'cut')
    const parts: { type: string }[] = []
    for await (const part of streamText({ model: sdk('mock-model'), prompt: 'x', onError: () => undefined }).fullStream)
      parts.push(part)
    expect(parts.find(({ type }) => type === 'error')).toBeDefined()
    expect(parts.at(-1)).toMatchObject({ type: 'finish', finishReason: 'error' })
  })

  test('reads a stream whose provider counts in its last frame', async () => {
    app.mock.behaviour = streaming([
      chunk('a'),
      { ...chunk(''), choices: [{ index: 0, delta: {}, finish_reason: 'length' }] },
      closing(usageOf(10, 5)),
    ])
    const result = streamText({ model: sdk('mock-model'), prompt: 'x' })
    expect([await result.text, await result.finishReason, (await result.usage).inputTokens]).toEqual([
      'a',
      'length',
      10,
    ])
  })
})
