import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type SignedInPerson, startServers, type TestServers } from '../../test/servers.ts'
import { answering, type Receiver, startReceiver, until, verified } from '../../test/webhook-setting.ts'

let servers: TestServers
let receiver: Receiver
let person: SignedInPerson
beforeAll(async () => {
  ;[servers, receiver] = await Promise.all([startServers(), startReceiver()])
})
beforeEach(async () => {
  person = await servers.signIn()
  receiver.got.length = 0
  receiver.behaviour = answering(200)
})
afterAll(() => Promise.all([servers.stop(), receiver.close()]))

const send = (method: string, path: string, body?: unknown, token = person.accessToken) =>
  servers.send(method, `/v1/me/webhooks${path}`, { token, ...(body === undefined ? {} : { body }) })
const made = async (members: Record<string, unknown> = {}) =>
  (await send('POST', '', { url: `${receiver.url}/hook`, ...members })).json.data
const tell = async (objectId: string, payload: Record<string, unknown> = {}, event = 'order.completed') => {
  const [row] = await servers.database.sql<{ id: string }>(
    'insert into outbox (event, account_id, object_id, payload) values ($1, $2, $3, $4) returning id',
    [event, person.accountId, objectId, JSON.stringify(payload)],
  )
  return `evt_${row?.id}`
}
const deliveries = async (query = '') => (await send('GET', `/deliveries${query}`)).json.data
const ended = async () => {
  await until(async () => {
    const [row] = await servers.database.sql<{ fresh: boolean }>(
      'select exists (select from outbox where delivered_at is null) as fresh',
    )
    const all = await deliveries()
    return !row?.fresh && all.every((one: { last_attempt_at: string | null }) => one.last_attempt_at !== null)
  }, 'everything was attempted')
}

test('the secret of an endpoint is shown when it is made and rotated, and at no other time', async () => {
  const { secret, ...shown } = await made({ events: ['order.completed', 'order.completed'], description: 'mine' })
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
  expect(shown).toEqual({
    id: expect.any(Number),
    url: `${receiver.url}/hook`,
    events: ['order.completed'],
    description: 'mine',
    enabled: true,
    disabled_at: null,
    disabled_reason: null,
    failing_since: null,
    previous_secret_signs_until: null,
    created_at: expect.stringMatching(/Z$/),
    updated_at: expect.stringMatching(/Z$/),
  })
  expect((await send('GET', `/${shown.id}`)).json.data).toEqual(shown)
  expect((await send('GET', '')).json).toEqual({ data: [shown] })
  const rotated = (await send('POST', `/${shown.id}/rotate-secret`, { overlap_seconds: 60 })).json.data
  expect(rotated.secret).toMatch(/^whsec_/)
  expect(rotated.secret).not.toBe(secret)
  expect(rotated.previous_secret_signs_until).toMatch(/Z$/)
  const [row] = await servers.database.sql<{ text: string }>(
    `select to_jsonb(e)::text as text from webhook_endpoints e where id = $1`,
    [shown.id],
  )
  for (const one of [secret, rotated.secret]) {
    expect(row?.text).not.toContain(Buffer.from(one.slice(6), 'base64').toString('hex'))
    expect(servers.log.join('')).not.toContain(one)
  }
})

test('a test event arrives and verifies; it says that nothing has happened', async () => {
  const { id, secret } = await made({ events: ['refund.completed'] })
  const sent = await send('POST', `/${id}/test`)
  expect(sent.json.data).toMatchObject({ event: 'webhook.test', endpoint_id: id, state: 'pending', attempts: 0 })
  await until(() => receiver.got.length === 1, 'it arrives')
  expect(receiver.got[0]?.headers['webhook-id']).toBe(sent.json.data.webhook_id)
  expect(verified(receiver.got[0] as Receiver['got'][0], secret)).toMatchObject({
    type: 'webhook.test',
    data: { endpoint_id: id, message: 'A test: nothing has happened.' },
  })
})

test('the log shows each delivery with what was sent and every attempt, by page and by filter', async () => {
  const { id } = await made()
  receiver.behaviour = (response, { json }) =>
    answering(json.type === 'balance.low' ? 500 : 200, { 'retry-after': '3600' })(response)
  for (const n of [1, 2, 3]) await tell(`order-${n}`, { order_id: `order-${n}` })
  const failing = await tell('low', { balance_micro: 5 }, 'balance.low')
  await ended()
  expect((await deliveries(`?endpoint_id=${id}`)).map((one: { state: string }) => one.state).sort()).toEqual([
    'delivered',
    'delivered',
    'delivered',
    'pending',
  ])
  const [low] = await deliveries('?event=balance.low&state=pending')
  expect(low).toMatchObject({ webhook_id: failing, last_outcome: 'status', last_status: 500, finished_at: null })
  const whole = (await send('GET', `/deliveries/${low.id}`)).json.data
  expect(whole.body).toEqual({
    type: 'balance.low',
    timestamp: expect.stringMatching(/Z$/),
    data: { account_id: Number(person.accountId), balance_micro: 5 },
  })
  expect(whole.attempt_log).toEqual([
    {
      n: 1,
      at: expect.any(String),
      duration_ms: expect.any(Number),
      outcome: 'status',
      status: 500,
      answer: 'an answer',
    },
  ])
  const first = (await send('GET', '/deliveries?limit=3')).json
  const second = (await send('GET', `/deliveries?limit=3&before_id=${first.next_cursor}`)).json
  expect([first.data.length, second.data.length, second.next_cursor]).toEqual([3, 1, 0])
  expect(new Set([...first.data, ...second.data].map((one: { id: number }) => one.id)).size).toBe(4)
})

test('a replay sends again with the same webhook-id, one delivery or all that was missed since a time', async () => {
  const { id } = await made()
  const missed = await tell('before', { order_id: 'before' })
  await ended()
  await send('PATCH', `/${id}`, { enabled: false })
  const unheard = await tell('meanwhile', { order_id: 'meanwhile' })
  await until(async () => {
    const rows = await servers.database.sql('select 1 from outbox where delivered_at is null')
    return rows.length === 0
  }, 'the event was looked at')
  const [delivered] = await deliveries()
  for (const [path, body] of [
    [`/deliveries/${delivered.id}/replay`, undefined],
    [`/${id}/replay`, { since: '2020-01-01T00:00:00Z' }],
    [`/${id}/test`, undefined],
  ] as const)
    expect((await send('POST', path, body)).json).toMatchObject({ code: 'webhook_disabled' })
  await send('PATCH', `/${id}`, { enabled: true })
  const since = { since: '2020-01-01T00:00:00Z' }
  expect((await send('POST', `/${id}/replay`, since)).json).toEqual({ data: { replayed: 1 } })
  await until(() => receiver.got.length === 2, 'what was missed arrives')
  await ended()
  expect((await send('POST', `/deliveries/${delivered.id}/replay`)).json.data).toMatchObject({ state: 'pending' })
  await until(() => receiver.got.length === 3, 'the one arrives again')
  await until(async () => (await deliveries('?state=pending')).length === 0, 'it is recorded')
  expect((await send('POST', `/${id}/replay`, { ...since, include_delivered: true })).json.data.replayed).toBe(2)
  await until(() => receiver.got.length === 5, 'all arrive again')
  const ids = receiver.got.map(({ headers }) => headers['webhook-id'])
  expect(ids.slice(0, 3)).toEqual([missed, unheard, missed])
  expect(ids.slice(3).sort()).toEqual([missed, unheard].sort())
})

test('turned off it hears of nothing, changed it hears at its new URL, removed it is gone with its log', async () => {
  const { id } = await made()
  expect((await send('PATCH', `/${id}`, { enabled: false })).json.data).toMatchObject({
    enabled: false,
    disabled_reason: 'account',
    disabled_at: expect.stringMatching(/Z$/),
  })
  const changed = await send('PATCH', `/${id}`, {
    enabled: true,
    url: `${receiver.url}/new`,
    events: [],
    description: 'moved',
  })
  expect(changed.json.data).toMatchObject({ enabled: true, disabled_reason: null, description: 'moved' })
  await tell('order-1')
  await until(() => receiver.got.length === 1, 'it arrives')
  expect(receiver.got[0]?.path).toBe('/new')
  await ended()
  expect((await send('DELETE', `/${id}`)).json).toMatchObject({ ok: true })
  expect(await deliveries()).toEqual([])
  for (const [method, path, body] of [
    ['GET', `/${id}`],
    ['PATCH', `/${id}`, {}],
    ['DELETE', `/${id}`],
    ['POST', `/${id}/rotate-secret`, {}],
    ['POST', `/${id}/test`],
    ['POST', `/${id}/replay`, { since: '2026-01-01T00:00:00Z' }],
  ] as const)
    expect((await send(method, path, body)).json, `${method} ${path}`).toMatchObject({ code: 'webhook_not_found' })
})

test("another account's endpoints and deliveries are not there", async () => {
  const { id } = await made()
  await tell('order-1')
  await ended()
  const [delivery] = await deliveries()
  const stranger = (await servers.signIn()).accessToken
  for (const [method, path, body] of [
    ['GET', `/${id}`],
    ['PATCH', `/${id}`, { enabled: false }],
    ['DELETE', `/${id}`],
    ['POST', `/${id}/rotate-secret`, {}],
    ['POST', `/${id}/replay`, { since: '2026-01-01T00:00:00Z' }],
  ] as const)
    expect((await send(method, path, body, stranger)).json.code).toBe('webhook_not_found')
  for (const [method, path] of [
    ['GET', `/deliveries/${delivery.id}`],
    ['POST', `/deliveries/${delivery.id}/replay`],
  ] as const)
    expect((await send(method, path, undefined, stranger)).json.code).toBe('webhook_delivery_not_found')
  expect((await send('GET', '/deliveries', undefined, stranger)).json.data).toEqual([])
})

test('a key reads and replays; whoever makes, changes or removes endpoints or secrets signs in', async () => {
  const { id } = await made()
  const key = person.apiKey
  for (const path of ['', `/${id}`, '/event-types', '/deliveries', '/task-secret'])
    expect((await send('GET', path, undefined, key)).status, path).toBe(200)
  expect((await send('POST', `/${id}/test`, undefined, key)).status).toBe(200)
  for (const [method, path, body] of [
    ['POST', '', { url: receiver.url }],
    ['PATCH', `/${id}`, {}],
    ['DELETE', `/${id}`],
    ['POST', `/${id}/rotate-secret`, {}],
    ['POST', '/task-secret', {}],
  ] as const)
    expect((await send(method, path, body, key)).json.code, `${method} ${path}`).toBe('access_token_required')
})

test.each([
  ['a private address', { url: 'https://10.0.0.1/' }, 'invalid_field', 'url'],
  ['the address of a cloud', { url: 'http://169.254.169.254/latest' }, 'invalid_field', 'url'],
  ['no URL', { url: 'nothing' }, 'invalid_field', 'url'],
  ['an unknown type', { events: ['order.exploded'] }, 'invalid_field', 'events.0'],
  ['a type that nobody subscribes to', { events: ['webhook.test'] }, 'invalid_field', 'events.0'],
  ['an unknown member', { secret: 'whsec_mine' }, 'unknown_field', 'secret'],
])('an endpoint with %s is refused by the name of the field', async (_what, members, code, field) => {
  const answer = await send('POST', '', { url: receiver.url, ...members })
  expect(answer).toMatchObject({ status: 400, json: { error: 'bad_request', code, field } })
})

test('an account has 20 endpoints at most, however many are asked for at once', async () => {
  const answers = await Promise.all(Array.from({ length: 24 }, () => send('POST', '', { url: receiver.url })))
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(20)
  expect(answers.filter(({ json }) => json.code === 'too_many_webhooks')).toHaveLength(4)
})

test('the secret for URLs of tasks is shown by the call that makes it, and both sign after the next one', async () => {
  expect((await send('GET', '/task-secret')).json).toEqual({ data: null })
  const first = (await send('POST', '/task-secret', {})).json.data
  expect(first).toMatchObject({ secret: expect.stringMatching(/^whsec_/), previous_secret_signs_until: null })
  const second = (await send('POST', '/task-secret', { overlap_seconds: 600 })).json.data
  expect(second.previous_secret_signs_until).toMatch(/Z$/)
  expect((await send('GET', '/task-secret')).json.data).not.toHaveProperty('secret')
  await tell('task_1', { task_id: 'task_1', webhook_url: `${receiver.url}/task` }, 'task.finished')
  await until(() => receiver.got.length === 1, 'it arrives')
  for (const { secret } of [first, second]) verified(receiver.got[0] as Receiver['got'][0], secret)
  await ended()
  expect(await deliveries()).toMatchObject([{ endpoint_id: null, url: `${receiver.url}/task`, event: 'task.finished' }])
})

test('what accounts do to webhooks is in the audit log, without secrets and paths', async () => {
  const { id } = await made({ url: `${receiver.url}/secret-path` })
  await send('PATCH', `/${id}`, { enabled: false })
  await send('POST', `/${id}/rotate-secret`, {})
  await send('DELETE', `/${id}`)
  const rows = await servers.database.sql<{ action: string; text: string }>(
    `select action, to_jsonb(a)::text as text from audit_log a where target_kind = 'webhook' and target_id = $1 order by id`,
    [String(id)],
  )
  expect(rows.map(({ action }) => action)).toEqual([
    'create.webhook',
    'change.webhook',
    'rotate.webhook_secret',
    'remove.webhook',
  ])
  expect(rows.map(({ text }) => text).join('')).not.toMatch(/whsec_|secret-path/)
})

test('metrics say how deliveries went and what waits', async () => {
  await made()
  await tell('order-1')
  await ended()
  const text = (await servers.send('GET', '/metrics')).json as string
  expect(text).toMatch(/farebox_webhook_attempts_total\{outcome="ok"\} \d+/)
  expect(text).toMatch(/farebox_webhook_queue\{waiting="events"\} \d+/)
  expect(text).toMatch(/farebox_webhook_queue\{waiting="deliveries"\} \d+/)
  expect(text).toMatch(/farebox_webhook_lag_seconds \d+/)
})
