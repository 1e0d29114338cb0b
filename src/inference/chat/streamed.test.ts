import { request } from 'node:http'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { framesOf, type Person, PRICE, PROVIDER_KEY, startTestApp, type TestApp, until } from '../../../test/app.ts'
import {
  answering,
  chunk,
  closing,
  finish,
  gated,
  hangingUp,
  refusing,
  streaming,
  usageOf,
  write,
} from '../../../test/mock-provider.ts'
import type { JsonObject } from '../../providers/provider.ts'

let app: TestApp
let person: Person

beforeAll(async () => {
  app = await startTestApp({ limits: 'concurrent_streams: 150' })
})
beforeEach(async () => {
  person = await app.person()
})
afterEach(async () => {
  vi.restoreAllMocks()
  app.mock.behaviour = answering()
  app.mock.calls.length = 0
  expect(await app.audit()).toEqual([])
})
afterAll(() => app.stop())

const stream = (fields: JsonObject = {}, headers: Record<string, string> = {}) =>
  app.chat(person, { stream: true, ...fields }, headers)
const textOf = (frames: JsonObject[]): string =>
  frames
    .map((frame) => (frame.choices as { delta?: { content?: string } }[] | undefined)?.[0]?.delta?.content ?? '')
    .join('')
const WHOLE = [chunk('a'), chunk('b'), finish, closing(usageOf(10, 5))]
const COST = 10n * PRICE.input + 5n * PRICE.output

const patient = setTimeout
/** Lets every wait of just this length end after 100 ms instead, until the test is over. */
function hurry(waitMs: number): void {
  vi.spyOn(globalThis, 'setTimeout').mockImplementation(((run: () => void, ms?: number, ...rest: []) =>
    patient(run, ms === waitMs ? 100 : ms, ...rest)) as never)
}

/** A client that can stop reading and hang up, which fetch hides. */
function openClient(body: JsonObject, headers: Record<string, string> = {}) {
  const sent = request(`${app.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${person.key}`, 'content-type': 'application/json', ...headers },
  })
  sent.on('error', () => undefined)
  sent.end(JSON.stringify({ model: 'mock-model', messages: [{ role: 'user', content: 'x' }], stream: true, ...body }))
  return sent
}

describe('a stream', () => {
  test('hides the usage that was not asked for: no frame without choices, and the charge is exact', async () => {
    app.mock.behaviour = streaming(WHOLE)
    const answer = await stream()
    const frames = framesOf(answer.text)
    expect(answer.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    expect(frames.map((frame) => (frame.choices as unknown[] | undefined)?.length)).toEqual([1, 1, 1, undefined])
    expect(frames.at(-1)).toEqual({ done: true })
    expect(answer.text).not.toMatch(/"usage"|upstream-name/)
    expect(app.mock.calls[0]?.body.stream_options).toEqual({ include_usage: true })
    expect(await app.balance(person)).toEqual({ postedMicro: 10_000_000n - COST, heldMicro: 0n })
  })

  test('gives usage with its cost in one closing frame when it was asked for', async () => {
    app.mock.behaviour = streaming(WHOLE)
    const frames = framesOf((await stream({ stream_options: { include_usage: true, other: 1 } })).text)
    expect(frames.at(-2)).toEqual({
      id: 'chatcmpl-mock',
      object: 'chat.completion.chunk',
      created: 1_767_225_600,
      model: 'mock-model',
      choices: [],
      usage: { ...usageOf(10, 5), cost_micro: Number(COST) },
    })
    expect(app.mock.calls[0]?.body.stream_options).toEqual({ include_usage: true, other: 1 })
  })

  test('is billed by the last usage where a provider repeats it in every frame, and shows it once', async () => {
    app.mock.behaviour = streaming([
      { ...chunk('a'), usage: usageOf(10, 1) },
      { ...finish, usage: usageOf(10, 5) },
    ])
    const answer = await stream()
    expect(textOf(framesOf(answer.text))).toBe('a')
    expect(answer.text).not.toContain('"usage"')
    expect((await app.holds(person))[0]?.actual_micro).toBe(COST)
  })

  test('keeps the name that its content gives to models and usage', async () => {
    const said = 'the "model":"x" and "usage":{"prompt_tokens":1} and "error":"y"'
    app.mock.behaviour = streaming([chunk(said), ...WHOLE])
    expect(textOf(framesOf((await stream()).text))).toBe(`${said}ab`)
  })

  test('joins a frame that came in several lines so that clients read it as one', async () => {
    const pretty = JSON.stringify(chunk('a\nb'), null, 2)
      .split('\n')
      .map((line) => `data: ${line}\n`)
      .join('')
    app.mock.behaviour = streaming([`${pretty}\n`, `: a comment\n\n`, finish, closing(usageOf(10, 5))])
    const answer = await stream()
    const events = answer.text
      .split('\n\n')
      .filter(Boolean)
      .map((event) =>
        event
          .split('\n')
          .map((line) => line.slice(6))
          .join('\n'),
      )
    expect(answer.text.split('\n').filter((line) => line !== '' && !line.startsWith('data: '))).toEqual([])
    expect(JSON.parse(events[0] ?? '')).toMatchObject({
      model: 'mock-model',
      choices: [{ delta: { content: 'a\nb' } }],
    })
  })

  test('hides a frame without choices that some providers begin with, unless usage was asked for', async () => {
    app.mock.behaviour = streaming([{ ...chunk(''), choices: [], prompt_filter_results: [] }, ...WHOLE])
    const counts = (text: string) => framesOf(text).map((frame) => (frame.choices as unknown[] | undefined)?.length)
    expect(counts((await stream()).text)).toEqual([1, 1, 1, undefined])
    expect(counts((await stream({ stream_options: { include_usage: true } })).text)).toEqual([0, 1, 1, 1, 0, undefined])
  })

  test('begins before its provider ends: the first frame arrives while the second is not written yet', async () => {
    const gate = Promise.withResolvers<void>()
    app.mock.behaviour = async (call) => {
      call.response.writeHead(200, { 'content-type': 'text/event-stream' })
      await write(call.response, `data: ${JSON.stringify(chunk('first'))}\n\n`)
      await gate.promise
      await write(call.response, `data: ${JSON.stringify(closing(usageOf(10, 5)))}\n\n`)
      call.response.end('data: [DONE]\n\n')
    }
    const first = await new Promise<string>((resolve) =>
      openClient({}).on('response', (response) => response.once('data', (data) => resolve(String(data)))),
    )
    expect(first).toContain('first')
    gate.resolve()
    await until(async () => (await app.holds(person))[0]?.kind === 'captured', 'captured')
  })

  test('says what is held in headers before its first frame', async () => {
    const answer = await stream({ max_tokens: 5 })
    const [hold] = await app.holds(person)
    expect(answer.headers.get('x-credits-held-micro')).toBe(String(hold?.reserve_micro))
    expect(answer.headers.get('x-call-id')).toBe(String(hold?.id))
    expect(answer.headers.get('x-request-id')).toBe(hold?.request_id)
  })

  test('whose providers all refuse is an ordinary 502, since no byte of it was sent', async () => {
    app.mock.behaviour = refusing(500)
    const answer = await stream({ model: 'mock-alone' })
    expect([answer.status, answer.json.error]).toEqual([502, 'upstream_failed'])
    expect(await app.balance(person)).toEqual({ postedMicro: 10_000_000n, heldMicro: 0n })
  })
})

test('a provider that answers whole where a stream was asked for is heard as a stream, and charged by its usage', async () => {
  app.mock.behaviour = (call) => answering()({ ...call, body: {} })
  const frames = framesOf((await stream()).text)
  expect([textOf(frames), frames.at(-1)]).toEqual(['pong', { done: true }])
  expect(await app.holds(person)).toMatchObject([{ kind: 'captured', outcome: 'success', actual_micro: COST }])
})

describe('a stream that goes wrong', () => {
  const ending = (text: string): { message: string; code: string; type: string; param: null; request_id: string } =>
    framesOf(text).at(-1)?.error as never

  test('by a cut before usage ends in a nested error frame and a clean end of body; its usage is unknown', async () => {
    app.mock.behaviour = streaming([chunk('a'), chunk('b')], 'cut')
    const answer = await stream()
    expect(textOf(framesOf(answer.text))).toBe('ab')
    expect(ending(answer.text)).toMatchObject({
      code: 'upstream_interrupted',
      type: 'upstream_error',
      param: null,
      request_id: answer.headers.get('x-request-id'),
    })
    expect(answer.text).not.toContain('[DONE]')
    expect(await app.holds(person)).toMatchObject([{ kind: null, flag: 'usage_unknown' }])
  })

  test('by a cut after usage is captured by it, as failed', async () => {
    app.mock.behaviour = streaming([chunk('a'), closing(usageOf(10, 5))], 'cut')
    const answer = await stream()
    expect(ending(answer.text).message).toContain(`${COST} microcredits were charged`)
    expect(await app.holds(person)).toMatchObject([{ kind: 'captured', outcome: 'failed', actual_micro: COST }])
  })

  test('by a provider that hangs up before its headers is unknown, never retried elsewhere', async () => {
    app.mock.behaviour = hangingUp
    const answer = await stream()
    expect(answer.status === 504 || ending(answer.text).code === 'upstream_interrupted').toBe(true)
    expect(app.backup.calls.length).toBe(0)
    expect(await app.holds(person)).toMatchObject([{ kind: null, flag: 'usage_unknown' }])
  })

  test('by an error that the provider reports inside it ends in our error frame, without the provider’s words reaching the database', async () => {
    app.mock.behaviour = streaming(
      [chunk('a'), { error: { message: `bad key ${PROVIDER_KEY}, prompt was: ping`, type: 'server_error' } }],
      'quiet',
    )
    const answer = await stream()
    expect(ending(answer.text).code).toBe('upstream_interrupted')
    expect(answer.text).not.toContain(PROVIDER_KEY)
    const [hold] = await app.holds(person)
    expect(hold).toMatchObject({ kind: null, flag: 'usage_unknown' })
    expect(hold?.detail).not.toMatch(/ping|canary/)
  })

  test('by an error that comes with choices and usage is that error, and captured as failed', async () => {
    app.mock.behaviour = streaming([
      chunk('a'),
      { ...finish, error: { message: `bad ${PROVIDER_KEY}`, code: 502 }, usage: usageOf(10, 5) },
    ])
    const answer = await stream()
    expect(ending(answer.text).code).toBe('upstream_interrupted')
    expect(answer.text).not.toContain(PROVIDER_KEY)
    expect(await app.holds(person)).toMatchObject([{ kind: 'captured', outcome: 'failed', actual_micro: COST }])
  })

  test('by an error frame after usage is captured, as failed', async () => {
    app.mock.behaviour = streaming([closing(usageOf(10, 5)), { error: { message: 'late', code: 500 } }])
    expect(ending((await stream()).text).code).toBe('upstream_interrupted')
    expect(await app.holds(person)).toMatchObject([{ kind: 'captured', outcome: 'failed', actual_micro: COST }])
  })

  test('by reporting no usage is delivered whole, and its hold stays', async () => {
    app.mock.behaviour = streaming([chunk('a'), finish])
    const frames = framesOf((await stream({ stream_options: { include_usage: true } })).text)
    expect(textOf(frames)).toBe('a')
    expect(frames.at(-1)).toEqual({ done: true })
    expect(await app.holds(person)).toMatchObject([{ kind: null, flag: 'usage_unknown' }])
  })

  test('by costing more than its hold and funds delivers, takes nothing and waits', async () => {
    person = await app.person({ creditsMicro: 1_000n })
    app.mock.behaviour = answering({ usage: usageOf(10, 2000) })
    const frames = framesOf((await stream({ max_tokens: 5, stream_options: { include_usage: true } })).text)
    expect(frames.at(-2)?.usage).not.toHaveProperty('cost_micro')
    expect(await app.holds(person)).toMatchObject([{ kind: null, flag: 'shortfall' }])
  })
})

describe('a client', () => {
  test.each([[{}], [{ 'idempotency-key': 'leaves' }]])(
    'that leaves in the middle has its provider read to the end, and pays by its usage (headers %o)',
    async (headers) => {
      const { behaviour, open } = gated(
        streaming(Array.from({ length: 50 }, (_, n) => chunk(`${n}`)).concat(closing(usageOf(10, 5)))),
      )
      app.mock.behaviour = async (call) => {
        call.response.writeHead(200, { 'content-type': 'text/event-stream' })
        await write(call.response, `data: ${JSON.stringify(chunk('first'))}\n\n`)
        call.response.writeHead = (() => call.response) as never
        await behaviour(call)
      }
      const others = await connections()
      const sent = openClient({}, headers)
      await new Promise<void>((resolve) => sent.on('response', (response) => response.once('data', () => resolve())))
      sent.destroy()
      await until(async () => (await connections()) <= others, 'the client is gone')
      open()
      await until(async () => (await app.holds(person))[0]?.kind === 'captured', 'captured')
      expect(await app.holds(person)).toMatchObject([{ outcome: 'success', actual_micro: COST }])
    },
  )

  const connections = () =>
    new Promise<number>((resolve) => app.app.server.server.getConnections((_error, count) => resolve(count)))

  test.each([[{}], [{ 'idempotency-key': 'drains' }]])(
    'that leaves an endless answer has it read on for a bounded time; then its usage is unknown (headers %o)',
    async (headers) => {
      hurry(120_000)
      let ended = false
      app.mock.behaviour = async ({ response }) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.on('close', () => {
          ended = true
        })
        while (!ended) {
          await write(response, `data: ${JSON.stringify(chunk('on and on'))}\n\n`)
          await new Promise((resolve) => patient(resolve, 5))
        }
      }
      const sent = openClient({}, headers)
      await new Promise<void>((resolve) => sent.on('response', (response) => response.once('data', () => resolve())))
      sent.destroy()
      await until(async () => (await app.holds(person))[0]?.flag === 'usage_unknown', 'unknown')
      await until(() => ended, 'the provider is let go')
    },
  )

  test('that stalls is let go after its time, and its call is billed all the same', async () => {
    hurry(60_000)
    const big = 'x'.repeat(64 * 1024)
    app.mock.behaviour = streaming(Array.from({ length: 400 }, () => chunk(big)).concat(closing(usageOf(10, 5))))
    const sent = openClient({})
    const cut = new Promise<void>((resolve) =>
      sent.on('response', (response) => {
        response.pause()
        response.on('error', () => undefined)
        response.on('close', () => resolve())
      }),
    )
    await until(async () => (await app.holds(person))[0]?.kind === 'captured', 'captured')
    sent.destroy()
    await cut
    expect(await app.holds(person)).toMatchObject([{ outcome: 'success', actual_micro: COST }])
  })

  test('that reads slowly holds its provider back: the server does not buffer the stream', async () => {
    const big = 'x'.repeat(64 * 1024)
    let written = 0
    app.mock.behaviour = async (call) => {
      call.response.writeHead(200, { 'content-type': 'text/event-stream' })
      for (let n = 0; n < 400; n++) {
        await write(call.response, `data: ${JSON.stringify(chunk(big))}\n\n`)
        written += big.length
      }
      call.response.end(`data: ${JSON.stringify(closing(usageOf(10, 5)))}\n\ndata: [DONE]\n\n`)
    }
    const sent = openClient({})
    const response = await new Promise<import('node:http').IncomingMessage>((resolve) => sent.on('response', resolve))
    response.pause()
    let before = -1
    // the provider stands still once every buffer on the way is full
    await until(async () => {
      const same = before === written
      before = written
      await new Promise((resolve) => setTimeout(resolve, 100))
      return same && written > 0
    }, 'the provider is held back')
    expect(written).toBeLessThan(20 * 1024 * 1024)
    let length = 0
    for await (const piece of response) length += (piece as Buffer).length
    expect(length).toBeGreaterThan(400 * big.length)
    await until(async () => (await app.holds(person))[0]?.kind === 'captured', 'captured')
  })
})

test('more streams than the limit are refused with 503 and Retry-After, and cost nothing', async () => {
  const { behaviour, open } = gated(answering())
  app.mock.behaviour = behaviour
  const rich = Array.from({ length: 150 }, () => stream({ max_tokens: 1 }))
  await app.mock.arrived(150)
  const refused = await stream({ max_tokens: 1 })
  expect([refused.status, refused.json.error, refused.headers.get('retry-after')]).toEqual([503, 'overloaded', '1'])
  open()
  expect(new Set((await Promise.all(rich)).map(({ status }) => status))).toEqual(new Set([200]))
  expect((await stream()).status).toBe(200)
})
