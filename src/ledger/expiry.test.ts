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
