import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Person, PRICE, PROVIDER_KEY, startTestApp, type TestApp, until } from '../../../test/app.ts'
import { answering, gated, usageOf } from '../../../test/mock-provider.ts'
import type { JsonObject } from '../../providers/provider.ts'

let app: TestApp
let person: Person

beforeAll(async () => {
  app = await startTestApp()
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
const costIn = (body: JsonObject): unknown => (body.usage as JsonObject | undefined)?.cost_micro

describe('what a call costs', () => {
  test('is the same in usage.cost_micro, in the header and in the fall of the balance, and nothing stays held', async () => {
    app.mock.behaviour = answering({ usage: usageOf(1000, 111, 400) })
    const answer = await app.chat(person)
    const cost = 600n * PRICE.input + 400n * PRICE.cached + 111n * PRICE.output
    expect(answer.status).toBe(200)
    expect(costIn(answer.json)).toBe(Number(cost))
    expect(number(answer.headers.get('x-credits-charged-micro'))).toBe(cost)
    expect(number(answer.headers.get('x-credits-available-micro'))).toBe(10_000_000n - cost)
    expect(await app.balance(person)).toEqual({ postedMicro: 10_000_000n - cost, heldMicro: 0n })
    const [hold] = await app.holds(person)
    expect(hold).toMatchObject({ kind: 'captured', outcome: 'success', actual_micro: cost, flag: null })
    expect(number(answer.headers.get('x-call-id'))).toBe(hold?.id)
    expect(number(answer.headers.get('x-credits-held-micro'))).toBe(hold?.reserve_micro)
    expect(answer.headers.get('x-request-id')).toBe(hold?.request_id)
  })

  test('is held before the provider is asked', async () => {
    const { behaviour, open } = gated(answering())
    app.mock.behaviour = behaviour
    const asked = app.chat(person)
    await app.mock.arrived(1)
    const { heldMicro } = await app.balance(person)
    expect(heldMicro).toBe((await app.holds(person))[0]?.reserve_micro)
    expect(heldMicro).toBeGreaterThan(0n)
    open()
    await asked
    expect((await app.balance(person)).heldMicro).toBe(0n)
  })

  test('of 200 parallel calls of different cost is together the fall of the balance', async () => {
    app.mock.behaviour = (call) =>
      answering({ usage: usageOf(Number(call.body.seed), Number(call.body.seed) % 17) })(call)
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, seed) => app.chat(person, { seed, max_tokens: 20 })),
    )
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    const total = answers.reduce((sum, { json }) => sum + BigInt(Number(costIn(json))), 0n)
    expect(await app.balance(person)).toEqual({ postedMicro: 10_000_000n - total, heldMicro: 0n })
  })

  test('never exceeds a budget, however many calls run at once, and every other answer is a 402 with numbers', async () => {
    // a call of this size holds and costs the same, so the budget covers exactly ten
    const cost = 10n * PRICE.input + 20n * PRICE.output
    const body = { max_tokens: 20 }
    const { json } = await app.post(
      '/v1/chat/completions/estimate',
      { model: 'mock-model', messages: [{ role: 'user', content: 'ping' }], ...body },
      person,
    )
    const hold = BigInt(Number(json.hold_micro))
    const limited = await app.person({ budget: { total_micro: hold * 10n } })
    app.mock.behaviour = answering({ usage: usageOf(Number((hold - 20n * PRICE.output) / PRICE.input), 20) })
    const answers = await Promise.all(Array.from({ length: 60 }, () => app.chat(limited, body)))
    const charged = answers.filter(({ status }) => status === 200)
    expect(charged.length).toBe(10)
    for (const refused of answers.filter(({ status }) => status !== 200)) {
      expect(refused.status).toBe(402)
      expect(refused.json).toMatchObject({
        error: 'budget_exceeded',
        budget: 'key',
        limit: 'total',
        limit_micro: String(hold * 10n),
        required_micro: String(hold),
      })
    }
    expect(app.mock.calls.length).toBe(10)
    expect(cost).toBeLessThanOrEqual(hold)
  })

  test('is said beforehand by the estimate, to the microcredit of the hold, without calling anything', async () => {
    const body = {
      model: 'mock-model',
      messages: [{ role: 'user', content: 'grüße 👋' }],
      max_tokens: 50,
      n: 3,
      tools: [{ type: 'function', function: { name: 'f' } }],
    }
    const estimate = await app.post('/v1/chat/completions/estimate', body, person)
    expect(app.mock.calls.length).toBe(0)
    const answer = await app.post('/v1/chat/completions', body, person)
    expect(answer.headers.get('x-credits-held-micro')).toBe(String(estimate.json.hold_micro))
    expect(estimate.json).toMatchObject({
      output_tokens_bound: 150,
      price_version: 1,
      request_id: estimate.headers.get('x-request-id'),
    })
  })
})

describe('the output bound', () => {
  test('of a client that set none is clamped to what its funds cover, said in a header, and sent to the provider', async () => {
    const poor = await app.person({ creditsMicro: 1_000n })
    const answer = await app.chat(poor)
    expect(answer.status).toBe(200)
    const clamped = Number(answer.headers.get('x-max-tokens-clamped'))
    expect(clamped).toBeGreaterThanOrEqual(16)
    expect(clamped).toBeLessThan(1000)
    expect(app.mock.calls[0]?.body.max_tokens).toBe(clamped)
    expect(answer.headers.get('x-credits-held-micro')).toBe('1000')
  })

  test('is the model’s default, sent to the provider, when funds suffice', async () => {
    const answer = await app.chat(person)
    expect(answer.headers.get('x-max-tokens-clamped')).toBeNull()
    expect(app.mock.calls[0]?.body).toMatchObject({ model: 'upstream-a', max_tokens: 1000, stream: false })
  })

  test.each([['max_tokens'], ['max_completion_tokens']])(
    'that the client set in %s is never clamped: too large is a 402 with numbers, and nothing is called',
    async (field) => {
      const poor = await app.person({ creditsMicro: 1_000n })
      const answer = await app.chat(poor, { [field]: 500 })
      expect(answer.status).toBe(402)
      expect(answer.phrase).toBe('Insufficient credits')
      expect(answer.headers.get('x-should-retry')).toBe('false')
      expect(answer.json).toMatchObject({
        error: 'insufficient_credits',
        code: 'insufficient_credits',
        available_micro: '1000',
      })
      expect(BigInt(String(answer.json.required_micro)) - 1000n).toBe(BigInt(String(answer.json.shortfall_micro)))
      expect(app.mock.calls.length).toBe(0)
      expect(await app.holds(poor)).toEqual([])
    },
  )

  test('that the client set goes to the provider under the client’s own name for it, at most the model’s maximum', async () => {
    await app.chat(person, { max_completion_tokens: 9_999 })
    expect(app.mock.calls[0]?.body.max_completion_tokens).toBe(4000)
    expect(app.mock.calls[0]?.body).not.toHaveProperty('max_tokens')
  })

  test('below the model’s minimum is refused with 402 instead of clamped further', async () => {
    const poor = await app.person({ creditsMicro: 60n })
    expect((await app.chat(poor)).json).toMatchObject({ error: 'insufficient_credits', available_micro: '60' })
    expect(app.mock.calls.length).toBe(0)
  })
})

describe('a credential', () => {
  test('that is revoked in the middle of a burst pays for nothing that was not held before', async () => {
    const burst = Array.from({ length: 60 }, () => app.chat(person, { max_tokens: 5 }))
    await app.mock.arrived(1)
    await app.database.sql('update api_keys set revoked_at = now() where id = $1', [person.keyId])
    const later = Array.from({ length: 20 }, () => app.chat(person, { max_tokens: 5 }))
    const answers = await Promise.all(burst)
    for (const answer of await Promise.all(later))
      expect([answer.status, answer.json.error]).toEqual([401, 'unauthorized'])
    expect(new Set(answers.map(({ status }) => status)).difference(new Set([200, 401])).size).toBe(0)
    const paid = answers.filter(({ status }) => status === 200)
    expect(app.mock.calls.length).toBe(paid.length)
    expect(await app.balance(person)).toEqual({ postedMicro: 10_000_000n - 65n * BigInt(paid.length), heldMicro: 0n })
  })

  test('of a banned account is a 403 on the next call, though the key was remembered', async () => {
    expect((await app.chat(person)).status).toBe(200)
    await app.database.sql(`update accounts set status = 'banned' where id = $1`, [person.accountId])
    const answer = await app.chat(person)
    expect([answer.status, answer.json.error]).toEqual([403, 'account_banned'])
    expect(app.mock.calls.length).toBe(1)
  })

  test('that is dead is the answer, whatever else is wrong with the request', async () => {
    await app.chat(person)
    await app.database.sql('update api_keys set revoked_at = now() where id = $1', [person.keyId])
    expect((await app.post('/v1/chat/completions', '{"model":', person)).status).toBe(401)
    expect((await app.chat(person, { model: 'nothing' })).status).toBe(401)
  })
})

describe('what passes through', () => {
  test('are fields that the server does not know, tools, parts, response_format, logprobs and n, as they came', async () => {
    const fields = {
      tools: [{ type: 'function', function: { name: 'weather', parameters: { type: 'object' } } }],
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'what is it' },
            { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA', detail: 'low' } },
          ],
        },
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'c1', type: 'function', function: { name: 'weather', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: 'c1', content: 'sunny' },
      ],
      response_format: { type: 'json_object' },
      logprobs: true,
      top_logprobs: 2,
      n: 2,
      seed: 7,
      metadata: { a: 'b' },
      brand_new_field: [1, { x: null }],
      temperature: 0.1,
    }
    await app.chat(person, fields)
    const sent = app.mock.calls[0]
    expect(sent?.body).toMatchObject(fields)
    expect(sent?.headers.authorization).toBe(`Bearer ${PROVIDER_KEY}`)
    expect(JSON.stringify(sent?.headers)).not.toContain(person.key)
  })

  test('is the provider’s answer with its unknown fields, under our name of the model', async () => {
    app.mock.behaviour = ({ response }) =>
      void response.writeHead(200, { 'content-type': 'application/json' }).end(
        JSON.stringify({
          id: 'x',
          model: 'secret-upstream',
          service_tier: 'gold',
          choices: [
            {
              index: 0,
              message: { role: 'assistant', content: 'a', reasoning_content: 'b' },
              logprobs: { content: [] },
            },
          ],
          usage: usageOf(1, 1),
        }),
      )
    const { json } = await app.chat(person)
    expect(json).toMatchObject({
      model: 'mock-model',
      service_tier: 'gold',
      choices: [{ message: { reasoning_content: 'b' }, logprobs: { content: [] } }],
    })
  })

  test('are no images to a model that takes none: 400, nothing held', async () => {
    const answer = await app.chat(person, {
      model: 'mock-alone',
      messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:,' } }] }],
    })
    expect([answer.status, answer.json.code]).toEqual([400, 'invalid_field'])
    expect(await app.holds(person)).toEqual([])
  })
})

test('a price whose time comes while the server runs is in force from that moment, and each charge keeps its version', async () => {
  // the model of the harness has one version: before it is in force there is no such model
  app.clock.set(new Date('2025-12-31T23:59:59Z'))
  expect((await app.chat(person)).json.error).toBe('model_not_found')
  app.clock.set(new Date('2026-01-01T00:00:00Z'))
  expect((await app.chat(person)).status).toBe(200)
  const [row] = await app.database.sql<{ version: string }>(
    `select detail -> 'price' ->> 'version' as version from holds where actor_account_id = $1`,
    [person.accountId],
  )
  expect(row?.version).toBe('1')
  app.clock.set(new Date('2026-06-01T00:00:00Z'))
})

test('a client that leaves during a plain call leaves it billed by its usage', async () => {
  const { behaviour, open } = gated(answering())
  app.mock.behaviour = behaviour
  const leaving = new AbortController()
  const asked = fetch(`${app.url}/v1/chat/completions`, {
    method: 'POST',
    signal: leaving.signal,
    headers: { authorization: `Bearer ${person.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'mock-model', messages: [{ role: 'user', content: 'x' }] }),
  }).catch(() => undefined)
  await app.mock.arrived(1)
  leaving.abort()
  await asked
  open()
  await until(async () => (await app.holds(person))[0]?.kind === 'captured', 'the call is captured')
  expect(await app.balance(person)).toEqual({ postedMicro: 10_000_000n - 65n, heldMicro: 0n })
})
