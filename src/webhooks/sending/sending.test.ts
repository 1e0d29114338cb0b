import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { freshDatabase, type TestDatabase } from '../../../test/database.ts'
import {
  answering,
  type Receiver,
  startReceiver,
  until,
  verified,
  type WebhookSetting,
  webhookSetting,
} from '../../../test/webhook-setting.ts'

const TRIES_MAX = 11

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

const HOUR_MS = 3_600_000

/** An account with one endpoint at the receiver, and a worker. */
async function listening(path = '/hook') {
  const accountId = await setting.account()
  const endpoint = await setting.endpoint(accountId, receiver.url + path)
  setting.start()
  return { accountId, endpoint }
}

test('an event arrives once, verified by standardwebhooks, with its type, time and documented data alone', async () => {
  const { accountId, endpoint } = await listening()
  const eventId = await setting.tell(accountId, 'order-1', {
    order_id: 'order-1',
    account_id: Number(accountId),
    status: 'completed',
    at: '2026-03-01T10:00:00.000Z',
    secret_note: 'not for receivers',
  })
  await setting.settled()
  expect(receiver.got).toHaveLength(1)
  const [request] = receiver.got as [Receiver['got'][0]]
  const body = {
    type: 'order.completed',
    timestamp: '2026-03-01T10:00:00.000Z',
    data: { order_id: 'order-1', account_id: Number(accountId), status: 'completed' },
  }
  expect(verified(request, endpoint.secret)).toEqual(body)
  expect(request).toMatchObject({
    path: '/hook',
    headers: { 'webhook-id': `evt_${eventId}`, 'content-type': 'application/json' },
  })
  expect(() => verified({ ...request, text: request.text.replace('order-1', 'order-2') }, endpoint.secret)).toThrow()
  expect(await setting.delivery(endpoint.id, eventId)).toMatchObject({
    state: 'delivered',
    attempts: 1,
    last_status: 200,
  })
  expect(setting.words).toEqual(['ok'])
})

describe('a receiver that', () => {
  test('answers 500 is asked again, later each time, 11 times within 24 hours, always with the same id', async () => {
    receiver.behaviour = answering(500)
    const { accountId, endpoint } = await listening()
    const begin = setting.clock.now().getTime()
    const eventId = await setting.tell(accountId, 'order-1')
    const gaps: number[] = []
    for (let tries = 1; tries < TRIES_MAX; tries++) {
      await setting.settled()
      const before = setting.clock.now().getTime()
      expect(await setting.delivery(endpoint.id, eventId)).toMatchObject({
        state: 'pending',
        attempts: tries,
        last_outcome: 'status',
        last_status: 500,
      })
      expect(receiver.got).toHaveLength(tries)
      await setting.toNextAttempt(endpoint.id, eventId)
      gaps.push(setting.clock.now().getTime() - before)
    }
    await setting.settled()
    expect(await setting.delivery(endpoint.id, eventId)).toMatchObject({ state: 'failed', attempts: TRIES_MAX })
    expect(gaps).toEqual([...gaps].sort((a, b) => a - b))
    expect(gaps[0]).toBeLessThanOrEqual(5_000)
    const total = setting.clock.now().getTime() - begin
    expect(total).toBeGreaterThan(21 * HOUR_MS)
    expect(total).toBeLessThanOrEqual(24 * HOUR_MS)
    expect(new Set(receiver.got.map(({ headers }) => headers['webhook-id']))).toEqual(new Set([`evt_${eventId}`]))
    for (const request of receiver.got) verified(request, endpoint.secret)
  })

  test('is down is asked again when it is back', async () => {
    const { accountId, endpoint } = await listening()
    const port = Number(new URL(receiver.url).port)
    await receiver.close()
    const eventId = await setting.tell(accountId, 'order-1')
    await setting.settled()
    expect(await setting.delivery(endpoint.id, eventId)).toMatchObject({ state: 'pending', last_outcome: 'connect' })
    receiver = await startReceiver(port)
    await setting.toNextAttempt(endpoint.id, eventId)
    await setting.settled()
    expect(receiver.got).toHaveLength(1)
    expect(await setting.delivery(endpoint.id, eventId)).toMatchObject({ state: 'delivered', attempts: 2 })
  })

  test('is too slow has not received, and is asked again', async () => {
    receiver.behaviour = () => undefined
    const accountId = await setting.account()
    const endpoint = await setting.endpoint(accountId, receiver.url)
    setting.start({ timeoutMs: 50 })
    const eventId = await setting.tell(accountId, 'order-1')
    await setting.settled()
    expect(await setting.delivery(endpoint.id, eventId)).toMatchObject({
      state: 'pending',
      attempts: 1,
      last_outcome: 'timeout',
      last_status: null,
    })
  })

  test('answers 410 gets nothing more: its endpoint is disabled, what waited is canceled, the others hear of it', async () => {
    const other = await startReceiver()
    try {
      receiver.behaviour = answering(410)
      const accountId = await setting.account()
      const endpoint = await setting.endpoint(accountId, receiver.url)
      const witness = await setting.endpoint(accountId, other.url, ['webhook.disabled'])
      const last = await setting.tell(accountId, 'order-1')
      const next = await setting.tell(accountId, 'order-1')
      setting.start()
      await setting.settled()
      await until(() => other.got.length > 0, 'the other endpoint hears of it')
      expect(await setting.delivery(endpoint.id, last)).toMatchObject({ state: 'failed', last_outcome: 'gone' })
      expect(await setting.delivery(endpoint.id, next)).toMatchObject({ state: 'canceled', attempts: 0 })
      expect(setting.disabled).toEqual([`${endpoint.id} gone`])
      expect(verified(other.got[0] as Receiver['got'][0], witness.secret)).toMatchObject({
        type: 'webhook.disabled',
        data: { endpoint_id: Number(endpoint.id), reason: 'gone' },
      })
      await setting.tell(accountId, 'order-2')
      await setting.settled()
      expect(receiver.got).toHaveLength(1)
    } finally {
      await other.close()
    }
  })

  test('redirects is not followed, wherever that leads', async () => {
    const target = await startReceiver()
    try {
      const { accountId, endpoint } = await listening()
      for (const [status, location] of [
        [302, target.url],
        [307, target.url],
        [308, 'http://169.254.169.254/latest/meta-data'],
      ] as const) {
        receiver.behaviour = answering(status, { location })
        const eventId = await setting.tell(accountId, `order-${status}`)
        await setting.settled()
        expect(await setting.delivery(endpoint.id, eventId)).toMatchObject({
          state: 'pending',
          last_outcome: 'redirect',
          last_status: status,
        })
      }
      expect(target.got).toEqual([])
    } finally {
      await target.close()
    }
  })

  test('says when to come back is asked again then, up to an hour later', async () => {
    const { accountId, endpoint } = await listening()
    for (const [asked, expected] of [
      ['900', 900_000],
      ['864000', HOUR_MS],
      [new Date(setting.clock.now().getTime() + 600_000).toUTCString(), 599_000],
    ] as const) {
      receiver.behaviour = answering(503, { 'retry-after': asked })
      const eventId = await setting.tell(accountId, `order ${asked}`)
      await setting.settled()
      const { next_attempt_at } = await setting.delivery(endpoint.id, eventId)
      expect(next_attempt_at.getTime() - setting.clock.now().getTime()).toBeGreaterThanOrEqual(expected)
      expect(next_attempt_at.getTime() - setting.clock.now().getTime()).toBeLessThanOrEqual(expected + 1_000)
    }
  })

  test('fails for five days without a success is disabled; one success begins the count again', async () => {
    const { accountId, endpoint } = await listening()
    const day = async (status: number): Promise<boolean> => {
      receiver.behaviour = answering(status)
      await setting.tell(accountId, `order ${setting.clock.now().toISOString()}`)
      await setting.settled()
      setting.clock.advance(24 * HOUR_MS)
      await setting.settled()
      return setting.disabled.length > 0
    }
    for (const status of [500, 500, 500, 500, 200, 500, 500, 500, 500]) expect(await day(status)).toBe(false)
    expect(await day(500)).toBe(true)
    expect(setting.disabled).toEqual([`${endpoint.id} failing`])
    const [row] = await database.sql('select disabled_reason from webhook_endpoints where id = $1', [endpoint.id])
    expect(row).toEqual({ disabled_reason: 'failing' })
  })

  test('answers without end is cut off, and only the beginning is kept', async () => {
    receiver.behaviour = (response) => {
      response.writeHead(500)
      const more = setInterval(() => response.write('\u0000x'.repeat(5_000)), 1)
      response.on('close', () => clearInterval(more))
    }
    const { accountId, endpoint } = await listening()
    const eventId = await setting.tell(accountId, 'order-1')
    await setting.settled()
    const { id } = await setting.delivery(endpoint.id, eventId)
    const [row] = await database.sql<{ answer: string; status: number }>(
      'select answer, status from webhook_attempts where delivery_id = $1',
      [id],
    )
    expect(row?.status).toBe(500)
    expect(row?.answer.length).toBeLessThanOrEqual(300)
    expect(row?.answer).toMatch(/^x x/)
  })
})
