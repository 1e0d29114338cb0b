import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { freshDatabase, type TestDatabase } from '../../../test/database.ts'
import {
  answering,
  type Receiver,
  startReceiver,
  type WebhookSetting,
  webhookSetting,
} from '../../../test/webhook-setting.ts'
import { checkedWebhookUrl } from '../address.ts'

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
})
afterAll(() => database.drop())

const production = { allowedNetworks: [], plainHttp: false }
const development = { allowedNetworks: ['127.0.0.0/8', '::1/128'], plainHttp: true }

test.each([
  ...['https://127.0.0.1/', 'https://2130706433/', 'https://0x7f.1/', 'https://127.1/', 'https://0/', 'https://[::1]/'],
  ...['https://[::ffff:10.0.0.1]/', 'https://[::ffff:a00:1]/', 'https://169.254.169.254/latest', 'https://10.1.2.3/'],
  ...[
    'https://192.168.0.1/',
    'https://[fd00::1]/',
    'https://localhost/',
    'https://a.localhost./',
    'http://example.com/',
  ],
  ...[
    'ftp://example.com/',
    'https://user:word@example.com/',
    'nothing',
    'file:///etc/passwd',
    `https://e.com/${'x'.repeat(2048)}`,
  ],
])('an endpoint at %s is refused when it is made', (url) => {
  expect(() => checkedWebhookUrl(url, production, 'url')).toThrow(expect.objectContaining({ code: 'invalid_field' }))
})

test('an endpoint on the public internet is taken, and one of this machine in development alone', () => {
  expect(checkedWebhookUrl('https://example.com/a?b=c#d', production, 'url')).toBe('https://example.com/a?b=c')
  expect(checkedWebhookUrl('http://127.0.0.1:9/x', development, 'url')).toBe('http://127.0.0.1:9/x')
  expect(checkedWebhookUrl('http://localhost:9/', development, 'url')).toBe('http://localhost:9/')
  expect(() => checkedWebhookUrl('http://10.0.0.1/', development, 'url')).toThrow()
})

test.each([
  ['a name that leads to a private address', 'hook.example', ['10.0.0.1']],
  ['a name that leads to this machine', 'hook.example', ['127.0.0.1']],
  ['a name with one private address among public ones', 'hook.example', ['93.184.216.34', '169.254.169.254']],
  ['a name that leads to a private address written as IPv6', 'hook.example', ['::ffff:127.0.0.1']],
  ['a decimal address', '2130706433', []],
  ['an IPv4 address written as IPv6', '[::ffff:127.0.0.1]', []],
])('%s is not called, though the endpoint is there', async (_what, host, addresses) => {
  const accountId = await setting.account()
  const endpoint = await setting.endpoint(accountId, receiver.url)
  const url = `http://${host}:${new URL(receiver.url).port}/hook`
  await database.sql('update webhook_endpoints set url = $1 where id = $2', [url, endpoint.id])
  setting.start({}, { allowedNetworks: [], resolve: async () => addresses })
  const eventId = await setting.tell(accountId, 'order-1')
  await setting.settled()
  expect(await setting.delivery(endpoint.id, eventId)).toMatchObject({ state: 'pending', last_outcome: 'address' })
  expect(receiver.got).toEqual([])
})

test('a name is judged at every delivery: one that turns private later is called no more', async () => {
  const accountId = await setting.account()
  const endpoint = await setting.endpoint(accountId, receiver.url)
  const url = `http://hook.example:${new URL(receiver.url).port}/`
  await database.sql('update webhook_endpoints set url = $1 where id = $2', [url, endpoint.id])
  let address = '127.0.0.1'
  // this machine plays the public internet
  setting.start({}, { allowedNetworks: ['127.0.0.1/32'], resolve: async () => [address] })
  receiver.behaviour = answering(200, { connection: 'close' })
  await setting.tell(accountId, 'order-1')
  await setting.settled()
  expect(receiver.got).toHaveLength(1)
  address = '127.0.0.2'
  const eventId = await setting.tell(accountId, 'order-2')
  await setting.settled()
  expect(await setting.delivery(endpoint.id, eventId)).toMatchObject({ state: 'pending', last_outcome: 'address' })
  expect(receiver.got).toHaveLength(1)
})
