import { once } from 'node:events'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Person, startTestApp, type TestApp } from '../../../test/app.ts'
import {
  answering,
  chunk,
  closing,
  finish,
  startMockProvider,
  streaming,
  usageOf,
} from '../../../test/mock-provider.ts'
import { createOpenAiCompatible } from '../../providers/openai-compatible/index.ts'
import { readToItsEnd } from './drained.ts'
import type { Running } from './running.ts'

/** A model whose operator chose to count tokens here when its provider does not. */
const COUNTED = `  - id: counted-model
    name: Counted
    context_length: 100000
    max_output_tokens: 4000
    default_output_tokens: 1000
    providers: [{ provider: mock, model: upstream-a, missing_usage: count }]
    prices: [{ version: 1, effective_from: 2026-01-01T00:00:00Z, input_micro_per_m: 3000000, output_micro_per_m: 7000000 }]
`

let app: TestApp
let person: Person
beforeAll(async () => {
  app = await startTestApp({ models: COUNTED })
})
beforeEach(async () => {
  person = await app.person()
})
afterEach(async () => {
  app.mock.behaviour = answering()
  expect(await app.audit()).toEqual([])
})
afterAll(() => app.stop())

const usage = closing(usageOf(10, 5))
const failure = { error: { message: 'overloaded', type: 'server_error', code: null } }

describe('a provider that streams where a whole answer was asked for is read for what it cost:', () => {
  test.each([
    ['its usage is charged', streaming([chunk('pong'), finish, usage])],
    ['also when it breaks off after that', streaming([chunk('pong'), usage, chunk('more')], 'cut')],
    ['also when it reports an error in it', streaming([chunk('pong'), usage, failure])],
  ])('%s, as a failed call', async (_, behaviour) => {
    app.mock.behaviour = behaviour
    const { status, headers, json } = await app.chat(person)
    expect([status, json.code, headers.get('x-should-retry')]).toEqual([502, 'upstream_interrupted', 'false'])
    expect(headers.get('x-credits-charged-micro')).toBe('65')
    expect(json.message).toContain('65 microcredits were charged')
    expect(await app.holds(person)).toMatchObject([{ kind: 'captured', outcome: 'failed' }])
    expect(await app.balance(person)).toEqual({ postedMicro: 10_000_000n - 65n, heldMicro: 0n })
  })

  test.each([
    ['it reports no usage', streaming([chunk('pong'), finish])],
    ['it breaks off before that', streaming([chunk('pong')], 'cut')],
    ['it reports an error instead', streaming([chunk('pong'), failure])],
    ['it says nothing at all', streaming([])],
  ])('unknown stays unknown when %s', async (_, behaviour) => {
    app.mock.behaviour = behaviour
    const { status, headers, json } = await app.chat(person)
    expect([status, json.code, headers.get('x-billing-state')]).toEqual([502, 'upstream_interrupted', 'usage_unknown'])
    const [hold] = await app.holds(person)
    expect(hold).toMatchObject({ kind: null, flag: 'usage_unknown' })
    expect(await app.balance(person)).toEqual({ postedMicro: 10_000_000n, heldMicro: hold?.reserve_micro })
  })

  test('it is counted here where the operator chose so, unless it broke off', async () => {
    app.mock.behaviour = streaming([chunk('pong'), finish])
    const counted = await app.chat(person, { model: 'counted-model' })
    expect(counted.json.code).toBe('upstream_interrupted')
    expect(Number(counted.headers.get('x-credits-charged-micro'))).toBeGreaterThan(0)
    app.mock.behaviour = streaming([chunk('pong')], 'cut')
    const broken = await app.chat(person, { model: 'counted-model' })
    expect(broken.headers.get('x-billing-state')).toBe('usage_unknown')
  })

  test('and another call takes the same socket', async () => {
    app.mock.behaviour = streaming([chunk('pong'), finish, usage])
    await app.chat(person)
    app.mock.behaviour = answering()
    expect((await app.chat(person)).status).toBe(200)
  })
})

test('a stream that never ends is hung up on after the drain limit', async () => {
  const mock = await startMockProvider()
  const hungUp = Promise.withResolvers<void>()
  mock.behaviour = async ({ response }) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(`data: ${JSON.stringify(chunk('pong'))}\n\n`)
    await once(response, 'close')
    hungUp.resolve()
  }
  const provider = createOpenAiCompatible({
    name: 'mock',
    baseUrl: mock.baseUrl,
    apiKey: 'none',
    connections: 1,
    connectTimeoutMs: 30_000,
    headersTimeoutMs: 30_000,
    idleTimeoutMs: 300_000,
    maxResponseBytes: 1_000_000,
  })
  const abort = new AbortController()
  const outcome = await provider.chat({ body: {}, stream: false, requestId: 'req_1', signal: abort.signal })
  if (outcome.kind !== 'stream') throw new Error('a stream came')
  const running = { model: { id: 'm' }, count: undefined, abort } as unknown as Running
  const { seen, lost } = await readToItsEnd({ drainMs: 20 }, running, outcome.batches)
  expect([seen.usage, lost]).toEqual([undefined, expect.stringContaining('broke off')])
  await hungUp.promise
  await provider.close()
  await mock.close()
})
