import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type AdminSetting, signInByWallet, startAdminSetting } from '../../../test/admin.ts'
import type { JsonObject } from '../../providers/provider.ts'

let setting: AdminSetting
beforeAll(async () => {
  setting = await startAdminSetting()
})
afterEach(async () => expect(await setting.test.audit()).toEqual([]))
afterAll(() => setting.test.stop())

const PRESENT = { amount_micro: 2_500_000, bucket: 'promo', reason: 'a present' }

const give = (accountId: bigint, key: string | undefined, body: JsonObject = PRESENT, as = setting.admin) =>
  setting.post(`/v1/admin/accounts/${accountId}/grants`, body, as, key === undefined ? {} : { 'idempotency-key': key })
const balanceOf = async (accountId: bigint) => (await setting.get(`/v1/admin/accounts/${accountId}`)).json.balance_micro

test('Credits that are given are in the bucket that was named, listed with who gave them and why, and in the audit log', async () => {
  const agent = await signInByWallet(setting.test)
  const expiry = '2030-01-01T00:00:00.000Z'
  const given = await give(agent.accountId, randomUUID(), { ...PRESENT, bucket: 'bonus', expires_at: expiry })
  expect([given.status, given.headers.get('idempotent-replayed')]).toEqual([200, null])
  const expected = {
    account_id: Number(agent.accountId),
    amount_micro: 2_500_000,
    bucket: 'bonus',
    expires_at: expiry,
    reason: 'a present',
    granted_by: `account:${setting.admin.accountId}`,
  }
  expect(given.json.data).toMatchObject({ ...expected, repeated: false })
  const listed = await setting.get(`/v1/admin/accounts/${agent.accountId}/grants`)
  expect(listed.json.data).toMatchObject([{ ...expected, source: 'operator' }])
  expect((await setting.get('/v1/credits/balance', agent)).json.available_micro).toBe(2_500_000)
  expect(await setting.auditLog(agent.accountId, 'account')).toMatchObject([
    { action: 'grant.credits', reason: 'a present' },
  ])
})

test('50 repeats at once give once, and all are told of the same grant', async () => {
  const agent = await signInByWallet(setting.test)
  const key = randomUUID()
  const answers = await Promise.all(Array.from({ length: 50 }, () => give(agent.accountId, key)))
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
  const grants = answers.map(({ json }) => json.data as { id: number; repeated: boolean })
  expect(new Set(grants.map(({ id }) => id)).size).toBe(1)
  expect(grants.filter(({ repeated }) => !repeated)).toHaveLength(1)
  expect(answers.filter(({ headers }) => headers.get('idempotent-replayed') === 'true')).toHaveLength(49)
  expect(await balanceOf(agent.accountId)).toBe(2_500_000)
  expect(await setting.auditLog(agent.accountId, 'account')).toHaveLength(1)
})

test('50 accounts at once under one key: one is given to, the others are refused', async () => {
  const agents = await Promise.all(Array.from({ length: 3 }, () => signInByWallet(setting.test)))
  const key = randomUUID()
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, n) => give((agents[n % 3] ?? setting.user).accountId, key)),
  )
  const to = answers.flatMap(({ status, json }) => (status === 200 ? [(json.data as JsonObject).account_id] : []))
  expect(new Set(to).size).toBe(1)
  expect(new Set(answers.map(({ json, status }) => (status === 200 ? 'given' : json.code)))).toEqual(
    new Set(['given', 'idempotency_conflict']),
  )
  const balances = await Promise.all(agents.map(({ accountId }) => balanceOf(accountId)))
  expect(balances.filter((balance) => balance === 2_500_000)).toHaveLength(1)
  expect(balances.filter((balance) => balance === 0)).toHaveLength(2)
})

test.each([
  ['another amount', { amount_micro: 2_500_001 }],
  ['another bucket', { bucket: 'bonus' }],
  ['another expiry', { expires_at: '2031-01-01T00:00:00Z' }],
  ['another reason', { reason: 'a bribe' }],
])('a key that was used for %s is refused, and nothing is given', async (_what, change) => {
  const agent = await signInByWallet(setting.test)
  const key = randomUUID()
  await give(agent.accountId, key)
  const answer = await give(agent.accountId, key, { ...PRESENT, ...change })
  expect([answer.status, answer.json.code]).toEqual([409, 'idempotency_conflict'])
  expect(await balanceOf(agent.accountId)).toBe(2_500_000)
})

test('keys are each admin’s own, and a repeat is answered even when its expiry has passed meanwhile', async () => {
  const agent = await signInByWallet(setting.test)
  const key = randomUUID()
  const body = { ...PRESENT, expires_at: '2026-06-02T00:00:00Z' }
  expect((await give(agent.accountId, key, body)).status).toBe(200)
  expect((await give(agent.accountId, key, PRESENT, setting.otherAdmin)).status).toBe(200)
  const before = setting.test.clock.now()
  setting.test.clock.set(new Date('2026-06-03T00:00:00Z'))
  expect((await give(agent.accountId, key, body)).json.data).toMatchObject({ repeated: true })
  setting.test.clock.set(before)
})

test('what cannot be given is refused in words: no key, a bad one, no such account, a past expiry, too much, purchased Credits, no reason', async () => {
  const { accountId } = await signInByWallet(setting.test)
  const refused = async (answer: ReturnType<typeof give>) => {
    const { status, json } = await answer
    return [status, json.code]
  }
  const key = randomUUID()
  expect(await refused(give(accountId, undefined))).toEqual([400, 'idempotency_key_required'])
  expect(await refused(give(accountId, 'x'.repeat(129)))).toEqual([400, 'invalid_idempotency_key'])
  expect(await refused(give(999_999n, key))).toEqual([404, 'account_not_found'])
  const past = { ...PRESENT, expires_at: '2020-01-01T00:00:00Z' }
  expect(await refused(give(accountId, key, past))).toEqual([400, 'invalid_field'])
  const much = { ...PRESENT, amount_micro: 9_000_000_000_000_000 }
  expect(await refused(give(accountId, key, { ...much, amount_micro: much.amount_micro + 1 }))).toEqual([
    409,
    'balance_limit',
  ])
  expect(await refused(give(accountId, key, { ...PRESENT, bucket: 'purchased' }))).toEqual([400, 'invalid_field'])
  expect(await refused(give(accountId, key, { ...PRESENT, reason: '\0' }))).toEqual([400, 'invalid_field'])
  expect(await refused(give(accountId, key, { ...PRESENT, amount_micro: 0 }))).toEqual([400, 'invalid_field'])
  expect(await refused(give(accountId, key, PRESENT, setting.user))).toEqual([403, 'admin_required'])
  expect(await balanceOf(accountId)).toBe(0)
  expect(await refused(give(accountId, key))).toEqual([200, undefined])
  expect(await refused(give(accountId, randomUUID(), much))).toEqual([409, 'balance_limit'])
  expect(await balanceOf(accountId)).toBe(2_500_000)
})
