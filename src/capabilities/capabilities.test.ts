import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Answer, type Person, readAnswer, startTestApp, type TestApp } from '../../test/app.ts'
import type { JsonObject } from '../providers/provider.ts'
import { capability, operation, saying, startUpstream, type Upstream } from './upstream.fixture.ts'

let app: TestApp
let upstream: Upstream
let person: Person

const FREE = { price: '{ kind: fixed, micro: 0 }', method: 'GET', read_only: 'true' }
const COUNTED = '{ type: object, properties: { items: { type: array }, deep: { type: object } } }'

beforeAll(async () => {
  upstream = await startUpstream()
  const lookup = operation('lookup', {
    ...FREE,
    input_schema:
      '{ type: object, required: [id], additionalProperties: false, properties: { id: { type: integer }, tags: { type: array, items: { type: string } }, exact: { type: boolean, default: true } } }',
  })
  const operations = [
    operation('echo'),
    lookup,
    operation('replace', { method: 'PUT' }),
    operation('by-items', {
      input_schema: COUNTED,
      price: '{ kind: input_units, unit: item, micro: 100, at: /items, units_max: 3 }',
    }),
    operation('by-words', {
      output_schema: '{}',
      price: '{ kind: output_units, unit: word, micro: 7, at: /usage/words, units_max: 100 }',
    }),
    operation('strict', { idempotency_key_required: 'true' }),
  ]
  app = await startTestApp({
    capabilities:
      capability('tools', upstream.baseUrl, { v1: operations }) +
      capability('own-money', upstream.baseUrl, { v1: [operation('echo')] }, '    funding_modes: [self_only]\n') +
      capability('hidden', upstream.baseUrl, { v1: [operation('echo')] }, '    enabled: false\n'),
  })
})
beforeEach(async () => {
  upstream.calls.length = 0
  upstream.behaviour = saying({ text: 'pong' })
  person = await app.person()
})
afterEach(async () => expect(await app.audit()).toEqual([]))
afterAll(() => Promise.all([app.stop(), upstream.close()]))

const get = async (path: string, headers: Record<string, string> = {}): Promise<Answer> =>
  readAnswer(await fetch(app.url + path, { headers: { authorization: `Bearer ${person.key}`, ...headers } }))
const run = (name: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> =>
  app.post(`/v1/capabilities/tools/operations/${name}`, body, person, headers)
const refusal = ({ status, json }: Answer): unknown[] => [status, json.code, json.pointer]

describe('the list', () => {
  test('names what is enabled, and is searched by text and mode', async () => {
    const slugs = async (query: string): Promise<unknown> => {
      const { json } = await get(`/v1/capabilities${query}`)
      return [json.object, json.count, (json.data as JsonObject[]).map(({ slug }) => slug)]
    }
    expect(await slugs('')).toEqual(['list', 2, ['tools', 'own-money']])
    expect(await slugs('?q=OWN-m')).toEqual(['list', 1, ['own-money']])
    expect(await slugs('?q=nothing')).toEqual(['list', 0, []])
    expect(await slugs('?q=TESTS&mode=sync')).toEqual(['list', 2, ['tools', 'own-money']])
    expect(await slugs('?mode=async')).toEqual(['list', 0, []])
    expect((await get('/v1/capabilities?mode=both')).json.code).toBe('invalid_parameter')
  })

  test('and the detail have every field of a descriptor, with schemas and prices', async () => {
    const { json } = await get('/v1/capabilities/tools')
    expect(json).toMatchObject({
      slug: 'tools',
      type: 'api',
      status: 'active',
      visibility: 'consumer_listed',
      version: 'v1',
      default_version: 'v1',
      versions: ['v1'],
      tags: ['one', 'two'],
      supports_sync: true,
      supports_async: false,
      default_invoke_mode: 'sync',
      funding_modes: ['self_only', 'self_then_owner', 'owner_only'],
      invoke_path: '/v1/capabilities/tools/invoke',
      default_operation_slug: 'echo',
      input_fields: [{ name: 'text', required: true, type: 'string' }],
      availability: { invoke_allowed: true },
    })
    expect(json).not.toHaveProperty('pricing')
    const operations = new Map((json.operations as JsonObject[]).map((one) => [one.slug, one]))
    expect(operations.get('echo')).toMatchObject({
      method: 'POST',
      path: '/v1/capabilities/tools/operations/echo',
      pricing: { billing_kind: 'credit', mode: 'fixed', unit_price_micro_usdc: 500, currency: 'USDC' },
      input_schema: { type: 'object', required: ['text'] },
      output_schema: { type: 'object', required: ['text'] },
      idempotency_key_required: false,
    })
    expect(operations.get('by-words')?.pricing).toMatchObject({ mode: 'per_unit', unit: 'word', max_hold_micro: 700 })
    expect(JSON.stringify(json)).not.toContain(upstream.baseUrl)
  })

  test('is told to be unchanged by its ETag', async () => {
    const first = await get('/v1/capabilities/tools?version=v1')
    const again = await get('/v1/capabilities/tools', { 'if-none-match': String(first.headers.get('etag')) })
    expect([again.status, again.text]).toEqual([304, ''])
    expect(refusal(await get('/v1/capabilities/none'))).toEqual([404, 'capability_not_found', undefined])
    expect(refusal(await get('/v1/capabilities/hidden'))).toEqual([404, 'capability_not_found', undefined])
    expect(refusal(await get('/v1/capabilities/tools?version=v9'))).toEqual([
      404,
      'capability_version_not_found',
      undefined,
    ])
  })
})

describe('a call', () => {
  test('is held, done, charged and told who paid', async () => {
    const { status, headers, json } = await run('echo', { text: 'ping' })
    expect([status, headers.get('x-credits-held-micro'), headers.get('x-credits-charged-micro')]).toEqual([
      200,
      '500',
      '500',
    ])
    const account = { account_id: Number(person.accountId) }
    expect(json).toEqual({
      request_id: headers.get('x-request-id'),
      capability: 'tools',
      capability_version: 'v1',
      operation: 'echo',
      mode: 'sync',
      data: { text: 'pong' },
      billing: {
        status: 'committed',
        actor: account,
        payer: account,
        reserve_amount_micro: 500,
        actual_amount_micro: 500,
        call_id: Number(headers.get('x-call-id')),
        funding: [{ ...account, reserved_amount_micro: 500, amount_micro: 500 }],
      },
    })
    expect(await app.balance(person)).toEqual({ postedMicro: 10_000_000n - 500n, heldMicro: 0n })
    expect(upstream.calls).toMatchObject([{ method: 'POST', url: '/api/echo', body: '{"text":"ping"}' }])
  })

  test('of the default operation takes the input itself, or wrapped', async () => {
    for (const body of [{ text: 'a' }, { input: { text: 'a' } }, { mode: 'sync', input: { text: 'a' } }]) {
      const { status, json } = await app.post('/v1/capabilities/tools/invoke', body, person)
      expect([status, json.operation]).toEqual([200, 'echo'])
    }
    expect(upstream.calls.map(({ body }) => body)).toEqual(Array(3).fill('{"text":"a"}'))
  })

  test('that is free takes its input from the query, typed, with defaults, and holds nothing', async () => {
    const { status, json } = await get('/v1/capabilities/tools/operations/lookup?id=7&tags=a&tags=b&version=v1')
    expect([status, json.data]).toEqual([200, { text: 'pong' }])
    expect(json.billing).toMatchObject({ status: 'committed', reserve_amount_micro: 0, actual_amount_micro: 0 })
    expect(upstream.calls).toMatchObject([{ method: 'GET', url: '/api/lookup?id=7&tags=a&tags=b&exact=true' }])
    expect(await app.holds(person)).toEqual([])
    await app.database.sql('update api_keys set revoked_at = now() where id = $1', [person.keyId])
    expect((await get('/v1/capabilities/tools/operations/lookup?id=7')).status).toBe(401)
    expect(upstream.calls.length).toBe(1)
  })

  test('is charged by the units of its input, and never for more than its most', async () => {
    const { json } = await run('by-items', { items: [1, 2, 3] })
    expect(json.billing).toMatchObject({ reserve_amount_micro: 300, actual_amount_micro: 300 })
    expect(refusal(await run('by-items', { items: [1, 2, 3, 4] }))).toEqual([400, 'invalid_field', '/items'])
    expect(refusal(await run('by-items', { mode: 'sync', input: {} }))).toEqual([400, 'invalid_field', '/input/items'])
    expect((await run('by-items', { items: [] })).json.billing).toMatchObject({ actual_amount_micro: 0 })
    expect(await app.balance(person)).toEqual({ postedMicro: 10_000_000n - 300n, heldMicro: 0n })
  })

  test('is charged by the units of its answer; without units its cost is unknown and the hold stays', async () => {
    upstream.behaviour = saying({ usage: { words: 12.2 } })
    expect((await run('by-words', { text: 'a' })).json.billing).toMatchObject({
      reserve_amount_micro: 700,
      actual_amount_micro: 91,
    })
    upstream.behaviour = saying({ usage: {} })
    const { status, headers, json } = await run('by-words', { text: 'a' })
    expect([status, headers.get('x-billing-state'), json.data]).toEqual([200, 'usage_unknown', { usage: {} }])
    expect(json.billing).toMatchObject({ status: 'usage_unknown', actual_amount_micro: null })
    expect(await app.balance(person)).toEqual({ postedMicro: 10_000_000n - 91n, heldMicro: 700n })
  })

  test.each([
    ['missing', 'echo', {}, 'missing_field', '/text'],
    ['of another type', 'echo', { text: 5 }, 'invalid_field', '/text'],
    ['unknown', 'echo', { text: 'a', 'a/b~c': 1 }, 'unknown_field', '/a~1b~0c'],
    ['too long', 'echo', { input: { text: 'a'.repeat(101) } }, 'invalid_field', '/input/text'],
    ['deep', 'by-items', { items: [], deep: 'x' }, 'invalid_field', '/deep'],
    ['a mode that is not offered', 'echo', { mode: 'async', input: { text: 'a' } }, 'invalid_field', '/mode'],
    ['a mode that is none', 'echo', { mode: 3, input: { text: 'a' } }, 'invalid_field', '/mode'],
  ])('with input that is %s is refused with its JSON pointer before any hold', async (_, name, body, code, pointer) => {
    expect(refusal(await run(name, body))).toEqual([400, code, pointer])
    expect(upstream.calls.length).toBe(0)
    expect(await app.holds(person)).toEqual([])
  })

  test('by a method that the operation does not declare is a 405 that allows its own', async () => {
    for (const [name, allowed] of [
      ['echo', 'POST'],
      ['lookup', 'GET'],
      ['replace', 'PUT'],
    ] as const) {
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].filter((other) => other !== allowed)) {
        const answer = await readAnswer(
          await fetch(`${app.url}/v1/capabilities/tools/operations/${name}`, {
            method,
            headers: { authorization: `Bearer ${person.key}` },
          }),
        )
        expect([method, answer.status, answer.headers.get('allow')]).toEqual([method, 405, allowed])
      }
    }
    expect(upstream.calls.length).toBe(0)
  })

  test('of what is not there is a 404 that says what is', async () => {
    expect(refusal(await run('none', {}))).toEqual([404, 'operation_not_found', undefined])
    expect(refusal(await app.post('/v1/capabilities/none/invoke', {}, person))).toEqual([
      404,
      'capability_not_found',
      undefined,
    ])
    const { json } = await app.post('/v1/capabilities/tools/invoke?version=v2', { text: 'a' }, person)
    expect([json.code, json.message]).toEqual(['capability_version_not_found', 'tools has no such version. It has v1.'])
  })

  test('needs an Idempotency-Key only where the descriptor says so', async () => {
    expect(refusal(await run('strict', { text: 'a' }))).toEqual([400, 'idempotency_key_required', undefined])
    expect((await run('strict', { text: 'a' }, { 'idempotency-key': 'one' })).status).toBe(200)
    expect((await run('echo', { text: 'a' })).status).toBe(200)
  })

  test('without Credits is a 402 with the numbers, and the upstream hears nothing', async () => {
    person = await app.person({ creditsMicro: 499n })
    const { status, json } = await run('echo', { text: 'a' })
    expect([status, json.available_micro, json.required_micro, json.shortfall_micro]).toEqual([402, '499', '500', '1'])
    expect(json.topup_url).toMatch(/\/topup$/)
    expect(upstream.calls.length).toBe(0)
  })

  test('of an Agent is paid by its owner where its own Credits end, unless the capability takes none of that', async () => {
    const owner = await app.person()
    const agent = await app.person({ creditsMicro: 200n })
    await app.database.sql(`update accounts set account_type = 'agent' where id = $1`, [agent.accountId])
    const { link } = await import('../identity/accounts/store.ts')
    await app.database.db.transaction().execute((tx) =>
      link(tx, {
        agentId: agent.accountId,
        ownerId: owner.accountId,
        billingMode: 'self_then_owner',
        budget: { per_call_micro: null, daily_micro: null, monthly_micro: null, total_micro: null },
      }),
    )
    const [actor, payer] = [{ account_id: Number(agent.accountId) }, { account_id: Number(owner.accountId) }]
    person = agent
    expect((await run('echo', { text: 'a' })).json.billing).toMatchObject({
      actor,
      payer: actor,
      owner: payer,
      funding: [
        { ...actor, amount_micro: 200 },
        { ...payer, amount_micro: 300 },
      ],
    })
    expect((await run('echo', { text: 'a' })).json.billing).toMatchObject({ actor, payer, owner: payer })
    await app.topUp(agent, 200n)
    upstream.behaviour = saying({ usage: { words: 30 } })
    expect((await run('by-words', { text: 'a' })).json.billing).toMatchObject({
      reserve_amount_micro: 700,
      actual_amount_micro: 210,
      funding: [
        { ...actor, reserved_amount_micro: 200, amount_micro: 200 },
        { ...payer, reserved_amount_micro: 500, amount_micro: 10 },
      ],
    })
    upstream.behaviour = saying({ text: 'pong' })
    const refused = await app.post('/v1/capabilities/own-money/invoke', { text: 'a' }, agent)
    expect(refusal(refused)).toEqual([403, 'funding_mode_not_allowed', undefined])
    expect((await app.post('/v1/capabilities/own-money/invoke', { text: 'a' }, owner)).status).toBe(200)
  })
})
