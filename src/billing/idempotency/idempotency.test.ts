import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Answer, type Person, startTestApp, type TestApp, until } from '../../../test/app.ts'
import { answering, gated, hangingUp, refusing } from '../../../test/mock-provider.ts'
import { raceRepeats, repeatedRace } from '../../../test/races/repeated.ts'
import type { JsonObject } from '../../providers/provider.ts'
import { pruneAnswers } from './service.ts'

/** The long form: npm run test:races, 200 repetitions. */
const REPEATS = raceRepeats(2)

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
  expect(await app.audit()).toEqual([])
})
afterAll(() => app.stop())

const named = (key: string, fields: JsonObject = {}): Promise<Answer> =>
  app.chat(person, fields, { 'idempotency-key': key })
const PATH = '/v1/chat/completions'
const COST = 65n

describe.each([
  ['plain', {}],
  ['streamed', { stream: true, stream_options: { include_usage: true } }],
])('a %s call that named itself', (_kind, kind) => {
  test('is answered to repeats with the same bytes, and charged once', async () => {
    const first = await named('once', kind)
    const again = await named('once', kind)
    expect(first.status).toBe(200)
    expect(first.headers.get('idempotent-replayed')).toBeNull()
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    expect(again.text).toBe(first.text)
    for (const header of [
      'content-type',
      'x-call-id',
      'x-credits-held-micro',
      'x-credits-charged-micro',
      'x-credits-available-micro',
    ])
      expect(again.headers.get(header)).toBe(first.headers.get(header))
    expect(app.mock.calls.length).toBe(1)
    expect(await app.balance(person)).toEqual({ postedMicro: 10_000_000n - COST, heldMicro: 0n })
  })

  test('is the same call whatever the order of its members and its spaces', async () => {
    const first = await app.post(
      PATH,
      JSON.stringify({ model: 'mock-model', messages: [{ role: 'user', content: 'é' }], ...kind }),
      person,
      { 'idempotency-key': 'order' },
    )
    const again = await app.post(
      PATH,
      JSON.stringify({ ...kind, messages: [{ content: '\u00e9', role: 'user' }], model: 'mock-model' }, null, 2),
      person,
      { 'idempotency-key': 'order' },
    )
    expect(again.text).toBe(first.text)
    expect(app.mock.calls.length).toBe(1)
  })

  test('with another body is a 409 that no client repeats by itself', async () => {
    await named('other', kind)
    const other = await named('other', { ...kind, seed: 1 })
    expect([other.status, other.json.error, other.headers.get('x-should-retry')]).toEqual([
      409,
      'idempotency_conflict',
      'false',
    ])
    expect(app.mock.calls.length).toBe(1)
  })

  test('and still runs is a 409 with Retry-After', async () => {
    const { behaviour, open } = gated(answering())
    app.mock.behaviour = behaviour
    const running = named('running', kind)
    await app.mock.arrived(1)
    const repeat = await named('running', kind)
    expect([
      repeat.status,
      repeat.json.error,
      repeat.headers.get('retry-after'),
      repeat.headers.get('retry-after-ms'),
    ]).toEqual([409, 'request_in_progress', '1', '1000'])
    open()
    expect((await running).status).toBe(200)
    expect((await named('running', kind)).headers.get('idempotent-replayed')).toBe('true')
  })

  test('fifty times at once is one call, one hold and one charge', async () => {
    const answers = await Promise.all(Array.from({ length: 50 }, () => named('burst', kind)))
    const statuses = answers.map(({ status }) => status)
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(1)
    expect(new Set(statuses).difference(new Set([200, 409])).size).toBe(0)
    expect(new Set(answers.filter(({ status }) => status === 200).map(({ text }) => text)).size).toBe(1)
    expect(app.mock.calls.length).toBe(1)
    expect((await app.holds(person)).length).toBe(1)
    expect(await app.balance(person)).toEqual({ postedMicro: 10_000_000n - COST, heldMicro: 0n })
  })

  test('and was refused for want of Credits runs under the same key after a top-up', async () => {
    person = await app.person({ creditsMicro: 0n })
    expect((await named('poor', kind)).status).toBe(402)
    await app.topUp(person, 1_000_000n)
    const answer = await named('poor', kind)
    expect([answer.status, answer.headers.get('idempotent-replayed')]).toEqual([200, null])
    expect(app.mock.calls.length).toBe(1)
  })

  test('and failed for free runs again under the same key', async () => {
    app.mock.next(refusing(500))
    app.backup.behaviour = refusing(500)
    expect((await named('again', kind)).status).toBe(502)
    expect((await named('again', kind)).status).toBe(200)
    expect((await app.balance(person)).heldMicro).toBe(0n)
  })

  test('and was lost is never run again: its answer is kept, and one hold stays', async () => {
    app.mock.behaviour = hangingUp
    const first = await named('lost', kind)
    app.mock.behaviour = answering()
    const again = await named('lost', kind)
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    expect([again.status, again.text]).toEqual([first.status, first.text])
    expect(app.mock.calls.length).toBe(1)
    expect(await app.holds(person)).toMatchObject([{ flag: 'usage_unknown' }])
  })

  test('is not replayed to a key that was revoked or to an account that was banned since', async () => {
    await named('revoked', kind)
    await app.database.sql('update api_keys set revoked_at = now() where id = $1', [person.keyId])
    expect((await named('revoked', kind)).status).toBe(401)
    await app.database.sql('update api_keys set revoked_at = null where id = $1', [person.keyId])
    await app.database.sql(`update accounts set status = 'banned' where id = $1`, [person.accountId])
    expect((await named('revoked', kind)).status).toBe(403)
  })
})

test('of different bodies under one key at once, many copies of each, one is done and billed: its copies get its answer, the others are told to choose another key', {
  timeout: 20_000 + REPEATS * 2_000,
}, async () => {
  const bodies = [0, 1, 2, 3].map((seed) => ({ seed, ...(seed % 2 === 0 ? {} : { stream: true }) }))
  const ways = bodies.map(({ seed }) => `body ${seed}`)
  await repeatedRace('one key, different bodies', REPEATS, ways, async (turn) => {
    person = await app.person()
    app.mock.calls.length = 0
    // copies of all bodies in turn, each turn beginning with another one
    const sent = Array.from({ length: 24 }, (_, n) => bodies[(n + turn) % bodies.length] as (typeof bodies)[number])
    const answers = await Promise.all(sent.map((body) => named('shared', body)))
    expect(app.mock.calls.length).toBe(1)
    const winner = app.mock.calls[0]?.body.seed as number
    const first = answers.find(({ status, headers }) => status === 200 && !headers.has('idempotent-replayed'))
    const requestId = first?.headers.get('x-request-id')
    expect(requestId).toEqual(expect.any(String))
    for (const [n, { status, text, json }] of answers.entries()) {
      if (sent[n]?.seed !== winner)
        expect([status, json.code, json.original_request_id]).toEqual([409, 'idempotency_conflict', requestId])
      else if (status !== 200)
        expect([status, json.code, json.original_request_id]).toEqual([409, 'request_in_progress', requestId])
      else expect(text).toBe(first?.text)
    }
    // and whoever asks again when it is over
    for (const body of bodies) {
      const again = await named('shared', body)
      if (body.seed === winner) expect([again.status, again.text]).toEqual([200, first?.text])
      else expect([again.status, again.json.code]).toEqual([409, 'idempotency_conflict'])
    }
    expect(app.mock.calls.length).toBe(1)
    expect(await app.holds(person)).toMatchObject([{ request_id: requestId, kind: 'captured', actual_micro: COST }])
    expect(await app.balance(person)).toEqual({ postedMicro: 10_000_000n - COST, heldMicro: 0n })
    return `body ${winner}`
  })
})

test('a key belongs to its account: another account’s call under the same key is its own', async () => {
  const first = await named('mine')
  person = await app.person()
  const other = await named('mine')
  expect(other.headers.get('idempotent-replayed')).toBeNull()
  expect(other.headers.get('x-call-id')).not.toBe(first.headers.get('x-call-id'))
  expect(app.mock.calls.length).toBe(2)
})

test.each([
  ['empty', ''],
  ['too long', 'k'.repeat(129)],
  ['not ASCII', 'ké'],
  ['with a tab', 'a\tb'],
])('a key that is %s is a 400, and nothing is done', async (_what, key) => {
  const answer = await named(key)
  expect([answer.status, answer.json.error, answer.json.code]).toEqual([400, 'bad_request', 'invalid_idempotency_key'])
  expect(app.mock.calls.length).toBe(0)
})

test('a key of 128 printable characters is taken', async () => {
  expect((await named('~'.repeat(64) + '!'.repeat(64))).status).toBe(200)
})

test('a stream whose client left is recorded to its end, so that the repeat gets all of it', async () => {
  const { behaviour, open } = gated(answering({ content: 'the whole of it' }))
  app.mock.behaviour = behaviour
  const leaving = new AbortController()
  const body = JSON.stringify({ model: 'mock-model', messages: [{ role: 'user', content: 'ping' }], stream: true })
  const gone = fetch(app.url + PATH, {
    method: 'POST',
    signal: leaving.signal,
    headers: { authorization: `Bearer ${person.key}`, 'content-type': 'application/json', 'idempotency-key': 'left' },
    body,
  }).catch(() => undefined)
  await app.mock.arrived(1)
  leaving.abort()
  await gone
  open()
  await until(async () => (await app.holds(person))[0]?.kind === 'captured', 'captured')
  await until(async () => (await named('left', { stream: true })).status === 200, 'the answer is kept')
  expect((await named('left', { stream: true })).text).toContain('the whole of it')
  expect(app.mock.calls.length).toBe(1)
})

test('answers are forgotten after a day, and younger ones stay', async () => {
  await named('old')
  await named('young')
  await app.database.sql(
    `update idempotency_keys set created_at = now() - interval '25 hours' where account_id = $1 and key = 'old'`,
    [person.accountId],
  )
  expect(await pruneAnswers(app.database.db)).toBe(1)
  expect((await named('old')).headers.get('idempotent-replayed')).toBeNull()
  expect((await named('young')).headers.get('idempotent-replayed')).toBe('true')
})

test('an answer that is too long to be kept is a 409 for repeats, never a second call', async () => {
  app.mock.behaviour = answering({ content: 'x'.repeat(8 * 1024 * 1024) })
  expect((await named('long')).status).toBe(200)
  const repeat = await named('long')
  expect([repeat.status, repeat.json.error]).toEqual([409, 'answer_not_kept'])
  expect(app.mock.calls.length).toBe(1)
})

test('a body with -0 and exponents has a fingerprint like any other', async () => {
  const body = (x: string) =>
    `{"model":"mock-model","messages":[{"role":"user","content":"a"}],"temperature":-0,"x":${x}}`
  const first = await app.post(PATH, body('1e-7'), person, { 'idempotency-key': 'odd' })
  const again = await app.post(PATH, body('0.0000001'), person, { 'idempotency-key': 'odd' })
  expect([first.status, again.status, again.text]).toEqual([200, 200, first.text])
  expect(app.mock.calls.length).toBe(1)
})

test('a body with lone surrogates has no canonical form, so under a key it is a 400 and nothing is done', async () => {
  const answer = await app.post(
    PATH,
    '{"model":"mock-model","messages":[{"role":"user","content":"\\ud800"}]}',
    person,
    { 'idempotency-key': 'odd' },
  )
  expect([answer.status, answer.json.code]).toEqual([400, 'invalid_body'])
  expect(answer.json.message).toMatch(/lone surrogate/)
  expect(app.mock.calls.length).toBe(0)
})

test('a body of ten thousand levels has a fingerprint like any other', async () => {
  const body = `{"model":"mock-model","messages":[{"role":"user","content":"a"}],"x":${'['.repeat(10_000)}${']'.repeat(10_000)}}`
  const answers = [
    await app.post(PATH, body, person, { 'idempotency-key': 'deep' }),
    await app.post(PATH, body, person, { 'idempotency-key': 'deep' }),
  ]
  expect(answers.map(({ status, headers }) => [status, headers.get('idempotent-replayed')])).toEqual([
    [200, null],
    [200, 'true'],
  ])
})
