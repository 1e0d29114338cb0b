import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { freshDatabase, type TestDatabase } from '../../test/database.ts'
import { type Limits, ledgerFixture } from '../../test/ledger-fixture.ts'
import { refundCall } from './refunds.ts'
import { ledgerTransaction } from './transaction.ts'

let database: TestDatabase
let make: ReturnType<typeof ledgerFixture>
beforeAll(async () => {
  database = await freshDatabase()
  make = ledgerFixture(database)
})
afterEach(async () => {
  expect(await database.sql(`select * from ledger_audit() where check_name <> 'open_hold_without_process'`)).toEqual([])
})
afterAll(() => database.drop())

/** An Agent without Credits under an owner with 10,000, with limits of its link and of its key. */
async function budgeted(given: { link?: Limits; key?: Limits }) {
  const [owner, agent] = [await make.account('owner'), await make.account('agent')]
  await make.grant(owner, 10_000n)
  await make.link(agent, owner, 'owner_only', given.link)
  return { owner, agent, key: await make.key(agent, given.key) }
}

describe.each(['key', 'link'] as const)('a limit of the %s', (whose) => {
  test.each([
    ['per_call', 'per_call_micro', 0, 0],
    ['daily', 'daily_micro', 40, 30],
    ['monthly', 'monthly_micro', 40, 30],
    ['total', 'total_micro', 40, 30],
  ] as const)(
    'that is %s refuses what is beyond it, names itself and tells its numbers',
    async (limit, column, spent, held) => {
      const { key } = await budgeted({ [whose]: { [column]: 100n } })
      const { id } = await make.hold(key, 60n)
      await make.capture(id, 40n)
      await make.hold(key, 30n)
      const room = 100n - BigInt(spent + held)
      const refused = await make.hold(key, room + 1n)
      expect([refused.status, refused.detail]).toEqual([
        'budget_exceeded',
        {
          budget: whose,
          limit,
          limit_micro: 100,
          spent_micro: spent,
          held_micro: held,
          required_micro: Number(room) + 1,
        },
      ])
      // to the last microcredit, and clamped to it where the caller takes less
      expect((await make.hold(key, room + 50n, { minimum: room })).amount_micro).toBe(room)
      if (limit !== 'per_call') expect((await make.hold(key, 1n)).status).toBe('budget_exceeded')
    },
  )
})

test('of several limits the tightest is named', async () => {
  const { key } = await budgeted({ link: { daily_micro: 90n, total_micro: 80n }, key: { monthly_micro: 85n } })
  expect((await make.hold(key, 82n)).detail).toMatchObject({ budget: 'link', limit: 'total' })
  expect((await make.hold(key, 86n)).detail).toMatchObject({ budget: 'key', limit: 'monthly' })
})

test('a call that costs more than its hold stays within what its key may cost per call', async () => {
  const account = await make.account('agent')
  await make.grant(account, 1_000n)
  const key = await make.key(account, { per_call_micro: 100n })
  const [fine, dear] = [await make.hold(key, 80n), await make.hold(key, 80n)]
  expect((await make.capture(fine.id, 100n)).status).toBe('captured')
  expect((await make.capture(dear.id, 101n)).status).toBe('shortfall')
})

test('what binds is named to the last microcredit: Credits where a limit leaves just enough, a limit where Credits are', async () => {
  const poor = await make.account('agent')
  await make.grant(poor, 50n)
  expect((await make.hold(await make.key(poor, { total_micro: 100n }), 100n)).status).toBe('insufficient_credits')
  const [owner, agent] = [await make.account('owner'), await make.account('agent')]
  await make.grant(owner, 100n)
  await make.link(agent, owner, 'owner_only', { total_micro: 50n })
  expect((await make.hold(await make.key(agent), 100n)).status).toBe('budget_exceeded')
})

test.each([
  ['2026-03-31T23:59:59.999999Z', '2026-03-31', '2026-03-01'],
  ['2026-04-01T00:00:00Z', '2026-04-01', '2026-04-01'],
])('at %s it is %s for the limit of a day and %s for that of a month', async (moment, day, month) => {
  expect(
    await database.sql('select window_kind as kind, starts_on::text as start from budget_windows_at($1)', [moment]),
  ).toEqual([
    { kind: 'daily', start: day },
    { kind: 'monthly', start: month },
    { kind: 'total', start: '1970-01-01' },
  ])
})

test.each([
  ['owner_only', 500, 0],
  ['self_only', 30, 30],
  ['self_then_owner', 530, 30],
] as const)(
  'an Agent that is paid by %s is told that it may spend %d, and %d when its owner pays no more',
  async (mode, linked, alone) => {
    const [owner, agent] = [await make.account('owner'), await make.account('agent')]
    await make.grant(owner, 1_000n)
    await make.grant(agent, 30n)
    await make.link(agent, owner, mode, { total_micro: 500n })
    const spendable = async () =>
      (await database.sql('select account_spendable_micro($1)::int as micro', [agent]))[0]?.micro
    expect(await spendable()).toBe(linked)
    await database.sql('update agent_links set funding_paused = true where agent_account_id = $1', [agent])
    expect(await spendable()).toBe(alone)
    await database.sql('update agent_links set funding_paused = false where agent_account_id = $1', [agent])
    await database.sql(`update accounts set status = 'banned' where id = $1`, [owner])
    expect(await spendable()).toBe(alone)
  },
)

describe('a call that goes on over midnight', () => {
  /** As if the call had been held a day ago. */
  async function aDayEarlier(holdId: bigint): Promise<void> {
    await database.sql(`begin; alter table holds disable trigger append_only;
      insert into budget_windows (budget_id, window_kind, starts_on, held_micro)
      select h.key_budget_id, at.window_kind, at.starts_on, h.reserve_micro from holds h cross join budget_windows_at(h.created_at - interval '1 day') at where h.id = ${holdId}
      on conflict (budget_id, window_kind, starts_on) do update set held_micro = budget_windows.held_micro + excluded.held_micro;
      update budget_windows w set held_micro = w.held_micro - h.reserve_micro from holds h cross join budget_windows_at(h.created_at) at
      where h.id = ${holdId} and w.budget_id = h.key_budget_id and w.window_kind = at.window_kind and w.starts_on = at.starts_on;
      update holds set created_at = created_at - interval '1 day' where id = ${holdId};
      alter table holds enable trigger append_only; commit`)
  }
  const daily = async (keyId: bigint) =>
    (
      await database.sql<{ ago: number; spent: number; held: number }>(
        `select (now() at time zone 'UTC')::date - w.starts_on as ago, w.spent_micro::int as spent, w.held_micro::int as held
         from budget_windows w join api_keys k using (budget_id) where k.id = $1 and w.window_kind = 'daily' and w.spent_micro + w.held_micro > 0 order by w.starts_on`,
        [keyId],
      )
    ).map(({ ago, spent, held }) => [ago, spent, held])

  async function begun() {
    const account = await make.account('agent')
    await make.grant(account, 1_000n)
    const key = await make.key(account, { daily_micro: 100n })
    const { id } = await make.hold(key, 60n)
    await aDayEarlier(id)
    return { account, key, id }
  }

  test('is charged to the day of its hold, above its hold too, though today has no room', async () => {
    const { key, id } = await begun()
    // today is full
    const today = await make.hold(key, 100n)
    await make.capture(today.id, 100n)
    expect((await make.hold(key, 1n)).status).toBe('budget_exceeded')
    expect((await make.capture(id, 100n)).status).toBe('captured')
    expect(await daily(key.credential.id)).toEqual([
      [1, 100, 0],
      [0, 100, 0],
    ])
  })

  test('waits for its payer where the day of its hold has no room, though today has', async () => {
    const { account, key, id } = await begun()
    expect((await make.capture(id, 101n, { outcome: 'failed' })).status).toBe('shortfall')
    expect(await daily(key.credential.id)).toEqual([[1, 0, 60]])
    // what its payer agrees to counts there as well, and so does what comes back
    await database.sql('select ledger_authorize($1, $2)', [id, account])
    expect(await daily(key.credential.id)).toEqual([[1, 101, 0]])
    await ledgerTransaction(database.db, (tx) => refundCall(tx, { callId: id, accountId: account, reason: 'a test' }))
    expect(await daily(key.credential.id)).toEqual([])
    expect((await make.hold(key, 100n)).status).toBe('reserved')
  })
})
