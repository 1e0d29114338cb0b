import { afterAll, beforeAll, expect, test } from 'vitest'
import { type AdminSetting, startAdminSetting } from '../../../test/admin.ts'
import { ledgerFixture } from '../../../test/ledger-fixture.ts'

const WALLET = '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266'
let setting: AdminSetting
let owner: bigint
let agent: bigint
beforeAll(async () => {
  setting = await startAdminSetting()
  const make = ledgerFixture(setting.test.database)
  owner = await make.account('owner', { email: 'Ada_1@Example.com', label: "Ada's data-team" })
  agent = await make.account('agent', { walletAddress: WALLET })
  await make.link(agent, owner, 'self_then_owner')
  await setting.test.database.sql(
    `update agent_links set agent_label = 'Nightly crawler' where agent_account_id = $1`,
    [agent],
  )
})
afterAll(() => setting.test.stop())

const found = async (query: string) => {
  const { status, json } = await setting.get(`/v1/admin/accounts?${query}`)
  expect([query, status]).toEqual([query, 200])
  return (json.data as Array<{ id: number }>).map(({ id }) => BigInt(id))
}

test.each([
  ['its id', () => String(owner), () => [owner]],
  ['the beginning of its e-mail address, in any case', () => 'ADA_1@ex', () => [owner]],
  ['words of its label', () => 'data', () => [owner]],
  ['beginnings of several words', () => "ada's te", () => [owner]],
  ['its wallet', () => WALLET.toUpperCase().replace('0X', '0x'), () => [agent]],
  ['the beginning of its wallet', () => '0xf39fd6e5', () => [agent]],
  ['the name that its owner gave it', () => 'crawl', () => [agent]],
  ['an e-mail address whose underscore is no wildcard', () => 'ada?1', () => []],
  ['a name that nobody has', () => 'nobody', () => []],
  ['a quote, an operator and a backslash', () => `' & !: \\ %`, () => []],
])('an account is found by %s', async (_what, query, expected) => {
  expect(await found(`query=${encodeURIComponent(query())}`)).toEqual(expected())
})

test('lists are narrowed by type, status and role, and go on from their cursor', async () => {
  expect(await found(`type=owner&query=${owner}`)).toEqual([owner])
  expect(await found(`type=agent&query=${owner}`)).toEqual([])
  const admins = [setting.otherAdmin.accountId, setting.admin.accountId]
  expect(await found('role=admin')).toEqual(admins)
  expect(await found('role=admin&limit=1')).toEqual(admins.slice(0, 1))
  expect(await found(`role=admin&before_id=${admins[0]}`)).toEqual(admins.slice(1))
  expect(await found('status=banned')).toEqual([])
  await setting.post(`/v1/admin/accounts/${agent}/ban`, { reason: 'spam' })
  expect(await found('status=banned')).toEqual([agent])
  await setting.post(`/v1/admin/accounts/${agent}/unban`, { reason: 'a mistake' })
  expect((await setting.get('/v1/admin/accounts?status=gone')).json.code).toBe('invalid_parameter')
  expect((await setting.get('/v1/admin/accounts?query=%00')).json.code).toBe('invalid_parameter')
})

test('a line has the numbers, the owner and the newest call; the whole account has everything but secrets', async () => {
  const person = await setting.test.person({ creditsMicro: 5_000_000n })
  await setting.test.chat(person)
  await ledgerFixture(setting.test.database)
    .link(agent, person.accountId, 'owner_only')
    .catch(() => undefined)
  const [line] = (await setting.get(`/v1/admin/accounts?query=${person.accountId}`)).json.data as [
    Record<string, unknown>,
  ]
  const balance = Number((await setting.test.balance(person)).postedMicro)
  expect(line).toMatchObject({ balance_micro: balance, available_micro: balance, held_micro: 0 })
  expect(line.last_call_at).toEqual(expect.any(String))
  const { text, json } = await setting.get(`/v1/admin/accounts/${person.accountId}`)
  expect(json).toMatchObject({
    balance_micro: balance,
    buckets: [{ kind: 'purchased', balance_micro: balance, expires_at: null, expired: false }],
    keys: [{ id: Number(person.keyId), status: 'active', last4: person.key.slice(-4) }],
    calls: [{ model: 'mock-model', status: 'success', account_id: Number(person.accountId) }],
    holds: { open: 0, waiting: 0, held_micro: 0 },
    sessions: { open: 0 },
    alert: { below_micro: null },
    orders: [],
  })
  expect(text).not.toContain(person.key)
  const ownersView = await setting.get(`/v1/admin/accounts/${owner}`)
  expect(ownersView.json.agents).toEqual([
    { account_id: Number(agent), billing_mode: 'self_then_owner', funding_paused: false },
  ])
  expect((await setting.get(`/v1/admin/accounts/${agent}`)).json.account).toMatchObject({
    owner_account_id: Number(owner),
    billing_mode: 'self_then_owner',
  })
  expect((await setting.get('/v1/admin/accounts/999999')).json.code).toBe('account_not_found')
})
