import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freshDatabase, type TestDatabase } from '../../test/database.ts'
import { ledgerFixture } from '../../test/ledger-fixture.ts'
import { masked, openTerminal } from './terminal.fixture.ts'

const KEY = 'sk-planted-records-key'
let database: TestDatabase
let terminal: ReturnType<typeof openTerminal>
let make: ReturnType<typeof ledgerFixture>
/** What the provider was asked, and what it answers next. */
const asked: Array<{ url: string | undefined; authorization: string | undefined }> = []
let answer = { status: 200, body: '' }
const provider = createServer((request, response) => {
  asked.push({ url: request.url, authorization: request.headers.authorization })
  response.writeHead(answer.status).end(answer.body)
})

beforeAll(async () => {
  database = await freshDatabase()
  make = ledgerFixture(database)
  await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve))
  const { port } = provider.address() as AddressInfo
  terminal = openTerminal({ DATABASE_URL: database.url, HOST: '127.0.0.1', RECORDS_KEY: KEY })
  const file = join(terminal.folder, 'lookup.yaml')
  writeFileSync(
    file,
    `providers:
  records:
    kind: openai-compatible
    base_url: http://127.0.0.1:${port}/v1
    api_key_env: RECORDS_KEY
    usage_lookup:
      path: /generation?id={response_id}
      input_tokens: data.prompt
      output_tokens: data.completion
      cached_input_tokens: data.cached
  by-ours:
    kind: openai-compatible
    base_url: http://127.0.0.1:${port}/v1
    usage_lookup: { path: "/logs/{request_id}", input_tokens: input, output_tokens: output }
  silent: { kind: openai-compatible, base_url: "http://127.0.0.1:${port}/v1" }
models:
${['records', 'by-ours', 'silent'].map(model).join('')}`,
  )
  const run = terminal.run
  terminal = { ...terminal, run: (args, more) => run(args, { environment: { FAREBOX_CONFIG: file }, ...more }) }
})
afterAll(async () => {
  terminal.close()
  provider.close()
  await database.drop()
})

const model = (name: string): string => `  - id: model-${name}
    name: A model
    context_length: 1000
    max_output_tokens: 100
    default_output_tokens: 100
    minimum_output_tokens: 1
    prices: [{ version: 1, effective_from: "2026-01-01T00:00:00Z", input_micro_per_m: 1, output_micro_per_m: 1 }]
    providers: [{ provider: ${name}, model: upstream }]
`

/** A call of unknown cost that was held at 3, 1 and 7 microcredits per token. */
async function lost(name: string, evidence: Record<string, string> | null): Promise<bigint> {
  const account = await make.account('agent')
  await make.grant(account, 5_000n)
  const price = {
    input_micro_per_m: 3_000_000,
    cached_input_micro_per_m: 1_000_000,
    output_micro_per_m: 7_000_000,
  }
  const { id } = await make.hold(await make.key(account), 1_000n, { model: `model-${name}`, detail: { price } })
  await make.apply({ operation: 'unknown', id, reason: 'the connection broke', usage: evidence })
  return id
}
const lookup = (id: bigint, ...args: string[]) => terminal.run(['hold', 'lookup', String(id), ...args])

test("the provider's own record is found by its id of the answer, and priced as the hold was; nothing is decided", async () => {
  const id = await lost('records', { provider: 'records', response_id: 'gen 1/2', provider_request_id: 'up-7' })
  answer = { status: 200, body: JSON.stringify({ data: { prompt: 10, completion: 20, cached: 4 } }) }
  const ran = await lookup(id)
  expect(ran).toMatchObject({ exitCode: 0, err: '' })
  expect(masked(ran.out, { hold: id })).toMatchInlineSnapshot(`
    "hold  <hold>
    provider  records
    input tokens  10 (4 cached)
    output tokens  20
    cost  0.000162 Credits (162 micro)

    Next: farebox hold resolve <hold> --actual 162 --reason "record of records""
  `)
  expect(asked.at(-1)).toEqual({ url: '/v1/generation?id=gen%201%2F2', authorization: `Bearer ${KEY}` })
  expect(await database.sql('select count(*)::int as ends from hold_resolutions')).toEqual([{ ends: 0 }])
  expect((await terminal.run(['hold', 'show', String(id)])).out).toMatch(/response id +gen 1\/2/)
  const resolved = await terminal.run(['hold', 'resolve', String(id), '--actual', '162', '--reason', 'its record'])
  expect(resolved.exitCode).toBe(0)
})

test('a call of which nobody lived to note anything is asked for by our own request id, at the providers of its model', async () => {
  const id = await lost('by-ours', null)
  answer = { status: 200, body: JSON.stringify({ input: 1, output: 2 }) }
  expect((await lookup(id, '--json')).json()).toEqual({
    hold_id: Number(id),
    provider: 'by-ours',
    usage: { input_tokens: 1, output_tokens: 2, cached_input_tokens: 0 },
    cost_micro: 17,
  })
  expect(asked.at(-1)).toEqual({ url: `/v1/logs/req_${id}`, authorization: undefined })
})

test.each<[string, { status: number; body: string }, RegExp]>([
  ['has no record', { status: 404, body: '' }, /records has no record of this call/],
  ['refuses', { status: 401, body: KEY }, /records answered 401/],
  [
    'has no numbers where they should be',
    { status: 200, body: '{"data":{"prompt":"10","completion":2}}' },
    /no whole numbers at data\.prompt/,
  ],
  ['answers no JSON', { status: 200, body: `<html>${KEY}` }, /could not be asked/],
])('a provider that %s leaves the call unknown, and shows no key', async (_what, next, message) => {
  const id = await lost('records', { provider: 'records', response_id: 'gen' })
  answer = next
  const ran = await lookup(id)
  expect(ran.exitCode).toBe(1)
  expect(ran.err).toMatch(message)
  expect(ran.err).not.toContain(KEY)
})

test('what cannot be asked for is said: an id that was never learnt, and a provider without a record', async () => {
  const before = asked.length
  expect((await lookup(await lost('records', { provider: 'records' }))).err).toContain('response_id')
  expect((await lookup(await lost('silent', null))).err).toContain('usage_lookup')
  expect(asked.length).toBe(before)
})
