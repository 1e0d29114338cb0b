import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startServers, type TestServers } from '../../test/servers.ts'
import { named, type Snippet, snippetsOf } from '../../test/snippets.ts'
import { until } from '../../test/webhook-setting.ts'
import { subscribable } from './event-types.ts'

let servers: TestServers
let folder: string
let snippets: Snippet[]
let receiver: ChildProcess | undefined
beforeAll(async () => {
  ;[servers, folder, snippets] = await Promise.all([
    startServers(),
    mkdtemp(join(tmpdir(), 'farebox-webhooks-')),
    snippetsOf(new URL('../../docs/webhooks.md', import.meta.url)),
  ])
})
afterAll(async () => {
  receiver?.kill('SIGKILL')
  await Promise.all([servers.stop(), rm(folder, { recursive: true, force: true })])
})

test('the documented receiver verifies what arrives, takes a repeat once, and refuses what is forged', async () => {
  const person = await servers.signIn()
  const port = String(await freePort())
  const environment = { PATH: process.env.PATH, FAREBOX_URL: servers.urls[0], ACCESS_TOKEN: person.accessToken }
  const shell = async (name: string, more: Record<string, string> = {}) => {
    const text = named(snippets, name).replace('127.0.0.1:3000', `127.0.0.1:${port}`)
    const env = { ...environment, ...more }
    return JSON.parse((await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', text], { env })).stdout).data
  }
  const endpoint = await shell('create')
  let output = ''
  await symlink(fileURLToPath(new URL('../../node_modules', import.meta.url)), join(folder, 'node_modules'))
  await writeFile(join(folder, 'receiver.mjs'), named(snippets, 'receiver'))
  receiver = spawn(process.execPath, ['receiver.mjs'], {
    cwd: folder,
    env: { PATH: process.env.PATH, PORT: port, WEBHOOK_SECRET: endpoint.secret },
  })
  for (const stream of [receiver.stdout, receiver.stderr]) stream?.on('data', (data) => (output += data))
  const forge = () =>
    fetch(`http://127.0.0.1:${port}/hooks`, {
      method: 'POST',
      headers: {
        'webhook-id': 'evt_1',
        'webhook-timestamp': String(Math.floor(Date.now() / 1000)),
        'webhook-signature': 'v1,bm8=',
      },
      body: '{"type":"order.completed","data":{}}',
    }).catch(() => undefined)
  await until(async () => (await forge())?.status === 400, 'the receiver answers, and refuses')
  const delivery = await shell('test', { WEBHOOK_ID: String(endpoint.id) })
  await until(() => output.includes('webhook.test'), 'the test arrives')
  const state = async () =>
    (await servers.send('GET', `/v1/me/webhooks/deliveries/${delivery.id}`, { token: person.accessToken })).json.data
  await until(async () => (await state()).state === 'delivered', 'it is recorded')
  await servers.send('POST', `/v1/me/webhooks/deliveries/${delivery.id}/replay`, { token: person.accessToken })
  await until(async () => (await state()).attempts === 2 && (await state()).state === 'delivered', 'it is sent again')
  expect(output.match(/webhook\.test/g)).toHaveLength(1)
  expect(output).not.toContain('order.completed')
  const exited = once(receiver, 'exit')
  receiver.kill('SIGTERM')
  await exited
})

test('the document lists the types of events that there are', async () => {
  const text = await readFile(new URL('../../docs/webhooks.md', import.meta.url), 'utf8')
  const listed = [...text.matchAll(/^\| `(\w+\.\w+)` \|/gm)].map(([, name]) => name)
  expect(listed.sort()).toEqual([...subscribable].sort())
})

const freePort = async (): Promise<number> => {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const address = probe.address()
  probe.close()
  return typeof address === 'object' && address !== null ? address.port : 0
}
