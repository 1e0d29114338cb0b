import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Answer, type Person, startTestApp, type TestApp } from '../../test/app.ts'
import { settleLeftBehind } from '../billing/idempotency/service.ts'
import { capability, operation, saying, startUpstream, type Upstream } from './upstream.fixture.ts'

let app: TestApp
let upstream: Upstream
let person: Person

beforeAll(async () => {
  upstream = await startUpstream()
  const operations = [operation('echo'), operation('strict', { idempotency_key_required: 'true' })]
  app = await startTestApp({ capabilities: capability('tools', upstream.baseUrl, { v1: operations }) })
})
beforeEach(async () => {
  upstream.calls.length = 0
  upstream.behaviour = saying({ text: 'pong' })
  person = await app.person()
})
afterEach(async () => expect(await app.audit()).toEqual([]))
afterAll(() => Promise.all([app.stop(), upstream.close()]))

const run = (key: string, body: unknown = { text: 'a' }, name = 'strict'): Promise<Answer> =>
  app.post(`/v1/capabilities/tools/operations/${name}`, body, person, { 'idempotency-key': key })
const CHARGED = { postedMicro: 10_000_000n - 500n, heldMicro: 0n }

test('the same key fifty times at once is one upstream call, one hold and one charge', async () => {
  const answers = await Promise.all(Array.from({ length: 50 }, () => run('burst')))
  const statuses = answers.map(({ status }) => status)
  expect(statuses).toContain(200)
  expect(new Set(statuses).difference(new Set([200, 409])).size).toBe(0)
  for (const { json } of answers.filter(({ status }) => status === 409)) expect(json.code).toBe('request_in_progress')
  expect(new Set(answers.filter(({ status }) => status === 200).map(({ text }) => text)).size).toBe(1)
  expect(upstream.calls.length).toBe(1)
  expect((await app.holds(person)).length).toBe(1)
  expect(await app.balance(person)).toEqual(CHARGED)
})

test('a repeat is given the stored answer, whatever the upstream would say now', async () => {
  const first = await run('again')
  upstream.behaviour = saying({ text: 'other' })
  const again = await run('again')
  expect(again.text).toBe(first.text)
  expect([again.status, again.headers.get('idempotent-replayed'), again.headers.get('x-call-id')]).toEqual([
    200,
    'true',
    first.headers.get('x-call-id'),
  ])
  expect(upstream.calls.length).toBe(1)
  expect(await app.balance(person)).toEqual(CHARGED)
})

test('the same key with another body, mode or version is a 409 that does nothing', async () => {
  await run('taken')
  for (const body of [{ text: 'b' }, { mode: 'sync', input: { text: 'a' } }]) {
    const { status, json } = await run('taken', body)
    expect([status, json.code]).toEqual([409, 'idempotency_conflict'])
  }
  const versioned = await app.post('/v1/capabilities/tools/operations/strict?version=v1', { text: 'a' }, person, {
    'idempotency-key': 'taken',
  })
  expect([versioned.status, versioned.json.code]).toEqual([409, 'idempotency_conflict'])
  expect(upstream.calls.length).toBe(1)
})

test('a key is free again after what charged nothing, and taken for good after what was lost', async () => {
  expect((await run('tried', { text: 5 })).status).toBe(400)
  upstream.behaviour = saying({}, 500)
  expect((await run('tried')).status).toBe(502)
  upstream.behaviour = ({ response }) => void response.destroy()
  const lost = await run('tried')
  upstream.behaviour = saying({ text: 'pong' })
  const again = await run('tried')
  expect([lost.status, again.status, again.text === lost.text]).toEqual([504, 504, true])
  expect(again.headers.get('idempotent-replayed')).toBe('true')
  expect(upstream.calls.length).toBe(2)
  expect(await app.balance(person)).toEqual({ postedMicro: 10_000_000n, heldMicro: 500n })
})

test('after its server died in the middle, a repeat is told so: the work is not done again and one hold stays', async () => {
  const { promise: asked, resolve: arrived } = Promise.withResolvers<void>()
  const { promise: mayAnswer, resolve: answerNow } = Promise.withResolvers<void>()
  upstream.behaviour = async (call) => {
    arrived()
    await mayAnswer
    await saying({ text: 'late' })(call)
  }
  const running = run('crash')
  await asked
  expect((await run('crash')).json.code).toBe('request_in_progress')
  // what another process does once it knows that this one is gone
  await settleLeftBehind(app.database.db, app.app.processId, { freesUnbegun: true })
  const repeat = await run('crash')
  expect([repeat.status, repeat.json.code, repeat.headers.get('idempotent-replayed')]).toEqual([
    502,
    'upstream_interrupted',
    'true',
  ])
  expect(upstream.calls.length).toBe(1)
  expect((await app.holds(person)).length).toBe(1)
  answerNow()
  await running
})

test('the answer is not given to a key that was revoked since', async () => {
  await run('revoked', { text: 'a' }, 'echo')
  await app.database.sql('update api_keys set revoked_at = now() where id = $1', [person.keyId])
  expect((await run('revoked', { text: 'a' }, 'echo')).status).toBe(401)
})
