import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freshDatabase, type TestDatabase } from '../../test/database.ts'
import { auditRecent } from './audit.ts'
import { ledgerTransaction } from './transaction.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await freshDatabase()
})
afterAll(() => database.drop())

/** A transaction that PostgreSQL ends with this state as often as told; gives its answer, and how often it was begun. */
async function failing(state: string, times: number) {
  let begun = 0
  const answer = await ledgerTransaction(database.db, async (tx) => {
    begun += 1
    if (begun <= times) await sql.raw(`do $$ begin raise exception using errcode = '${state}'; end $$`).execute(tx)
    return 'done'
  }).catch((error: { code: string }) => error.code)
  return { answer, begun }
}

test.each(['40001', '40P01'])(
  'a transaction that lost to another with %s is begun anew, five times in all',
  async (state) => {
    expect(await failing(state, 1)).toEqual({ answer: 'done', begun: 2 })
    expect(await failing(state, 4)).toEqual({ answer: 'done', begun: 5 })
    expect(await failing(state, 5)).toEqual({ answer: state, begun: 5 })
  },
)

test('a transaction that is refused for itself is not begun again', async () => {
  expect(await failing('23514', 1)).toEqual({ answer: '23514', begun: 1 })
})

test.each([
  ['40001', []],
  ['40P01', '40P01'],
  ['23514', '23514'],
])(
  'an audit of what is new that ends with %s finds nothing where another process did the same, and fails otherwise',
  async (code, answer) => {
    const db = database.db.withPlugin({
      transformQuery({ node }) {
        if (JSON.stringify(node).includes('ledger_audit_recent')) throw Object.assign(new Error('ended'), { code })
        return node
      },
      transformResult: async ({ result }) => result,
    })
    expect(await auditRecent(db).catch((error: { code: string }) => error.code)).toEqual(answer)
  },
)
