import { afterAll, beforeAll, expect, test } from 'vitest'
import { freshDatabase, type TestDatabase } from '../../test/database.ts'
import { type Receiver, startReceiver, until, type WebhookSetting, webhookSetting } from '../../test/webhook-setting.ts'
import { masked, openTerminal, testPepper } from './terminal.fixture.ts'

let database: TestDatabase
let terminal: ReturnType<typeof openTerminal>
let setting: WebhookSetting
let receiver: Receiver
let account: string
let endpoint: string
let delivery: string
beforeAll(async () => {
  ;[database, receiver] = await Promise.all([freshDatabase(), startReceiver()])
  terminal = openTerminal({ DATABASE_URL: database.url })
  setting = webhookSetting(database, testPepper)
  const accountId = await setting.account()
  const made = await setting.endpoint(accountId, `${receiver.url}/hook`, ['order.completed'])
  setting.start()
  const eventId = await setting.tell(accountId, 'order-1')
  await setting.settled()
  ;[account, endpoint] = [String(accountId), String(made.id)]
  delivery = String((await setting.delivery(made.id, eventId)).id)
})
afterAll(async () => {
  terminal.close()
  await setting.stop()
  await receiver.close()
  await database.drop()
})

test('endpoints are listed without their secrets', async () => {
  const { exitCode, out } = await terminal.run(['webhook', 'list', account])
  expect(exitCode).toBe(0)
  expect(masked(out)).toBe(
    `ID  STATE  EVENTS  FAILING SINCE  URL\n${endpoint}  enabled  order.completed  -  ${receiver.url}/hook`,
  )
  const { endpoints } = (await terminal.run(['webhook', 'list', account, '--json'])).json<{ endpoints: object[] }>()
  expect(endpoints).toMatchObject([{ url: `${receiver.url}/hook`, enabled: true }])
  expect(JSON.stringify(endpoints)).not.toMatch(/secret|whsec/)
})

test('deliveries are listed with what became of them, by endpoint and by state', async () => {
  const { out } = await terminal.run(['webhook', 'deliveries', account])
  expect(masked(out)).toBe(
    `ID  WHEN  EVENT  OBJECT  STATE  ATTEMPTS  LAST  URL\n${delivery}  <time>  order.completed  order-1  delivered  1  ok 200  ${receiver.url}/hook`,
  )
  const failed = await terminal.run(['webhook', 'deliveries', account, '--endpoint', endpoint, '--state', 'failed'])
  expect(failed.out.trim()).toBe('There are no such deliveries.')
  expect((await terminal.run(['webhook', 'deliveries', account, '--state', 'lost'])).exitCode).toBe(2)
})

test('a replay is sent by a running server and stands in the audit log with its reason', async () => {
  const one = await terminal.run(['webhook', 'replay', account, '--delivery', delivery, '--reason', 'they lost it'])
  expect([one.exitCode, one.out.trim()]).toEqual([
    0,
    `Delivery ${delivery} (order.completed) is sent again by a running server.`,
  ])
  setting.clock.advance(60_000)
  await until(() => receiver.got.length === 2, 'it arrives again')
  await setting.settled()
  const since = ['--endpoint', endpoint, '--since', '2020-01-01T00:00:00Z', '--reason', 'an outage']
  expect((await terminal.run(['webhook', 'replay', account, ...since])).out.trim()).toBe(
    '0 deliveries are sent again by a running server.',
  )
  const all = await terminal.run(['webhook', 'replay', account, ...since, '--include-delivered', '--json'])
  expect(all.json()).toEqual({ replayed: 1 })
  setting.clock.advance(60_000)
  await until(() => receiver.got.length === 3, 'it arrives once more')
  const rows = await database.sql(
    `select actor, reason from audit_log where action = 'replay.webhook' and target_id = $1 order by id`,
    [endpoint],
  )
  expect(rows).toMatchObject([
    { actor: 'operator:ada', reason: 'they lost it' },
    { actor: 'operator:ada', reason: 'an outage' },
    { actor: 'operator:ada', reason: 'an outage' },
  ])
})

test.each([
  ['neither', []],
  ['both', ['--delivery', '1', '--endpoint', '1']],
  ['an endpoint without a time', ['--endpoint', '1']],
])('a replay that names %s is refused with what it takes', async (_what, options) => {
  const { exitCode, err } = await terminal.run(['webhook', 'replay', account, ...options, '--reason', 'x'])
  expect(exitCode).toBe(2)
  expect(err).toContain('--delivery, or --endpoint with --since')
})
