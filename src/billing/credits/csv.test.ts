import { afterAll, beforeAll, expect, test } from 'vitest'
import { freshDatabase, type TestDatabase } from '../../../test/database.ts'
import { ledgerFixture, readingServer } from '../../../test/ledger-fixture.ts'
import type { Caller } from '../../kernel/caller.ts'
import { line } from './csv.ts'
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

test('text that a spreadsheet would run as a formula arrives as text', async () => {
  const id = await make.account('owner')
  await make.grant(id, 5n, { sourceId: '=HYPERLINK("http://x.example","y")' })
  const { text, headers } = await http.get(session(id), '/v1/credits/ledger', { accept: 'text/csv' })
  expect(headers).toMatchObject({
    'content-type': 'text/csv; charset=utf-8',
    'content-disposition': 'attachment; filename="statement.csv"',
    vary: 'Accept',
  })
  expect(text.split('\r\n')[1]).toMatch(
    /,grant,5,purchased,5,,,,,,operator,"'=HYPERLINK\(""http:\/\/x.example"",""y""\)"$/,
  )
  expect(line(['+1', '-1', '@a', '\tb', 'a,b', -1n, null])).toBe(`'+1,'-1,'@a,'\tb,"a,b",-1,\r\n`)
})

test('a range of many pages arrives as one file, every movement once, and a live account does not disturb it', async () => {
  const id = await make.account('owner')
  const key = await make.key(id)
  await make.grant(id, 10_000n)
  const holds = Array.from({ length: 2500 }, (_, index) => ({
    operation: 'reserve',
    id: 7_000_000 + index,
    request_id: `many_${index}`,
    actor_account_id: Number(id),
    credential_kind: 'api_key',
    credential_id: Number(key.credential.id),
    wanted_micro: 2,
    minimum_micro: 2,
    category: 'chat',
    subject: 'demo',
    process_id: 1,
  }))
  await database.pool.query('select * from ledger_apply($1)', [JSON.stringify(holds)])
  await database.pool.query('select * from ledger_apply($1)', [
    JSON.stringify(holds.map((hold) => ({ operation: 'capture', id: hold.id, actual_micro: 1, outcome: 'success' }))),
  ])
  const [file] = await Promise.all([http.get(key, '/v1/credits/ledger', { accept: 'text/csv' }), make.grant(id, 5n)])
  const rows = file.text
    .trimEnd()
    .split('\r\n')
    .slice(1)
    .map((row) => row.split(','))
  const calls = rows.map((row) => row[6]).filter(Boolean)
  expect(new Set(calls).size).toBe(2500)
  expect(calls).toHaveLength(2500)
  expect(rows.reduce((sum, row) => sum + Number(row[3]), 0)).toBe(Number(rows[0]?.[5]))
})
