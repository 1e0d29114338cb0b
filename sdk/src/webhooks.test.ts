import { Webhook } from 'standardwebhooks'
import { expect, test } from 'vitest'
import { verifyWebhook, WebhookNotAuthentic } from './webhooks.ts'

const secret = `whsec_${btoa('0123456789abcdef0123456789abcdef')}`
const another = `whsec_${btoa('another secret of thirty-two bytes')}`
const now = new Date('2026-06-01T12:00:00Z')
const body = '{"type":"order.completed","timestamp":"2026-06-01T11:59:59Z","data":{"id":"ü"}}'
const signature = (by = secret, text = body) => new Webhook(by).sign('evt_1', now, text)
const headers = (signed = signature()) => ({
  'webhook-id': 'evt_1',
  'webhook-timestamp': String(now.getTime() / 1000),
  'webhook-signature': signed,
})
const nowMs = now.getTime()

test('what the reference library signs is believed, whatever carries its headers', async () => {
  const event = { id: 'evt_1', type: 'order.completed', timestamp: '2026-06-01T11:59:59Z', data: { id: 'ü' } }
  expect(await verifyWebhook({ body, headers: headers(), secret, nowMs })).toEqual(event)
  expect(await verifyWebhook({ body, headers: new Headers(headers()), secret, nowMs })).toEqual(event)
  const asSent = Object.fromEntries(Object.entries(headers()).map(([name, value]) => [name.toUpperCase(), value]))
  expect(await verifyWebhook({ body, headers: { ...asSent, ':path': '/hooks' }, secret, nowMs })).toEqual(event)
})

test('one signature of several is enough, so that a secret can be rotated', async () => {
  const rotated = headers(`v1a,abc ${signature(another)} ${signature()}`)
  expect(await verifyWebhook({ body, headers: rotated, secret, nowMs })).toMatchObject({ id: 'evt_1' })
})

test.each([
  ['another body', { body: `${body} ` }],
  ['another secret', { secret: another }],
  ['another id', { headers: { ...headers(), 'webhook-id': 'evt_2' } }],
  ['no id', { headers: { ...headers(), 'webhook-id': undefined } }],
  ['another time', { headers: { ...headers(), 'webhook-timestamp': String(now.getTime() / 1000 + 1) } }],
  ['no time', { headers: { ...headers(), 'webhook-timestamp': '' } }],
  ['no signature', { headers: { ...headers(), 'webhook-signature': undefined } }],
  ['a signature of no version', { headers: headers('bm8=') }],
  ['a signature that is no base64', { headers: headers('v1,?!') }],
  ['six minutes of age', { nowMs: now.getTime() + 360_000 }],
  ['a time six minutes ahead', { nowMs: now.getTime() - 360_000 }],
])('a delivery with %s is not believed', async (_, changed) => {
  const delivery = { body, headers: headers(), secret, nowMs, ...changed }
  await expect(verifyWebhook(delivery)).rejects.toBeInstanceOf(WebhookNotAuthentic)
})

test('a secret that is none is a mistake of the program, not of the delivery', async () => {
  await expect(verifyWebhook({ body, headers: headers(), secret: '', nowMs })).rejects.toBeInstanceOf(TypeError)
})
