import { afterAll, beforeAll, expect, test } from 'vitest'
import { type AdminSetting, startAdminSetting } from '../../../test/admin.ts'
import { invitationHash } from '../../identity/invitations/code.ts'
import { consumeInvitation } from '../../identity/invitations/service.ts'

let setting: AdminSetting
beforeAll(async () => {
  setting = await startAdminSetting()
})
afterAll(() => setting.test.stop())

const create = (body = {}) => setting.post('/v1/admin/invitations', body)
const use = (code: string) =>
  setting.test.database.db.transaction().execute((tx) => consumeInvitation(tx, invitationHash(code)))

test('a code is shown once and nowhere later, admits as many as it was made for, and reads used up then', async () => {
  const made = await create({ max_uses: 2, note: 'Ada', expires_at: '2030-01-01T00:00:00Z' })
  const { id, code } = made.json.data as { id: number; code: string }
  expect(made.headers.get('cache-control')).toBe('no-store')
  const uses = await Promise.all([use(code), use(code), use(code)])
  expect(uses.filter((used) => used !== undefined)).toHaveLength(2)
  const listed = await setting.get('/v1/admin/invitations')
  expect(listed.json.data).toMatchObject([
    { id, state: 'used_up', uses: 2, max_uses: 2, note: 'Ada', created_by: `account:${setting.admin.accountId}` },
  ])
  const log = await setting.get('/v1/admin/audit-log')
  for (const { text } of [listed, log]) expect(text).not.toContain(code.slice(4))
})

test('ended, it admits nobody; ending it again changes nothing, and both are told', async () => {
  const { id, code } = (await create()).json.data as { id: number; code: string }
  const end = () => setting.post(`/v1/admin/invitations/${id}/revoke`, { reason: 'sent to the wrong person' })
  const answers = await Promise.all([end(), end(), end()])
  expect(answers.map(({ json }) => (json.data as { changed: boolean }).changed).toSorted()).toEqual([
    false,
    false,
    true,
  ])
  expect(await use(code)).toBeUndefined()
  expect(await setting.auditLog(String(id), 'invitation')).toMatchObject([
    { action: 'create.invitation' },
    { action: 'revoke.invitation', reason: 'sent to the wrong person' },
  ])
})

test('what is wrong is refused: no such invitation, too many uses, a past expiry, an ordinary user', async () => {
  const codeOf = async (answer: ReturnType<typeof create>) => (await answer).json.code
  expect(await codeOf(setting.post('/v1/admin/invitations/999999/revoke', { reason: 'x' }))).toBe(
    'invitation_not_found',
  )
  expect(await codeOf(create({ max_uses: 100_001 }))).toBe('invalid_field')
  expect(await codeOf(create({ expires_at: '2020-01-01T00:00:00Z' }))).toBe('invalid_field')
  expect(await codeOf(create({ note: '\0' }))).toBe('invalid_field')
  expect(await codeOf(setting.post('/v1/admin/invitations', {}, setting.user))).toBe('admin_required')
})
