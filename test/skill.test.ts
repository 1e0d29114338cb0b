import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type DevelopmentServer, startDevelopmentServer } from '../sdk/src/development-server.fixture.ts'
import { until } from './app.ts'
import { named, type Snippet, snippetsOf } from './snippets.ts'

const project = fileURLToPath(new URL('..', import.meta.url))
let server: DevelopmentServer
let folder: string
let skill: Snippet[]

/** An Agent that has the page, its key, and what the page has it install. */
beforeAll(async () => {
  ;[server, folder, skill] = await Promise.all([
    startDevelopmentServer(),
    mkdtemp(join(tmpdir(), 'farebox-skill-')),
    snippetsOf(new URL('../docs/skill.md', import.meta.url)),
  ])
  for (const { language, text } of skill)
    if (language === 'js') {
      const [, file = ''] = /^\/\/ ([\w-]+\.mjs)/.exec(text) ?? []
      await writeFile(join(folder, file), here(text))
    }
  await symlink(join(project, 'node_modules'), join(folder, 'node_modules'))
  await writeFile(join(folder, 'agent.key'), `${server.development.payers[1]?.private_key}\n`, { mode: 0o600 })
})
afterAll(async () => {
  await server?.stop()
  await rm(folder, { recursive: true, force: true })
})

const here = (text: string): string => text.replaceAll('http://127.0.0.1:8787', server.url)

/** Runs a block of the page, in the Agent's folder; the answers are lines of JSON. */
async function run(name: string): Promise<string> {
  const env = { PATH: process.env.PATH ?? '', RPC_URL: server.development.chain.rpc_url }
  const { stdout } = await promisify(execFile)('bash', ['--norc', '-euo', 'pipefail', '-c', here(named(skill, name))], {
    cwd: folder,
    env,
  })
  return stdout
}

/** What is answered to a block of the page: one JSON object after another. */
const answers = async (name: string): Promise<Array<Record<string, unknown>>> =>
  (await run(name)).split(/(?<=\})\n?(?=\{)/).map((text) => JSON.parse(text))

test('the served page is the one that is tested, with the server’s own address', async () => {
  const page = await (await fetch(`${server.url}/skill.md`)).text()
  expect(page).toMatch(/^---\nname: farebox\n/)
  expect(page).not.toContain('127.0.0.1:8787')
  for (const { text } of skill) expect(page).toContain(here(text))
  const linked = [...page.matchAll(/\]\((http[^)]+)\)/g)].map(([, link = '']) => link)
  expect(linked.length).toBeGreaterThan(4)
  for (const link of linked) expect([link, (await fetch(link)).status]).toEqual([link, 200])
})

test('every block of shell on the page has a name, and is run here', () => {
  const shell = skill.filter(({ language }) => language === 'sh').map(({ name }) => name)
  expect(shell).toEqual(['install', 'sign-in', 'buy', 'payments', 'order', 'models', 'chat', 'balance', 'refund'])
})

test('with nothing but a wallet key an Agent signs in, buys by x402 and by an order, calls, reads and is refunded', async () => {
  expect(await run('sign-in')).toMatch(/^signed in as account \d+\n$/)
  for (const file of ['session.header', 'key.header']) expect((await stat(join(folder, file))).mode & 0o777).toBe(0o600)

  const [paid] = await answers('buy')
  const asked = async () => ((await answers('payments'))[0] as { data: Array<Record<string, unknown>> }).data
  await until(async () => (await asked())[0]?.status === 'credited', 'the payment is credited')
  expect(await asked()).toMatchObject([{ payment_id: paid?.payment_id, amount_micro: 2_000_000 }])

  expect(await run('order')).toMatch(/"attempt_id":"[\s\S]*0x[0-9a-f]{64}\n[\s\S]*"status":"(confirming|completed)"/)
  const again = await run('order')
  expect(again).toMatch(/"code":"(attempt_active|order_completed)"[\s\S]*"status":"(confirming|completed)"/)
  expect(again).not.toMatch(/^0x|\}0x/m)

  const [models] = await answers('models')
  expect(models?.object).toBe('list')
  const [chat] = await answers('chat')
  expect(chat).toMatchObject({ object: 'chat.completion', usage: { cost_micro: expect.any(Number) } })
  const [balance, statement] = await answers('balance')
  expect(balance?.available_micro).toBeGreaterThan(0)
  expect(statement?.data).toContainEqual(expect.objectContaining({ kind: 'capture' }))

  await failAfterCharge()
  const [refund] = await answers('refund')
  expect(refund).toMatchObject({ status: 'completed', refund: { reason: 'no answer came' } })
})

/** A picture that fails, and that its provider charges for. */
async function failAfterCharge(): Promise<void> {
  const headers = { authorization: (await readFile(join(folder, 'key.header'), 'utf8')).trim().slice(15) }
  const body = JSON.stringify({ model: 'demo-image-failing', prompt: 'fail:billed' })
  const made = await fetch(`${server.url}/v1/images/generations`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body,
  })
  const { poll_url } = (await made.json()) as { poll_url: string }
  const task = (await (await fetch(`${server.url}${poll_url}?wait=30`, { headers })).json()) as { state: string }
  expect(task.state).toBe('fail')
}

test('what the page has installed is what this project is tested with', () => {
  const packages = named(skill, 'install').trim().split(' ').slice(2)
  for (const name of packages) expect(() => import.meta.resolve(name)).not.toThrow()
})
