import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { newWallet, startServers, type TestServers } from '../../../test/servers.ts'
import { code, linkSteps } from './links.fixture.ts'

let servers: TestServers
let steps: ReturnType<typeof linkSteps>
beforeAll(async () => {
  servers = await startServers()
  steps = linkSteps(servers)
})
afterEach(async () => {
  expect(await servers.database.sql('select * from ledger_audit()')).toEqual([])
})
afterAll(() => servers.stop())

test('an unknown wallet gets an Agent account that its key signs in to later, with its first key', async () => {
  const [owner, wallet] = [await servers.owner(), newWallet()]
  const { status, json } = await steps.link(owner, wallet.address.toLowerCase(), {
    label: 'night crawler',
    billing_mode: 'owner_only',
    budget: { daily_micro: 5_000 },
  })
  expect(status).toBe(200)
  expect(json).toEqual({
    data: {
      id: expect.any(Number),
      wallet_address: wallet.address,
      label: 'night crawler',
      billing_mode: 'owner_only',
      funding_paused: false,
      created_at: expect.stringMatching(/Z$/),
      budget: {
        per_call_micro: null,
        daily_micro: 5_000,
        monthly_micro: null,
        total_micro: null,
        windows: {
          daily: {
            spent_micro: 0,
            held_micro: 0,
            resets_at: expect.stringMatching(/T00:00:00.000Z$/),
          },
          monthly: {
            spent_micro: 0,
            held_micro: 0,
            resets_at: expect.stringMatching(/-01T00:00:00.000Z$/),
          },
          total: { spent_micro: 0, held_micro: 0 },
        },
      },
    },
  })
  const before = await servers.database.sql<{ added_by: string; verified: boolean }>(
    'select added_by, verified_at is not null as verified from account_wallets where address = $1',
    [wallet.address.toLowerCase()],
  )
  expect(before).toEqual([{ added_by: String(owner.accountId), verified: false }])
  const agent = await servers.signIn(wallet)
  expect(agent.accountId).toBe(BigInt(json.data.id))
  expect(agent.apiKey).toMatch(/^fbx_/)
  expect((await servers.send('GET', '/v1/me/wallets', { token: agent.accessToken })).json.data[0].verified_at).toMatch(
    /Z$/,
  )
  expect((await servers.send('GET', '/v1/me', { token: agent.apiKey })).json.account).toMatchObject({
    owner_account_id: Number(owner.accountId),
    billing_mode: 'owner_only',
  })
})

test("an owner reads its Agents by page, newest first, with key or token, and nobody else's", async () => {
  const owner = await servers.owner()
  await steps.pair()
  const ids: number[] = []
  for (let count = 0; count < 3; count++) ids.unshift((await steps.link(owner, newWallet().address)).json.data.id)
  const { json: made } = await servers.send('POST', '/v1/me/api-keys', {
    token: owner.accessToken,
    body: {},
  })
  const first = (await servers.send('GET', '/v1/me/agents?limit=2', { token: made.api_key })).json
  expect(first.data.map((agent: { id: number }) => agent.id)).toEqual(ids.slice(0, 2))
  expect(first.next_cursor).toBe(ids[1])
  const second = await steps.agentsOf(owner, `?limit=2&before_id=${first.next_cursor}`)
  expect(second).toMatchObject({ data: [{ id: ids[2] }], next_cursor: 0 })
})

test('an Agent has one owner at most: a second link is refused, whoever asks', async () => {
  const { owner, wallet } = await steps.pair()
  expect(code(await steps.link(await servers.owner(), wallet.address))).toEqual([409, 'agent_already_linked'])
  const again = await steps.link(owner, wallet.address)
  expect(code(again)).toEqual([409, 'agent_already_linked'])
  expect(again.json.message).toContain('linked to this account already')
})

test("an owner's wallet cannot be linked, neither its first nor a later one", async () => {
  const [owner, first] = [await servers.owner(), newWallet()]
  await servers.owner(first.address)
  expect(code(await steps.link(owner, first.address))).toEqual([409, 'wallet_belongs_to_owner'])
  const [other, later] = [await servers.owner(newWallet().address), newWallet()]
  await servers.database.sql('insert into account_wallets (address, account_id, added_by) values ($1, $2, $2)', [
    later.address.toLowerCase(),
    other.accountId,
  ])
  expect(code(await steps.link(owner, later.address))).toEqual([409, 'wallet_belongs_to_owner'])
})

test('only owners have Agents, only access tokens change them, and an owner has no owner to leave', async () => {
  const { owner, agent } = await steps.pair()
  for (const [method, path, body] of [
    ['GET', '/v1/me/agents'],
    ['POST', '/v1/me/agents', { agent_wallet_address: newWallet().address }],
    ['PATCH', '/v1/me/agents/1', {}],
    ['DELETE', '/v1/me/agents/1'],
  ] as const) {
    expect(code(await servers.send(method, path, { token: agent.accessToken, body }))).toEqual([
      403,
      'owner_account_required',
    ])
    if (method !== 'GET')
      expect(code(await servers.send(method, path, { token: agent.apiKey, body }))).toEqual([
        403,
        'access_token_required',
      ])
    expect(code(await servers.send(method, path, { body }))).toEqual([401, 'unauthorized'])
  }
  expect(code(await servers.send('DELETE', '/v1/me/owner-link', { token: owner.accessToken }))).toEqual([
    403,
    'agent_account_required',
  ])
  expect(code(await servers.send('DELETE', '/v1/me/owner-link', { token: agent.apiKey }))).toEqual([
    403,
    'access_token_required',
  ])
})

test("another owner's Agent and one that does not exist are the same nothing", async () => {
  const { agent } = await steps.pair()
  const stranger = await servers.owner()
  for (const id of [agent.accountId, 999_999_999n]) {
    expect(code(await steps.change(stranger, id, { funding_paused: true }))).toEqual([404, 'agent_not_linked'])
    expect(code(await steps.unlink(stranger, id))).toEqual([404, 'agent_not_linked'])
  }
})

test.each<[string, Record<string, unknown>, string, string]>([
  ['no address', { agent_wallet_address: '0x12' }, 'invalid_field', 'agent_wallet_address'],
  ['an unknown billing mode', { billing_mode: 'nobody' }, 'invalid_field', 'billing_mode'],
  ['a negative limit', { budget: { daily_micro: -1 } }, 'invalid_field', 'budget.daily_micro'],
  ['a limit with a fraction', { budget: { daily_micro: 1.5 } }, 'invalid_field', 'budget.daily_micro'],
  ['an unknown limit', { budget: { weekly_micro: 1 } }, 'unknown_field', 'budget.weekly_micro'],
  ['a label with a line break', { label: 'a\nb' }, 'invalid_field', 'label'],
  ['a label of 101 characters', { label: 'x'.repeat(101) }, 'invalid_field', 'label'],
])("a link with %s is refused by the field's name", async (_what, body, expected, field) => {
  const answer = await steps.link(await servers.owner(), newWallet().address, body)
  expect(answer).toMatchObject({
    status: 400,
    json: { error: 'bad_request', code: expected, field },
  })
})

test('a change leaves what it does not name, limit by limit, and null takes limits away', async () => {
  const { owner, agent } = await steps.pair({
    label: 'one',
    budget: { daily_micro: 10, total_micro: 20 },
  })
  const changed = await steps.change(owner, agent.accountId, {
    label: 'two',
    budget: { daily_micro: null, per_call_micro: 5 },
  })
  expect(changed.json.data).toMatchObject({
    label: 'two',
    billing_mode: 'self_then_owner',
    funding_paused: false,
    budget: { per_call_micro: 5, daily_micro: null, monthly_micro: null, total_micro: 20 },
  })
  expect(
    (
      await steps.change(owner, agent.accountId, {
        billing_mode: 'owner_only',
        funding_paused: true,
      })
    ).json.data,
  ).toMatchObject({
    label: 'two',
    billing_mode: 'owner_only',
    funding_paused: true,
    budget: { total_micro: 20 },
  })
  expect((await steps.change(owner, agent.accountId, { budget: null })).json.data.budget).toMatchObject({
    per_call_micro: null,
    daily_micro: null,
    monthly_micro: null,
    total_micro: null,
  })
  expect((await steps.change(owner, agent.accountId, {})).json.data).toEqual((await steps.agentsOf(owner)).data[0])
})

test('who linked, changed and ended what is in the audit log, and what was refused is not', async () => {
  const { owner, agent, wallet } = await steps.pair({ budget: { daily_micro: 5 } })
  expect((await steps.link(await servers.owner(), wallet.address)).status).toBe(409)
  await steps.change(owner, agent.accountId, { budget: { daily_micro: 7 } })
  const left = await servers.send('DELETE', '/v1/me/owner-link', { token: agent.accessToken })
  const rows = await servers.database.sql<Record<string, unknown>>(
    `select action, actor, before::json as before, after::json as after, request_id from audit_log where target_kind = 'account' and target_id = $1 order by id`,
    [String(agent.accountId)],
  )
  const ownerId = Number(owner.accountId)
  expect(rows).toMatchObject([
    {
      action: 'create.link',
      actor: String(ownerId),
      before: null,
      after: { owner_account_id: ownerId, daily_micro: 5 },
    },
    {
      action: 'change.link',
      actor: String(ownerId),
      before: { daily_micro: 5 },
      after: { daily_micro: 7 },
    },
    {
      action: 'remove.link',
      actor: String(agent.accountId),
      before: { owner_account_id: ownerId },
      after: null,
      request_id: left.json.request_id,
    },
  ])
})
