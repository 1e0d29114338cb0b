import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { startServers, type TestServers } from '../../../test/servers.ts'
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

test('the owner pays through the link, sees what it paid, and its kill switch ends that at once', async () => {
  const { owner, agent } = await steps.pair()
  await servers.grant(owner.accountId, 1_000_000n)
  expect((await servers.chat(agent.apiKey)).status).toBe(200)
  const [{ budget }] = (await steps.agentsOf(owner)).data
  expect(budget.windows.daily.spent_micro).toBeGreaterThan(0)
  expect(budget.windows.total).toEqual({
    spent_micro: budget.windows.daily.spent_micro,
    held_micro: 0,
  })
  await steps.change(owner, agent.accountId, { funding_paused: true })
  expect(code(await servers.chat(agent.apiKey))).toEqual([402, 'insufficient_credits'])
  await steps.change(owner, agent.accountId, { funding_paused: false })
  expect((await servers.chat(agent.apiKey)).status).toBe(200)
})

test('a raised limit is used and a cut one binds, counting what was spent before', async () => {
  const { owner, agent } = await steps.pair({ budget: { total_micro: 0 } })
  await servers.grant(owner.accountId, 1_000_000n)
  expect(code(await servers.chat(agent.apiKey))).toEqual([402, 'budget_exceeded'])
  await steps.change(owner, agent.accountId, { budget: { total_micro: 100_000 } })
  expect((await servers.chat(agent.apiKey)).status).toBe(200)
  const spent = (await steps.agentsOf(owner)).data[0].budget.windows.total.spent_micro
  await steps.change(owner, agent.accountId, { budget: { total_micro: spent } })
  expect(code(await servers.chat(agent.apiKey))).toEqual([402, 'budget_exceeded'])
})

test.each(['owner', 'agent'] as const)(
  'after the %s ended the link the owner pays no more; a new link begins with a budget that spent nothing',
  async (side) => {
    const { owner, agent, wallet } = await steps.pair({ label: 'crawler' })
    await servers.grant(owner.accountId, 1_000_000n)
    expect((await servers.chat(agent.apiKey)).status).toBe(200)
    const ended =
      side === 'owner'
        ? await steps.unlink(owner, agent.accountId)
        : await servers.send('DELETE', '/v1/me/owner-link', { token: agent.accessToken })
    expect(ended.json).toMatchObject({ ok: true, request_id: expect.stringMatching(/^req_/) })
    expect(code(await servers.chat(agent.apiKey))).toEqual([402, 'insufficient_credits'])
    expect((await steps.agentsOf(owner)).data).toEqual([])
    expect((await servers.send('GET', '/v1/me', { token: agent.apiKey })).json.account).not.toHaveProperty(
      'owner_account_id',
    )
    expect(code(await steps.unlink(owner, agent.accountId))).toEqual([404, 'agent_not_linked'])
    expect(code(await servers.send('DELETE', '/v1/me/owner-link', { token: agent.accessToken }))).toEqual([
      404,
      'owner_link_not_found',
    ])
    const again = await steps.link(owner, wallet.address)
    expect(again.json.data).toMatchObject({
      label: '',
      budget: { windows: { total: { spent_micro: 0, held_micro: 0 } } },
    })
    expect((await servers.chat(agent.apiKey)).status).toBe(200)
  },
)

test("the Agent's own Credits go with it from owner to owner", async () => {
  const { owner, agent, wallet } = await steps.pair({ billing_mode: 'owner_only' })
  await servers.grant(agent.accountId, 500_000n)
  expect(code(await servers.chat(agent.apiKey))).toEqual([402, 'insufficient_credits'])
  await steps.unlink(owner, agent.accountId)
  expect((await servers.chat(agent.apiKey)).status).toBe(200)
  const next = await servers.owner()
  await servers.grant(next.accountId, 500_000n)
  await steps.link(next, wallet.address, { billing_mode: 'owner_only' })
  expect((await servers.chat(agent.apiKey)).status).toBe(200)
  expect((await steps.agentsOf(next)).data[0].budget.windows.daily.spent_micro).toBeGreaterThan(0)
})
