import { afterAll, beforeAll, expect, test } from 'vitest'
import { freshDatabase, type TestDatabase } from '../../../test/database.ts'
import { ledgerFixture, readingServer } from '../../../test/ledger-fixture.ts'
import type { Caller } from '../../kernel/caller.ts'
import { creditRoutes } from './routes.ts'

let database: TestDatabase
let make: ReturnType<typeof ledgerFixture>
let http: ReturnType<typeof readingServer>
beforeAll(async () => {
  database = await freshDatabase()
  make = ledgerFixture(database)
  http = readingServer(creditRoutes({ db: database.db }))
})
afterAll(() => database.drop())

const session = (accountId: bigint): Caller => ({ accountId, credential: { kind: 'session', id: 1n } })
const balanceOf = async (caller: Caller) => (await http.get(caller, '/v1/credits/balance')).body

test('an account without Credits reads an empty balance and an empty statement', async () => {
  const id = await make.account('agent')
  expect(await balanceOf(session(id))).toEqual({
    account_id: Number(id),
    balance_micro: 0,
    available_micro: 0,
    held_micro: 0,
    balance_micro_usdc: 0,
    buckets: [],
    budget: null,
    request_id: expect.stringMatching(/^req_/),
  })
  expect((await http.get(session(id), '/v1/credits/ledger')).body).toMatchObject({
    opening_micro: 0,
    closing_micro: 0,
    data: [],
    next_cursor: 0,
  })
})

test('a balance lists its buckets in the order of use, and what is held apart', async () => {
  const id = await make.account('owner')
  const key = await make.key(id)
  await make.grant(id, 100n)
  await make.grant(id, 10n, { bucket: 'promo', expiresAt: new Date(Date.now() + 86_400_000) })
  await make.hold(key, 30n)
  expect(await balanceOf(key)).toMatchObject({
    balance_micro: 110,
    available_micro: 80,
    held_micro: 30,
    balance_micro_usdc: 80,
    buckets: [
      { kind: 'promo', available_micro: 0, held_micro: 10, expires_at: expect.stringMatching(/\.\d{3}Z$/) },
      { kind: 'purchased', available_micro: 80, held_micro: 20, expires_at: null },
    ],
  })
})

test('the balance is what the ledger grants, for every billing mode, limit and split of funds', async () => {
  let cases = 0
  for (const mode of ['self_only', 'self_then_owner', 'owner_only'] as const) {
    for (const [own, owners] of [
      [0n, 0n],
      [5n, 0n],
      [0n, 50n],
      [5n, 50n],
    ] as const) {
      for (const link of [undefined, {}, { per_call_micro: 7n }, { daily_micro: 20n, total_micro: 30n }]) {
        for (const limit of [undefined, { monthly_micro: 9n }]) {
          const agent = await make.account('agent')
          const owner = await make.account('owner')
          if (own) await make.grant(agent, own)
          if (owners) await make.grant(owner, owners)
          await make.link(agent, owner, mode, link)
          const key = await make.key(agent, limit)
          await make.hold(key, 3n)
          const shown = await balanceOf(key)
          const room = shown.budget?.scope === 'key' ? shown.budget.remaining_micro : Number.POSITIVE_INFINITY
          const { amount_micro } = await make.hold(key, 1_000_000n, { minimum: 1n })
          const expected = Math.min(shown.available_micro, room)
          expect(
            Number(amount_micro),
            JSON.stringify({
              mode,
              own: Number(own),
              owners: Number(owners),
              link: Object.keys(link ?? {}),
              limit: !!limit,
              shown,
            }),
          ).toBe(expected)
          expect(
            shown.buckets.reduce((sum: number, bucket: { available_micro: number }) => sum + bucket.available_micro, 0),
          ).toBe(shown.available_micro)
          expect(
            shown.buckets.reduce((sum: number, bucket: { held_micro: number }) => sum + bucket.held_micro, 0),
          ).toBe(shown.held_micro)
          expect(shown.available_micro + shown.held_micro).toBe(shown.balance_micro)
          cases += 1
        }
      }
    }
  }
  expect(cases).toBe(96)
})

test('an Agent sees of its owner only what it may spend and what its own calls hold', async () => {
  const [agent, sibling, owner] = [
    await make.account('agent'),
    await make.account('agent'),
    await make.account('owner'),
  ]
  await make.grant(agent, 4n)
  await make.grant(owner, 900n, { bucket: 'bonus' })
  await make.link(agent, owner, 'self_then_owner', { daily_micro: 50n })
  await make.link(sibling, owner, 'owner_only', {})
  await make.hold(await make.key(sibling), 300n)
  const key = await make.key(agent)
  await make.hold(key, 10n)
  const shown = await balanceOf(key)
  expect(shown).toEqual({
    account_id: Number(agent),
    balance_micro: 54,
    available_micro: 44,
    held_micro: 10,
    balance_micro_usdc: 44,
    buckets: [
      { kind: 'purchased', available_micro: 0, held_micro: 4, expires_at: null },
      { kind: 'owner', available_micro: 44, held_micro: 6, expires_at: null },
    ],
    budget: {
      scope: 'link',
      limit: 'daily',
      limit_micro: 50,
      spent_micro: 0,
      held_micro: 6,
      remaining_micro: 44,
      resets_at: expect.stringMatching(/T00:00:00.000Z$/),
    },
    self_account: { account_id: Number(agent), balance_micro: 4, available_micro: 0, held_micro: 4 },
    request_id: expect.any(String),
  })
})

test('what an owner gives is listed while any of it is held or left', async () => {
  const [agent, owner] = [await make.account('agent'), await make.account('owner')]
  await make.grant(owner, 900n)
  await make.link(agent, owner, 'owner_only', { total_micro: 10n })
  const key = await make.key(agent)
  const bucket = async () => (await balanceOf(key)).buckets
  expect(await bucket()).toMatchObject([{ kind: 'owner', available_micro: 10, held_micro: 0 }])
  const { id } = await make.hold(key, 8n)
  expect(await bucket()).toMatchObject([{ kind: 'owner', available_micro: 2, held_micro: 8 }])
  await make.capture(id, 8n)
  await make.capture((await make.hold(key, 2n)).id, 2n)
  expect(await bucket()).toEqual([])
})

test('what an owner gave stops showing when the owner pauses it or is banned, and the ledger grants no more', async () => {
  for (const stop of [
    'update agent_links set funding_paused = true where agent_account_id = $1',
    `update accounts set status = 'banned' where id = (select owner_account_id from agent_links where agent_account_id = $1)`,
  ]) {
    const [agent, owner] = [await make.account('agent'), await make.account('owner')]
    await make.grant(owner, 900n)
    await make.link(agent, owner, 'owner_only', { daily_micro: 50n })
    await database.sql(stop, [agent])
    const key = await make.key(agent)
    expect(await balanceOf(key)).toMatchObject({ balance_micro: 0, available_micro: 0, buckets: [], budget: null })
    expect((await make.hold(key, 1n)).status).toBe('insufficient_credits')
  }
})

test("the budget shown is the limit that leaves least: the key's or the link's", async () => {
  const [agent, owner] = [await make.account('agent'), await make.account('owner')]
  await make.grant(owner, 900n)
  await make.link(agent, owner, 'owner_only', { daily_micro: 50n })
  expect((await balanceOf(await make.key(agent, { per_call_micro: 49n }))).budget).toEqual({
    scope: 'key',
    limit: 'per_call',
    limit_micro: 49,
    spent_micro: 0,
    held_micro: 0,
    remaining_micro: 49,
    resets_at: null,
  })
  expect((await balanceOf(await make.key(agent, { monthly_micro: 51n }))).budget).toMatchObject({
    scope: 'link',
    limit: 'daily',
  })
  expect((await balanceOf(await make.key(agent, { monthly_micro: 10n }))).budget).toMatchObject({
    limit: 'monthly',
    resets_at: expect.stringMatching(/-01T00:00:00.000Z$/),
  })
  expect((await balanceOf(session(owner))).budget).toBeNull()
  // where the Agent pays first, its own Credits come on top of what the link leaves
  const saver = await make.account('agent')
  await make.grant(saver, 5n)
  await make.link(saver, owner, 'self_then_owner', { daily_micro: 50n })
  const scope = async (limit: bigint) => (await balanceOf(await make.key(saver, { total_micro: limit }))).budget.scope
  expect([await scope(55n), await scope(56n)]).toEqual(['key', 'link'])
})

test('a movement names the call or the grant that it came from', async () => {
  const id = await make.account('owner')
  const key = await make.key(id)
  await make.grant(id, 100n, { sourceId: 'gift-7' })
  const call = await make.hold(key, 30n)
  await make.capture(call.id, 12n)
  const { body } = await http.get(key, '/v1/credits/ledger')
  expect(body).toMatchObject({ opening_micro: 0, closing_micro: 88, next_cursor: 0 })
  expect(body.data).toMatchObject([
    {
      kind: 'capture',
      amount_micro: -12,
      bucket: 'purchased',
      balance_after_micro: 88,
      call_id: Number(call.id),
      model: 'demo',
      actor_account_id: Number(id),
      key_id: Number(key.credential.id),
      grant: null,
      refund_id: null,
    },
    {
      kind: 'grant',
      amount_micro: 100,
      balance_after_micro: 100,
      call_id: null,
      model: null,
      actor_account_id: null,
      key_id: null,
      grant: { source: 'operator', source_id: 'gift-7' },
    },
  ])
})

test('a refund names itself and its call; both stay apart from the grant', async () => {
  const id = await make.account('owner')
  await make.grant(id, 100n)
  const call = await make.hold(await make.key(id), 30n)
  await make.capture(call.id, 12n, { outcome: 'failed' })
  const [made] = await database.sql<{ id: string }>(`select refund_id as id from ledger_refund($1, $2, 'a test')`, [
    call.id,
    id,
  ])
  const { body } = await http.get(session(id), '/v1/credits/ledger?limit=2')
  expect(body.data).toMatchObject([
    { kind: 'refund', amount_micro: 12, call_id: Number(call.id), refund_id: Number(made?.id), grant: null },
    { kind: 'capture', amount_micro: -12, call_id: Number(call.id), refund_id: null },
  ])
  expect([body.opening_micro, body.closing_micro, body.next_cursor]).toEqual([100, 100, body.data[1].id])
  expect((await http.get(session(id), '/v1/credits/ledger?limit=3')).body.next_cursor).toBe(0)
})

test('a statement shows nothing of another account, whatever the cursor', async () => {
  const [id, other] = [await make.account('owner'), await make.account('owner')]
  await make.grant(id, 100n)
  await make.grant(other, 7n)
  const { body } = await http.get(session(id), '/v1/credits/ledger?before_id=9007199254740991')
  expect(body.data).toHaveLength(1)
  expect(body).toMatchObject({ opening_micro: 0, closing_micro: 100 })
  // nor does a cursor lead out of a range
  const ended = '&to=2020-01-01T00:00:00Z'
  expect((await http.get(session(id), `/v1/credits/ledger?before_id=9007199254740991${ended}`)).body).toMatchObject({
    data: [],
    opening_micro: 0,
    closing_micro: 0,
  })
})

test('a statement refuses times that are none, and ranges that end before they begin', async () => {
  const caller = session(await make.account('owner'))
  for (const query of [
    'from=yesterday',
    'from=2026-02-30T00:00:00Z',
    'from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z',
    'from=2026-01-01T00:00:00Z&to=2026-01-01T00:00:00Z',
    'limit=0',
    'limit=101',
    'before_id=-1',
  ]) {
    const { status, body } = await http.get(caller, `/v1/credits/ledger?${query}`)
    expect([query, status, body.code]).toEqual([query, 400, 'invalid_parameter'])
  }
})

test('a leap second is a time on paper that no clock here shows, and is refused in those words', async () => {
  const caller = session(await make.account('owner'))
  const { status, body } = await http.get(caller, '/v1/credits/ledger?to=2016-12-31T23:59:60Z')
  expect([status, body.code]).toEqual([400, 'invalid_parameter'])
  expect(body.message).toBe('The parameter to is not a time such as 2026-01-31T00:00:00Z.')
})
