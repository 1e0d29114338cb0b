import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { freshDatabase, type TestDatabase } from '../../../test/database.ts'
import { ledgerFixture, readingServer, signedIn } from '../../../test/ledger-fixture.ts'
import { atOnce } from '../../../test/races/repeated.ts'
import type { Caller } from '../../kernel/caller.ts'
import { expireCredits } from '../../ledger/expiry.ts'
import { callRoutes } from '../calls/routes.ts'
import { refundRoutes } from './routes.ts'

let database: TestDatabase
let make: ReturnType<typeof ledgerFixture>
let server: ReturnType<typeof readingServer>
beforeAll(async () => {
  database = await freshDatabase()
  make = ledgerFixture(database)
  server = readingServer([...refundRoutes(database), ...callRoutes(database)])
})
afterEach(async () => {
  expect(await database.sql(`select * from ledger_audit() where check_name <> 'open_hold_without_process'`)).toEqual([])
  expect(server.faults).toEqual([])
})
afterAll(() => database.drop())

let owner: bigint
let agent: bigint
let key: Caller
beforeEach(async () => {
  owner = await make.account('owner')
  agent = await make.account('agent')
  await make.grant(owner, 1_000n)
  await make.grant(agent, 20n, { bucket: 'promo' })
  await make.grant(agent, 10n, { bucket: 'bonus' })
  await make.link(agent, owner, 'self_then_owner', { total_micro: 500n })
  key = await make.key(agent, { total_micro: 400n })
})

const apply = (viewer: bigint, callId: bigint, reason = 'it failed') =>
  server.post(signedIn(viewer), '/v1/refunds/apply', { call_id: Number(callId), reason })
const list = async (viewer: bigint, query = '') => (await server.get(signedIn(viewer), `/v1/refunds${query}`)).body
const buckets = (account: bigint) =>
  database.sql(
    'select kind, posted_micro::int as posted, held_micro::int as held from buckets where account_id = $1 order by id',
    [account],
  )
const spent = async () =>
  database.sql(
    'select window_kind, spent_micro::int as spent, held_micro::int as held from budget_windows where budget_id in (select budget_id from agent_links where agent_account_id = $1 union select budget_id from api_keys where id = $2) order by budget_id, window_kind',
    [agent, key.credential.id],
  )

async function failedCall(held = 100n, actual = 80n) {
  const { id } = await make.hold(key, held)
  await make.capture(id, actual, { outcome: 'failed' })
  return id
}

test('a failed call comes back to the very accounts, buckets and budget windows that it was paid from, once', async () => {
  const before = [await buckets(agent), await buckets(owner)]
  const id = await failedCall()
  expect(await spent()).toMatchObject(
    Array(3)
      .fill({ spent: 50 })
      .concat(Array(3).fill({ spent: 80 })),
  )
  const { body } = await server.get(key, `/v1/calls/${id}`)
  expect(body.data).toMatchObject({ refundable: true, refund_reason_not: null, refund_id: null })
  const first = await apply(agent, id, 'the answer broke off')
  const refund = {
    id: expect.any(Number),
    account_id: Number(agent),
    call_id: Number(id),
    amount_micro: 80,
    reason: 'the answer broke off',
    status: 'completed',
    created_at: expect.stringMatching(/Z$/),
  }
  expect([first.status, first.body]).toEqual([
    200,
    { status: 'completed', refund, request_id: expect.stringMatching(/^req_/) },
  ])
  expect([await buckets(agent), await buckets(owner)]).toEqual(before)
  expect(await spent()).toMatchObject(Array(6).fill({ spent: 0, held: 0 }))
  // another reason is no other refund
  const again = await apply(agent, id, 'once more')
  expect([again.status, again.body.refund]).toEqual([200, first.body.refund])
  expect([await buckets(agent), await buckets(owner)]).toEqual(before)
  expect((await server.get(key, `/v1/calls/${id}`)).body.data).toMatchObject({
    refundable: false,
    refund_reason_not: 'already_refunded',
    refund_id: first.body.refund.id,
  })
  expect(
    await database.sql(
      `select event, account_id::int, payload->>'amount_micro' as amount from outbox where event = 'refund.completed' and object_id = $1`,
      [String(first.body.refund.id)],
    ),
  ).toEqual([{ event: 'refund.completed', account_id: Number(agent), amount: '80' }])
})

/** The long form: npm run test:races. */
const REFUNDS = atOnce(1_000, 100)

test(`${REFUNDS} refunds of one failed call at once are one refund with one set of movements`, {
  timeout: 60_000,
}, async () => {
  const id = await failedCall()
  const answers = await Promise.all(Array.from({ length: REFUNDS }, () => apply(agent, id)))
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
  expect(new Set(answers.map(({ body }) => body.refund.id)).size).toBe(1)
  expect(
    await database.sql(
      `select sum(amount_micro)::int as amount, count(*)::int as movements from transfers where kind = 'refund' and hold_id = $1`,
      [id],
    ),
  ).toEqual([{ amount: 80, movements: 3 }])
  expect((await list(agent)).total).toBe(1)
})

test.each([20n, 30n, 100n])(
  'a call that cost %i, to the very end of a bucket, comes back to that and those before',
  async (cost) => {
    const before = [await buckets(agent), await buckets(owner)]
    const id = await failedCall(100n, cost)
    expect((await apply(agent, id)).body.status).toBe('completed')
    expect([await buckets(agent), await buckets(owner)]).toEqual(before)
  },
)

describe('no refund has', () => {
  test.each<[string, () => Promise<bigint>]>([
    [
      'call_successful',
      async () => {
        const { id } = await make.hold(key, 10n)
        await make.capture(id, 5n)
        return id
      },
    ],
    [
      'nothing_charged',
      async () => {
        const { id } = await make.hold(key, 10n)
        await make.release(id)
        return id
      },
    ],
    [
      'usage_unknown',
      async () => {
        const { id } = await make.hold(key, 10n)
        await make.unknown(id)
        return id
      },
    ],
    [
      'pending_settlement',
      async () => {
        const { id } = await make.hold(key, 100n)
        await make.capture(id, 5_000n, { outcome: 'failed' })
        return id
      },
    ],
    ['call_running', async () => (await make.hold(key, 10n)).id],
  ])('a call that is %s', async (reason, call) => {
    const refused = await apply(agent, await call())
    expect([refused.status, refused.body]).toMatchObject([
      409,
      { code: 'call_not_refundable', refund_reason_not: reason },
    ])
    expect((await list(agent)).total).toBe(0)
  })

  test('a call that the caller did not make, though it paid for it, or that does not exist', async () => {
    const id = await failedCall()
    expect([(await apply(owner, id)).body.code, (await apply(owner, 4_000_000_000n)).body.code]).toEqual([
      'not_original_account',
      'call_not_found',
    ])
    expect((await server.post(key, '/v1/refunds/apply', { call_id: Number(id), reason: 'x' })).body.code).toBe(
      'access_token_required',
    )
  })

  test.each([
    [{}],
    [{ call_id: 1 }],
    [{ call_id: 1, reason: ' ' }],
    [{ call_id: 1, reason: '\0' }],
    [{ call_id: 0, reason: 'x' }],
    [{ call_id: '1', reason: 'x' }],
  ])('a body that is %j', async (body) => {
    expect((await server.post(signedIn(agent), '/v1/refunds/apply', body)).status).toBe(400)
  })
})

test('the list has the refunds of calls that the account made, newest first, by page and by status, and nobody else’s', async () => {
  for (const held of [10n, 11n, 12n]) await apply(agent, await failedCall(held, held))
  const amounts = (page: { refunds: Array<{ amount_micro: number }> }) => page.refunds.map((one) => one.amount_micro)
  const first = await list(agent, '?per_page=2')
  expect(first).toMatchObject({ total: 3, page: 1, per_page: 2 })
  expect([amounts(first), amounts(await list(agent, '?per_page=2&page=2'))]).toEqual([[12, 11], [10]])
  expect(await list(agent, '?status=review_required')).toMatchObject({ refunds: [], total: 0, page: 1, per_page: 20 })
  expect((await list(agent, '?status=completed')).total).toBe(3)
  expect(await list(owner)).toMatchObject({ refunds: [], total: 0 })
  expect((await server.get(key, '/v1/refunds')).body.total).toBe(3)
})

test('what comes back to a bucket that has expired lives 7 more days, and what was left in it does not', async () => {
  const lone = await make.account('agent')
  await make.grant(lone, 100n, { bucket: 'promo', expiresAt: new Date(Date.now() + 3_600_000) })
  const own = await make.key(lone)
  const { id } = await make.hold(own, 60n)
  await make.capture(id, 60n, { outcome: 'failed' })
  await database.sql(`update buckets set expires_at = now() - interval '1 second' where account_id = $1`, [lone])
  expect((await make.hold(own, 1n)).status).toBe('insufficient_credits')
  expect((await apply(lone, id)).body.status).toBe('completed')
  expect(
    await database.sql(
      `select posted_micro::int as posted, closed_at, expires_at > now() + interval '6 days 23 hours' and expires_at <= now() + interval '7 days' as "7 days" from buckets where account_id = $1`,
      [lone],
    ),
  ).toEqual([{ posted: 60, closed_at: null, '7 days': true }])
  expect((await make.hold(own, 60n)).status).toBe('reserved')
  expect(
    await database.sql(`select kind, amount_micro::int as amount from transfers where account_id = $1 order by id`, [
      lone,
    ]),
  ).toEqual([
    { kind: 'grant', amount: 100 },
    { kind: 'capture', amount: 60 },
    { kind: 'expiry', amount: 40 },
    { kind: 'refund', amount: 60 },
  ])
})

test('a bucket that was swept empty and closed is open again when a refund comes', async () => {
  const lone = await make.account('agent')
  await make.grant(lone, 60n, { bucket: 'promo', expiresAt: new Date(Date.now() + 3_600_000) })
  const { id } = await make.hold(await make.key(lone), 60n)
  await make.capture(id, 60n, { outcome: 'failed' })
  await database.sql(`update buckets set expires_at = now() - interval '1 second' where account_id = $1`, [lone])
  await expireCredits(database.db)
  expect(await database.sql(`select closed_at is null as open from buckets where account_id = $1`, [lone])).toEqual([
    { open: false },
  ])
  await apply(lone, id)
  await database.sql(`update buckets set expires_at = now() where account_id = $1`, [lone])
  expect(await expireCredits(database.db)).toBe(1)
  expect(await buckets(lone)).toMatchObject([{ posted: 0 }])
})

test('a call whose funding is not known waits for an operator; asking again gives the same refund', async () => {
  const lone = await make.account('agent')
  await database.sql(
    `insert into holds (id, request_id, actor_account_id, family_id, credential_kind, credential_id, category, subject, reserve_micro, wanted_micro, minimum_micro)
     values (9000000, 'req_old', $1, $1, 'api_key', 1, 'chat', 'demo', 70, 70, 70)`,
    [lone],
  )
  await database.sql(
    `insert into hold_resolutions (hold_id, kind, outcome, actual_micro) values (9000000, 'captured', 'failed', 70)`,
  )
  await database.sql(`insert into holds_without_allocations (hold_id, reason) values (9000000, 'brought over')`)
  const first = await apply(lone, 9_000_000n)
  expect([first.status, first.body.status, first.body.refund.amount_micro]).toEqual([200, 'review_required', 70])
  expect((await apply(lone, 9_000_000n)).body.refund).toEqual(first.body.refund)
  expect(await buckets(lone)).toEqual([])
  expect((await list(lone, '?status=review_required')).total).toBe(1)
})
