import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Answer, readAnswer, startTestApp, type TestApp, until } from '../../../test/app.ts'
import { ledgerFixture } from '../../../test/ledger-fixture.ts'
import { MEDIA_MODELS, scriptedMedia } from '../../../test/tasks/media.ts'
import { answering, type Receiver, startReceiver, verified } from '../../../test/webhook-setting.ts'
import type { MediaEnd } from '../../providers/media.ts'
import { forgetOld } from '../../webhooks/sending/outbox/service.ts'

const DAY_MS = 86_400_000
const media = scriptedMedia()
let app: TestApp
let receiver: Receiver
let token: string
let secret: string

/** Somebody who signed in, with a thousand pictures' worth of Credits. */
async function signedIn(): Promise<{ token: string; accountId: bigint }> {
  const wallet = privateKeyToAccount(generatePrivateKey())
  const challenge = await app.post('/v1/auth/challenge', { wallet_address: wallet.address })
  const { json } = await app.post('/v1/auth/verify', {
    challenge_id: challenge.json.challenge_id,
    signature: await wallet.signMessage({ message: String(challenge.json.message) }),
  })
  const [account] = await app.database.sql<{ id: string }>('select max(id) as id from accounts')
  const accountId = BigInt(account?.id ?? 0)
  await app.topUp({ accountId, keyId: 0n, key: '' }, 40_000_000n)
  return { token: (json.tokens as { access_token: string }).access_token, accountId }
}

beforeAll(async () => {
  media.mock.eager = true
  receiver = await startReceiver()
  app = await startTestApp({ mediaModels: MEDIA_MODELS, media: media.parts })
  token = (await signedIn()).token
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

test('an owner hears of what an Agent did with its Credits, never of the result, and of nothing that the Agent paid itself', async () => {
  receiver.behaviour = answering(200)
  const [owner, agent] = [await signedIn(), await signedIn()]
  for (const [who, path] of [
    [owner, '/owner'],
    [agent, '/agent'],
  ] as const)
    await app.post('/v1/me/webhooks', { url: receiver.url + path }, who.token)
  await ledgerFixture(app.database).link(agent.accountId, owner.accountId, 'owner_only')
  const heard = (path: string) =>
    sentTo(path)
      .map(({ json }) => json.type)
      .sort()
  const runTask = async (end?: MediaEnd) => {
    media.mock.script = end ? () => end : undefined
    const task = await app.post('/v1/images/generations', { model: 'image', prompt: 'x' }, agent.token)
    await until(async () => sentTo('/agent').some(({ json }) => json.data.task_id === task.json.task_id), 'it is told')
    return task
  }
  const failed = { kind: 'failed', code: 'x', message: 'x' } as const

  const made = await runTask()
  const charged = await runTask({ ...failed, billed: true })
  const [call] = await app.database.sql<{ hold_id: string }>('select hold_id from tasks where request_id = $1', [
    charged.json.request_id,
  ])
  const refund = { call_id: Number(call?.hold_id), reason: 'it failed' }
  expect((await app.post('/v1/refunds/apply', refund, agent.token)).status).toBe(200)
  await runTask({ ...failed, billed: undefined })
  const shared = ['refund.completed', 'settlement.pending', 'task.finished', 'task.finished', 'task.finished']
  await until(() => heard('/owner').length === 5 && heard('/agent').length === 5, 'all is told')
  expect([heard('/owner'), heard('/agent')]).toEqual([shared, shared])
  const dataOf = (path: string) =>
    sentTo(path).find(({ json }) => json.data.task_id === made.json.task_id)?.json.data as object
  expect(dataOf('/agent')).toMatchObject({ state: 'success', result: { data: [expect.anything()] } })
  expect(dataOf('/owner')).toMatchObject({ state: 'success', billing: { actual_amount_micro: 40_000 } })
  expect(dataOf('/owner')).not.toHaveProperty('result')
  expect(JSON.stringify(sentTo('/owner'))).not.toMatch(/balance|available|owner_account_id/)

  await app.database.sql(`update agent_links set billing_mode = 'self_only' where agent_account_id = $1`, [
    agent.accountId,
  ])
  await runTask()
  await until(() => heard('/agent').length === 6, 'the Agent is told')
  const none = `select from outbox where delivered_at is null`
  await until(async () => (await app.database.sql(none)).length === 0, 'nothing more is to come')
  const deliveries = `select from webhook_deliveries d join webhook_endpoints e on e.id = d.endpoint_id where e.account_id = $1`
  expect(await app.database.sql(deliveries, [owner.accountId])).toHaveLength(5)
  expect(await app.audit()).toEqual([])
})
