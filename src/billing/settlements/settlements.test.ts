import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { freshDatabase, type TestDatabase } from '../../../test/database.ts'
import { ledgerFixture, readingServer, signedIn } from '../../../test/ledger-fixture.ts'
import type { Caller } from '../../kernel/caller.ts'
import { settlementRoutes } from './routes.ts'

let database: TestDatabase
let make: ReturnType<typeof ledgerFixture>
let server: ReturnType<typeof readingServer>
beforeAll(async () => {
  database = await freshDatabase()
  make = ledgerFixture(database)
  server = readingServer(settlementRoutes({ db: database.db, paymentHint: () => ({ topup_url: 'https://x/topup' }) }))
})
afterEach(async () => {
  expect(await database.sql(`select * from ledger_audit() where check_name <> 'open_hold_without_process'`)).toEqual([])
  expect(server.faults).toEqual([])
})
afterAll(() => database.drop())

let owner: bigint
let agent: bigint
let key: Caller
/** An Agent with 30 of its own under an owner with 1,000. */
beforeEach(async () => {
  owner = await make.account('owner')
  agent = await make.account('agent')
  await make.grant(owner, 1_000n)
  await make.grant(agent, 30n)
  await make.link(agent, owner, 'self_then_owner', { total_micro: 500n })
  key = await make.key(agent)
})

const list = async (viewer: bigint, query = '') =>
  (await server.get(signedIn(viewer), `/v1/credits/settlements${query}`)).body
const authorize = (viewer: bigint, requestId: string) =>
  server.post(signedIn(viewer), `/v1/credits/settlements/${requestId}/authorize`)
const unlink = async () => {
  await database.sql('delete from agent_links where agent_account_id = $1', [agent])
  await database.sql('update accounts set family_id = id where id = $1', [agent])
}
const posted = async (account: bigint) =>
  (
    await database.sql<{ posted: string; held: string }>(
      'select sum(posted_micro) as posted, sum(held_micro) as held from buckets where account_id = $1',
      [account],
    )
  ).map(({ posted, held }) => [Number(posted), Number(held)])[0]

/** A call held with 30 of the Agent and 70 of its owner that cost 150: 15 more of the one and 35 of the other. */
async function shortfall() {
  const { id } = await make.hold(key, 100n)
  expect((await make.capture(id, 150n, { outcome: 'failed' })).status).toBe('shortfall')
  return { id, requestId: `req_${id}` }
}

describe('the list', () => {
  test('shows the owner every field of an item that waits for its payers, and who has to pay how much', async () => {
    const { requestId } = await shortfall()
    expect(await list(owner)).toEqual({
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
    await make.grant(agent, 15n)
    const [item] = (await list(owner)).data
    expect([item.can_authorize, item.funding_accounts[0].available_amount_micro]).toEqual([true, 15])
    // of what the Agent has besides, its owner learns nothing
    await make.grant(agent, 5_000n)
    expect((await list(owner)).data[0].funding_accounts[0].available_amount_micro).toBe(15)
  })

  test("shows an Agent its own calls with its own part alone: neither its owner's balance nor its owner's right", async () => {
    await make.grant(agent, 15n)
    const { requestId } = await shortfall()
    // 15 are left over: enough to authorize, were it the Agent's to do so
    const [item] = (await list(agent)).data
    expect(item).toMatchObject({
      request_id: requestId,
      historical_owner: false,
      can_authorize: false,
      shortfall_micro: 50,
      funding_accounts: [{ account_id: Number(agent), reserved_amount_micro: 45 }],
    })
    expect(item.funding_accounts).toHaveLength(1)
    const own = await make.key(owner)
    const { id } = await make.hold(own, 10n)
    await make.unknown(id)
    expect((await list(agent)).data).toHaveLength(1)
    expect((await list(owner)).data.map((one: { request_id: string }) => one.request_id)).toEqual([
      `req_${id}`,
      requestId,
    ])
  })

  test('shows an item that nobody knows the cost of as held and not as free, with nothing to authorize', async () => {
    const { id } = await make.hold(key, 100n)
    await make.unknown(id)
    expect((await list(owner)).data[0]).toMatchObject({
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
    const [captured, voided] = [await make.hold(key, 10n), await make.hold(key, 10n)]
    for (const { id } of [captured, voided]) await make.unknown(id)
    await make.capture(captured.id, 4n)
    await make.release(voided.id)
    const { requestId } = await shortfall()
    expect((await list(agent)).data.map((item: { request_id: string }) => item.request_id)).toEqual([requestId])
    expect(
      (await list(agent, '?state=all')).data.map((item: Record<string, unknown>) => [
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
      const { id } = await make.hold(key, 1n)
      await make.unknown(id)
      ids.unshift(`req_${id}`)
    }
    const everything = () =>
      database.sql(`select (select json_agg(b) from buckets b)::text as buckets, (select json_agg(w) from budget_windows w)::text as windows,
        (select count(*) from hold_flags) as flags, (select count(*) from outbox) as told, (select count(*) from transfers) as moved`)
    const before = await everything()
    const seen: string[] = []
    for (let cursor = 0, pages = 0; ; pages++) {
      const page = await list(agent, `?limit=3&before_id=${cursor}`)
      seen.push(...page.data.map((item: { request_id: string }) => item.request_id))
      cursor = page.next_cursor
      if (cursor === 0) {
        expect(pages).toBe(2)
        break
      }
    }
    expect(seen).toEqual(ids)
    expect(await everything()).toEqual(before)
    for (const query of ['?limit=0', '?limit=101', '?before_id=-1', '?state=some'])
      expect((await server.get(signedIn(agent), `/v1/credits/settlements${query}`)).status).toBe(400)
  })

  test('takes an access token, not a key', async () => {
    expect((await server.get(key, '/v1/credits/settlements')).body.code).toBe('access_token_required')
  })
})

describe('an authorization', () => {
  test('charges each payer its own part, all at once, counts it in the budget, and repeats the same', async () => {
    await make.grant(agent, 15n)
    const { id } = await make.hold(await make.key(agent), 100n)
    // 45 of the Agent, 55 of the owner; 50 more is 22 and 28: less than the Agent's 22 is there
    await make.capture(id, 150n)
    await make.grant(agent, 22n)
    expect((await list(owner)).data[0].can_authorize).toBe(true)
    const first = await authorize(owner, `req_${id}`)
    expect([first.status, first.body.data]).toMatchObject([
      200,
      { billing_state: 'settled', status: 'settled', authorized: true, can_authorize: false, shortfall_micro: 0 },
    ])
    expect(await posted(agent)).toEqual([0, 0])
    expect(await posted(owner)).toEqual([1_000 - 83, 0])
    const windows = await database.sql<{ spent: string }>(
      `select w.spent_micro as spent from budget_windows w join agent_links l using (budget_id) where l.agent_account_id = $1 and window_kind = 'total'`,
      [agent],
    )
    expect(windows).toEqual([{ spent: '83' }])
    const again = await authorize(owner, `req_${id}`)
    expect([again.status, again.body]).toEqual([200, first.body])
    expect(await posted(owner)).toEqual([1_000 - 83, 0])
    expect(
      await database.sql(`select action, actor from audit_log where target_kind = 'hold' and target_id = $1`, [
        String(id),
      ]),
    ).toEqual([{ action: 'authorize.settlement', actor: String(owner) }])
  })

  test('goes beyond the limits of budgets, since it is what their owner agrees to', async () => {
    const { id } = await make.hold(key, 100n)
    await make.capture(id, 900n)
    await make.grant(agent, 240n)
    expect((await authorize(owner, `req_${id}`)).body.data.status).toBe('settled')
    expect(await posted(owner)).toEqual([1_000 - 630, 0])
  })

  test('of which one payer cannot pay its part charges nobody, and tells nobody what another has', async () => {
    const { requestId } = await shortfall()
    await make.grant(agent, 14n)
    const refused = await authorize(owner, requestId)
    expect([refused.status, refused.body]).toMatchObject([
      402,
      { code: 'insufficient_credits', required_micro: '15', payer_account_id: String(agent) },
    ])
    expect(refused.text).not.toMatch(/available_micro|shortfall_micro/)
    expect(await posted(owner)).toEqual([1_000, 70])
    expect(await posted(agent)).toEqual([44, 30])
    // the owner's own lack is told in numbers
    await make.grant(agent, 1n)
    await make.hold(await make.key(owner), 900n)
    expect((await authorize(owner, requestId)).body).toMatchObject({
      code: 'insufficient_credits',
      required_micro: '35',
      available_micro: '30',
      shortfall_micro: '5',
      topup_url: 'https://x/topup',
    })
  })

  test('is refused for a cost that nobody knows, whoever asks', async () => {
    const { id } = await make.hold(key, 100n)
    await make.unknown(id)
    const refused = await authorize(owner, `req_${id}`)
    expect([refused.status, refused.body.code]).toEqual([409, 'usage_unknown'])
    expect(await posted(owner)).toEqual([1_000, 70])
  })

  test('is not an Agent’s, where others paid; what it paid alone is its own', async () => {
    await make.grant(agent, 15n)
    const { id } = await make.hold(key, 100n)
    await make.capture(id, 150n)
    const refused = await authorize(agent, `req_${id}`)
    expect([refused.status, refused.body.code]).toEqual([403, 'owner_account_required'])

    const loner = await make.account('agent')
    await make.grant(loner, 100n)
    const alone = await make.hold(await make.key(loner), 100n)
    await make.capture(alone.id, 120n)
    expect((await list(loner)).data[0].can_authorize).toBe(false)
    await make.grant(loner, 20n)
    expect((await list(loner)).data[0].can_authorize).toBe(true)
    expect((await authorize(loner, `req_${alone.id}`)).body.data).toMatchObject({ status: 'settled', authorized: true })
    expect(await posted(loner)).toEqual([0, 0])
  })

  test("of somebody else's item, of a call that was never short, or of none, is of nothing", async () => {
    const { requestId } = await shortfall()
    const fine = await make.hold(await make.key(owner), 10n)
    const stranger = await make.account('owner')
    for (const [viewer, request] of [
      [stranger, requestId],
      [owner, `req_${fine.id}`],
      [owner, 'req_none'],
    ] as const)
      expect((await authorize(viewer, request)).body.code).toBe('settlement_not_found')
    await make.release(fine.id)
  })
})

describe('after the Agent has left', () => {
  test('the original owner pays and sees it as historical; the new owner sees nothing', async () => {
    await make.grant(agent, 15n)
    const { id } = await make.hold(await make.key(agent), 145n)
    await unlink()
    const next = await make.account('owner')
    await make.grant(next, 10_000n)
    await make.link(agent, next, 'self_then_owner', {})
    // the call comes to its end under the new owner, which never agreed to any of it
    expect((await make.capture(id, 290n)).status).toBe('shortfall')
    expect((await list(next)).data).toEqual([])
    expect((await authorize(next, `req_${id}`)).body.code).toBe('settlement_not_found')
    const [item] = (await list(owner)).data
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
    await make.grant(agent, 45n)
    expect((await authorize(owner, `req_${id}`)).body.data).toMatchObject({ status: 'settled', historical_owner: true })
    expect(await posted(owner)).toEqual([800, 0])
    expect(await posted(agent)).toEqual([0, 0])
    expect(await posted(next)).toEqual([10_000, 0])
    expect((await list(agent, '?state=all')).data[0]).toMatchObject({ historical_owner: false, status: 'settled' })
  })
})

test('whoever made or paid a call is told once when it begins to wait, and again when its unknown cost turns out too high', async () => {
  const { id } = await make.hold(key, 100n)
  await make.unknown(id)
  await make.unknown(id)
  await make.capture(id, 150n)
  await make.capture(id, 150n)
  const told = await database.sql<{ account_id: string; payload: Record<string, unknown> }>(
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
