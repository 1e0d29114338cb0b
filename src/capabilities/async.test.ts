import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Answer, type Person, readAnswer, startTestApp, type TestApp } from '../../test/app.ts'
import type { JsonObject } from '../providers/provider.ts'
import { capability, operation, saying, startUpstream, type Upstream } from './upstream.fixture.ts'

let app: TestApp
let upstream: Upstream
let person: Person

beforeAll(async () => {
  upstream = await startUpstream()
  const operations = [
    operation('slow', { modes: '[async]', eta_seconds: '7' }),
    operation('either', {
      modes: '[sync, async]',
      output_schema: '{}',
      price: '{ kind: output_units, unit: word, micro: 7, at: /words, units_max: 100 }',
    }),
  ]
  app = await startTestApp({ capabilities: capability('tools', upstream.baseUrl, { v1: operations }) })
})
beforeEach(async () => {
  upstream.calls.length = 0
  upstream.behaviour = saying({ text: 'pong' })
  person = await app.person()
})
afterEach(async () => expect(await app.audit()).toEqual([]))
afterAll(() => Promise.all([app.stop(), upstream.close()]))

const run = (name: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> =>
  app.post(`/v1/capabilities/tools/operations/${name}`, body, person, headers)

/** The task once it has ended. */
async function ended({ json }: Answer): Promise<JsonObject> {
  const { poll_url: pollUrl } = json.data as JsonObject
  let task: JsonObject = {}
  await expect
    .poll(
      async () => {
        const answer = await fetch(`${app.url}${String(pollUrl)}?wait=1`, {
          headers: { authorization: `Bearer ${person.key}` },
        })
        task = (await readAnswer(answer)).json
        return (task.billing as JsonObject | undefined)?.status
      },
      { timeout: 30_000 },
    )
    .not.toBe('reserved')
  return task
}

test('an asynchronous operation is a task that is held at once, and charged when it is done', async () => {
  const answer = await run('slow', { text: 'a' })
  expect(answer.status).toBe(202)
  expect(answer.json).toMatchObject({
    capability: 'tools',
    capability_version: 'v1',
    operation: 'slow',
    mode: 'async',
    data: {
      object: 'task',
      type: 'capability',
      capability_slug: 'tools',
      capability_version: 'v1',
      eta_hint_seconds: 7,
    },
    billing: { status: 'reserved', reserve_amount_micro: 500, actual_amount_micro: null },
  })
  expect(answer.headers.get('location')).toBe((answer.json.data as JsonObject).poll_url)
  const task = await ended(answer)
  expect(task).toMatchObject({
    state: 'success',
    result: { data: { text: 'pong' } },
    billing: { status: 'committed', actual_amount_micro: 500 },
  })
  expect(upstream.calls.length).toBe(1)
  expect(await app.balance(person)).toEqual({ postedMicro: 10_000_000n - 500n, heldMicro: 0n })
})

test('a mode is chosen where both are offered, and units are charged by the answer', async () => {
  upstream.behaviour = saying({ words: 3 })
  expect((await run('either', { text: 'a' })).status).toBe(200)
  const answer = await run('either', { mode: 'async', input: { text: 'a' } })
  expect(answer.status).toBe(202)
  expect((await ended(answer)).billing).toMatchObject({ reserve_amount_micro: 700, actual_amount_micro: 21 })
  const { status, json } = await run('slow', { mode: 'sync', input: { text: 'a' } })
  expect([status, json.code, json.pointer]).toEqual([400, 'invalid_field', '/mode'])
})

test('a task whose upstream fails costs nothing, and one that is lost stays held', async () => {
  upstream.behaviour = saying({}, 500)
  expect(await ended(await run('slow', { text: 'a' }))).toMatchObject({
    state: 'fail',
    error: { code: 'upstream_failed' },
    billing: { status: 'released', actual_amount_micro: 0 },
  })
  upstream.behaviour = ({ response }) => void response.destroy()
  expect((await ended(await run('slow', { text: 'a' }))).billing).toMatchObject({ status: 'usage_unknown' })
  expect(await app.balance(person)).toEqual({ postedMicro: 10_000_000n, heldMicro: 500n })
})

test('the same key twenty times at once is one task', async () => {
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => run('slow', { text: 'a' }, { 'idempotency-key': 'one' })),
  )
  const made = answers.filter(({ status }) => status === 202)
  expect(new Set(made.map(({ text }) => text)).size).toBe(1)
  expect(answers.every(({ status }) => status === 202 || status === 409)).toBe(true)
  await ended(made[0] as Answer)
  expect(upstream.calls.length).toBe(1)
  expect((await app.holds(person)).length).toBe(1)
})
