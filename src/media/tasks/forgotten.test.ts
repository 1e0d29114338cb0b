import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Answer, type Person, readAnswer, startTestApp, type TestApp } from '../../../test/app.ts'
import { MEDIA_MODELS, scriptedMedia } from '../../../test/tasks/media.ts'
import { systemClock } from '../../kernel/clock.ts'
import { uuidOf } from './ids.ts'
import { forgetOldContent } from './service.ts'

const DAY_MS = 86_400_000
const media = scriptedMedia()
let app: TestApp
let person: Person

beforeAll(async () => {
  app = await startTestApp({ mediaModels: MEDIA_MODELS, media: media.parts })
  person = await app.person()
})
afterAll(() => app.stop())

const make = (prompt: string): Promise<Answer> => app.post('/v1/images/generations', { model: 'image', prompt }, person)
const get = async (task: Answer, query = '', headers: Record<string, string> = {}): Promise<Answer> =>
  readAnswer(
    await fetch(`${app.url}${task.json.poll_url}${query}`, {
      headers: { authorization: `Bearer ${person.key}`, ...headers },
    }),
  )
const endedDaysAgo = (task: Answer, days: number) =>
  app.database.sql(`update tasks set completed_at = now() - $2 * interval '1 day' where id = $1`, [
    uuidOf(String(task.json.task_id)),
    days,
  ])
const upkeep = () =>
  forgetOldContent({ db: app.database.db, clock: systemClock, resultLifeMs: 7 * DAY_MS, runners: {} })

test('what was asked for is forgotten when the results have expired, and all else of the task stays', async () => {
  media.mock.eager = true
  const [old, young] = [await make('an old secret'), await make('a young secret')]
  for (const task of [old, young]) await get(task, '?wait=30')
  await endedDaysAgo(old, 8)
  await endedDaysAgo(young, 6)
  const before = await get(old)
  media.mock.eager = false
  const running = await make('a secret at work')
  await upkeep()
  const after = await get(old)
  expect(after.json).toEqual({ ...before.json, request: {} })
  expect((await get(old, '', { 'if-none-match': String(before.headers.get('etag')) })).status).toBe(200)
  for (const [task, prompt] of [
    [young, 'a young secret'],
    [running, 'a secret at work'],
  ] as const)
    expect((await get(task)).json.request).toMatchObject({ prompt })
  const everything = await app.database.sql<{ kept: string }>(
    `select (select json_agg(t)::text from tasks t) || (select json_agg(a)::text from task_attempts a)
       || (select json_agg(o)::text from outbox o) || (select json_agg(h)::text from holds h) as kept`,
  )
  expect(everything[0]?.kept).toContain('a young secret')
  expect(everything[0]?.kept).not.toContain('an old secret')
})
