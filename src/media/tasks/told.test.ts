import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Answer, readAnswer, startTestApp, type TestApp, until } from '../../../test/app.ts'
import { MEDIA_MODELS, scriptedMedia } from '../../../test/tasks/media.ts'
import { answering, type Receiver, startReceiver, verified } from '../../../test/webhook-setting.ts'
import { forgetOld } from '../../webhooks/sending/outbox/service.ts'

const DAY_MS = 86_400_000
const media = scriptedMedia()
let app: TestApp
let receiver: Receiver
let token: string
let secret: string

beforeAll(async () => {
  media.mock.eager = true
  receiver = await startReceiver()
  app = await startTestApp({ mediaModels: MEDIA_MODELS, media: media.parts })
  const wallet = privateKeyToAccount(generatePrivateKey())
  const challenge = await app.post('/v1/auth/challenge', { wallet_address: wallet.address })
  const { json } = await app.post('/v1/auth/verify', {
    challenge_id: challenge.json.challenge_id,
    signature: await wallet.signMessage({ message: String(challenge.json.message) }),
  })
  token = (json.tokens as { access_token: string }).access_token
  const [account] = await app.database.sql<{ id: string }>('select max(id) as id from accounts')
  await app.topUp({ accountId: BigInt(account?.id ?? 0), keyId: 0n, key: '' }, 1_000_000n)
  const made = await app.post('/v1/me/webhooks/task-secret', {}, token)
  secret = (made.json.data as { secret: string }).secret
})
afterAll(async () => {
  await app.stop()
  await receiver.close()
})

const make = (webhookUrl: string): Promise<Answer> =>
  app.post('/v1/images/generations', { model: 'image', prompt: 'a secret garden', webhook_url: webhookUrl }, token)
const get = async (task: Answer, more: { headers?: Record<string, string>; query?: string } = {}): Promise<Answer> =>
  readAnswer(
    await fetch(`${app.url}${task.json.poll_url}${more.query ?? ''}`, {
      headers: { authorization: `Bearer ${token}`, ...more.headers },
    }),
  )
const deliveryOf = async (task: Answer) => (await get(task)).json.webhook_delivery as { status: string }
const sentTo = (path: string) => receiver.got.filter((request) => request.path === path)

test('the URL of a task gets its end once, signed with the account’s secret, without the prompt, and the task says so', async () => {
  const url = `${receiver.url}/once`
  const task = await make(url)
  expect(task.status).toBe(202)
  const ended = (await get(task, { query: '?wait=30' })).json
  await until(async () => (await deliveryOf(task)).status === 'delivered', 'it is delivered')
  const { json } = await get(task)
  expect(json.webhook_delivery).toEqual({
    url,
    status: 'delivered',
    attempts: 1,
    last_attempt_at: expect.any(Number),
    last_status: 200,
  })
  const [request, ...more] = sentTo('/once')
  if (!request) throw new Error('it was delivered')
  expect(more).toEqual([])
  expect(verified(request, secret)).toEqual({
    type: 'task.finished',
    timestamp: expect.stringMatching(/Z$/),
    data: expect.objectContaining({ task_id: task.json.task_id, state: 'success', billing: ended.billing }),
  })
  expect(request.text).not.toMatch(/secret garden|webhook_url/)
})

test('what a task says of its delivery moves its ETag, and outlives the delivery log', async () => {
  receiver.behaviour = answering(410)
  const task = await make(`${receiver.url}/gone`)
  await until(async () => (await deliveryOf(task)).status === 'failed', 'it is given up')
  const failed = await get(task)
  expect(failed.json.webhook_delivery).toMatchObject({ attempts: 1, last_status: 410 })
  const etag = String(failed.headers.get('etag'))
  expect((await get(task, { headers: { 'if-none-match': etag } })).status).toBe(304)
  const clock = { ...app.clock, now: () => new Date(Date.now() + 31 * DAY_MS) }
  await forgetOld({ db: app.database.db, clock })
  expect(await app.database.sql('select from outbox')).toEqual([])
  const later = await get(task, { headers: { 'if-none-match': etag } })
  expect([later.status, later.json.state]).toEqual([200, 'success'])
  expect(later.json.webhook_delivery).toMatchObject({ status: 'forgotten', attempts: 0 })
})

test('a URL that webhooks would not call is refused before anything is held, in the name of its field', async () => {
  for (const [path, body, field] of [
    ['images', { model: 'image', webhook_url: 'ftp://hooks.example' }, 'webhook_url'],
    ['images', { model: 'image', webhook_url: 'https://10.0.0.1/x' }, 'webhook_url'],
    ['videos', { model: 'film', callBackUrl: 'https://me:you@hooks.example' }, 'callBackUrl'],
  ] as const) {
    const { status, json } = await app.post(`/v1/${path}/generations`, { prompt: 'x', ...body }, token)
    expect([status, json.code, json.field]).toEqual([400, 'invalid_field', field])
  }
  expect(await app.database.sql('select from tasks where state <> $1', ['success'])).toEqual([])
})
