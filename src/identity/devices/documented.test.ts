import { execFile, spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '../../../test/app.ts'
import { type SignedInPerson, startServers, type TestServers } from '../../../test/servers.ts'
import { named, type Snippet, snippetsOf } from '../../../test/snippets.ts'

let servers: TestServers
let owner: SignedInPerson
let snippets: Snippet[]
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'farebox-device-'))
  snippets = await snippetsOf(new URL('../../../docs/owner-sign-in.md', import.meta.url))
  servers = await startServers()
  owner = await servers.owner()
})
afterAll(async () => {
  await servers.stop()
  await rm(folder, { recursive: true, force: true })
})

const environment = (more: Record<string, string> = {}) => ({
  PATH: process.env.PATH ?? '',
  FAREBOX_URL: servers.urls[0] ?? '',
  ...more,
})
const shell = async (name: string, more?: Record<string, string>) => {
  const { stdout } = await promisify(execFile)('sh', ['-c', named(snippets, name)], { env: environment(more) })
  return JSON.parse(stdout)
}
const approve = (userCode: string) =>
  servers.send('POST', `/v1/auth/device/${userCode}/approve`, { token: owner.accessToken, body: {} })

test('the documented requests begin a login, wait, and get the tokens that the owner approved', async () => {
  const begun = await shell('begin')
  const example = JSON.parse(snippets.find(({ text }) => text.includes('verification_uri_complete'))?.text ?? '{}')
  expect(Object.keys(begun)).toEqual(Object.keys(example))
  const asking = { DEVICE_CODE: begun.device_code }
  expect(await shell('poll', asking)).toMatchObject({ error: 'authorization_pending', code: 'authorization_pending' })
  await approve(begun.user_code)
  const answer = await shell('poll', asking)
  expect(answer).toMatchObject({ account: { id: Number(owner.accountId) }, tokens: { token_type: 'Bearer' } })
  expect(await shell('poll', asking)).toMatchObject({ error: 'expired_token' })
})

test('the documented program is logged in once its owner has approved it', async () => {
  const sdk = new URL('../../../sdk/src/index.ts', import.meta.url).href
  const file = join(folder, 'device.ts')
  await writeFile(file, named(snippets, 'device').replace('@farebox/sdk', sdk))
  const program = spawn(process.execPath, [file], { env: environment() })
  let output = ''
  for (const stream of [program.stdout, program.stderr]) stream.on('data', (data) => (output += data))
  await until(() => /user_code=[B-Z]{4}-[B-Z]{4}\n/.test(output), 'the program shows its code')
  await approve(/[B-Z]{4}-[B-Z]{4}/.exec(output)?.[0] ?? '')
  await until(() => program.exitCode !== null, 'the program ends')
  expect(output).toContain(`Logged in as owner ${owner.accountId}.`)
})
