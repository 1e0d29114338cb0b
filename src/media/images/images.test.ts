import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Answer, type Person, readAnswer, startTestApp, type TestApp, until } from '../../../test/app.ts'
import { MEDIA_MODELS, made, PIXEL, scriptedMedia } from '../../../test/tasks/media.ts'

const media = scriptedMedia()
const { mock, backup } = media
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
  mock.eager = true
  mock.script = undefined
  backup.script = undefined
  mock.submissions.length = 0
  backup.submissions.length = 0
  media.results.failing = false
})

const PATH = '/v1/images/generations'
const make = (fields: object = {}, headers: Record<string, string> = {}): Promise<Answer> =>
  app.post(PATH, { model: 'image', prompt: 'a lighthouse', ...fields }, person, headers)
const get = async (path: string, headers: Record<string, string> = {}): Promise<Answer> =>
  readAnswer(await fetch(app.url + path, { headers: { authorization: `Bearer ${person.key}`, ...headers } }))

test('a request is answered 202 with a task whose money is held, and its poll_url leads to the picture', async () => {
  const created = await make({ n: 2, seed: 7, style: 'oil' })
  expect(created.status).toBe(202)
  expect(created.json).toMatchObject({
    object: 'task',
    model: 'image',
    type: 'image',
    state: 'waiting',
    capability_slug: '',
    capability_version: '',
    recommended_poll_interval_ms: 1000,
    eta_hint_seconds: 15,
  })
  expect(created.headers.get('location')).toBe(created.json.poll_url)
  expect(created.headers.get('x-credits-held-micro')).toBe('80000')
  const done = await get(`${created.json.poll_url}?wait=20`)
  expect(done.json).toMatchObject({
    state: 'success',
    progress: 100,
    error: {},
    request: { model: 'image', prompt: 'a lighthouse', n: 2, seed: 7, style: 'oil', response_format: 'url' },
    result: { data: [{ content_type: 'image/png', width: 1, height: 1 }] },
    billing: {
      status: 'committed',
      reserve_amount_micro: 80_000,
      // two were asked for, one was made
      actual_amount_micro: 40_000,
      released_amount_micro: 40_000,
    },
  })
  const [file] = (done.json.result as { data: { url: string; expires_at: number }[] }).data
  expect(file?.url).toMatch(/^https:\/\/files\.example\/.*until=\d+$/)
  expect(file?.expires_at).toBe(Number(done.json.completed_at) + 7 * 86_400)
  expect(mock.submissions[0]).toMatchObject({
    type: 'image',
    model: 'painter',
    input: { prompt: 'a lighthouse', n: 2, seed: 7, style: 'oil' },
  })
  expect(Object.keys(mock.submissions[0]?.input ?? {})).not.toContain('response_format')
  expect(await app.balance(person)).toEqual({ postedMicro: 9_960_000n, heldMicro: 0n })
})

test.each([
  ['4K', 90_000],
  ['4k', 90_000],
  ['1K', 40_000],
])('the resolution %s is held at its own unit price', async (resolution, price) => {
  const created = await make({ resolution })
  expect(created.headers.get('x-credits-held-micro')).toBe(String(price))
  await get(`${created.json.poll_url}?wait=20`)
})

test('b64_json waits for the pictures and answers as OpenAI does', async () => {
  const answer = await make({ response_format: 'b64_json' })
  expect(answer.status).toBe(200)
  expect(answer.json.data).toEqual([{ b64_json: PIXEL.toString('base64') }])
  expect(answer.json).toMatchObject({ billing: { status: 'committed', actual_amount_micro: 40_000 } })
  expect(answer.headers.get('x-credits-charged-micro')).toBe('40000')
})

test('Prefer: wait answers with links, and with the task when it takes longer than that', async () => {
  const answer = await make({}, { prefer: 'wait' })
  expect([answer.status, (answer.json.data as object[]).length]).toEqual([200, 1])
  mock.eager = false
  const late = await make({}, { prefer: 'respond-async, wait=0' })
  expect([late.status, late.json.object]).toEqual([202, 'task'])
  await until(() => mock.submissions.length === 2, 'the provider has it')
  mock.finish(1)
  expect((await get(`${late.json.poll_url}?wait=20`)).json.state).toBe('success')
})

test('a task that nobody refuses and that fails is refused to whoever waits, with where it is and nothing charged', async () => {
  const failed = { kind: 'failed', code: 'nsfw', message: 'the filter refused it', billed: false } as const
  mock.script = () => failed
  const answer = await make({ response_format: 'b64_json' })
  expect([answer.status, answer.json.code]).toEqual([502, 'upstream_failed'])
  const task = await get(String(answer.json.poll_url))
  expect(task.json).toMatchObject({
    state: 'fail',
    error: { code: 'nsfw', message: 'the filter refused it' },
    billing: { status: 'released', actual_amount_micro: 0, released_amount_micro: 40_000 },
  })
  expect(await app.balance(person)).toEqual({ postedMicro: 10_000_000n, heldMicro: 0n })
})

test('a form brings pictures as files, which the provider gets and the task keeps only until its end', async () => {
  const form = new FormData()
  form.set('model', 'image')
  form.set('prompt', 'the same at night')
  form.set('n', '1')
  form.append('image[]', new File([new Uint8Array(PIXEL)], 'a.png', { type: 'image/png' }))
  form.append('image_input[]', 'https://pictures.example/b.png')
  const created = await readAnswer(
    await fetch(app.url + PATH, { method: 'POST', body: form, headers: { authorization: `Bearer ${person.key}` } }),
  )
  expect(created.status).toBe(202)
  const done = await get(`${created.json.poll_url}?wait=20`)
  expect(done.json.request).toMatchObject({ n: 1, image_input: ['https://pictures.example/b.png', 'upload:1'] })
  const images = mock.submissions[0]?.images ?? []
  expect(images.map(({ url }) => url.slice(0, 22))).toEqual(['https://pictures.examp', 'data:image/png;base64,'])
  expect(await images[1]?.read()).toEqual({ bytes: PIXEL, contentType: 'image/png' })
  expect(await app.database.sql('select n from task_uploads')).toEqual([])
})

describe('what is refused', () => {
  test.each([
    ['no prompt', { prompt: undefined }, 'missing_field'],
    ['an unknown model', { model: 'none' }, 'model_not_found'],
    ['a chat model', { model: 'mock-model' }, 'model_not_found'],
    ['a film model', { model: 'film' }, 'model_not_found'],
    ['five pictures', { n: 5 }, 'invalid_field'],
    ['another word for n', { num_images: 4 }, 'invalid_field'],
    ['a webhook that is no address', { webhook_url: 'ftp://x' }, 'invalid_field'],
    ['three pictures to start from', { image_input: ['https://a/b', 'https://a/b', 'https://a/b'] }, 'invalid_field'],
    ['a picture that is no picture', { image_input: ['data:image/png;base64,AAAA'] }, 'invalid_field'],
    ['a file of this machine', { image_input: ['file:///etc/passwd'] }, 'invalid_field'],
  ])('%s is refused and holds nothing', async (_what, fields, code) => {
    const answer = await make(fields)
    expect(answer.json.code).toBe(code)
    expect(await app.holds(person)).toEqual([])
  })

  test('an account that cannot pay gets 402 with the numbers, and no task is left of it', async () => {
    const poor = await app.person({ creditsMicro: 39_999n })
    const answer = await app.post(PATH, { model: 'image', prompt: 'x' }, poor)
    expect(answer.status).toBe(402)
    expect(answer.json).toMatchObject({ code: 'insufficient_credits', required_micro: '40000', shortfall_micro: '1' })
    expect(await app.database.sql('select id from tasks where account_id = $1', [poor.accountId])).toEqual([])
  })
})

describe('an Idempotency-Key', () => {
  test('makes one task of fifty requests at once, and gives all of them the same answer', async () => {
    const answers = await Promise.all(Array.from({ length: 50 }, () => make({}, { 'idempotency-key': 'fifty' })))
    const tasks = answers.filter(({ status }) => status === 202).map(({ text }) => text)
    expect(new Set(tasks).size).toBe(1)
    expect(answers.every(({ status, json }) => status === 202 || json.code === 'request_in_progress')).toBe(true)
    const again = await make({}, { 'idempotency-key': 'fifty' })
    expect([again.text, again.headers.get('idempotent-replayed')]).toEqual([tasks[0], 'true'])
    await get(`${again.json.poll_url}?wait=20`)
    expect(await app.holds(person)).toHaveLength(1)
    expect((await make({ n: 2 }, { 'idempotency-key': 'fifty' })).json.code).toBe('idempotency_conflict')
  })

  test('replays the pictures themselves, and frees the key of a request that was refused', async () => {
    const fields = { response_format: 'b64_json' }
    const [first, second] = [
      await make(fields, { 'idempotency-key': 'b' }),
      await make(fields, { 'idempotency-key': 'b' }),
    ]
    expect(second.text).toBe(first.text)
    expect((await make({ n: 9 }, { 'idempotency-key': 'c' })).status).toBe(400)
    expect((await make({ model: 'none' }, { 'idempotency-key': 'd' })).status).toBe(404)
    expect((await make({}, { 'idempotency-key': 'd' })).status).toBe(202)
  })
})

describe('providers', () => {
  test('one that refuses for itself hands on to the next, and only the one that works is paid', async () => {
    mock.script = () => ({ kind: 'refused', status: 503, message: 'busy', retryable: true })
    backup.script = () => made()
    const answer = await make({ response_format: 'b64_json' })
    expect(answer.status).toBe(200)
    expect([mock.submissions.length, backup.submissions.map(({ model }) => model)]).toEqual([1, ['other-painter']])
    expect(await app.balance(person)).toEqual({ postedMicro: 9_960_000n, heldMicro: 0n })
  })

  test('one that finds the request wrong ends it at once, and nothing is charged', async () => {
    mock.script = () => ({ kind: 'refused', status: 422, message: 'no such style', retryable: false })
    const answer = await make({ response_format: 'b64_json' })
    expect([answer.status, answer.json.code]).toEqual([400, 'upstream_refused'])
    expect(answer.json.message).toContain('no such style')
    expect(backup.submissions).toEqual([])
    expect(await app.balance(person)).toEqual({ postedMicro: 10_000_000n, heldMicro: 0n })
  })

  test('more pictures than were held for wait for their payers instead of being given away', async () => {
    mock.script = () => made(3)
    const poor = await app.person({ creditsMicro: 40_000n })
    const created = await app.post(PATH, { model: 'image', prompt: 'x' }, poor)
    await until(async () => (await app.holds(poor))[0]?.flag === 'shortfall', 'the item waits')
    expect(await app.balance(poor)).toEqual({ postedMicro: 40_000n, heldMicro: 40_000n })
    expect(created.status).toBe(202)
  })

  test('a model that costs nothing has its tasks and its call, and charges nothing', async () => {
    const answer = await make({ model: 'free', response_format: 'b64_json' })
    expect(answer.json.billing).toMatchObject({ status: 'committed', actual_amount_micro: 0 })
    expect(await app.balance(person)).toEqual({ postedMicro: 10_000_000n, heldMicro: 0n })
  })

  test('a result that cannot be kept was made all the same: the call failed, was charged and can be refunded', async () => {
    media.results.failing = true
    mock.script = () => made()
    const created = await make()
    const done = await get(`${created.json.poll_url}?wait=30`)
    expect(done.json).toMatchObject({
      state: 'fail',
      error: { code: 'result_not_kept' },
      billing: { status: 'committed', actual_amount_micro: 40_000 },
    })
    const [hold] = await app.holds(person)
    expect(hold).toMatchObject({ kind: 'captured', outcome: 'failed' })
  })
})

test('GET /v1/models lists what makes images and films with unit prices', async () => {
  const { data } = (await get('/v1/models')).json as { data: { id: string }[] }
  expect(data.find(({ id }) => id === 'image')).toMatchObject({
    modalities: ['image'],
    pricing: { unit: 'image', unit_price_micro: 40_000, tiers: [{ resolution: '4K', unit_price_micro: 90_000 }] },
    capabilities: { async_supported: true, request_mode: ['task', 'sync'] },
  })
  expect(data.find(({ id }) => id === 'film')).toMatchObject({ pricing: { unit: 'second', unit_price_micro: 100_000 } })
})

test('after all of this the ledger agrees with itself and nothing was logged that a client had sent', async () => {
  expect(await app.audit()).toEqual([])
  expect(app.log.filter((line) => line.includes('lighthouse') || line.includes('does not declare'))).toEqual([])
})
