import { afterAll, beforeAll, expect, test } from 'vitest'
import { freshDatabase, type TestDatabase } from '../../test/database.ts'
import { auditLedger } from './audit.ts'
import { grantCredits } from './grants.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await freshDatabase()
})
afterAll(() => database.drop())

test('a grant is given once for each source, and the audit agrees', async () => {
  await database.sql(`insert into families (id) values (1)`)
  await database.sql(
    `insert into accounts (id, account_type, family_id) overriding system value values (1, 'owner', 1)`,
  )
  const grant = {
    source: 'operator',
    sourceId: 'g',
    accountId: 1n,
    bucket: 'promo',
    amountMicro: 5n as never,
    expiresAt: undefined,
    reason: 'a test',
    grantedBy: 'operator:test',
  } as const
  const first = await grantCredits(database.db, grant)
  expect(await grantCredits(database.db, grant)).toEqual({ grantId: first.grantId, repeated: true })
  expect(await database.db.selectFrom('buckets').select('posted_micro').execute()).toEqual([{ posted_micro: 5n }])
  expect(await auditLedger(database.db)).toEqual([])
})

test('the application role cannot write a balance or change history', async () => {
  await expect(database.pool.query('update buckets set posted_micro = 1')).rejects.toThrow(/permission denied/)
  await expect(database.pool.query('delete from transfers')).rejects.toThrow(/permission denied/)
  await expect(database.sql('update transfers set amount_micro = 1')).rejects.toThrow(/append-only/)
})
