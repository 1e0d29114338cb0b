import { afterAll, beforeAll, expect, test } from 'vitest'
import { freshDatabase, type TestDatabase } from '../../test/database.ts'
import { listAuditLog } from '../identity/audit-log/service.ts'
import { openTerminal } from './terminal.fixture.ts'

let database: TestDatabase
let terminal: ReturnType<typeof openTerminal>
beforeAll(async () => {
  database = await freshDatabase()
  terminal = openTerminal({
    DATABASE_URL: database.url,
    FAREBOX_KEY_PEPPER: '07'.repeat(32),
  })
})
afterAll(async () => {
  terminal.close()
  await database.drop()
})

const states = async () => {
  const { keys } = (await terminal.run(['signing-key', 'list', '--json'])).json<{
    keys: Array<{ kid: string; state: string }>
  }>()
  return keys.map(({ state }) => state)
}

test('a rotation retires the key that signs, is recorded with its reason, and the list says what each key still does', async () => {
  for (const reason of ['the first', 'once a year']) {
    const rotated = await terminal.run(['signing-key', 'rotate', '--reason', reason])
    expect([rotated.exitCode, rotated.out]).toEqual([0, expect.stringMatching(/^\S{12} signs from/)])
  }
  expect(await states()).toEqual(['signs', 'verifies'])
  const filter = { actor: undefined, targetKind: undefined, targetId: undefined, limit: 10 }
  const rows = await listAuditLog(database.db, { ...filter, action: 'rotate.signing_key' })
  expect(rows.map((row) => row.reason)).toEqual(['once a year', 'the first'])
})

test('a key that leaked is dropped at once, and a reason is asked for', async () => {
  expect((await terminal.run(['signing-key', 'rotate', '--drop-old'])).exitCode).not.toBe(0)
  const dropped = await terminal.run(['signing-key', 'rotate', '--drop-old', '--reason', 'it leaked'])
  expect(dropped.out).toMatch(/sign in again/)
  expect(await states()).toEqual(['signs', 'expired', 'expired'])
})
