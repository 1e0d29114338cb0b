import pg from 'pg'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { freshDatabase, type TestDatabase } from '../../test/database.ts'
import { ledgerFixture } from '../../test/ledger-fixture.ts'
import { expireCredits } from './expiry.ts'

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

const soon = () => new Date(Date.now() + 3_600_000)
const lapse = (account: bigint) =>
  database.sql(`update buckets set expires_at = now() where account_id = $1 and expires_at is not null`, [account])
const buckets = (account: bigint) =>
  database.sql(
    'select posted_micro::int as posted, held_micro::int as held, closed_at is not null as closed from buckets where account_id = $1 order by id',
    [account],
  )

test('expired Credits are spent by nobody, however late the sweep; then they are gone, once, and what never expires stays', async () => {
  const account = await make.account('agent')
  await make.grant(account, 70n, { bucket: 'promo', expiresAt: soon() })
  await make.grant(account, 5n)
  const key = await make.key(account)
  await lapse(account)
  expect((await make.hold(key, 6n)).status).toBe('insufficient_credits')
  expect(await buckets(account)).toMatchObject([{ posted: 70 }, { posted: 5 }])
  expect(await expireCredits(database.db)).toBe(1)
  expect(await expireCredits(database.db)).toBe(0)
  expect(await buckets(account)).toEqual([
    { posted: 0, held: 0, closed: true },
    { posted: 5, held: 0, closed: false },
  ])
  expect(
    await database.sql(
      `select kind, credit_id::int, amount_micro::int, balance_after_micro::int as after from transfers where account_id = $1 order by id desc limit 1`,
      [account],
    ),
  ).toEqual([{ kind: 'expiry', credit_id: -4, amount_micro: 70, after: 5 }])
})

test('what a hold keeps of expired Credits stays until the hold ends: captured, or swept after it was released', async () => {
  const account = await make.account('agent')
  await make.grant(account, 100n, { bucket: 'promo', expiresAt: soon() })
  const { id } = await make.hold(await make.key(account), 60n)
  await lapse(account)
  expect(await expireCredits(database.db)).toBe(1)
  expect(await buckets(account)).toEqual([{ posted: 60, held: 60, closed: false }])
  // nothing to do until it ends
  expect(await expireCredits(database.db)).toBe(0)
  await make.capture(id, 25n)
  expect(await buckets(account)).toEqual([{ posted: 35, held: 0, closed: false }])
  expect(await expireCredits(database.db)).toBe(1)
  expect(await buckets(account)).toEqual([{ posted: 0, held: 0, closed: true }])
})

test('a sweep of many accounts goes on until none is left, page by page', async () => {
  const accounts: bigint[] = []
  for (let n = 0; n < 5; n++) {
    const account = await make.account('agent')
    await make.grant(account, 7n, { bucket: 'promo', expiresAt: soon() })
    await lapse(account)
    accounts.push(account)
  }
  expect(await expireCredits(database.db, 2)).toBe(5)
  for (const account of accounts) expect(await buckets(account)).toEqual([{ posted: 0, held: 0, closed: true }])
  // a page that is full and the last one
  for (const account of accounts.slice(0, 2)) {
    await make.grant(account, 7n, { bucket: 'promo', expiresAt: soon() })
    await lapse(account)
  }
  expect(await expireCredits(database.db, 2)).toBe(2)
})

test('whoever falls below its threshold by an expiry is told', async () => {
  const account = await make.account('agent')
  await database.sql('update ledger_settings set balance_low_micro = 50')
  await make.grant(account, 40n, { bucket: 'promo', expiresAt: soon() })
  await make.grant(account, 30n)
  await lapse(account)
  await expireCredits(database.db)
  expect(
    await database.sql(`select event, payload->>'balance_micro' as balance from outbox where account_id = $1`, [
      account,
    ]),
  ).toEqual([{ event: 'balance.low', balance: '30' }])
})

test.each([
  ['at its very moment', '0', false],
  ['a microsecond before', '1 microsecond', true],
  ['a microsecond after', '-1 microsecond', false],
])('a bucket %s is spent, swept and refunded into by the same clock', async (_when, ahead, alive) => {
  const account = await make.account('agent')
  await make.grant(account, 100n, { bucket: 'promo', expiresAt: soon() })
  const key = await make.key(account)
  const failed = await make.hold(key, 40n)
  await make.capture(failed.id, 40n, { outcome: 'failed' })
  const running = await make.hold(key, 20n)
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  try {
    // inside one transaction no time passes
    await client.query('begin')
    await client.query(`update buckets set expires_at = now() + $2::interval where account_id = $1`, [account, ahead])
    const one = async <T>(text: string): Promise<T> => Object.values((await client.query(text)).rows[0] ?? {})[0] as T
    const reserve = (id: number, micro: number) => {
      const wish = { operation: 'reserve', request_id: `at ${account} ${id}`, actor_account_id: Number(account) }
      const credential = { credential_kind: 'api_key', credential_id: Number(key.credential.id) }
      const amounts = { wanted_micro: micro, minimum_micro: micro, category: 'chat', subject: 'demo' }
      return { id: Number(account) * 1_000_000 + id, ...wish, ...credential, ...amounts }
    }
    const apply = async (operations: object[]) =>
      (await client.query('select status from ledger_apply($1)', [JSON.stringify(operations)])).rows.map(
        ({ status }) => status,
      )
    const granted = alive ? 'reserved' : 'insufficient_credits'
    // one by one, and many together
    expect(await apply([reserve(1, 1)])).toEqual([granted])
    expect(await apply([reserve(2, 1), reserve(3, 1), reserve(4, 1)])).toEqual([granted, granted, granted])
    // above the hold: 30 more, of 36 or of nothing
    const above = { operation: 'capture', id: Number(running.id), actual_micro: 50, outcome: 'success' }
    expect(await apply([above])).toEqual([alive ? 'captured' : 'shortfall'])
    expect(Number(await one(`select ledger_expire(${account})`))).toBe(alive ? 0 : 40)
    await client.query(`select ledger_refund(${failed.id}, ${account}, 'a test')`)
    const extended = await one(
      `select expires_at = now() + interval '7 days' from buckets where account_id = ${account}`,
    )
    expect(extended).toBe(!alive)
  } finally {
    await client.query('rollback')
    await client.end()
  }
})
