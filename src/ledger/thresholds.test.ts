import { afterAll, beforeAll, expect, test } from 'vitest'
import { freshDatabase, type TestDatabase } from '../../test/database.ts'
import { ledgerFixture } from '../../test/ledger-fixture.ts'
import { microcredits } from '../kernel/money.ts'
import { setAccountBalanceLow, setBalanceLow } from './balance-low.ts'
import { expireCredits } from './expiry.ts'

let database: TestDatabase
let make: ReturnType<typeof ledgerFixture>
beforeAll(async () => {
  database = await freshDatabase()
  make = ledgerFixture(database)
  await setBalanceLow(database.db, microcredits(50n))
})
afterAll(() => database.drop())

const told = async (account: bigint) =>
  (
    await database.sql<{ balance: number }>(
      `select (payload->>'balance_micro')::int as balance from outbox where account_id = $1 and event = 'balance.low' order by id`,
      [account],
    )
  ).map(({ balance }) => balance)

test('an account is told when it falls below its threshold, not at it, and once', async () => {
  const account = await make.account('agent')
  await make.grant(account, 80n)
  const key = await make.key(account)
  const spend = async (micro: bigint) => make.capture((await make.hold(key, micro)).id, micro)
  await spend(30n)
  expect(await told(account)).toEqual([])
  await spend(1n)
  await spend(1n)
  expect(await told(account)).toEqual([49])
})

test('an expiry that takes an account from its threshold below it is told of, and one that ends at it is not', async () => {
  const account = await make.account('agent')
  for (const amount of [20n, 50n])
    await make.grant(account, amount, { bucket: 'promo', expiresAt: new Date(Date.now() + 3_600_000) })
  const lapse = async (amount: number) => {
    await database.sql(
      'update buckets set expires_at = now() where account_id = $1 and posted_micro = $2 and closed_at is null',
      [account, amount],
    )
    await expireCredits(database.db)
  }
  await lapse(20)
  expect(await told(account)).toEqual([])
  await lapse(50)
  expect(await told(account)).toEqual([0])
})

test("an account's own threshold goes before the one for all, and without it that one applies again", async () => {
  const account = await make.account('agent')
  await make.grant(account, 200n)
  const key = await make.key(account)
  const set = (below: bigint | undefined) =>
    database.db
      .transaction()
      .execute((tx) => setAccountBalanceLow(tx, account, below === undefined ? undefined : microcredits(below)))
  expect(await set(150n)).toBeUndefined()
  expect(await set(160n)).toBe(150n)
  await make.capture((await make.hold(key, 45n)).id, 45n)
  expect(await told(account)).toEqual([155])
  expect(await set(undefined)).toBe(160n)
  await make.capture((await make.hold(key, 110n)).id, 110n)
  expect(await told(account)).toEqual([155, 45])
})
