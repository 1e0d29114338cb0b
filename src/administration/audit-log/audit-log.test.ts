import { afterAll, beforeAll, expect, test } from 'vitest'
import { type AdminSetting, startAdminSetting } from '../../../test/admin.ts'

let setting: AdminSetting
beforeAll(async () => {
  setting = await startAdminSetting()
  for (const verb of ['ban', 'unban', 'deactivate', 'reactivate'])
    await setting.post(`/v1/admin/accounts/${setting.user.accountId}/${verb}`, { reason: verb })
})
afterAll(() => setting.test.stop())

interface Entry {
  readonly id: number
  readonly action: string
  readonly actor: string
  readonly target_id: string
}
const entries = async (query: string) => {
  const { json, status } = await setting.get(`/v1/admin/audit-log?${query}`)
  expect(status).toBe(200)
  return json.data as Entry[]
}

test('the newest entries come first, with who, what, why, before and after, and the request that did it', async () => {
  const [newest] = await entries('limit=1')
  expect(newest).toMatchObject({
    actor_kind: 'account',
    actor: String(setting.admin.accountId),
    action: 'reactivate.account',
    target_kind: 'account',
    target_id: String(setting.user.accountId),
    before: { status: 'deactivated' },
    after: { status: 'active' },
    reason: 'reactivate',
    request_id: expect.stringMatching(/^req_/),
    hash: expect.stringMatching(/^[0-9a-f]{64}$/),
  })
})

test('entries are found by who, what and to whom, and pages have no gap', async () => {
  const target = `target=account:${setting.user.accountId}`
  const all = await entries(`${target}&actor=account:${setting.admin.accountId}`)
  expect(all.map(({ action }) => action)).toEqual([
    'reactivate.account',
    'deactivate.account',
    'unban.account',
    'ban.account',
  ])
  expect(await entries(`${target}&action=ban.account`)).toEqual(all.slice(3))
  expect(await entries('actor=operator:nobody')).toEqual([])
  const [first, second] = all
  expect(await entries(`${target}&limit=1&before_id=${first?.id}`)).toEqual([second])
})

test('the log is checked part by part, as far as its end; what was changed is found in its part', async () => {
  const check = async (query: string) => (await setting.get(`/v1/admin/audit-log/verify?${query}`)).json
  const whole = await check('')
  expect(whole).toMatchObject({ ok: true, broken: null, next_after_id: 0 })
  const rows = Number(whole.rows)
  let checked = 0
  let after = 0
  do {
    const part = await check(`limit=3&after_id=${after}`)
    expect(part.ok).toBe(true)
    checked += Number(part.rows)
    after = Number(part.next_after_id)
    if (after === 0) expect(part.head).toEqual(whole.head)
  } while (after !== 0)
  expect(checked).toBe(rows)
  expect(await check(`after_id=${rows + 5}`)).toMatchObject({ ok: false, broken: { id: rows + 5 } })
  await setting.test.database.sql(
    `alter table audit_log disable trigger append_only; update audit_log set reason = 'a nicer story' where id = ${rows - 1}; alter table audit_log enable trigger append_only`,
  )
  expect(await check('limit=3')).toMatchObject({ ok: true })
  expect(await check(`after_id=${rows - 3}`)).toMatchObject({ ok: false, broken: { id: rows - 1 }, next_after_id: 0 })
})

test('filters that are none are refused, and nobody but an admin reads it', async () => {
  const codeOf = async (query: string) => (await setting.get(`/v1/admin/audit-log?${query}`)).json.code
  expect(await codeOf('action=make.coffee')).toBe('invalid_parameter')
  expect(await codeOf('target=account')).toBe('invalid_parameter')
  expect(await codeOf('actor=%00')).toBe('invalid_parameter')
  expect(await codeOf('limit=101')).toBe('invalid_parameter')
  for (const path of ['/v1/admin/audit-log', '/v1/admin/audit-log/verify'])
    expect((await setting.get(path, setting.user)).json.code).toBe('admin_required')
})
