import { afterAll, beforeAll, expect, test } from 'vitest'
import { type AdminSetting, startAdminSetting } from '../../../test/admin.ts'

/** Two versions of the price of `mock-model`; the second has a cost of half of it. */
const withCost =
  '[{ version: 1, effective_from: 2026-01-01T00:00:00Z, input_micro_per_m: 3000000, output_micro_per_m: 7000000 }, { version: 2, effective_from: 2026-02-01T00:00:00Z, input_micro_per_m: 4000000, output_micro_per_m: 8000000, cost: { input_micro_per_m: 2000000, output_micro_per_m: 4000000 } }, { version: 3, effective_from: 2099-01-01T00:00:00Z, input_micro_per_m: 5000000, output_micro_per_m: 9000000 }]'

let setting: AdminSetting
beforeAll(async () => {
  setting = await startAdminSetting()
})
afterAll(() => setting.test.stop())

const prices = async () =>
  (await setting.get('/v1/admin/prices')).json.data as {
    refused: string | null
    chat: Array<Record<string, unknown>>
    capabilities: unknown[]
  }
const versions = async () =>
  (await prices()).chat
    .filter(({ model }) => model === 'mock-model')
    .map(({ version, state, margin_input_percent }) => [version, state, margin_input_percent])
const preview = async () => (await setting.get('/v1/admin/prices/preview')).json.data
const reload = () => setting.post('/v1/admin/prices/reload', { reason: 'spring prices' })
const recorded = () =>
  setting.test.database.sql<{ actor: string; reason: string; outcome: string }>(
    `select actor_kind || ':' || actor as actor, reason, after->'servers'->0->>'outcome' as outcome from audit_log
     where action = 'reload.configuration' order by id`,
  )

test('a changed file is previewed without being taken over, and taken over with a reason, a diff and a record; margins are shown where the cost is known', async () => {
  expect(await versions()).toEqual([[1, 'in force', null]])
  expect(await preview()).toEqual({ outcome: 'unchanged', lines: [] })
  setting.test.configure({ prices: withCost })
  const { outcome, lines } = (await preview()) as { outcome: string; lines: string[] }
  expect(outcome).toBe('would_apply')
  expect(lines.join('\n')).toContain('new price version 2')
  expect(await versions()).toHaveLength(1)

  const reloaded = await reload()
  expect(reloaded.json.data).toMatchObject([{ outcome: 'applied', lines }])
  expect(await versions()).toEqual([
    [1, 'past', null],
    [2, 'in force', 50],
    [3, 'to come', null],
  ])
  expect((await reload()).json.data).toMatchObject([{ outcome: 'unchanged', lines: [] }])
  const by = { actor: `account:${setting.admin.accountId}`, reason: 'spring prices' }
  expect(await recorded()).toEqual([
    { ...by, outcome: 'applied' },
    { ...by, outcome: 'unchanged' },
  ])
})

test('a file that cannot be used is refused in plain words, keeps the prices of before in force, and is recorded', async () => {
  const before = await versions()
  setting.test.configure({ prices: '[{ version: 1 }]' })
  expect(await preview()).toMatchObject({
    outcome: 'refused',
    lines: expect.arrayContaining([expect.stringContaining('test.yaml')]),
  })
  const answer = await reload()
  expect([answer.status, answer.json.code]).toEqual([409, 'configuration_refused'])
  expect(answer.json.message).toContain('effective_from')
  expect(await versions()).toEqual(before)
  expect((await prices()).refused).toContain('stay in force')
  expect((await recorded()).at(-1)).toMatchObject({ outcome: 'refused' })
})

test('an ordinary user sees no margins and reads no file', async () => {
  for (const answer of [
    await setting.get('/v1/admin/prices', setting.user),
    await setting.get('/v1/admin/prices/preview', setting.user),
    await setting.post('/v1/admin/prices/reload', { reason: 'x' }, setting.user),
  ])
    expect([answer.status, answer.json.code]).toEqual([403, 'admin_required'])
})
