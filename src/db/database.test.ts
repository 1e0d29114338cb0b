import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freshDatabase, type TestDatabase } from '../../test/database.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await freshDatabase()
})
afterAll(() => database.drop())

test('a connection that is lost while it is in use fails its statement and nothing else', async () => {
  const inUse = database.db.transaction().execute(async (tx) => {
    const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(tx)
    await database.sql('select pg_terminate_backend($1, 10000)', [rows[0]?.pid])
    // the line ends while the transaction has no statement running: nobody waits for it but the client itself
    await new Promise((resolve) => setImmediate(resolve))
    await sql`select 1`.execute(tx)
  })
  await expect(inUse).rejects.toThrow()
  expect((await sql<{ one: number }>`select 1 as one`.execute(database.db)).rows).toEqual([{ one: 1 }])
})
