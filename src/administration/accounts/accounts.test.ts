import { afterAll, beforeAll, expect, test } from 'vitest'
import { type AdminSetting, signInByWallet, startAdminSetting } from '../../../test/admin.ts'

let setting: AdminSetting
beforeAll(async () => {
  setting = await startAdminSetting()
})
afterAll(() => setting.test.stop())

const ban = (accountId: bigint, as = setting.admin) =>
  setting.post(`/v1/admin/accounts/${accountId}/ban`, { reason: 'spam' }, as)

test('an admin bans an account and lifts the ban: the account is refused in between, and both are in the audit log with the reason', async () => {
  const agent = await signInByWallet(setting.test)
  expect((await ban(agent.accountId)).json.data).toEqual({
    account_id: Number(agent.accountId),
    status: 'banned',
    changed: true,
  })
  expect((await setting.get('/v1/me', agent)).json.code).toBe('account_banned')
  const unban = await setting.post(`/v1/admin/accounts/${agent.accountId}/unban`, { reason: ' a mistake ' })
  expect(unban.json.data).toMatchObject({ status: 'active', changed: true })
  expect((await setting.get('/v1/me', agent)).status).toBe(200)
  const by = { actor_kind: 'account', actor: String(setting.admin.accountId) }
  expect(await setting.auditLog(agent.accountId)).toMatchObject([
    { ...by, action: 'ban.account', reason: 'spam' },
    { ...by, action: 'unban.account', reason: 'a mistake' },
  ])
})

test('a repeat changes nothing and is recorded once', async () => {
  const agent = await signInByWallet(setting.test)
  await ban(agent.accountId)
  expect((await ban(agent.accountId)).json.data).toMatchObject({ status: 'banned', changed: false })
  expect(await setting.auditLog(agent.accountId)).toHaveLength(1)
})

test('what the status does not allow is a conflict that names the right verb', async () => {
  const agent = await signInByWallet(setting.test)
  await ban(agent.accountId)
  const answer = await setting.post(`/v1/admin/accounts/${agent.accountId}/reactivate`, { reason: 'back' })
  expect([answer.status, answer.json.code]).toEqual([409, 'account_status_conflict'])
  expect(answer.json.message).toContain('unban it')
})

test('an admin cannot ban the own account, so that the last admin is not locked out by a slip', async () => {
  expect((await ban(setting.admin.accountId)).json.code).toBe('own_account')
})

test('only a session of an admin may: an ordinary user and an API key of anybody are refused, and a role that was taken away ends it at once', async () => {
  const agent = await signInByWallet(setting.test)
  expect((await ban(agent.accountId, setting.user)).json.code).toBe('admin_required')
  const key = await setting.post('/v1/me/api-keys', {})
  const byKey = { accountId: setting.admin.accountId, token: String(key.json.api_key) }
  expect((await ban(agent.accountId, byKey)).json.code).toBe('access_token_required')
  const former = await signInByWallet(setting.test)
  await setting.test.database.sql(`update accounts set role = 'admin' where id = $1`, [former.accountId])
  expect((await ban(agent.accountId, former)).status).toBe(200)
  await setting.test.database.sql(`update accounts set role = 'user' where id = $1`, [former.accountId])
  expect((await ban(agent.accountId, former)).json.code).toBe('admin_required')
})

test('a reason is needed, and an account that is there', async () => {
  const without = await setting.post(`/v1/admin/accounts/${setting.user.accountId}/ban`, {})
  expect([without.status, without.json.code]).toEqual([400, 'missing_field'])
  const blank = await setting.post(`/v1/admin/accounts/${setting.user.accountId}/ban`, { reason: '  ' })
  expect([blank.status, blank.json.code]).toEqual([400, 'invalid_field'])
  expect((await ban(999_999n)).json.code).toBe('account_not_found')
})
