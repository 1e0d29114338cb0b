import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { signedIn } from '../../../test/ledger-fixture.ts'
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

describe('the list', () => {
  test('shows the owner every field of an item that waits for its payers, and who has to pay how much', async () => {
    const { requestId } = await here.shortfall(key)
    expect(await here.list(owner)).toEqual({
      data: [
        {
          billing_state: 'pending_settlement',
          request_id: requestId,
          actor_account_id: Number(agent),
          reserve_amount_micro: 100,
          actual_amount_micro: 150,
          status: 'reserved',
          authorized: false,
          payment_review_required: false,
          historical_owner: false,
          can_authorize: false,
          shortfall_micro: 50,
          funding_accounts: [
            {
              account_id: Number(agent),
              reserved_amount_micro: 30,
              available_amount_micro: 0,
              supplemental_allowed: true,
            },
            {
              account_id: Number(owner),
              reserved_amount_micro: 70,
              available_amount_micro: 930,
              supplemental_allowed: true,
            },
          ],
        },
      ],
      next_cursor: 0,
    })
    // the owner has enough for both, which does not prove that each can pay its own part
    await here.make.grant(agent, 15n)
    const [item] = (await here.list(owner)).data
    expect([item.can_authorize, item.funding_accounts[0].available_amount_micro]).toEqual([true, 15])
    // of what the Agent has besides, its owner learns nothing
    await here.make.grant(agent, 5_000n)
    expect((await here.list(owner)).data[0].funding_accounts[0].available_amount_micro).toBe(15)
  })

  test("shows an Agent its own calls with its own part alone: neither its owner's balance nor its owner's right", async () => {
    await here.make.grant(agent, 15n)
    const { requestId } = await here.shortfall(key)
    // 15 are left over: enough to authorize, were it the Agent's to do so
    const [item] = (await here.list(agent)).data
    expect(item).toMatchObject({
      request_id: requestId,
      historical_owner: false,
      can_authorize: false,
      shortfall_micro: 50,
      funding_accounts: [{ account_id: Number(agent), reserved_amount_micro: 45 }],
    })
    expect(item.funding_accounts).toHaveLength(1)
    const own = await here.make.key(owner)
    const { id } = await here.make.hold(own, 10n)
    await here.make.unknown(id)
    expect((await here.list(agent)).data).toHaveLength(1)
    expect((await here.list(owner)).data.map((one: { request_id: string }) => one.request_id)).toEqual([
      `req_${id}`,
      requestId,
    ])
  })

  test('shows an item that nobody knows the cost of as held and not as free, with nothing to authorize', async () => {
    const { id } = await here.make.hold(key, 100n)
    await here.make.unknown(id)
    expect((await here.list(owner)).data[0]).toMatchObject({
      billing_state: 'usage_unknown',
      status: 'reserved',
      actual_amount_micro: 0,
      payment_review_required: true,
      can_authorize: false,
      shortfall_micro: 0,
      funding_accounts: [
        { reserved_amount_micro: 30, supplemental_allowed: false },
        { reserved_amount_micro: 70, supplemental_allowed: false },
      ],
    })
  })

  test('leaves out what is settled or released, unless all is asked for', async () => {
    const [captured, voided] = [await here.make.hold(key, 10n), await here.make.hold(key, 10n)]
    for (const { id } of [captured, voided]) await here.make.unknown(id)
    await here.make.capture(captured.id, 4n)
    await here.make.release(voided.id)
    const { requestId } = await here.shortfall(key)
    expect((await here.list(agent)).data.map((item: { request_id: string }) => item.request_id)).toEqual([requestId])
    expect(
      (await here.list(agent, '?state=all')).data.map((item: Record<string, unknown>) => [
        item.request_id,
        item.billing_state,
        item.status,
        item.actual_amount_micro,
        item.authorized,
      ]),
    ).toEqual([
      [requestId, 'pending_settlement', 'reserved', 150, false],
      [`req_${voided.id}`, 'released', 'released', 0, false],
      [`req_${captured.id}`, 'settled', 'settled', 4, false],
    ])
  })

  test('is read by page, newest first, without a gap or a repeat, and changes nothing', async () => {
    const ids: string[] = []
    for (let n = 0; n < 7; n++) {
      const { id } = await here.make.hold(key, 1n)
      await here.make.unknown(id)
      ids.unshift(`req_${id}`)
    }
    const everything = () =>
      here.database.sql(`select (select json_agg(b) from buckets b)::text as buckets, (select json_agg(w) from budget_windows w)::text as windows,
        (select count(*) from hold_flags) as flags, (select count(*) from outbox) as told, (select count(*) from transfers) as moved`)
    const before = await everything()
    const seen: string[] = []
    for (let cursor = 0, pages = 0; ; pages++) {
      const page = await here.list(agent, `?limit=3&before_id=${cursor}`)
      seen.push(...page.data.map((item: { request_id: string }) => item.request_id))
      cursor = page.next_cursor
      if (cursor === 0) {
        expect(pages).toBe(2)
        break
      }
    }
    expect(seen).toEqual(ids)
    // a page that is full and has nothing after it is the last
    expect((await here.list(agent, '?limit=7')).next_cursor).toBe(0)
    expect(await everything()).toEqual(before)
    for (const query of ['?limit=0', '?limit=101', '?before_id=-1', '?state=some'])
      expect((await here.server.get(signedIn(agent), `/v1/credits/settlements${query}`)).status).toBe(400)
  })

  test('takes an access token, not a key', async () => {
    expect((await here.server.get(key, '/v1/credits/settlements')).body.code).toBe('access_token_required')
  })
})

test('whoever made or paid a call is told once when it begins to wait, and again when its unknown cost turns out too high', async () => {
  const { id } = await here.make.hold(key, 100n)
  await here.make.unknown(id)
  await here.make.unknown(id)
  await here.make.capture(id, 150n)
  await here.make.capture(id, 150n)
  const told = await here.database.sql<{ account_id: string; payload: Record<string, unknown> }>(
    `select account_id, payload from outbox where event = 'settlement.pending' and object_id = $1 order by id`,
    [`req_${id}`],
  )
  expect(
    told.map(({ account_id, payload }) => [Number(account_id), payload.billing_state, payload.shortfall_micro]),
  ).toEqual([
    [Number(owner), 'usage_unknown', null],
    [Number(agent), 'usage_unknown', null],
    [Number(owner), 'pending_settlement', 50],
    [Number(agent), 'pending_settlement', 50],
  ])
  expect(JSON.stringify(told)).not.toMatch(/available|balance/)
})
