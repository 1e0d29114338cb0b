import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Answer, type Person, readAnswer, startTestApp, type TestApp } from '../../test/app.ts'
import type { JsonObject } from '../providers/provider.ts'
import { capability, operation, saying, startUpstream, type Upstream } from './upstream.fixture.ts'

let app: TestApp
let upstream: Upstream
let person: Person

const first = operation('echo')
const second = operation('echo', { price: '{ kind: fixed, micro: 900 }', path: '/echo-2' })
const withVersions = (versions: Record<string, readonly string[]>, more = ''): { capabilities: string } => ({
  capabilities: capability('tools', upstream.baseUrl, versions, more),
})

beforeAll(async () => {
  upstream = await startUpstream()
  app = await startTestApp(withVersions({ v1: [first] }))
})
beforeEach(async () => {
  upstream.calls.length = 0
  upstream.behaviour = saying({ text: 'pong' })
  person = await app.person()
  await app.reload(withVersions({ v1: [first] }))
})
afterAll(() => Promise.all([app.stop(), upstream.close()]))

const run = (version?: string): Promise<Answer> =>
  app.post(
    `/v1/capabilities/tools/operations/echo${version === undefined ? '' : `?version=${version}`}`,
    { text: 'a' },
    person,
  )
const detail = async (version?: string): Promise<Answer> =>
  readAnswer(
    await fetch(`${app.url}/v1/capabilities/tools${version === undefined ? '' : `?version=${version}`}`, {
      headers: { authorization: `Bearer ${person.key}` },
    }),
  )
const charged = ({ json }: Answer): unknown => [
  json.capability_version,
  (json.billing as JsonObject).actual_amount_micro,
]
const readiness = async (): Promise<JsonObject> =>
  (await readAnswer(await fetch(`${app.url}/readyz`))).json.checks as JsonObject

test('a new version is called by who names none, and the old one answers as before', async () => {
  const before = await detail('v1')
  const { outcome, lines } = await app.reload(withVersions({ v1: [first], v2: [second] }))
  expect([outcome, lines]).toEqual([
    'applied',
    [
      '~ capability tools: default_version "v1" -> "v2"',
      '~ capability tools: new version v2 (echo 900 for each call; microcredits)',
    ],
  ])
  expect(charged(await run())).toEqual(['v2', 900])
  expect(charged(await run('v1'))).toEqual(['v1', 500])
  expect(upstream.calls.map(({ url }) => url)).toEqual(['/api/echo-2', '/api/echo'])
  expect((await detail('v1')).json.operations).toEqual(before.json.operations)
})

test('a version that left the file answers as it was frozen, until it is withdrawn', async () => {
  const before = await detail('v1')
  const { lines } = await app.reload(withVersions({ v2: [second] }))
  expect(lines).toContain('~ capability tools: version v1 left the file and is served as it was frozen')
  expect(charged(await run('v1'))).toEqual(['v1', 500])
  expect(charged(await run())).toEqual(['v2', 900])
  expect((await detail('v1')).json.operations).toEqual(before.json.operations)
  await app.reload(withVersions({ v2: [second] }, '    withdrawn_versions: [v1]\n'))
  const { status, json } = await run('v1')
  expect([status, json.code]).toEqual([404, 'capability_version_not_found'])
})

test('the same version with other content is blocked with a clear error, charges nothing, and is said loudly', async () => {
  const { lines } = await app.reload(withVersions({ v1: [second], v2: [second] }))
  expect(lines).toContain(
    '! capability tools v1 differs from what was frozen: its calls are refused until it is mended',
  )
  const { status, json } = await run('v1')
  expect([status, json.code, json.capability_version]).toEqual([409, 'capability_version_drifted', 'v1'])
  expect(json.message).toBe(
    'tools v1 is configured otherwise than it was when it was first served, so it is not called. Nothing was charged. Others are in order: v2.',
  )
  expect((await detail('v1')).json.availability).toMatchObject({ invoke_allowed: false })
  expect(charged(await run('v2'))).toEqual(['v2', 900])
  expect(upstream.calls.length).toBe(1)
  expect((await readiness()).capabilities).toEqual({ ok: false, detail: 'differ from what was frozen: tools v1' })
  expect(await app.app.metrics.registry.metrics()).toContain('farebox_capability_versions_drifted 1')
  expect(app.log.some((line) => line.includes('differ from what was frozen'))).toBe(true)
  const mended = await app.reload(withVersions({ v1: [first], v2: [second] }))
  expect(mended.lines).toEqual(['~ capability tools v1 differs no more from what was frozen'])
  expect(charged(await run('v1'))).toEqual(['v1', 500])
  expect(await readiness()).not.toHaveProperty('capabilities')
})

test('what is written with a default or without it is the same version', async () => {
  const spelledOut = operation('echo', { method: 'POST', modes: '[sync]', summary: '""', read_only: 'false' })
  await app.reload(withVersions({ v1: [spelledOut] }))
  expect(charged(await run('v1'))).toEqual(['v1', 500])
})

test('a call in flight keeps the version, price and upstream that it began with', async () => {
  const other = await startUpstream()
  const { promise: asked, resolve: arrived } = Promise.withResolvers<void>()
  const { promise: mayAnswer, resolve: answerNow } = Promise.withResolvers<void>()
  upstream.behaviour = async (call) => {
    arrived()
    await mayAnswer
    await saying({ text: 'late' })(call)
  }
  const running = run()
  await asked
  await app.reload({ capabilities: capability('tools', other.baseUrl, { v3: [second] }) })
  expect(charged(await run())).toEqual(['v3', 900])
  expect(other.calls.length).toBe(1)
  answerNow()
  expect(charged(await running)).toEqual(['v1', 500])
  await other.close()
})

test('another process with another file does not change what was frozen', async () => {
  const [{ openCatalogue, driftedVersions }, { loadConfig }] = await Promise.all([
    import('./catalogue.ts'),
    import('../config/config.ts'),
  ])
  const yaml = (price: number): string => `providers: { d: { kind: demo } }
models: [{ id: demo-a, name: A, context_length: 9, max_output_tokens: 9, default_output_tokens: 9, providers: [{ provider: d, model: chat }], prices: [{ version: 1, effective_from: 2026-01-01T00:00:00Z, input_micro_per_m: 1, output_micro_per_m: 1 }] }]
capabilities: [{ slug: demo-raced, name: R, upstream: { kind: demo }, versions: [{ version: v1, operations: [{ slug: reverse, name: R, path: /reverse, price: { kind: fixed, micro: ${price} } }] }] }]
`
  const open = (price: number) => {
    const { config } = loadConfig({
      environment: {},
      readFile: () => yaml(price),
      now: new Date('2026-06-01'),
      mode: 'development',
    })
    const provider = {
      call: async () => ({ kind: 'lost', message: '' }) as const,
      retire: async () => {},
      close: async () => {},
    }
    return openCatalogue({ db: app.database.db, capabilities: config.capabilities, openProvider: () => provider })
  }
  const raced = await Promise.all([open(1), open(2), open(1), open(2)])
  const drifted = raced.map((catalogue) => driftedVersions(catalogue).length)
  expect([drifted[0], drifted[1]].sort()).toEqual([0, 1])
  expect([drifted[2], drifted[3]]).toEqual([drifted[0], drifted[1]])
})
