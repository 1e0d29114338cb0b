import type { ServerResponse } from 'node:http'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { freshDatabase, type TestDatabase } from '../../../test/database.ts'
import {
  answering,
  type Received,
  type Receiver,
  startReceiver,
  until,
  verified,
  type WebhookSetting,
  webhookSetting,
} from '../../../test/webhook-setting.ts'

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
  expect(setting.troubles).toEqual([])
  await database.sql('truncate webhook_endpoints, outbox cascade')
})
afterAll(() => database.drop())

const step = (request: Received): string => `${request.json.data.order_id} ${request.json.data.status}`

test('while an event of an object is tried again the next ones of it wait, and other objects do not', async () => {
  const accountId = await setting.account()
  const endpoint = await setting.endpoint(accountId, receiver.url)
  let broken = true
  receiver.behaviour = (response, request) => answering(broken && step(request) === 'x first' ? 500 : 200)(response)
  setting.start()
  const first = await setting.tell(accountId, 'x', { order_id: 'x', status: 'first' })
  await setting.settled()
  const later: bigint[] = []
  for (const status of ['second', 'third']) later.push(await setting.tell(accountId, 'x', { order_id: 'x', status }))
  await setting.tell(accountId, 'y', { order_id: 'y', status: 'first' })
  await until(() => receiver.got.some((request) => step(request) === 'y first'), 'the other object is told')
  await setting.toNextAttempt(endpoint.id, first)
  await setting.settled()
  for (const eventId of later) expect((await setting.delivery(endpoint.id, eventId)).attempts).toBe(0)
  broken = false
  await setting.toNextAttempt(endpoint.id, first)
  await setting.settled()
  expect(receiver.got.filter(({ json }) => json.data.order_id === 'x').map(step)).toEqual([
    'x first',
    'x first',
    'x first',
    'x second',
    'x third',
  ])
  expect(receiver.got.filter(({ json }) => json.data.order_id === 'y')).toHaveLength(1)
})

test('an object whose event was given up goes on with the next one', async () => {
  const accountId = await setting.account()
  const endpoint = await setting.endpoint(accountId, receiver.url)
  receiver.behaviour = (response, request) => answering(step(request) === 'x first' ? 500 : 200)(response)
  setting.start()
  const first = await setting.tell(accountId, 'x', { order_id: 'x', status: 'first' })
  const second = await setting.tell(accountId, 'x', { order_id: 'x', status: 'second' })
  for (;;) {
    await setting.settled()
    if ((await setting.delivery(endpoint.id, first)).state === 'failed') break
    expect((await setting.delivery(endpoint.id, second)).attempts).toBe(0)
    await setting.toNextAttempt(endpoint.id, first)
  }
  await setting.settled()
  expect(await setting.delivery(endpoint.id, second)).toMatchObject({ state: 'delivered', attempts: 1 })
})

test('four workers deliver 150 events of 15 objects once each, in the order of each object', async () => {
  const accountId = await setting.account()
  const endpoint = await setting.endpoint(accountId, receiver.url)
  let open = 0
  let most = 0
  receiver.behaviour = (response) => {
    open += 1
    most = Math.max(most, open)
    setImmediate(() => {
      open -= 1
      answering(200)(response)
    })
  }
  for (let worker = 0; worker < 4; worker++) setting.start()
  const events = Array.from({ length: 150 }, (_, n) => ({ object: `object-${n % 15}`, n }))
  await database.sql(
    `insert into outbox (event, account_id, object_id, payload)
     select 'order.completed', $1, e ->> 'object', jsonb_build_object('order_id', e ->> 'object', 'status', e ->> 'n')
     from jsonb_array_elements($2::jsonb) with ordinality x (e, place) order by place`,
    [accountId, JSON.stringify(events)],
  )
  await until(() => receiver.got.length >= events.length, 'all are delivered')
  await setting.settled()
  expect(receiver.got).toHaveLength(events.length)
  expect(new Set(receiver.got.map(({ headers }) => headers['webhook-id'])).size).toBe(events.length)
  for (const object of new Set(events.map((event) => event.object))) {
    const order = receiver.got
      .filter(({ json }) => json.data.order_id === object)
      .map(({ json }) => Number(json.data.status))
    expect(order).toEqual([...order].sort((a, b) => a - b))
  }
  for (const request of receiver.got) verified(request, endpoint.secret)
  expect(most).toBeLessThanOrEqual(8)
})

test('receivers that never answer hold nothing up for the others', async () => {
  const stuck = await startReceiver()
  const waiting: ServerResponse[] = []
  stuck.behaviour = (response) => void waiting.push(response)
  try {
    // more of them than there are places for endpoints that fail
    for (let n = 0; n < 12; n++) {
      const accountId = await setting.account()
      await setting.endpoint(accountId, `${stuck.url}/${n}`)
      for (let event = 0; event < 20; event++) await setting.tell(accountId, `order-${event}`)
    }
    setting.start()
    // only connections to one origin are limited here, so not all of them arrive: what matters is that they take places
    await until(() => waiting.length >= 16, 'the stuck ones have taken what they may')
    const healthy = await setting.account()
    const endpoint = await setting.endpoint(healthy, receiver.url)
    const events: bigint[] = []
    for (let event = 0; event < 30; event++) events.push(await setting.tell(healthy, `order-${event}`))
    await until(() => receiver.got.length === 30, 'the healthy receiver gets everything')
    expect(stuck.got.length).toBe(waiting.length)
    await until(
      async () => (await setting.delivery(endpoint.id, events[29] as bigint)).state === 'delivered',
      'the last of them is recorded',
    )
  } finally {
    for (const response of waiting) response.destroy()
    await setting.stop()
    await stuck.close()
  }
})

test('an endpoint with 10,000 deliveries waiting gets no more into its queue, but can have them replayed', async () => {
  const accountId = await setting.account()
  const endpoint = await setting.endpoint(accountId, receiver.url)
  const far = new Date(setting.clock.now().getTime() + 86_400_000)
  await database.sql(
    `with events as (
       insert into outbox (event, account_id, object_id, payload, delivered_at)
       select 'order.completed', $1, n::text, '{}', $3 from generate_series(1, 10000) n returning id
     )
     insert into webhook_deliveries (endpoint_id, event_id, object, next_attempt_at, created_at)
     select $2, id, id::text, $3, $3 from events`,
    [accountId, endpoint.id, far],
  )
  setting.start()
  const eventId = await setting.tell(accountId, 'one-more')
  expect(await setting.delivery(endpoint.id, eventId)).toMatchObject({ state: 'canceled', last_outcome: 'queue_full' })
  const other = await setting.account()
  await setting.endpoint(other, receiver.url)
  await setting.tell(other, 'order-1')
  await until(() => receiver.got.length === 1, 'others are told')
})
