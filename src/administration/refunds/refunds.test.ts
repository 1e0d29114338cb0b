import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type AdminSetting, signInByWallet, startAdminSetting } from '../../../test/admin.ts'
import { ledgerFixture } from '../../../test/ledger-fixture.ts'
import { applyForRefund, refundInReview } from '../../../test/refund-in-review.ts'

let setting: AdminSetting
beforeAll(async () => {
  setting = await startAdminSetting()
})
afterEach(async () => expect(await setting.test.audit()).toEqual([]))
afterAll(() => setting.test.stop())

async function waiting() {
  const { accountId } = await signInByWallet(setting.test)
  return { accountId, ...(await refundInReview(setting.test.database, accountId)) }
}
const decide = (id: string, verb: 'approve' | 'reject', as = setting.admin) =>
  setting.post(`/v1/admin/refunds/${id}/${verb}`, { reason: 'seen in the old books' }, as)
const idsOf = async (path: string) =>
  ((await setting.get(path)).json.data as Array<{ id: number }>).map(({ id }) => String(id))

test('a refund that waits is listed with why; approved, it is in the account once, leaves the list, and is in the audit log', async () => {
  const { id, accountId, call } = await waiting()
  const shown = { id: Number(id), call_id: Number(call), account_id: Number(accountId), amount_micro: 700 }
  expect((await setting.get(`/v1/admin/refunds/${id}`)).json.data).toMatchObject({
    ...shown,
    status: 'review_required',
    note: 'brought over',
    reason: 'it broke off',
  })
  expect(await idsOf('/v1/admin/refunds')).toContain(id)
  expect((await decide(id, 'approve')).json).toMatchObject({ data: { ...shown, status: 'completed' }, changed: true })
  expect((await decide(id, 'approve')).json.changed).toBe(false)
  expect(await idsOf('/v1/admin/refunds')).not.toContain(id)
  expect(await idsOf('/v1/admin/refunds?state=decided')).toContain(id)
  expect((await setting.get(`/v1/admin/accounts/${accountId}`)).json.balance_micro).toBe(700)
  expect(await setting.auditLog(id, 'refund')).toMatchObject([
    { action: 'approve.refund', actor: String(setting.admin.accountId), reason: 'seen in the old books' },
  ])
})

test('40 admins who decide otherwise at once: one decision stands, is recorded once, and the others are told whose it is', async () => {
  const { id, accountId } = await waiting()
  const admins = [setting.admin, setting.otherAdmin]
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, n) => decide(id, n % 4 < 2 ? 'approve' : 'reject', admins[n % 2])),
  )
  expect(answers.filter(({ json }) => json.changed === true)).toHaveLength(1)
  const stands = answers.find(({ json }) => json.changed === true)?.json.data as { status: string; decided_by: string }
  for (const { status, json } of answers) {
    if (status === 200) expect(json.data).toMatchObject({ status: stands.status })
    else expect([json.code, String(json.message).includes(stands.decided_by)]).toEqual(['refund_decided', true])
  }
  expect(answers.filter(({ status }) => status === 409)).toHaveLength(20)
  const balance = (await setting.get(`/v1/admin/accounts/${accountId}`)).json.balance_micro
  expect(balance).toBe(stands.status === 'completed' ? 700 : 0)
  expect(await setting.auditLog(id, 'refund')).toHaveLength(1)
})

test('lists go on from their cursor without a gap or a repeat', async () => {
  const made = [(await waiting()).id, (await waiting()).id, (await waiting()).id]
  const read = async (state: string) => {
    const ids: string[] = []
    for (let cursor = 0; ; ) {
      const { json } = await setting.get(`/v1/admin/refunds?state=${state}&limit=1&cursor=${cursor}`)
      ids.push(...(json.data as Array<{ id: number }>).map((row) => String(row.id)))
      cursor = Number(json.next_cursor)
      if (cursor === 0) return ids
    }
  }
  expect((await read('waiting')).slice(-3)).toEqual(made)
  for (const id of made) await decide(id, 'reject')
  expect((await read('decided')).slice(0, 3)).toEqual(made.toReversed())
})

test('a refund that does not exist, and one that went through by itself, are refused', async () => {
  expect((await decide('999999', 'approve')).json.code).toBe('refund_not_found')
  expect((await setting.get('/v1/admin/refunds/999999')).json.code).toBe('refund_not_found')
  const { id } = await waiting()
  expect((await decide(id, 'approve', setting.user)).json.code).toBe('admin_required')
  const make = ledgerFixture(setting.test.database)
  const { accountId } = await setting.test.person()
  const call = await make.hold(await make.key(accountId), 100n)
  await make.capture(call.id, 60n, { outcome: 'failed' })
  const done = await applyForRefund(setting.test.database, call.id, accountId)
  expect((await decide(done, 'reject')).json.code).toBe('refund_not_in_review')
})
