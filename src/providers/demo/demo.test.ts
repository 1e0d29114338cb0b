import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Clock } from '../../kernel/clock.ts'
import { type ChatOutcome, type JsonObject, ProviderLost } from '../provider.ts'
import { createDemo } from './index.ts'
import { DEMO_IMAGE_TOKENS, DEMO_MESSAGE_TOKENS } from './prompt.ts'

const clock: Clock = { now: () => new Date(1_800_000_000_000), monotonicMs: () => 0 }

/** A demo provider that never waits, and the waits it would have made. */
function made(): {
  waits: number[]
  ask: (body: JsonObject, signal?: AbortSignal) => Promise<ChatOutcome>
} {
  const waits: number[] = []
  const provider = createDemo({
    clock,
    wait: async (ms, signal) => {
      signal.throwIfAborted()
      waits.push(ms)
    },
  })
  const ask = (body: JsonObject, signal?: AbortSignal) =>
    provider.chat({
      body: { model: 'chat', ...body },
      stream: body.stream === true,
      requestId: 'req_42',
      ...(signal ? { signal } : {}),
    })
  return { waits, ask }
}

describe('an answer of the demo provider', () => {
  test('is the same every time and in full OpenAI form', async () => {
    const { ask } = made()
    const first = await ask(saying('Hello'))
    expect(first).toMatchObject({
      body: {
        id: 'chatcmpl-demo-42',
        object: 'chat.completion',
        created: 1_800_000_000,
        model: 'chat',
        choices: [{ index: 0, message: { role: 'assistant' }, logprobs: null, finish_reason: 'stop' }],
      },
    })
    expect(await ask(saying('Hello'))).toEqual(first)
  })

  test('ends with finish_reason length at max_tokens, whole characters only', async () => {
    const { ask } = made()
    for (let limit = 1; limit < 40; limit += 1) {
      const body = bodyOf(await ask({ ...saying('漢字🦊'.repeat(20)), max_tokens: limit }))
      expect(choicesOf(body)[0]?.finish_reason).toBe('length')
      expect(choicesOf(body)[0]?.message.content?.isWellFormed()).toBe(true)
      expect(choicesOf(body)[0]?.message.content).not.toContain('\uFFFD')
      expect(body.usage).toMatchObject({ completion_tokens: limit })
    }
  })

  test('comes n times, and n outside 1 to 16 is refused', async () => {
    const { ask } = made()
    expect(choicesOf(bodyOf(await ask({ ...saying('x'), n: 3 }))).map(({ index }) => index)).toEqual([0, 1, 2])
    for (const n of [0, 17, 1.5, 'two']) {
      expect(await ask({ ...saying('x'), n })).toMatchObject({ kind: 'refused', status: 400 })
    }
  })

  test('counts and mentions images', async () => {
    const { ask } = made()
    const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }
    const body = bodyOf(await ask(saying([{ type: 'text', text: 'look' }, image, image])))
    expect(choicesOf(body)[0]?.message.content).toContain('2 images')
    expect(body.usage).toMatchObject({
      prompt_tokens: 1 + DEMO_MESSAGE_TOKENS + 2 * DEMO_IMAGE_TOKENS,
    })
  })

  test('carries logprobs that join to the text when asked', async () => {
    const { ask } = made()
    const [choice] = choicesOf(bodyOf(await ask({ ...saying('x'), logprobs: true, top_logprobs: 1 })))
    expect(choice?.logprobs?.content.map(({ token }) => token).join('')).toBe(choice?.message.content)
  })

  test('is JSON that fits the schema of response_format', async () => {
    const { ask } = made()
    const schema = {
      type: 'object',
      required: ['kind', 'score', 'tags', 'next'],
      properties: {
        kind: { enum: ['a', 'b'] },
        score: { type: 'integer', minimum: 3 },
        tags: { type: 'array', items: { type: 'string', maxLength: 4 }, minItems: 2 },
        next: { anyOf: [{ $ref: '#/$defs/leaf' }, { type: 'null' }] },
      },
      $defs: {
        leaf: { type: 'object', required: ['on'], properties: { on: { type: 'boolean' } } },
      },
    }
    const format = { type: 'json_schema', json_schema: { name: 'x', schema } }
    const [choice] = choicesOf(bodyOf(await ask({ ...saying('long text'), response_format: format })))
    expect(JSON.parse(choice?.message.content ?? '')).toEqual({
      kind: 'a',
      score: 3,
      tags: ['long', 'long'],
      next: { on: true },
    })
    const [object] = choicesOf(bodyOf(await ask({ ...saying('hi'), response_format: { type: 'json_object' } })))
    expect(JSON.parse(object?.message.content ?? '')).toEqual({ answer: 'hi' })
  })
})

describe('tools', () => {
  const tools = ['first', 'second'].map((name) => ({
    type: 'function',
    function: {
      name,
      parameters: { type: 'object', properties: { q: { type: 'string' } }, required: ['q'] },
    },
  }))
  const called = async (more: JsonObject) => {
    const [choice] = choicesOf(bodyOf(await made().ask({ ...saying('hi'), tools, ...more })))
    return choice?.message.tool_calls?.[0]?.function.name
  }

  test('are called when mentioned, forced or required, and only then', async () => {
    expect(await called({})).toBeUndefined()
    expect(await called(saying('use SECOND please'))).toBe('second')
    expect(await called({ tool_choice: { type: 'function', function: { name: 'second' } } })).toBe('second')
    expect(await called({ tool_choice: 'required' })).toBe('first')
    expect(await called({ ...saying('use second'), tool_choice: 'none' })).toBeUndefined()
  })

  test('are answered with text', async () => {
    const messages = [
      { role: 'user', content: 'first' },
      { role: 'tool', tool_call_id: 'c', content: '21 degrees' },
    ]
    const [choice] = choicesOf(bodyOf(await made().ask({ messages, tools })))
    expect(choice?.message.content).toContain('21 degrees')
    expect(choice?.finish_reason).toBe('stop')
  })
})

test('the usage never exceeds the bounds that a hold is made of', async () => {
  const { ask } = made()
  const role = fc.constantFrom('user', 'assistant', 'system', 'tool')
  const message = fc.record({
    role,
    content: fc.oneof(fc.string({ unit: 'grapheme' }), fc.constant('use first')),
  })
  const tools = fc.constantFrom(undefined, [{ type: 'function', function: { name: 'first' } }])
  const asked = {
    messages: fc.array(message, { minLength: 1, maxLength: 8 }),
    tools,
    n: fc.integer({ min: 1, max: 4 }),
  }
  await fc.assert(
    fc.asyncProperty(fc.record(asked), fc.integer({ min: 1, max: 80 }), async (request, limit) => {
      const outcome = await ask({ ...request, max_completion_tokens: limit })
      const usage = outcome.kind === 'answer' ? outcome.usage : undefined
      const texts = request.messages.map(({ content }) => content).join('') + (JSON.stringify(request.tools) ?? '')
      const inputBound = Math.ceil(Buffer.byteLength(texts) / 3) + DEMO_MESSAGE_TOKENS * request.messages.length
      expect(usage?.inputTokens).toBeLessThanOrEqual(inputBound)
      expect(usage?.outputTokens).toBeLessThanOrEqual(limit * request.n)
    }),
  )
})

test('slow pauses before the first token and between tokens, chat never', async () => {
  const slow = made()
  const { length } = await payloadsOf(await slow.ask({ ...saying('x'), model: 'slow', stream: true }))
  expect(slow.waits).toEqual([2000, ...Array(length - 1).fill(100)])
  const chat = made()
  await payloadsOf(await chat.ask({ ...saying('x'), stream: true }))
  expect(chat.waits).toEqual([])
})

test('an aborted stream is lost', async () => {
  const abort = new AbortController()
  const outcome = await made().ask({ ...saying('x'), model: 'slow', stream: true }, abort.signal)
  abort.abort()
  await expect(payloadsOf(outcome)).rejects.toBeInstanceOf(ProviderLost)
})

test('failing knows endings that no status tells', async () => {
  const { ask, waits } = made()
  const failing = (word: string) => ask({ ...saying(`please ${word} now`), model: 'failing' })
  expect(await failing('fail:refused')).toMatchObject({
    kind: 'refused',
    status: undefined,
    retryable: true,
  })
  expect(await failing('fail:timeout')).toMatchObject({ kind: 'lost' })
  expect(waits).toEqual([10_000])
  expect(await failing('nothing')).toMatchObject({ kind: 'answer' })
})

test('an unknown model and a senseless request are refused, never thrown', async () => {
  const { ask } = made()
  expect(await ask({ ...saying('x'), model: 'gpt' })).toMatchObject({
    kind: 'refused',
    status: 404,
  })
  for (const body of [{}, { messages: 'x' }, { messages: [null, 1] }, { ...saying('x'), max_tokens: 0 }]) {
    expect(await ask(body)).toMatchObject({ kind: 'refused', status: 400, retryable: false })
  }
  for (const content of [null, 7, [null, { type: 'text' }]]) {
    expect(await ask({ ...saying(content), tools: [null, {}], tool_choice: 'required' })).toMatchObject({
      kind: 'answer',
    })
  }
})

interface Choice {
  index: number
  finish_reason: string
  message: { content: string | null; tool_calls?: { function: { name: string } }[] }
  logprobs: { content: { token: string }[] } | null
}

const saying = (content: unknown): JsonObject => ({ messages: [{ role: 'user', content }] })

const choicesOf = (body: JsonObject) => body.choices as Choice[]

function bodyOf(outcome: ChatOutcome): JsonObject {
  if (outcome.kind !== 'answer') throw new Error(`expected an answer, got ${outcome.kind}`)
  return outcome.body
}

async function payloadsOf(outcome: ChatOutcome): Promise<string[]> {
  const payloads: string[] = []
  if (outcome.kind === 'stream') for await (const batch of outcome.batches) payloads.push(...batch)
  return payloads
}
