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

test('a refund that was given is decided by no operator', async () => {
  const account = await make.account('agent')
  await make.grant(account, 100n)
  const { id } = await make.hold(await make.key(account), 60n)
  await make.capture(id, 60n, { outcome: 'failed' })
  const [row] = await database.sql<{ refund: string }>(
    `select refund_id as refund from ledger_refund($1, $2, 'a test')`,
    [id, account],
  )
  expect(
    await database.sql(`select ledger_decide_refund($1, 'approved', 'operator:test', 'a test') as word`, [row?.refund]),
  ).toEqual([{ word: 'not_in_review' }])
})
