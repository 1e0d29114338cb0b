import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Answer, type Person, readAnswer, startTestApp, type TestApp } from '../../test/app.ts'
import {
  capability,
  operation,
  saying,
  startUpstream,
  type Upstream,
  type UpstreamCall,
} from '../capabilities/upstream.fixture.ts'
import { systemClock } from '../kernel/clock.ts'
import { uuidOf } from '../media/tasks/ids.ts'
import { forgetOldContent } from '../media/tasks/service.ts'
import type { JsonObject } from '../providers/provider.ts'
import { capabilityRunners } from './capability-tasks.ts'
import type { Core } from './core.ts'

const DAY_MS = 86_400_000
const SECRET = 'what nobody else may read'
const ANSWER = 'made of what nobody else may read'

let app: TestApp
let upstream: Upstream
let person: Person
let tasks = 0

beforeAll(async () => {
  upstream = await startUpstream()
  const slow = operation('slow', { modes: '[async]' })
  app = await startTestApp({ capabilities: capability('tools', upstream.baseUrl, { v1: [slow] }) })
})
beforeEach(async () => {
  upstream.behaviour = saying({ text: ANSWER })
  person = await app.person()
})
afterEach(async () => expect(await app.audit()).toEqual([]))
afterAll(() => Promise.all([app.stop(), upstream.close()]))

const start = (text = SECRET): Promise<Answer> =>
  app.post('/v1/capabilities/tools/operations/slow', { text }, person, { 'idempotency-key': `key ${tasks++}` })
const idOf = ({ json }: Answer): string => String((json.data as JsonObject).task_id)
const read = async (id: string, query = ''): Promise<JsonObject> =>
  (
    await readAnswer(
      await fetch(`${app.url}/v1/tasks/${id}${query}`, { headers: { authorization: `Bearer ${person.key}` } }),
    )
  ).json
const endedDaysAgo = (id: string, days: number) =>
  app.database.sql(`update tasks set completed_at = now() - $2 * interval '1 day' where id = $1`, [uuidOf(id), days])
const upkeep = () =>
  forgetOldContent({
    db: app.database.db,
    clock: systemClock,
    resultLifeMs: 7 * DAY_MS,
    runners: capabilityRunners({ offer: {}, metrics: {} } as Core),
  })

/** Everything that the database holds, as one text: whatever is kept somewhere is found in it. */
async function everythingKept(): Promise<string> {
  const tables = await app.database.sql<{ name: string }>(
    `select quote_ident(table_name) as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'`,
  )
  const texts = await Promise.all(
    tables.map(({ name }) =>
      app.database.sql<{ kept: string | null }>(`select json_agg(t)::text as kept from ${name} t`),
    ),
  )
  return texts.map(([row]) => row?.kept ?? '').join('\n')
}

test('the input of a task is read while the work needs it, and is nowhere once the task has ended', async () => {
  let call: UpstreamCall | undefined
  upstream.behaviour = (seen) => {
    call = seen
  }
  const id = idOf(await start())
  await expect.poll(() => call).toBeDefined()
  expect((await read(id)).request).toEqual({ capability_version: 'v1', operation: 'slow', input: { text: SECRET } })
  if (call) await saying({ text: 'done' })(call)
  expect(await read(id, '?wait=30')).toMatchObject({
    state: 'success',
    request: { capability_version: 'v1', operation: 'slow' },
    result: { data: { text: 'done' } },
  })
  expect(await everythingKept()).not.toContain(SECRET)
})

test('the input of a task that failed, and of one that was canceled, is nowhere either', async () => {
  upstream.behaviour = saying({}, 500)
  expect(await read(idOf(await start()), '?wait=30')).toMatchObject({ state: 'fail' })
  let call: UpstreamCall | undefined
  upstream.behaviour = (seen) => {
    call = seen
  }
  const id = idOf(await start())
  await expect.poll(() => call).toBeDefined()
  await app.post(`/v1/tasks/${id}/cancel`, {}, person)
  if (call) await saying({}, 500)(call)
  expect(await read(id, '?wait=30')).toMatchObject({ state: 'canceled', request: { operation: 'slow' } })
  expect(await everythingKept()).not.toContain(SECRET)
})

test('what a task gave is forgotten when results expire, in the log of webhooks too, and all else of it stays', async () => {
  const [old, young] = [idOf(await start()), idOf(await start('b'))]
  const [before] = await Promise.all([read(old, '?wait=30'), read(young, '?wait=30')])
  expect(before).toMatchObject({ result: { data: { text: ANSWER } } })
  await endedDaysAgo(old, 8)
  await endedDaysAgo(young, 6)
  await upkeep()
  const { updated_at: _, completed_at: __, ...after } = await read(old)
  expect(after).toMatchObject({ request: {}, result: {}, state: 'success', billing: before.billing as JsonObject })
  expect(await read(young)).toMatchObject({ result: { data: { text: ANSWER } }, request: { operation: 'slow' } })
  const told = await app.database.sql<{ result: JsonObject }>(
    `select payload -> 'result' as result from outbox where object_id = any($1) order by id`,
    [[old, young]],
  )
  expect(told.map(({ result }) => result)).toEqual([{}, { data: { text: ANSWER } }])
})
