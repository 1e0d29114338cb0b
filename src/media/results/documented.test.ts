import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type SignedInPerson, startServers, type TestServers } from '../../../test/servers.ts'
import { named, type Snippet, snippetsOf } from '../../../test/snippets.ts'
import { loadConfig } from '../../config/config.ts'
import { shipped } from '../../config/shipped.fixture.ts'

let servers: TestServers
let person: SignedInPerson
let folder: string
let snippets: Snippet[]

beforeAll(async () => {
  servers = await startServers()
  person = await servers.signIn()
  await servers.grant(person.accountId, 10_000_000n)
  folder = await mkdtemp(join(tmpdir(), 'farebox-results-'))
  snippets = [
    ...(await snippetsOf(new URL('../../../docs/results.md', import.meta.url))),
    ...(await snippetsOf(new URL('../../../docs/recipes/add-a-provider.md', import.meta.url))),
  ]
})
afterAll(async () => {
  await servers.stop()
  await rm(folder, { recursive: true, force: true })
})

/** A result of the demo, as its task tells it. */
async function made(path: string, body: object): Promise<{ url: string; content_type: string; bytes: number }> {
  const sent = { token: person.apiKey, body }
  const task = await servers.send('POST', path, sent)
  const ended = await servers.send('GET', `${task.json.poll_url}?wait=60`, { token: person.apiKey })
  return ended.json.result.data[0]
}

test('a result is downloaded as documented: whole, in part, and not again', async () => {
  const result = await made('/v1/images/generations', { model: 'demo-image', prompt: 'a fox', size: '64x64' })
  const script = named(snippets, 'download')
  const env = { PATH: process.env.PATH, RESULT_URL: result.url }
  const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', script], { cwd: folder, env })
  expect(stdout).toBe('304')
  const whole = await readFile(join(folder, 'result'))
  expect(whole.length).toBe(result.bytes)
  expect(await readFile(join(folder, 'part'))).toEqual(whole.subarray(0, 100))
})

test('a film is served as a film, by a real socket', async () => {
  const result = await made('/v1/videos/generations', { model: 'demo-video', prompt: 'a fox', duration: 1 })
  const answer = await fetch(result.url, { headers: { range: 'bytes=4-7' } })
  expect([answer.status, answer.headers.get('content-type'), await answer.text()]).toEqual([206, 'video/mp4', 'ftyp'])
})

test('the documented settings are settings', () => {
  const environment = { S3_ACCESS_KEY_ID: 'x', S3_SECRET_ACCESS_KEY: 'y', STUDIO_API_KEY: 'z' }
  const load = (yaml: string) => {
    const readFile = (path: string) => (path === 'farebox.yaml' ? yaml : undefined)
    return loadConfig({ environment, readFile, now: new Date('2026-11-01'), mode: 'development' }).config
  }
  const bare = shipped().replace(/^results:\n( .*\n)*/m, '')
  expect(load(`${bare}\n${named(snippets, 's3')}`).results.s3).toMatchObject({ bucket: 'farebox-results' })
  const withoutMedia = shipped().replace(/^media_models:\n(?:(?: .*)?\n)*/m, '')
  const [providers = '', models = ''] = named(snippets, 'task-api').split(/^(?=media_models:)/m)
  const described = withoutMedia.replace(/^providers:\n/m, providers)
  const config = load(`${described}\n${models}`)
  expect(config.providers.studio).toMatchObject({ kind: 'task-api' })
  expect(config.mediaModels.map(({ id }) => id)).toEqual(['studio-picture'])
})
