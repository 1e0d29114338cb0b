import { afterAll, beforeAll, expect, test } from 'vitest'
import { freshDatabase, type TestDatabase } from '../../test/database.ts'
import { ledgerFixture } from '../../test/ledger-fixture.ts'

let database: TestDatabase
let make: ReturnType<typeof ledgerFixture>
beforeAll(async () => {
  database = await freshDatabase()
  make = ledgerFixture(database)
})
afterAll(() => database.drop())

test('the review of a payment holds what that payment gave, and nothing of another', async () => {
  const account = await make.account('agent')
  await make.grant(account, 300n, { bucket: 'promo' })
  const { grantId } = await make.grant(account, 100n)
  await database.sql('select ledger_hold_grant($1)', [grantId])
  expect(
    await database.sql('select kind, held_micro::int as held from buckets where account_id = $1 order by id', [
      account,
    ]),
  ).toEqual([
    { kind: 'promo', held: 0 },
    { kind: 'purchased', held: 100 },
  ])
})
