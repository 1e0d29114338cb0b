import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Person, startTestApp, type TestApp } from '../../test/app.ts'
import { capability, operation, saying, startUpstream, type Upstream } from '../capabilities/upstream.fixture.ts'
import type { JsonObject } from '../providers/provider.ts'
import { accountTools } from './account-tools.ts'
import type { ApiAnswer, ApiRequest } from './tool.ts'

let app: TestApp
let upstream: Upstream
let person: Person
let client: Client

/** With a reference of its own, which must go on to mean the same inside the schema of a tool. */
const REFERRING =
  '{ type: object, required: [text], properties: { text: { $ref: "#/$defs/line" } }, $defs: { line: { type: string } } }'

beforeAll(async () => {
  upstream = await startUpstream()
  const free = { price: '{ kind: fixed, micro: 0 }', method: 'GET', read_only: 'true', summary: 'Looks it up.' }
  const operations = [
    operation('echo', { output_schema: REFERRING }),
    operation('look', free),
    operation('strict', { idempotency_key_required: 'true' }),
    operation('slow', { modes: '[async]' }),
  ]
  app = await startTestApp({ capabilities: capability('tools', upstream.baseUrl, { v1: operations }) })
})
beforeEach(async () => {
  upstream.calls.length = 0
  upstream.behaviour = saying({ text: 'pong' })
  person = await app.person()
  client = await connected(person.key)
})
afterEach(async () => {
  await client.close()
  expect(await app.audit()).toEqual([])
})
afterAll(() => Promise.all([app.stop(), upstream.close()]))

async function connected(token: string): Promise<Client> {
  const made = new Client({ name: 'test', version: '1' })
  const transport = new StreamableHTTPClientTransport(new URL(`${app.url}/mcp`), {
    requestInit: { headers: { authorization: `Bearer ${token}` } },
  })
  await made.connect(transport)
  return made
}

const call = (name: string, input: JsonObject = {}) => client.callTool({ name, arguments: input })
const content = (result: Awaited<ReturnType<typeof call>>): JsonObject => result.structuredContent as JsonObject

test('the official client lists one tool for each operation, with schemas and prices, and those for paying', async () => {
  const { tools } = await client.listTools()
  expect(tools.map(({ name }) => name)).toEqual([
    'tools_echo',
    'tools_look',
    'tools_strict',
    'tools_slow',
    'get_balance',
    'list_models',
    'get_task',
    'create_topup',
    'create_order',
    'get_order',
  ])
  for (const { name } of tools) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/)
  const [echo, look, strict] = tools
  expect(echo).toMatchObject({
    title: 'Test of tools: echo',
    description: expect.stringContaining('Price: 0.0005 Credits for each call.'),
    inputSchema: { type: 'object', required: ['text'], properties: { text: {}, idempotency_key: {} } },
    outputSchema: { properties: { data: { required: ['text'] }, billing: {} } },
    annotations: { readOnlyHint: false },
    _meta: { 'farebox/pricing': { mode: 'fixed', unit_price_micro: 500 } },
  })
  expect(look?.description).toBe('Looks it up.\nPrice: free.')
  expect(look?.annotations?.readOnlyHint).toBe(true)
  expect(look?.inputSchema.properties).not.toHaveProperty('idempotency_key')
  expect(strict?.inputSchema.required).toEqual(['text', 'idempotency_key'])
})

describe('a tool of an operation', () => {
  test('does what the endpoint does, and says what was charged', async () => {
    await client.listTools()
    const result = await call('tools_echo', { text: 'ping' })
    expect(result.isError).toBeUndefined()
    expect(result.content).toEqual([{ type: 'text', text: '{"text":"pong"}' }])
    expect(content(result)).toMatchObject({
      capability: 'tools',
      data: { text: 'pong' },
      billing: { status: 'committed', actual_amount_micro: 500 },
    })
    expect(result._meta).toMatchObject({ 'farebox/charged_micro': 500 })
    expect(upstream.calls.map(({ body }) => body)).toEqual(['{"text":"ping"}'])
    expect(await app.balance(person)).toEqual({ postedMicro: 10_000_000n - 500n, heldMicro: 0n })
  })

  test('that is free takes its input, too', async () => {
    const result = await call('tools_look', { text: 'a b&c' })
    expect(content(result)).toMatchObject({ data: { text: 'pong' }, billing: { actual_amount_micro: 0 } })
    expect(upstream.calls.map(({ url }) => url)).toEqual(['/api/look?text=a+b%26c'])
  })

  test('is done once for an idempotency_key, which the upstream is not bothered with', async () => {
    const results = await Promise.all([1, 2].map(() => call('tools_strict', { text: 'a', idempotency_key: 'one' })))
    const again = await call('tools_strict', { text: 'a', idempotency_key: 'one' })
    expect(results.filter(({ isError }) => isError !== true).length).toBeGreaterThan(0)
    expect(content(again)).toMatchObject({ data: { text: 'pong' } })
    expect(upstream.calls.map(({ body }) => body)).toEqual(['{"text":"a"}'])
    expect(await app.balance(person)).toEqual({ postedMicro: 10_000_000n - 500n, heldMicro: 0n })
    const other = await call('tools_strict', { text: 'b', idempotency_key: 'one' })
    expect([other.isError, content(other).code]).toEqual([true, 'idempotency_conflict'])
  })

  test.each([
    ['missing', 'tools_echo', {}, 'missing_field', '/text'],
    ['of another type', 'tools_echo', { text: 5 }, 'invalid_field', '/text'],
    ['unknown', 'tools_look', { text: 'a', more: 1 }, 'unknown_field', '/more'],
  ])('whose input is %s is an error with its JSON pointer, before any hold', async (_, name, input, code, pointer) => {
    const result = await call(name, input)
    expect([result.isError, content(result).code, content(result).pointer]).toEqual([true, code, pointer])
    expect(upstream.calls.length).toBe(0)
    expect(await app.holds(person)).toEqual([])
  })

  test('without the key that it needs, without Credits, or of a failing upstream is an error that says so', async () => {
    expect(content(await call('tools_strict', { text: 'a' })).code).toBe('idempotency_key_required')
    upstream.behaviour = saying({}, 500)
    expect(content(await call('tools_echo', { text: 'a' })).code).toBe('upstream_failed')
    await client.close()
    person = await app.person({ creditsMicro: 0n })
    client = await connected(person.key)
    const poor = await call('tools_echo', { text: 'a' })
    expect([poor.isError, content(poor).code, content(poor).shortfall_micro]).toEqual([
      true,
      'insufficient_credits',
      '500',
    ])
  })

  test('that is asynchronous gives a task, which get_task reads to its end', async () => {
    const result = await call('tools_slow', { text: 'a' })
    expect(content(result)).toMatchObject({ mode: 'async', billing: { status: 'reserved' } })
    const { task_id: id } = content(result).data as JsonObject
    await expect
      .poll(async () => content(await call('get_task', { task_id: id, wait: 2 })), { timeout: 30_000 })
      .toMatchObject({ state: 'success', result: { data: { text: 'pong' } } })
    expect(content(await call('get_task', { task_id: 'none' })).code).toBe('task_not_found')
  })

  test('is gone from the list, and refused, while its version is blocked', async () => {
    const changed = operation('echo', { price: '{ kind: fixed, micro: 1 }' })
    await app.reload({ capabilities: capability('tools', upstream.baseUrl, { v1: [changed] }) })
    expect((await client.listTools()).tools.map(({ name }) => name)).not.toContain('tools_echo')
    await expect(call('tools_echo', { text: 'a' })).rejects.toThrow('There is no tool tools_echo')
    await app.reload({})
  })
})

describe('the tools for paying', () => {
  test('tell what can be spent and called', async () => {
    expect(content(await call('get_balance'))).toMatchObject({ available_micro: 10_000_000 })
    const { data } = content(await call('list_models')) as { data: JsonObject[] }
    expect(data.map(({ id }) => id)).toContain('mock-model')
  })

  test('tell a payer everything that is needed, whatever the credential', async () => {
    const withKey = content(await call('create_topup', { amount_micro: '5000000' }))
    expect(withKey).toMatchObject({
      amount_micro: '5000000',
      topup_url: `${app.url}/topup`,
      x402: { url: `${app.url}/v1/payments/topup?amount_micro=5000000` },
      assets: [],
    })
    const wrong = await call('create_topup', { amount_micro: '1.5' })
    expect([wrong.isError, content(wrong).pointer]).toEqual([true, '/amount_micro'])
  })

  test('with an access token bind the payment to its account, and make the order', async () => {
    const asked: ApiRequest[] = []
    const recipient = { account_id: 7, label: 'seven', wallet_address: '0x0' }
    const context = { topup_url: 'https://pay.example/topup#context=abc', payment_context_token: 'abc', recipient }
    const answers: Record<string, ApiAnswer> = {
      '/v1/payments/options': { status: 200, body: { data: { assets: [{ asset_id: 'usdc' }] } } },
      '/v1/payments/context': { status: 201, body: { data: context } },
      '/v1/payments/orders': { status: 201, body: { data: { id: 'one' } } },
    }
    const send = async (request: ApiRequest): Promise<ApiAnswer> => {
      asked.push(request)
      return answers[request.path] ?? { status: 404, body: {} }
    }
    const tools = new Map(accountTools(() => 'https://pay.example').map((tool) => [tool.description.name, tool]))
    const topup = await tools.get('create_topup')?.call({ amount_micro: '5000000' }, send)
    expect(topup?.structuredContent).toMatchObject({ ...context, assets: [{ asset_id: 'usdc' }] })
    const order = { asset_id: 'usdc', amount_micro: '5000000', idempotency_key: 'one' }
    expect((await tools.get('create_order')?.call(order, send))?.structuredContent).toEqual({ data: { id: 'one' } })
    expect(asked.at(-1)).toEqual({ method: 'POST', path: '/v1/payments/orders', body: order })
  })

  test('reach the real orders with an access token, and no other path', async () => {
    await client.close()
    client = await connected(await accessToken())
    const order = { asset_id: 'none', amount_micro: '5000000', idempotency_key: 'one' }
    expect(content(await call('create_order', order)).code).toBe('unknown_asset')
    const id = '01a1fb04-c84b-761b-b290-dc3d95aed53b'
    expect(content(await call('get_order', { order_id: id })).code).toBe('order_not_found')
    expect(content(await call('get_order', { order_id: '../me' })).pointer).toBe('/order_id')
  })

  test('that an API key may not use say which credential is needed', async () => {
    const order = { asset_id: 'none', amount_micro: '5000000', idempotency_key: 'one' }
    expect(content(await call('create_order', order)).code).toBe('access_token_required')
  })
})

describe('the endpoint', () => {
  const initialize = {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'c', version: '1' } },
  }
  const post = (headers: Record<string, string>) =>
    app.app.server.inject({
      method: 'POST',
      url: '/mcp',
      headers: {
        accept: 'application/json, text/event-stream',
        authorization: `Bearer ${person.key}`,
        host: '127.0.0.1',
        ...headers,
      },
      payload: initialize,
    })

  test('asks for a credential, and takes POST only', async () => {
    const refused = await app.post('/mcp', initialize)
    expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([
      401,
      `Bearer resource_metadata="${app.url}/.well-known/oauth-protected-resource/mcp", realm="farebox"`,
    ])
    const read = await fetch(`${app.url}/mcp`, { headers: { authorization: `Bearer ${person.key}` } })
    expect([read.status, read.headers.get('allow')]).toEqual([405, 'POST'])
    await expect(connected('fbx_none')).rejects.toThrow()
  })

  test.each([
    [200, { host: '127.0.0.1:8787' }],
    [200, { host: 'localhost', origin: 'http://localhost:3000' }],
    [200, { host: '[::1]:8787' }],
    [403, { host: 'evil.example.com' }],
    [403, { host: 'localhost.example.com' }],
    [403, { host: '127.0.0.1', origin: 'https://evil.example.com' }],
    [403, { host: '127.0.0.1', origin: 'null' }],
  ])('answers %d to the host and origin of %j', async (status, headers) => {
    const answer = await post(headers)
    expect(answer.statusCode).toBe(status)
    if (status === 403) expect(answer.json().code).toBe('origin_not_allowed')
    else expect(answer.body).toContain('"serverInfo"')
  })
})

/** Of an Agent that signed in by its wallet. */
async function accessToken(): Promise<string> {
  const wallet = privateKeyToAccount(generatePrivateKey())
  const { json: challenge } = await app.post('/v1/auth/challenge', { wallet_address: wallet.address })
  const { json } = await app.post('/v1/auth/verify', {
    challenge_id: challenge.challenge_id,
    signature: await wallet.signMessage({ message: String(challenge.message) }),
  })
  return (json.tokens as { access_token: string }).access_token
}
