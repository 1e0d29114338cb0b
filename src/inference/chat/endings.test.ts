import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Person, PRICE, startTestApp, type TestApp } from '../../../test/app.ts'
import { answering, chunk, hangingUp, refusing, streaming, usageOf } from '../../../test/mock-provider.ts'

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
  app.backup.behaviour = answering()
  app.mock.calls.length = 0
  app.backup.calls.length = 0
  expect(await app.audit()).toEqual([])
})
afterAll(() => app.stop())

const number = (text: string | null): bigint => BigInt(text ?? -1)

describe('several providers', () => {
  test('are asked by priority: one that fails before its first byte costs nothing and the next one answers', async () => {
    app.mock.behaviour = refusing(500, 'down')
    const answer = await app.chat(person)
    expect(answer.status).toBe(200)
    expect([app.mock.calls.length, app.backup.calls.length]).toEqual([1, 1])
    expect(app.backup.calls[0]?.body.model).toBe('upstream-b')
    expect(await app.balance(person)).toEqual({ postedMicro: 10_000_000n - 65n, heldMicro: 0n })
    expect((await app.holds(person)).length).toBe(1)
  })

  test.each([401, 403, 404, 408, 409, 429, 500, 503])('try the next one after %i', async (status) => {
    app.mock.behaviour = refusing(status)
    expect((await app.chat(person)).status).toBe(200)
    expect(app.backup.calls.length).toBe(1)
  })

  test.each([400, 413, 422])(
    'do not try another one after %i: the request itself is wrong, and nothing is charged',
    async (status) => {
      app.mock.behaviour = refusing(status, 'temperature must be at most 2')
      const answer = await app.chat(person, { temperature: 3 })
      expect(answer.status).toBe(400)
      expect(answer.json).toMatchObject({
        error: 'upstream_refused',
        code: 'upstream_refused',
        type: 'upstream_error',
        provider_status: String(status),
      })
      expect(answer.json.message).toContain('temperature must be at most 2')
      expect(app.backup.calls.length).toBe(0)
      expect(await app.balance(person)).toEqual({ postedMicro: 10_000_000n, heldMicro: 0n })
      expect(await app.holds(person)).toMatchObject([{ kind: 'voided', actual_micro: 0n }])
    },
  )

  test('that all fail are a 502 that charges nothing', async () => {
    app.mock.behaviour = refusing(500)
    app.backup.behaviour = refusing(429, 'slow down', { 'retry-after': '7' })
    const answer = await app.chat(person)
    expect(answer.status).toBe(502)
    expect(answer.headers.get('retry-after')).toBe('7')
    expect(answer.json.error).toBe('upstream_failed')
    expect(await app.balance(person)).toEqual({ postedMicro: 10_000_000n, heldMicro: 0n })
    expect(await app.holds(person)).toMatchObject([{ kind: 'voided' }])
  })

  test('are not asked after one was lost: it may have worked, so the call is a 504 and its hold stays', async () => {
    app.mock.behaviour = hangingUp
    const answer = await app.chat(person)
    expect(answer.status).toBe(504)
    expect(answer.json).toMatchObject({ error: 'upstream_timeout', call_id: answer.headers.get('x-call-id') })
    expect(answer.headers.get('x-should-retry')).toBe('false')
    expect(app.backup.calls.length).toBe(0)
    const [hold] = await app.holds(person)
    expect(hold).toMatchObject({ kind: null, flag: 'usage_unknown' })
    expect((await app.balance(person)).heldMicro).toBe(hold?.reserve_micro)
  })
})

describe('usage', () => {
  test('that is not reported leaves the answer delivered and the hold for the operator', async () => {
    const answer = await app.chat(person, { model: 'demo-unmetered' })
    expect(answer.status).toBe(200)
    expect(JSON.stringify(answer.json.choices)).toContain('You said')
    expect(answer.headers.get('x-credits-charged-micro')).toBeNull()
    expect(answer.headers.get('x-billing-state')).toBe('usage_unknown')
    expect(await app.holds(person)).toMatchObject([{ kind: null, flag: 'usage_unknown' }])
  })

  test.each([
    ['negative counts', { prompt_tokens: -1, completion_tokens: 5 }],
    ['fractions', { prompt_tokens: 1.5, completion_tokens: 5 }],
    ['text', { prompt_tokens: '10', completion_tokens: '5' }],
    ['no counts', {}],
    [
      'counts that cost more than any amount can be',
      { prompt_tokens: Number.MAX_SAFE_INTEGER, completion_tokens: Number.MAX_SAFE_INTEGER },
    ],
  ])('with %s is no usage: the hold stays', async (_what, usage) => {
    app.mock.behaviour = answering({ usage })
    const answer = await app.chat(person)
    expect(answer.status).toBe(200)
    expect(answer.headers.get('x-billing-state')).toBe('usage_unknown')
    expect(await app.holds(person)).toMatchObject([{ kind: null, flag: 'usage_unknown' }])
  })

  test('above the hold is paid by the caller’s own account while it can', async () => {
    app.mock.behaviour = answering({ usage: usageOf(10, 2000) })
    const answer = await app.chat(person, { max_tokens: 10 })
    const cost = 10n * PRICE.input + 2000n * PRICE.output
    expect(number(answer.headers.get('x-credits-held-micro'))).toBeLessThan(cost)
    expect(number(answer.headers.get('x-credits-charged-micro'))).toBe(cost)
    expect(await app.balance(person)).toEqual({ postedMicro: 10_000_000n - cost, heldMicro: 0n })
  })

  test('above the hold and the funds takes nothing and waits as pending_settlement', async () => {
    const poor = await app.person({ creditsMicro: 1_000n })
    app.mock.behaviour = answering({ usage: usageOf(10, 2000) })
    const answer = await app.chat(poor, { max_tokens: 10 })
    expect(answer.status).toBe(200)
    expect(answer.headers.get('x-billing-state')).toBe('pending_settlement')
    expect(answer.headers.get('x-credits-charged-micro')).toBeNull()
    const [hold] = await app.holds(poor)
    expect(hold).toMatchObject({ kind: null, flag: 'shortfall' })
    expect(await app.balance(poor)).toEqual({ postedMicro: 1_000n, heldMicro: hold?.reserve_micro })
  })

  test.each([[false], [true]])(
    'that is not reported is counted here where the operator chose so, and charged once (streamed: %s)',
    async (stream) => {
      app.mock.behaviour = answering({ content: 'one two three four five', usage: null })
      const answer = await app.chat(person, { model: 'counted-model', stream })
      expect(answer.text).toContain('one two three')
      const [hold] = await app.holds(person)
      expect(hold).toMatchObject({ kind: 'captured', outcome: 'success', flag: null })
      expect(hold?.actual_micro).toBeGreaterThan(5n * PRICE.output)
      expect(hold?.actual_micro).toBeLessThanOrEqual(hold?.reserve_micro ?? 0n)
      expect(await app.balance(person)).toEqual({
        postedMicro: 10_000_000n - (hold?.actual_micro ?? 0n),
        heldMicro: 0n,
      })
    },
  )
})

test.each([
  ['a whole answer without usage', answering({ usage: null }), false, 'chatcmpl-mock'],
  ['a stream without usage', answering({ usage: null }), true, 'chatcmpl-mock'],
  ['a stream that broke off', streaming([chunk('a')], 'cut'), true, 'chatcmpl-mock'],
  ['a connection that was lost before any answer', hangingUp, false, undefined],
])(
  "%s leaves a call whose evidence names what the provider's own record is found by, and nothing that was said",
  async (_what, behaviour, stream, responseId) => {
    app.mock.behaviour = behaviour
    await app.chat(person, { stream })
    const [hold] = await app.holds(person)
    const [flag] = await app.database.sql<{ evidence: Record<string, string> }>(
      `select evidence from hold_flags where hold_id = $1 and flag = 'usage_unknown'`,
      [hold?.id],
    )
    expect(flag?.evidence).toEqual({
      provider: 'mock',
      model: 'upstream-a',
      ...(responseId === undefined ? {} : { response_id: responseId }),
    })
  },
)
