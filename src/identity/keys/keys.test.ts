import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startServers, type TestServers } from '../../../test/servers.ts'
import { systemRandom } from '../../kernel/random.ts'
import { newKey } from './secret.ts'

let servers: TestServers
beforeAll(async () => {
  servers = await startServers(2)
})
afterAll(() => servers.stop())

const list = (token: string, at = 0) => servers.send('GET', '/v1/me/api-keys', { token, at })
const create = (token: string, body?: unknown) =>
  servers.send('POST', '/v1/me/api-keys', { token, ...(body === undefined ? {} : { body }) })
const revoke = (token: string, id?: number, at = 0) =>
  servers.send('DELETE', `/v1/me/api-keys${id === undefined ? '' : `/${id}`}`, { token, at })
const metadata = [
  'budget',
  'created_at',
  'expires_at',
  'id',
  'last4',
  'last_used_at',
  'name',
  'prefix',
  'revoked_at',
  'status',
]

test('a new key is in the answer in both places, once; its list entry has everything but the secret', async () => {
  const agent = await servers.signIn()
  const made = await create(agent.accessToken)
  expect(made.status).toBe(200)
  expect(made.headers.get('cache-control')).toBe('no-store')
  expect(Object.keys(made.json.data).sort()).toEqual([...metadata, 'token'].sort())
  expect(made.json.api_key).toBe(made.json.data.token)
  const { token, ...rest } = made.json.data
  expect(rest).toMatchObject({
    name: '',
    status: 'active',
    prefix: token.slice(0, 8),
    last4: token.slice(-4),
    expires_at: null,
    revoked_at: null,
    last_used_at: null,
    budget: null,
  })
  const listed = await list(token, 1)
  expect(Object.keys(listed.json.data).sort()).toEqual(metadata)
  expect(listed.json.data).toEqual(listed.json.keys[0])
  expect(listed.json.data).toEqual(rest)
  expect(JSON.stringify(listed.json)).not.toContain(token)
  expect((await list(agent.apiKey)).status).toBe(200)
})

test('a key takes a name, an expiry and a budget', async () => {
  const { accessToken } = await servers.signIn()
  const expiresAt = new Date(Date.now() + 86_400_000).toISOString()
  const { json } = await create(accessToken, {
    name: 'crawler',
    expires_at: expiresAt,
    budget: { daily_micro: 5, total_micro: null },
  })
  expect(json.data).toMatchObject({
    name: 'crawler',
    expires_at: expiresAt,
    budget: { per_call_micro: null, daily_micro: 5, monthly_micro: null, total_micro: null },
  })
  expect((await create(accessToken, { expires_at: null, budget: null })).json.data).toMatchObject({
    expires_at: null,
    budget: null,
  })
  expect((await create(accessToken, { budget: {} })).json.data.budget).toBeNull()
})

test.each<[string, unknown, string, string]>([
  ['an expiry in the past', { expires_at: '2020-01-01T00:00:00Z' }, 'invalid_field', 'expires_at'],
  ['an expiry that is no time', { expires_at: 'tomorrow' }, 'invalid_field', 'expires_at'],
  ['a budget below zero', { budget: { daily_micro: -1 } }, 'invalid_field', 'budget.daily_micro'],
  ['a budget of parts', { budget: { daily_micro: 1.5 } }, 'invalid_field', 'budget.daily_micro'],
  ['a limit that does not exist', { budget: { hourly_micro: 1 } }, 'unknown_field', 'budget.hourly_micro'],
  ['an unknown field', { scope: 'all' }, 'unknown_field', 'scope'],
  ['a name without end', { name: 'x'.repeat(101) }, 'invalid_field', 'name'],
])('a key with %s is refused', async (_what, body, code, field) => {
  const { accessToken } = await servers.signIn()
  const answer = await create(accessToken, body)
  expect([answer.status, answer.json.error, answer.json.code]).toEqual([400, 'bad_request', code])
  expect(answer.json.field).toContain(field.split('.')[0])
})

test("a key's budget binds the calls made with it, and no others", async () => {
  const agent = await servers.signIn()
  await servers.grant(agent.accountId, 1_000_000n)
  const { json } = await create(agent.accessToken, { budget: { total_micro: 1 } })
  const refused = await servers.chat(json.api_key)
  expect([refused.status, refused.json.code]).toEqual([402, 'budget_exceeded'])
  expect((await servers.chat(agent.apiKey)).status).toBe(200)
})

test('a key makes and revokes no keys, and neither touches sessions', async () => {
  const agent = await servers.signIn()
  for (const answer of [
    await create(agent.apiKey),
    await revoke(agent.apiKey),
    await revoke(agent.apiKey, 1),
    await servers.send('GET', '/v1/me/sessions', { token: agent.apiKey }),
    await servers.send('POST', '/v1/me/sessions/revoke-all', { token: agent.apiKey }),
  ]) {
    expect([answer.status, answer.json.code]).toEqual([403, 'access_token_required'])
  }
  expect((await list(agent.accessToken)).json.keys).toHaveLength(1)
})

test('a revoked key stays in the list and is refused everywhere; other keys and the session go on', async () => {
  const agent = await servers.signIn()
  await servers.grant(agent.accountId, 1_000_000n)
  const second = (await create(agent.accessToken, { name: 'second' })).json
  for (const at of [0, 1]) expect((await servers.chat(second.api_key, at)).status).toBe(200)
  for (let count = 0; count < 2; count++) expect((await revoke(agent.accessToken, second.data.id)).json.ok).toBe(true)
  for (const at of [0, 1]) {
    expect((await servers.chat(second.api_key, at)).status).toBe(401)
    expect((await list(second.api_key, at)).status).toBe(401)
    expect((await servers.chat(agent.apiKey, at)).status).toBe(200)
  }
  const { json } = await list(agent.accessToken)
  expect(json.keys.map((key: { name: string; status: string }) => [key.name, key.status])).toEqual([
    ['second', 'revoked'],
    ['first key', 'active'],
  ])
  expect(json.keys[0].revoked_at).toEqual(expect.any(String))
  expect(json.data.name).toBe('first key')
})

test('an expired key is listed, refused, and no longer the active one', async () => {
  const agent = await servers.signIn()
  await servers.grant(agent.accountId, 1_000_000n)
  const { json } = await create(agent.accessToken, {
    name: 'brief',
    expires_at: new Date(Date.now() + 3_600_000).toISOString(),
  })
  expect((await servers.chat(json.api_key)).status).toBe(200)
  await servers.database.sql(`update api_keys set expires_at = now() - interval '1 millisecond' where id = $1`, [
    json.data.id,
  ])
  expect((await servers.chat(json.api_key)).status).toBe(401)
  expect((await list(json.api_key)).status).toBe(401)
  const listed = (await list(agent.accessToken)).json
  expect(listed.keys[0]).toMatchObject({ name: 'brief', status: 'revoked', revoked_at: null })
  expect(listed.data.name).toBe('first key')
})

test('revoking without an id ends all keys and leaves no active one; a new one can be made', async () => {
  const agent = await servers.signIn()
  const second = (await create(agent.accessToken)).json
  expect((await revoke(agent.accessToken)).json.ok).toBe(true)
  for (const key of [agent.apiKey, second.api_key]) expect((await list(key, 1)).status).toBe(401)
  const { json } = await list(agent.accessToken)
  expect(json.data).toBeNull()
  expect(json.keys).toHaveLength(2)
  expect((await list((await create(agent.accessToken)).json.api_key)).status).toBe(200)
})

test("another account's key and an unknown one are not found, and stay", async () => {
  const [mallory, victim] = [await servers.signIn(), await servers.signIn()]
  const { id } = (await list(victim.accessToken)).json.data
  for (const wanted of [id, 999_999_999]) {
    const answer = await revoke(mallory.accessToken, wanted)
    expect([answer.status, answer.json.code]).toEqual([404, 'api_key_not_found'])
  }
  await revoke(mallory.accessToken)
  expect((await list(victim.apiKey)).status).toBe(200)
  expect((await servers.send('DELETE', '/v1/me/api-keys/x', { token: mallory.accessToken })).json.code).toBe(
    'invalid_parameter',
  )
})

test('unknown, mistyped and revoked keys are refused in the same words', async () => {
  const agent = await servers.signIn()
  const revoked = (await create(agent.accessToken)).json
  await revoke(agent.accessToken, revoked.data.id)
  const answers = await Promise.all(
    [
      newKey(systemRandom),
      revoked.api_key,
      `${agent.apiKey.slice(0, -1)}x`,
      'fbx_',
      `fbx_${randomBytes(40).toString('hex')}`,
    ].map((key) => list(key)),
  )
  for (const { status, json } of answers)
    expect([status, { ...json, request_id: '' }]).toEqual([401, { ...answers[0]?.json, request_id: '' }])
})

test('use is noted in bulk, off the hot path', async () => {
  const agent = await servers.signIn()
  await servers.grant(agent.accountId, 1_000_000n)
  await servers.chat(agent.apiKey)
  expect((await list(agent.accessToken)).json.data.last_used_at).toBeNull()
  await servers.flushUsed()
  expect(Date.now() - Date.parse((await list(agent.accessToken)).json.data.last_used_at)).toBeLessThan(10_000)
})

test('of a key in use by 200 calls at once on two servers, no call that begins after its revocation was answered is charged', async () => {
  const agent = await servers.signIn()
  await servers.grant(agent.accountId, 100_000_000n)
  const { id } = (await list(agent.accessToken)).json.data
  const begun: Array<{ at: number; status: Promise<number> }> = []
  let going = true
  const callers = Array.from({ length: 200 }, async (_, index) => {
    while (going) {
      const call = {
        at: performance.now(),
        status: servers.chat(agent.apiKey, index % 2).then(({ status }) => status),
      }
      begun.push(call)
      await call.status
    }
  })
  while (begun.length < 600) await new Promise((resolve) => setImmediate(resolve))
  await revoke(agent.accessToken, id, 1)
  const answeredAt = performance.now()
  while (begun.filter(({ at }) => at > answeredAt).length < 400) await new Promise((resolve) => setImmediate(resolve))
  going = false
  await Promise.all(callers)
  const after = await Promise.all(begun.filter(({ at }) => at > answeredAt).map(({ status }) => status))
  expect(new Set(after)).toEqual(new Set([401]))
  const all = await Promise.all(begun.map(({ status }) => status))
  const [holds] = await servers.database.sql<{ count: string }>(
    'select count(*) from holds where actor_account_id = $1',
    [agent.accountId],
  )
  expect(Number(holds?.count)).toBe(all.filter((status) => status === 200).length)
})
