import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { startServers, type TestServers } from '../../test/servers.ts'
import { named, snippetsOf } from '../../test/snippets.ts'
import { loadConfig } from '../config/config.ts'
import { shipped } from '../config/shipped.fixture.ts'
import type { JsonObject } from '../providers/provider.ts'

let servers: TestServers
let environment: Record<string, string>
const page = await snippetsOf(new URL('../../docs/capabilities.md', import.meta.url))

beforeAll(async () => {
  servers = await startServers()
})
beforeEach(async () => {
  const { accountId, apiKey } = await servers.signIn()
  await servers.grant(accountId, 1_000_000n)
  environment = { PATH: process.env.PATH ?? '', FAREBOX_URL: servers.urls[0] ?? '', FAREBOX_KEY: apiKey }
})
afterAll(() => servers.stop())

const sh = async (name: string): Promise<string> =>
  (await promisify(execFile)('bash', ['-c', named(page, name)], { env: environment })).stdout
const answer = async (name: string): Promise<JsonObject> => JSON.parse(await sh(name))

test('every command of the page does what the page says', async () => {
  expect(await answer('list')).toMatchObject({ count: 1, data: [{ slug: 'demo-text' }] })
  expect(await answer('invoke')).toMatchObject({
    operation: 'reverse',
    data: { text: 'olleh' },
    billing: { status: 'committed', actual_amount_micro: 1000 },
  })
  expect(await answer('read')).toMatchObject({ data: { characters: 11, words: 2 } })
  const [once, twice] = (await sh('once')).trim().split('\n')
  expect(JSON.parse(once ?? '').data.receipt).toMatch(/^demo-\d+-2cf24dba$/)
  expect(twice).toBe(once)
  expect(await answer('task')).toMatchObject({
    state: 'success',
    capability_slug: 'demo-text',
    result: { data: { words: 6, different_words: 4 } },
    billing: { status: 'committed', actual_amount_micro: 5000 },
  })
})

test('the answer of the page has the members of a real one', async () => {
  const shown = page.find(({ language }) => language === 'json')
  const real = await answer('invoke')
  const example = JSON.parse(shown?.text ?? '') as JsonObject
  expect(Object.keys(example)).toEqual(Object.keys(real))
  const { owner, ...billing } = example.billing as JsonObject
  expect(owner).toBeDefined()
  expect(Object.keys(billing)).toEqual(Object.keys(real.billing as JsonObject))
})

const problemsOf = (yaml: string): unknown => {
  const file = { ...parse(shipped()), ...parse(yaml) }
  return loadConfig({
    environment: { WEATHER_AUTHORIZATION: 'Bearer x' },
    readFile: () => stringify(file),
    now: new Date('2026-06-01'),
    mode: 'development',
  }).config.capabilities.map(({ slug, versions }) => [slug, versions.map(({ version }) => version)])
}

test('the capability of the page, and the version of the recipe, can be configured', async () => {
  expect(problemsOf(named(page, 'configuration'))).toEqual([['weather', ['v1']]])
  const recipe = await snippetsOf(new URL('../../docs/recipes/add-a-capability.md', import.meta.url))
  const { capabilities } = parse(shipped()) as { capabilities: Array<JsonObject & { versions: unknown[] }> }
  const [demo] = capabilities
  demo?.versions.push(...(parse(named(recipe, 'operation')) as unknown[]))
  expect(problemsOf(stringify({ capabilities: [{ ...demo, default_version: 'v2' }] }))).toEqual([
    ['demo-text', ['v1', 'v2']],
  ])
})

test('the program of the page about tools lists them and calls one', async () => {
  const snippets = await snippetsOf(new URL('../../docs/mcp.md', import.meta.url))
  const program = snippets.find(({ language }) => language === 'js')?.text ?? ''
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program], {
    env: environment,
  })
  expect(stdout).toBe(
    'demo-text_count demo-text_reverse demo-text_pig-latin demo-text_filler demo-text_notarize demo-text_report get_balance list_models get_task create_topup create_order get_order\nolleh 1000\n',
  )
})
