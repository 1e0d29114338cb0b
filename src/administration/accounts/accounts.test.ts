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
  expect(await setting.auditLog(agent.accountId, 'account')).toMatchObject([
    { ...by, action: 'ban.account', reason: 'spam' },
    { ...by, action: 'unban.account', reason: 'a mistake' },
  ])
})

test('a repeat changes nothing and is recorded once', async () => {
  const agent = await signInByWallet(setting.test)
  await ban(agent.accountId)
  expect((await ban(agent.accountId)).json.data).toMatchObject({ status: 'banned', changed: false })
  expect(await setting.auditLog(agent.accountId, 'account')).toHaveLength(1)
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

const role = (accountId: bigint, wanted: string, as = setting.admin) =>
  setting.post(`/v1/admin/accounts/${accountId}/role`, { role: wanted, reason: 'on call' }, as)

test('an owner becomes an admin and an ordinary user again; an Agent never does, and nobody changes the own role', async () => {
  const { accountId } = await setting.test.person()
  expect((await role(accountId, 'admin')).json.data).toMatchObject({ role: 'admin', changed: true })
  expect((await role(accountId, 'admin')).json.data).toMatchObject({ changed: false })
  expect((await role(accountId, 'user')).json.data).toMatchObject({ role: 'user', changed: true })
  expect(await setting.auditLog(accountId, 'account')).toMatchObject([
    { action: 'change_role.account', reason: 'on call' },
    { action: 'change_role.account' },
  ])
  expect((await role(setting.user.accountId, 'admin')).json.code).toBe('account_role_conflict')
  expect((await role(setting.admin.accountId, 'user')).json.code).toBe('own_account')
  expect((await role(999_999n, 'admin')).json.code).toBe('account_not_found')
  expect((await role(accountId, 'admin', setting.user)).json.code).toBe('admin_required')
})

test('a key that is revoked is refused at once, and however many revoke it together, it is recorded once', async () => {
  const person = await setting.test.person()
  const revoke = (keyId: bigint, accountId = person.accountId) =>
    setting.post(`/v1/admin/accounts/${accountId}/api-keys/${keyId}/revoke`, { reason: 'leaked' })
  expect((await setting.test.chat(person)).status).toBe(200)
  const answers = await Promise.all(Array.from({ length: 10 }, () => revoke(person.keyId)))
  expect(answers.filter(({ json }) => (json.data as { changed: boolean }).changed)).toHaveLength(1)
  expect((await setting.test.chat(person)).status).toBe(401)
  expect(await setting.auditLog(person.keyId, 'api_key')).toMatchObject([
    { action: 'create.api_key' },
    { action: 'revoke.api_key', reason: 'leaked' },
  ])
  expect((await revoke(person.keyId, setting.user.accountId)).json.code).toBe('api_key_not_found')
})

test('all keys and all sessions of an account end by one word each, and not those of others', async () => {
  const agent = await signInByWallet(setting.test)
  for (let n = 0; n < 2; n++) await setting.post('/v1/me/api-keys', {}, agent)
  const all = (what: string) =>
    setting.post(`/v1/admin/accounts/${agent.accountId}/${what}/revoke-all`, { reason: 'stolen laptop' })
  expect((await all('api-keys')).json.data).toMatchObject({ revoked: 3 })
  expect((await all('api-keys')).json.data).toMatchObject({ revoked: 0 })
  expect((await setting.get('/v1/me', agent)).status).toBe(200)
  expect((await all('sessions')).json.data).toMatchObject({ ended: 1 })
  expect((await setting.get('/v1/me', agent)).status).toBe(401)
  expect((await all('sessions')).json.data).toMatchObject({ ended: 0 })
  expect((await setting.get('/v1/me', setting.user)).status).toBe(200)
  expect((await setting.auditLog(agent.accountId, 'account')).map(({ action }) => action)).toEqual([
    'revoke_all.api_keys',
    'revoke_all.sessions',
  ])
})

test('the balance below which an account is told is its own, or the one for all again', async () => {
  const alert = (below_micro: number | null) =>
    setting.post(`/v1/admin/accounts/${setting.user.accountId}/alert`, { below_micro, reason: 'asked for it' })
  expect((await alert(5_000_000)).json.data).toMatchObject({ below_micro: 5_000_000, changed: true })
  expect((await alert(5_000_000)).json.data).toMatchObject({ changed: false })
  const shown = () => setting.get(`/v1/admin/accounts/${setting.user.accountId}`)
  expect((await shown()).json.alert).toMatchObject({ below_micro: 5_000_000 })
  expect((await alert(null)).json.data).toMatchObject({ below_micro: null, changed: true })
  expect((await shown()).json.alert).toMatchObject({ below_micro: null })
  const missing = await setting.post('/v1/admin/accounts/999999/alert', { below_micro: 1, reason: 'x' })
  expect(missing.json.code).toBe('account_not_found')
})
