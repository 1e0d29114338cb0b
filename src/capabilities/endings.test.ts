import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Answer, type Person, startTestApp, type TestApp, UPSTREAM_KEY } from '../../test/app.ts'
import {
  capability,
  operation,
  saying,
  startUpstream,
  type Upstream,
  type UpstreamBehaviour,
} from './upstream.fixture.ts'

let app: TestApp
let upstream: Upstream
let person: Person

beforeAll(async () => {
  upstream = await startUpstream()
  const free = operation('free', { price: '{ kind: fixed, micro: 0 }' })
  app = await startTestApp({
    capabilities:
      capability('tools', upstream.baseUrl, { v1: [operation('echo'), free] }) +
      capability('hasty', upstream.baseUrl, { v1: [operation('echo')] }, '', 200) +
      capability('gone', 'http://127.0.0.1:1', { v1: [operation('echo')] }),
  })
})
beforeEach(async () => {
  upstream.calls.length = 0
  upstream.behaviour = saying({ text: 'pong' })
  person = await app.person()
})
afterEach(async () => expect(await app.audit()).toEqual([]))
afterAll(() => Promise.all([app.stop(), upstream.close()]))

const run = (name = 'echo', slug = 'tools'): Promise<Answer> =>
  app.post(`/v1/capabilities/${slug}/operations/${name}`, { text: 'a prompt' }, person)

const UNTOUCHED = { postedMicro: 10_000_000n, heldMicro: 0n }

test('the upstream is told which call it is and gets its secret header, which is told to nobody', async () => {
  upstream.behaviour = saying({ error: { message: `bad key ${UPSTREAM_KEY}` } }, 422)
  const answer = await run()
  const [call] = upstream.calls
  const [hold] = await app.holds(person)
  expect(call?.headers).toMatchObject({
    authorization: `Bearer ${UPSTREAM_KEY}`,
    'x-kind': 'test',
    'x-request-id': answer.headers.get('x-request-id'),
    'x-farebox-account-id': String(person.accountId),
    'x-farebox-call-id': String(hold?.id),
    'idempotency-key': String(hold?.id),
  })
  expect(call?.headers).not.toHaveProperty('cookie')
  expect(answer.text).not.toContain(UPSTREAM_KEY)
  expect(app.log.join('')).not.toContain(UPSTREAM_KEY)
  expect(app.log.join('')).not.toContain('a prompt')
})

const cut: UpstreamBehaviour = ({ response }) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' })
  response.write('{"text":', () => response.destroy())
}

const refusals: ReadonlyArray<[string, UpstreamBehaviour, number, string]> = [
  ['refuses the request', saying({ message: 'text is rude' }, 422), 400, 'upstream_refused'],
  ['does not know our key', saying({}, 401), 502, 'upstream_failed'],
  ['is overloaded', saying({}, 429), 502, 'upstream_failed'],
  ['fails', saying({}, 500), 502, 'upstream_failed'],
  [
    'points elsewhere',
    ({ response }) => void response.writeHead(302, { location: 'http://127.0.0.1:9/' }).end(),
    502,
    'upstream_failed',
  ],
  ['answers outside its schema', saying({ texts: 1 }), 502, 'upstream_answer_invalid'],
  ['answers with what is no JSON', ({ response }) => void response.end('<html>'), 502, 'upstream_answer_invalid'],
  ['answers with nothing', ({ response }) => void response.writeHead(204).end(), 502, 'upstream_answer_invalid'],
]

test.each(refusals)('an upstream that %s costs nothing', async (_, behaviour, status, code) => {
  upstream.behaviour = behaviour
  const answer = await run()
  expect([answer.status, answer.json.code]).toEqual([status, code])
  expect(await app.balance(person)).toEqual(UNTOUCHED)
  expect(await app.holds(person)).toMatchObject([{ kind: 'voided', flag: null }])
  expect(upstream.calls.length).toBe(1)
})

test('an upstream that cannot be reached costs nothing', async () => {
  const answer = await run('echo', 'gone')
  expect([answer.status, answer.json.code]).toEqual([502, 'upstream_failed'])
  expect(await app.balance(person)).toEqual(UNTOUCHED)
})

const losses: ReadonlyArray<[string, UpstreamBehaviour]> = [
  ['hangs up after it was asked', ({ response }) => void response.destroy()],
  ['breaks off in the middle of its answer', cut],
  ['says more than it may', saying({ text: 'x'.repeat(4000) })],
]

test.each(losses)('what an upstream did that %s is unknown: the hold stays and is listed', async (_, behaviour) => {
  upstream.behaviour = behaviour
  const answer = await run()
  const [hold] = await app.holds(person)
  expect([answer.status, answer.json.code, answer.json.call_id]).toEqual([504, 'upstream_timeout', String(hold?.id)])
  expect(answer.headers.get('x-should-retry')).toBe('false')
  expect(hold).toMatchObject({ kind: null, flag: 'usage_unknown', reserve_micro: 500n })
  expect(await app.balance(person)).toEqual({ postedMicro: 10_000_000n, heldMicro: 500n })
})

test('what an upstream did that never answers is unknown, too', async () => {
  upstream.behaviour = () => undefined
  const answer = await run('echo', 'hasty')
  expect([answer.status, answer.json.code]).toEqual([504, 'upstream_timeout'])
  expect(await app.balance(person)).toEqual({ postedMicro: 10_000_000n, heldMicro: 500n })
})

test('a free call that is lost is a failure and holds nothing', async () => {
  upstream.behaviour = ({ response }) => void response.destroy()
  const answer = await run('free')
  expect([answer.status, answer.json.code]).toEqual([502, 'upstream_failed'])
  expect(await app.holds(person)).toEqual([])
})

test('an answer is charged although its caller has left', async () => {
  const { promise: asked, resolve: arrived } = Promise.withResolvers<void>()
  const { promise: mayAnswer, resolve: answerNow } = Promise.withResolvers<void>()
  upstream.behaviour = async (call) => {
    arrived()
    await mayAnswer
    await saying({ text: 'late' })(call)
  }
  const left = new AbortController()
  const call = fetch(`${app.url}/v1/capabilities/tools/operations/echo`, {
    method: 'POST',
    headers: { authorization: `Bearer ${person.key}`, 'content-type': 'application/json' },
    body: '{"text":"a"}',
    signal: left.signal,
  }).catch(() => 'left')
  await asked
  left.abort()
  expect(await call).toBe('left')
  answerNow()
  await expect
    .poll(() => app.balance(person), { timeout: 30_000 })
    .toEqual({ postedMicro: 10_000_000n - 500n, heldMicro: 0n })
})
