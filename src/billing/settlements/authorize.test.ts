import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Caller } from '../../kernel/caller.ts'
import { openSettlements } from './settlements.fixture.ts'

let here: Awaited<ReturnType<typeof openSettlements>>
beforeAll(async () => {
  here = await openSettlements()
})
afterEach(() => here.allIsWell())
afterAll(() => here.close())

let owner: bigint
let agent: bigint
let key: Caller
beforeEach(async () => {
  const family = await here.family()
  owner = family.owner
  agent = family.agent
  key = family.key
})

describe('an authorization', () => {
  test('charges each payer its own part, all at once, counts it in the budget, and repeats the same', async () => {
    await here.make.grant(agent, 15n)
    const { id } = await here.make.hold(await here.make.key(agent), 100n)
    // 45 of the Agent, 55 of the owner; 50 more is 22 and 28: less than the Agent's 22 is there
    await here.make.capture(id, 150n)
    await here.make.grant(agent, 22n)
    expect((await here.list(owner)).data[0].can_authorize).toBe(true)
    const first = await here.authorize(owner, `req_${id}`)
    expect([first.status, first.body.data]).toMatchObject([
      200,
      { billing_state: 'settled', status: 'settled', authorized: true, can_authorize: false, shortfall_micro: 0 },
    ])
    expect(await here.posted(agent)).toEqual([0, 0])
    expect(await here.posted(owner)).toEqual([1_000 - 83, 0])
    const windows = await here.database.sql<{ spent: string }>(
      `select w.spent_micro as spent from budget_windows w join agent_links l using (budget_id) where l.agent_account_id = $1 and window_kind = 'total'`,
      [agent],
    )
    expect(windows).toEqual([{ spent: '83' }])
    const recorded = () =>
      here.database.sql(
        `select action, actor, before, after, request_id from audit_log where target_kind = 'hold' and target_id = $1`,
        [String(id)],
      )
    const record = [
      {
        action: 'authorize.settlement',
        actor: String(owner),
        before: { reserve_micro: 100 },
        after: { charged_micro: 150 },
        request_id: first.headers['x-request-id'],
      },
    ]
    expect(await recorded()).toEqual(record)
    const again = await here.authorize(owner, `req_${id}`)
    expect([again.status, again.body]).toEqual([200, first.body])
    expect(await here.posted(owner)).toEqual([1_000 - 83, 0])
    // who asks again agrees to nothing more
    expect(await recorded()).toEqual(record)
  })

  test('goes beyond the limits of budgets, since it is what their owner agrees to', async () => {
    const { id } = await here.make.hold(key, 100n)
    await here.make.capture(id, 900n)
    await here.make.grant(agent, 240n)
    expect((await here.authorize(owner, `req_${id}`)).body.data.status).toBe('settled')
    expect(await here.posted(owner)).toEqual([1_000 - 630, 0])
  })

  test('of which one payer cannot pay its part charges nobody, and tells nobody what another has', async () => {
    const { requestId } = await here.shortfall(key)
    await here.make.grant(agent, 14n)
    const refused = await here.authorize(owner, requestId)
    expect([refused.status, refused.body]).toMatchObject([
      402,
      { code: 'insufficient_credits', required_micro: '15', payer_account_id: String(agent) },
    ])
    expect(refused.text).not.toMatch(/available_micro|shortfall_micro/)
    expect(await here.posted(owner)).toEqual([1_000, 70])
    expect(await here.posted(agent)).toEqual([44, 30])
    // the owner's own lack is told in numbers
    await here.make.grant(agent, 1n)
    await here.make.hold(await here.make.key(owner), 900n)
    expect((await here.authorize(owner, requestId)).body).toMatchObject({
      code: 'insufficient_credits',
      required_micro: '35',
      available_micro: '30',
      shortfall_micro: '5',
      topup_url: 'https://x/topup',
    })
  })

  test('is the one way on from a shortfall: neither a void nor another capture ends it', async () => {
    const { id, requestId } = await here.shortfall(key)
    expect((await here.make.release(id)).status).toBe('already_resolved')
    expect((await here.make.capture(id, 90n)).status).toBe('already_resolved')
    expect((await here.make.capture(id, 150n)).status).toBe('shortfall')
    expect((await here.list(owner)).data[0]).toMatchObject({ request_id: requestId, shortfall_micro: 50 })
    expect(await here.posted(owner)).toEqual([1_000, 70])
  })

  test('is refused for a cost that nobody knows, whoever asks', async () => {
    const { id } = await here.make.hold(key, 100n)
    await here.make.unknown(id)
    const refused = await here.authorize(owner, `req_${id}`)
    expect([refused.status, refused.body.code]).toEqual([409, 'usage_unknown'])
    expect(await here.posted(owner)).toEqual([1_000, 70])
  })

  test('is not an Agent’s, where others paid; what it paid alone is its own', async () => {
    await here.make.grant(agent, 15n)
    const { id } = await here.make.hold(key, 100n)
    await here.make.capture(id, 150n)
    const refused = await here.authorize(agent, `req_${id}`)
    expect([refused.status, refused.body.code]).toEqual([403, 'owner_account_required'])
    expect(refused.body.message).toMatch(/^Another account pays for this call/)

    const loner = await here.make.account('agent')
    await here.make.grant(loner, 100n)
    const alone = await here.make.hold(await here.make.key(loner), 100n)
    await here.make.capture(alone.id, 120n)
    expect((await here.list(loner)).data[0].can_authorize).toBe(false)
    await here.make.grant(loner, 20n)
    expect((await here.list(loner)).data[0].can_authorize).toBe(true)
    expect((await here.authorize(loner, `req_${alone.id}`)).body.data).toMatchObject({
      status: 'settled',
      authorized: true,
    })
    expect(await here.posted(loner)).toEqual([0, 0])
  })

  test("of somebody else's item, of a call that was never short, or of none, is of nothing", async () => {
    const { requestId } = await here.shortfall(key)
    const fine = await here.make.hold(await here.make.key(owner), 10n)
    const stranger = await here.make.account('owner')
    for (const [viewer, request] of [
      [stranger, requestId],
      [owner, `req_${fine.id}`],
      [owner, 'req_none'],
    ] as const)
      expect((await here.authorize(viewer, request)).body.code).toBe('settlement_not_found')
    await here.make.release(fine.id)
  })
})

describe('after the Agent has left', () => {
  test('the original owner pays and sees it as historical; the new owner sees nothing', async () => {
    await here.make.grant(agent, 15n)
    const { id } = await here.make.hold(await here.make.key(agent), 145n)
    await here.unlink(agent)
    const next = await here.make.account('owner')
    await here.make.grant(next, 10_000n)
    await here.make.link(agent, next, 'self_then_owner', {})
    // the call comes to its end under the new owner, which never agreed to any of it
    expect((await here.make.capture(id, 290n)).status).toBe('shortfall')
    expect((await here.list(next)).data).toEqual([])
    expect((await here.authorize(next, `req_${id}`)).body.code).toBe('settlement_not_found')
    const [item] = (await here.list(owner)).data
    expect(item).toMatchObject({ historical_owner: true, can_authorize: false, shortfall_micro: 145 })
    // an account that is not its Agent any more is not shown
    expect(item.funding_accounts).toEqual([
      {
        account_id: Number(owner),
        reserved_amount_micro: 100,
        available_amount_micro: 900,
        supplemental_allowed: true,
      },
    ])
    await here.make.grant(agent, 45n)
    expect((await here.authorize(owner, `req_${id}`)).body.data).toMatchObject({
      status: 'settled',
      historical_owner: true,
    })
    expect(await here.posted(owner)).toEqual([800, 0])
    expect(await here.posted(agent)).toEqual([0, 0])
    expect(await here.posted(next)).toEqual([10_000, 0])
    expect((await here.list(agent, '?state=all')).data[0]).toMatchObject({ historical_owner: false, status: 'settled' })
  })
})
