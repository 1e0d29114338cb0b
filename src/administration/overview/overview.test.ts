import { afterAll, beforeAll, expect, test } from 'vitest'
import { type AdminSetting, startAdminSetting } from '../../../test/admin.ts'
import { refusing } from '../../../test/mock-provider.ts'
import type { Of } from '../../http/fields.ts'
import type { OverviewView } from './schema.ts'

/** A model with a cost, which nobody calls here. */
const SOLD = `
  - id: sold-model
    name: Sold
    context_length: 1000
    max_output_tokens: 100
    default_output_tokens: 100
    minimum_output_tokens: 16
    providers: [{ provider: mock, model: upstream-a }]
    prices: [{ version: 1, effective_from: 2026-01-01T00:00:00Z, input_micro_per_m: 4000000, output_micro_per_m: 8000000, cost: { input_micro_per_m: 2000000, output_micro_per_m: 4000000 } }]`

let setting: AdminSetting
beforeAll(async () => {
  setting = await startAdminSetting({ models: SOLD })
})
afterAll(() => setting.test.stop())

const overview = async (query = '') => {
  const answer = await setting.get(`/v1/admin/overview${query}`)
  expect(answer.status).toBe(200)
  return answer.json.data as Of<typeof OverviewView>
}

test('each part says as of when and how it stands, and the providers and jobs whose they are', async () => {
  const person = await setting.test.person()
  await setting.test.chat(person)
  const all = await overview()
  expect(all.server).toMatchObject({
    state: 'ok',
    version: '0.0.0-test',
    ledger_ok: true,
    configuration: { file: 'test.yaml', refused: null, drifted: [], fingerprint: expect.stringMatching(/^\w{12}$/) },
  })
  expect(all.server.running).toContain(all.server.process)
  expect(all.providers.scope).toContain('this process')
  const providers = Object.fromEntries(all.providers.list.map(({ name, ...provider }) => [name, provider]))
  expect(providers.mock).toMatchObject({ state: 'ok', attempts: 1, failures_in_a_row: 0, last_outcome: 'answer' })
  expect(providers.backup).toMatchObject({ state: 'unknown', attempts: 0, last_attempt_at: null })
  expect(all.jobs.map(({ name }) => name)).toContain('the ledger audit')
  expect(all).toMatchObject({
    treasury: [],
    chains: [],
    x402: null,
    native: null,
    holds: { list: [] },
    reviews: { state: 'ok', orders: 0, transfers: 0, native: 0, x402: 0, oldest_at: null },
    tasks: { state: 'ok', open: 0 },
    webhooks: { state: 'ok', failing: 0, disabled: 0 },
  })
  expect(Date.parse(all.as_of)).toBeGreaterThan(0)
})

test('a provider that fails is named, until it answers again', async () => {
  const person = await setting.test.person()
  setting.test.mock.next(refusing(500))
  await setting.test.chat(person)
  const standing = async () => (await overview()).providers.list.find(({ name }) => name === 'mock')
  expect(await standing()).toMatchObject({ state: 'warning', last_outcome: 'refused', failures_in_a_row: 1 })
  await setting.test.chat(person)
  expect(await standing()).toMatchObject({ state: 'ok', last_outcome: 'answer', failures_in_a_row: 0 })
})

test('what waits is counted by why, with the oldest; a call of unknown cost is for the operator', async () => {
  const person = await setting.test.person()
  await setting.test.chat(person, { model: 'demo-unmetered' })
  const { holds } = await overview()
  expect(holds?.list).toMatchObject([{ state: 'warning', flag: 'usage_unknown', holds: 1 }])
})

test('margins are sums of whole hours over all accounts: charges of whoever paid, usage of whoever called, a call once', async () => {
  const { sql } = setting.test.database
  await sql(`update usage_rolled set rolled_until = date_trunc('hour', now())`)
  const row = (account: number, charged: number, change = '') =>
    sql(
      `insert into usage_hours (account_id, hour, model, actor_account_id, charged_micro, refunded_micro, owner_charged_micro, calls, errors, input_tokens, output_tokens)
       values ($1, date_trunc('hour', now()) - interval '2 hours' ${change}, 'sold-model', 7, $2, 0, 0, 1, 0, 100, 50)`,
      [account, charged],
    )
  // an Agent and the owner who paid a part of it; and something out of the range
  await row(7, 600)
  await row(8, 400)
  await row(7, 9000, `- interval '3 days'`)
  const margin = (await overview('?days=2')).margin
  expect(margin?.models).toEqual([
    {
      model: 'sold-model',
      calls: 1,
      errors: 0,
      net_micro: 1000,
      cost_micro: 400,
      net_known_micro: 1000,
      margin_percent: 60,
      complete: true,
    },
  ])
  expect((await overview('?days=7')).margin?.models[0]?.net_micro).toBe(10_000)
})
