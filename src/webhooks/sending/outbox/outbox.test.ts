import { Value } from 'typebox/value'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { freshDatabase, type TestDatabase } from '../../../../test/database.ts'
import {
  answering,
  type Receiver,
  startReceiver,
  until,
  verified,
  type WebhookSetting,
  webhookSetting,
} from '../../../../test/webhook-setting.ts'
import { systemRandom } from '../../../kernel/random.ts'
import { tell } from '../../../payments/orders/crediting/store.ts'
import type { Order } from '../../../payments/orders/store.ts'
import { taskDeliveries } from '../../deliveries/service.ts'
import { rotateSecret, rotateTaskSecret } from '../../endpoints/service.ts'
import { eventTypes } from '../../event-types.ts'
import { forgetOld } from './service.ts'

let database: TestDatabase
let setting: WebhookSetting
let receiver: Receiver
beforeAll(async () => {
  database = await freshDatabase()
})
beforeEach(async () => {
  setting = webhookSetting(database)
  receiver = await startReceiver()
})
afterEach(async () => {
  await setting.stop()
  await receiver.close()
  await database.sql('truncate webhook_endpoints, webhook_task_secrets, outbox cascade')
})
afterAll(() => database.drop())

const DAY_MS = 86_400_000
const types = () => receiver.got.map(({ path, json }) => `${path} ${json.type}`).sort()
const deps = () => ({
  db: database.db,
  clock: setting.clock,
  secrets: setting.secrets,
  addresses: { allowedNetworks: [], plainHttp: false },
})

test('an endpoint gets the types it asked for, of its account alone; none named are all of them', async () => {
  const [mine, other] = [await setting.account(), await setting.account()]
  await setting.endpoint(mine, `${receiver.url}/all`)
  await setting.endpoint(mine, `${receiver.url}/some`, ['refund.completed', 'balance.low'])
  await setting.endpoint(other, `${receiver.url}/other`, ['balance.low'])
  setting.start()
  await setting.tell(mine, '1', {}, 'order.completed')
  await setting.tell(mine, '2', {}, 'refund.completed')
  await setting.settled()
  expect(types()).toEqual(['/all order.completed', '/all refund.completed', '/some refund.completed'])
  expect(setting.troubles).toEqual([])
})

test("an owner hears of its Agent's events that concern the owner's Credits, once, and of no others", async () => {
  const [owner, agent] = [await setting.account(), await setting.account()]
  await setting.endpoint(owner, `${receiver.url}/owner`)
  await setting.endpoint(agent, `${receiver.url}/agent`)
  setting.start()
  await setting.tell(agent, '1', { owner_account_id: Number(owner) }, 'task.finished')
  await setting.tell(agent, '2', {}, 'order.completed')
  await setting.tell(owner, '3', { owner_account_id: Number(owner) }, 'refund.completed')
  await setting.tell(agent, '4', { owner_account_id: 'nobody' }, 'refund.completed')
  await setting.settled()
  expect(types()).toEqual([
    '/agent order.completed',
    '/agent refund.completed',
    '/agent task.finished',
    '/owner refund.completed',
    '/owner task.finished',
  ])
  expect(receiver.got.every(({ json }) => !('owner_account_id' in json.data))).toBe(true)
  expect(setting.troubles).toEqual([])
})

test('an account without endpoints costs no delivery, and a banned one hears of nothing', async () => {
  const [quiet, banned] = [await setting.account(), await setting.account()]
  await setting.endpoint(banned, receiver.url)
  await database.sql(`update accounts set status = 'banned' where id = $1`, [banned])
  setting.start()
  for (const account of [quiet, banned]) await setting.tell(account, '1')
  await setting.settled()
  expect(await database.sql('select 1 from webhook_deliveries')).toEqual([])
  expect(receiver.got).toEqual([])
})

test('an event of a type that is not known is said to operators, goes nowhere, and holds nothing up', async () => {
  const accountId = await setting.account()
  await setting.endpoint(accountId, receiver.url)
  await setting.tell(accountId, '1', {}, 'nonsense.happened')
  await setting.tell(accountId, '2')
  setting.start()
  await until(() => receiver.got.length === 1, 'the known one arrives')
  expect(setting.troubles).toEqual([expect.stringContaining('of no known type')])
  expect(types()).toEqual(['/ order.completed'])
})

test('the events of orders, as their room writes them, have the documented form', async () => {
  const accountId = await setting.account()
  const { secret } = await setting.endpoint(accountId, receiver.url)
  const order = {
    id: systemRandom.uuid(),
    account_id: accountId,
    payer_account_id: accountId,
    status: 'completed',
    asset_id: 'dev_usdc',
    tx_hash: null,
    amount_micro: 5_000_000n,
    credit_micro: 5_000_000n,
    review_reason: null,
  } as unknown as Order
  await database.db.transaction().execute((tx) => tell(tx, 'order.completed', order, setting.clock.now()))
  setting.start()
  await setting.settled()
  const { data, timestamp } = verified(receiver.got[0] as Receiver['got'][0], secret) as {
    data: object
    timestamp: string
  }
  expect([...Value.Errors(eventTypes['order.completed'].data, data)]).toEqual([])
  expect(Object.keys(data).sort()).toEqual(Object.keys(Object(eventTypes['order.completed'].data).properties).sort())
  expect(timestamp).toBe(setting.clock.now().toISOString())
})

test('a rotated secret and the one before both sign until the overlap ends', async () => {
  const accountId = await setting.account()
  const endpoint = await setting.endpoint(accountId, receiver.url)
  const which = { accountId, id: endpoint.id, requestId: 'req_1' }
  const { secret } = await rotateSecret(deps(), which, 3600)
  setting.start()
  await setting.tell(accountId, '1')
  await setting.settled()
  const during = receiver.got[0] as Receiver['got'][0]
  expect(String(during.headers['webhook-signature']).split(' ')).toHaveLength(2)
  for (const one of [secret, endpoint.secret]) expect(verified(during, one)).toMatchObject({ type: 'order.completed' })
  setting.clock.advance(3_600_000)
  await setting.tell(accountId, '2')
  await setting.settled()
  const after = receiver.got[1] as Receiver['got'][0]
  expect(verified(after, secret)).toMatchObject({ type: 'order.completed' })
  expect(() => verified(after, endpoint.secret)).toThrow(/No matching signature/)
})

test("a finished task is told at its own URL too, signed with the account's secret for tasks, and says what became of it", async () => {
  const accountId = await setting.account()
  const url = `${receiver.url}/callback?token=t`
  setting.start()
  const payload = { task_id: 'task_1', status: 'success', anything: { goes: true }, webhook_url: url }
  expect((await taskDeliveries(database, ['task_1'])).get('task_1')).toBeUndefined()
  receiver.behaviour = answering(500)
  const eventId = await setting.tell(accountId, 'task_1', payload, 'task.finished')
  await setting.settled()
  expect((await taskDeliveries(database, ['task_1'])).get('task_1')).toMatchObject({
    status: 'pending',
    attempts: 1,
    lastStatus: 500,
  })
  const { secret } = await rotateTaskSecret(deps(), { accountId, requestId: 'req_1' }, 3600)
  receiver.behaviour = answering(200)
  const [host] = await database.sql<{ id: string }>(`select id from webhook_endpoints where account_id = $1`, [
    accountId,
  ])
  await setting.toNextAttempt(BigInt(host?.id ?? 0), eventId)
  await setting.settled()
  const { webhook_url, ...task } = payload
  expect(webhook_url).toBe(url)
  expect(receiver.got.map(({ path }) => path)).toEqual(['/callback?token=t', '/callback?token=t'])
  expect(verified(receiver.got[1] as Receiver['got'][0], secret)).toMatchObject({ type: 'task.finished', data: task })
  expect(receiver.got[1]?.text).not.toContain('webhook_url')
  expect((await taskDeliveries(database, ['task_1'])).get('task_1')).toMatchObject({
    status: 'delivered',
    attempts: 2,
    lastStatus: 200,
  })
  expect(setting.troubles).toEqual([])
})

test('the URL of a task that is gone ends its own delivery alone', async () => {
  const accountId = await setting.account()
  receiver.behaviour = (response, { path }) => answering(path === '/gone' ? 410 : 200)(response)
  setting.start()
  for (const path of ['/gone', '/there'])
    await setting.tell(accountId, `task${path}`, { webhook_url: receiver.url + path }, 'task.finished')
  await setting.settled()
  expect((await taskDeliveries(database, ['task/gone'])).get('task/gone')).toMatchObject({ status: 'failed' })
  expect((await taskDeliveries(database, ['task/there'])).get('task/there')).toMatchObject({ status: 'delivered' })
  expect(setting.disabled).toEqual([])
})

test('events go after 30 days with their log, but not while a delivery of them is open', async () => {
  const accountId = await setting.account()
  await setting.endpoint(accountId, `${receiver.url}/hook`)
  receiver.behaviour = (response, { json }) => answering(json.data.order_id === 'open' ? 500 : 200)(response)
  const worker = setting.start()
  for (const order_id of ['done', 'open']) await setting.tell(accountId, order_id, { order_id })
  await setting.tell(accountId, 'task', { webhook_url: `${receiver.url}/task` }, 'task.finished')
  await setting.settled()
  await worker.stop()
  setting.clock.advance(29 * DAY_MS)
  await forgetOld(deps())
  expect(await database.sql('select 1 from outbox')).toHaveLength(3)
  setting.clock.advance(2 * DAY_MS)
  await setting.tell(accountId, 'fresh')
  await forgetOld(deps())
  expect(await database.sql('select object_id from outbox order by id')).toEqual([
    { object_id: 'open' },
    { object_id: 'fresh' },
  ])
  expect(await database.sql('select kind from webhook_endpoints')).toEqual([{ kind: 'registered' }])
  expect(await database.sql('select 1 from webhook_attempts')).toHaveLength(1)
})
