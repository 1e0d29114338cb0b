import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Answer, type Person, readAnswer, startTestApp, type TestApp, until } from '../../../test/app.ts'
import { MEDIA_MODELS, made, scriptedMedia } from '../../../test/tasks/media.ts'
import { uuidOf } from './ids.ts'
import { complete } from './working/store.ts'

const media = scriptedMedia()
const { mock } = media
let app: TestApp
let person: Person
const OPEN = 'select id from tasks where completed_at is null'

beforeAll(async () => {
  app = await startTestApp({ mediaModels: MEDIA_MODELS, media: media.parts })
})
afterAll(() => app.stop())
beforeEach(async () => {
  // what the test before left undone would be counted here
  await until(async () => (await app.database.sql(OPEN)).length === 0, 'nothing is left undone')
  person = await app.person()
  Object.assign(mock, { eager: false, findable: false, script: undefined })
  for (const seen of [mock.submissions, mock.polls, mock.cancels]) seen.length = 0
})

const make = (fields: object = {}): Promise<Answer> =>
  app.post('/v1/images/generations', { model: 'image', prompt: 'x', ...fields }, person)
const get = async (path: string, headers: Record<string, string> = {}, who = person): Promise<Answer> =>
  readAnswer(await fetch(app.url + path, { headers: { authorization: `Bearer ${who.key}`, ...headers } }))
const cancel = (task: Answer, who = person): Promise<Answer> => app.post(`${task.json.poll_url}/cancel`, {}, who)
const ended = async (task: Answer): Promise<Answer['json']> => (await get(`${task.json.poll_url}?wait=30`)).json
const atProvider = (count = 1) => until(() => mock.submissions.length === count, 'the provider has it')
const untouched = { postedMicro: 10_000_000n, heldMicro: 0n }
const charged = { postedMicro: 9_960_000n, heldMicro: 0n }

describe('reading', () => {
  test('another account is refused with 403, an id that never was with 404, and both alike for a cancel', async () => {
    mock.eager = true
    const task = await make()
    const stranger = await app.person()
    for (const answer of [await get(String(task.json.poll_url), {}, stranger), await cancel(task, stranger)])
      expect([answer.status, answer.json.code]).toEqual([403, 'not_original_account'])
    for (const id of ['task_00000000000000000000000000000000', 'task_1', '1']) {
      expect((await get(`/v1/tasks/${id}`)).json.code).toBe('task_not_found')
      expect((await app.post(`/v1/tasks/${id}/cancel`, {}, person)).json.code).toBe('task_not_found')
    }
    await ended(task)
  })

  test('a task that has not changed is 304 without a body, says when to come back and is never stored', async () => {
    const task = await make()
    await atProvider()
    await until(async () => (await get(String(task.json.poll_url))).json.state === 'generating', 'it is generating')
    const first = await get(String(task.json.poll_url))
    const etag = String(first.headers.get('etag'))
    const second = await get(String(task.json.poll_url), { 'if-none-match': etag })
    expect([second.status, second.text, second.headers.get('etag')]).toEqual([304, '', etag])
    for (const answer of [first, second]) {
      expect(answer.headers.get('cache-control')).toBe('no-store')
      expect(answer.headers.get('retry-after')).toBe('1')
    }
    mock.finish(0)
    await ended(task)
    const third = await get(String(task.json.poll_url), { 'if-none-match': etag })
    expect([third.status, third.json.state, third.headers.get('retry-after')]).toEqual([200, 'success', null])
  })

  test('a long poll with an ETag answers at the next change, and one without at the end', async () => {
    const task = await make()
    await atProvider()
    mock.running(0, 'generating', 0.25)
    await until(async () => (await get(String(task.json.poll_url))).json.progress === 25, 'it is at 25')
    const seen = await get(String(task.json.poll_url))
    const change = get(`${task.json.poll_url}?wait=30`, { 'if-none-match': String(seen.headers.get('etag')) })
    const end = get(`${task.json.poll_url}?wait=30`)
    mock.running(0, 'generating', 0.75)
    expect((await change).json).toMatchObject({ state: 'generating', progress: 75 })
    mock.finish(0)
    expect((await end).json).toMatchObject({ state: 'success', progress: 100 })
  })

  test('two hundred long polls at once are answered by one end, with few statements between them', async () => {
    const task = await make()
    await atProvider()
    const polls = Array.from({ length: 200 }, () => get(`${task.json.poll_url}?wait=30`))
    mock.finish(0)
    const states = (await Promise.all(polls)).map(({ json }) => json.state)
    expect(new Set(states)).toEqual(new Set(['success']))
  })

  test('the list has the newest first, is paged by a cursor, filtered, and has nobody else’s', async () => {
    mock.eager = true
    const made = [await make(), await make(), await make({ model: 'image', n: 2 })]
    for (const task of made) await ended(task)
    const ids = made.map(({ json }) => json.task_id).reverse()
    const first = await get('/v1/tasks?limit=2')
    const second = await get(`/v1/tasks?limit=2&cursor=${first.json.next_cursor}`)
    const listed = [first, second].flatMap(({ json }) =>
      (json.data as { task_id: string }[]).map(({ task_id }) => task_id),
    )
    expect(listed).toEqual(ids)
    expect(second.json.next_cursor).toBe('')
    expect((await get('/v1/tasks?state=fail')).json.data).toEqual([])
    expect((await get('/v1/tasks?type=video')).json.data).toEqual([])
    expect((await get('/v1/tasks', {}, await app.person())).json.data).toEqual([])
    expect((await get('/v1/tasks?cursor=nonsense')).json.code).toBe('invalid_parameter')
  })
})

describe('cancelling', () => {
  test('before a provider has it ends the task, releases all of it, and the provider never hears of it', async () => {
    // the provider is busy with the first attempt of nothing: the task waits for its next round
    mock.script = () => ({ kind: 'refused', status: 429, message: 'busy', retryable: true, retryAfterMs: 60_000 })
    media.backup.script = mock.script
    const task = await make()
    await until(() => media.backup.submissions.length > 0, 'both have refused')
    await until(async () => (await openAttempts(task)) === 0, 'nothing is open')
    const answer = await cancel(task)
    expect(answer.json).toMatchObject({
      state: 'canceled',
      billing: { status: 'released', released_amount_micro: 40_000 },
    })
    const again = await cancel(task)
    expect([again.status, again.json.completed_at]).toEqual([200, answer.json.completed_at])
    expect(mock.submissions).toHaveLength(1)
    expect(await app.balance(person)).toEqual(untouched)
  })

  test.each([
    [false, 'canceled', 'released', untouched],
    [true, 'canceled', 'committed', charged],
    [undefined, 'canceled', 'usage_unknown', { postedMicro: 10_000_000n, heldMicro: 40_000n }],
  ])(
    'after dispatch asks the provider once and charges what it charges: %s',
    async (billed, state, status, balance) => {
      const task = await make()
      await atProvider()
      const [one, two] = await Promise.all([cancel(task), cancel(task)])
      for (const { json } of [one, two])
        expect(json).toMatchObject({ state: expect.stringMatching(/ing$/), cancel_requested: true })
      await until(() => mock.cancels.length > 0, 'the provider is asked')
      mock.finish(0, { kind: 'failed', code: 'canceled', message: 'stopped', billed })
      expect(await ended(task)).toMatchObject({ state, billing: { status }, cancel_requested: false })
      expect(mock.cancels).toHaveLength(1)
      expect(await app.balance(person)).toEqual(balance)
    },
  )

  test('that comes too late changes nothing: what was made is delivered and charged', async () => {
    const task = await make()
    await atProvider()
    await cancel(task)
    mock.finish(0)
    expect(await ended(task)).toMatchObject({ state: 'success', billing: { status: 'committed' } })
    const after = await cancel(task)
    expect([after.status, after.json.state]).toEqual([200, 'success'])
    expect(await app.balance(person)).toEqual(charged)
  })

  test('against an end at the same moment leaves one end and money that fits it, many times over', async () => {
    const tasks = []
    for (let n = 0; n < 12; n++) tasks.push(await make())
    await atProvider(12)
    await Promise.all(
      tasks.map(async (task, n) => {
        mock.finish(n, n % 2 === 0 ? made() : { kind: 'failed', code: 'x', message: 'x', billed: false })
        await Promise.all([cancel(task), cancel(task)])
      }),
    )
    const ends = await Promise.all(tasks.map(ended))
    for (const end of ends) {
      const { status } = end.billing as { status: string }
      expect([end.state === 'success', status]).toEqual([
        end.state === 'success',
        end.state === 'success' ? 'committed' : 'released',
      ])
    }
    const delivered = BigInt(ends.filter(({ state }) => state === 'success').length)
    expect(delivered).toBe(6n)
    expect(await app.balance(person)).toEqual({ postedMicro: 10_000_000n - delivered * 40_000n, heldMicro: 0n })
  })

  test('before anybody has claimed it, two at once for each of twenty leave each task ended once', async () => {
    const tasks = await Promise.all(Array.from({ length: 20 }, () => make()))
    await Promise.all(tasks.flatMap((task) => [cancel(task), cancel(task)]))
    await until(async () => {
      for (const n of mock.submissions.keys())
        mock.finish(n, { kind: 'failed', code: 'canceled', message: 'x', billed: false })
      return ((await get('/v1/tasks?limit=100&state=canceled')).json.data as unknown[]).length === 20
    }, 'all are canceled')
    expect(await app.balance(person)).toEqual(untouched)
  })
})

describe('an end', () => {
  test('is told to the world once, in the transaction that made it true, without the prompt', async () => {
    mock.eager = true
    const task = await make({ prompt: 'a secret garden', webhook_url: 'https://hooks.example/x' })
    const done = await ended(task)
    expect(done.webhook_delivery).toMatchObject({ url: 'https://hooks.example/x', status: 'pending' })
    const told = await app.database.sql<{ event: string; payload: object }>(
      'select event, payload from outbox where object_id = $1',
      [task.json.task_id],
    )
    expect(told).toEqual([
      {
        event: 'task.finished',
        payload: expect.objectContaining({
          task_id: task.json.task_id,
          state: 'success',
          webhook_url: 'https://hooks.example/x',
          billing: done.billing,
          result: done.result,
        }),
      },
    ])
    expect(JSON.stringify(told)).not.toContain('secret garden')
  })
})

test('a second process that settles the same end finds it ended, and tells nobody', async () => {
  mock.eager = true
  const task = await make()
  const done = await ended(task)
  const uuid = uuidOf(String(task.json.task_id)) ?? ''
  expect(await app.database.db.transaction().execute((tx) => complete(tx, uuid))).toBeUndefined()
  expect(await ended(task)).toEqual(done)
})

describe('films', () => {
  test('are priced by the second that was asked for, on both paths, and the length that is held is what is sent', async () => {
    mock.eager = true
    const create = (path: string, fields: object) => app.post(path, { model: 'film', prompt: 'x', ...fields }, person)
    const first = await create('/v1/videos/generations', {
      callBackUrl: 'https://hooks.example/y',
      generate_audio: true,
    })
    expect([first.status, first.json.type, first.headers.get('x-credits-held-micro')]).toEqual([202, 'video', '500000'])
    expect((await ended(first)).webhook_delivery).toMatchObject({ url: 'https://hooks.example/y' })
    const second = await create('/v1/video/generations', { duration: 8 })
    expect(second.headers.get('x-credits-held-micro')).toBe('800000')
    await ended(second)
    expect(mock.submissions.map(({ input }) => input)).toEqual([
      { prompt: 'x', duration: 5, generate_audio: true },
      { prompt: 'x', duration: 8 },
    ])
    for (const fields of [{ duration: 16 }, { seconds: 4 }, { n: 2 }, { webhook_url: 'nowhere' }])
      expect((await create('/v1/videos/generations', fields)).json.code).toBe('invalid_field')
  })

  test('cost the seconds that the provider counted, rounded up once', async () => {
    mock.script = () => made(1, 4.0405)
    const task = await app.post('/v1/videos/generations', { model: 'film', prompt: 'x' }, person)
    expect((await ended(task)).billing).toMatchObject({ actual_amount_micro: 404_100, released_amount_micro: 95_900 })
  })
})

test('after all of this the ledger agrees with itself', async () => {
  expect(await app.audit()).toEqual([])
  const told = `select object_id from outbox where event = 'task.finished' group by object_id having count(*) <> 1`
  expect(await app.database.sql(told)).toEqual([])
  const ended = 'select count(*)::int as n from tasks where completed_at is not null'
  const finished = `select count(*)::int as n from outbox where event = 'task.finished'`
  expect(await app.database.sql(ended)).toEqual(await app.database.sql(finished))
  expect(app.log.filter((line) => line.includes('does not declare') || line.includes('"level":50'))).toEqual([])
})

async function openAttempts(task: Answer): Promise<number> {
  const rows = await app.database.sql(
    `select a.id from task_attempts a join tasks t on t.id = a.task_id where t.request_id = $1 and a.state <> 'refused'`,
    [task.json.request_id],
  )
  return rows.length
}
