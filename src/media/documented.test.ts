import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type SignedInPerson, startServers, type TestServers } from '../../test/servers.ts'
import { named, type Snippet, snippetsOf } from '../../test/snippets.ts'

let servers: TestServers
let person: SignedInPerson
let folder: string
let snippets: Snippet[]

beforeAll(async () => {
  servers = await startServers()
  person = await servers.signIn()
  await servers.grant(person.accountId, 10_000_000n)
  folder = await mkdtemp(join(tmpdir(), 'farebox-media-'))
  snippets = await snippetsOf(new URL('../../docs/media.md', import.meta.url))
})
afterAll(async () => {
  await servers.stop()
  await rm(folder, { recursive: true, force: true })
})

const root = fileURLToPath(new URL('../../', import.meta.url))

/** Runs a snippet as it stands in the page; modules are found as in a program beside this package. */
async function run(name: string, text: string): Promise<void> {
  const env = { PATH: process.env.PATH, FAREBOX_URL: servers.urls[0] ?? '', FAREBOX_KEY: person.apiKey }
  if (name === 'curl') await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', text], { cwd: folder, env })
  else {
    const program = text.replace(/writeFile\('/g, `writeFile('${folder}/`)
    await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program], { cwd: root, env })
  }
}

test.each([
  ['curl', 'picture.png'],
  ['openai', 'openai.png'],
  ['ai-sdk', 'ai-sdk.png'],
])('the documented way by %s leads to a picture that opens', async (name, file) => {
  await run(name, named(snippets, name))
  const bytes = await readFile(join(folder, file))
  expect(bytes.subarray(0, 8).toString('hex')).toBe('89504e470d0a1a0a')
  // the measures in the first chunk, and the chunk that ends every picture
  expect([bytes.readUInt32BE(16), bytes.readUInt32BE(20)].every((side) => side > 0 && side <= 4096)).toBe(true)
  expect(bytes.subarray(-8, -4).toString()).toBe('IEND')
})

test('what these three cost is three times the price of a picture', async () => {
  const [row] = await servers.database.sql<{ spent: string; held: string }>(
    `select (select sum(amount_micro) from transfers where account_id = $1 and kind = 'capture') as spent,
            (select sum(held_micro) from buckets where account_id = $1) as held`,
    [person.accountId],
  )
  expect(row).toEqual({ spent: '60000', held: '0' })
})

test('a film of the demo is made and charged by its seconds', async () => {
  const token = person.apiKey
  const body = { model: 'demo-video', prompt: 'a train', duration: 1, resolution: '240p' }
  const created = await servers.send('POST', '/v1/videos/generations', { token, body })
  expect(created.status).toBe(202)
  const { json } = await servers.send('GET', `${created.json.poll_url}?wait=60`, { token })
  expect(json).toMatchObject({ state: 'success', billing: { status: 'committed', actual_amount_micro: 50_000 } })
  const film = await fetch(json.result.data[0].url)
  expect([film.status, film.headers.get('content-type')]).toEqual([200, 'video/mp4'])
  expect(Buffer.from(await film.arrayBuffer()).toString('latin1', 4, 8)).toBe('ftyp')
})
