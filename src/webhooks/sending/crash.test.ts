import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freshDatabase, type TestDatabase } from '../../../test/database.ts'
import { spawnServer } from '../../../test/server-process.ts'
import { type Receiver, startReceiver, until, verified, webhookSetting } from '../../../test/webhook-setting.ts'
import { packagedConfigurationFile } from '../../config/config.ts'
import { readTextFile } from '../../config/read-file.ts'

let database: TestDatabase
let receiver: Receiver
let folder: string
beforeAll(async () => {
  ;[database, receiver, folder] = await Promise.all([
    freshDatabase(),
    startReceiver(),
    mkdtemp(join(tmpdir(), 'farebox-webhooks-')),
  ])
})
afterAll(async () => {
  await Promise.all([receiver.close(), database.drop(), rm(folder, { recursive: true, force: true })])
})

test('a server killed between a delivery and its record: another one delivers it again, with the same webhook-id', async () => {
  const pepper = randomBytes(32)
  const shipped = readTextFile(packagedConfigurationFile) ?? ''
  await writeFile(
    join(folder, 'farebox.yaml'),
    shipped
      .replace(/^outgoing:$/m, 'outgoing:\n  allowed_networks: [127.0.0.0/8]')
      .replace(/^(# )?allow_demo: .*$/m, 'allow_demo: true'),
  )
  const setting = webhookSetting(database, pepper)
  const accountId = await setting.account()
  const endpoint = await setting.endpoint(accountId, receiver.url)
  const server = spawnServer(folder, {
    DATABASE_URL: database.url,
    FAREBOX_KEY_PEPPER: pepper.toString('hex'),
    FAREBOX_CONFIG: join(folder, 'farebox.yaml'),
  })
  try {
    await server.listening()
    // the receiver has it, and its sender dies before it can know
    receiver.behaviour = () => void server.child.kill('SIGKILL')
    const eventId = await setting.tell(accountId, 'order-1')
    await once(server.child, 'exit')
    expect(receiver.got).toHaveLength(1)
    expect(await setting.delivery(endpoint.id, eventId)).toMatchObject({ state: 'pending', attempts: 1 })
    receiver.behaviour = (response) => void response.end()
    setting.start()
    await setting.delivery(endpoint.id, eventId)
    expect(receiver.got).toHaveLength(1)
    // what nobody ended in a minute is taken over
    setting.clock.advance(120_000)
    await until(async () => (await setting.delivery(endpoint.id, eventId)).state === 'delivered', 'it is taken over')
    expect(receiver.got.map(({ headers }) => headers['webhook-id'])).toEqual([`evt_${eventId}`, `evt_${eventId}`])
    for (const request of receiver.got) verified(request, endpoint.secret)
    expect(receiver.got[0]?.text).toBe(receiver.got[1]?.text)
  } finally {
    server.child.kill('SIGKILL')
    await setting.stop()
  }
})

test('a process that ends in order gives back what is under way, and it does not count as a try', async () => {
  const setting = webhookSetting(database)
  try {
    const accountId = await setting.account()
    const endpoint = await setting.endpoint(accountId, receiver.url)
    let arrived = false
    receiver.behaviour = () => {
      arrived = true
    }
    const first = setting.start()
    const eventId = await setting.tell(accountId, 'order-1')
    await until(() => arrived, 'it is under way')
    await first.stop()
    receiver.behaviour = (response) => void response.end()
    setting.start()
    await until(
      async () => (await setting.delivery(endpoint.id, eventId)).state === 'delivered',
      'another one sends it',
    )
    const [row] = await database.sql<{ tries: number }>('select tries from webhook_deliveries where event_id = $1', [
      eventId,
    ])
    expect(row?.tries).toBe(1)
  } finally {
    await setting.stop()
  }
})
