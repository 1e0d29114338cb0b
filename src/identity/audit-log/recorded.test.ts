import { afterAll, beforeAll, expect, test } from 'vitest'
import { freshDatabase, type TestDatabase } from '../../../test/database.ts'
import { type AuditEntry, listAuditLog, recordAction, verifyAuditLog } from './service.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await freshDatabase()
})
afterAll(() => database.drop())

const ban: AuditEntry = {
  actor: { kind: 'operator', name: 'ada' },
  action: 'ban.account',
  targetId: 7n,
}

const record = (entry: AuditEntry): Promise<void> => database.db.transaction().execute((tx) => recordAction(tx, entry))

const newest = async () =>
  (
    await listAuditLog(database.db, {
      actor: undefined,
      action: undefined,
      targetKind: undefined,
      targetId: undefined,
      limit: 1,
    })
  )[0]

test('secrets do not get into the log, wherever they were put', async () => {
  const key = `fbx_${'a1'.repeat(18)}`
  const token = 'eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl'
  await record({
    ...ban,
    reason: `leaked ${key} and ${token}`,
    before: {
      password: 'hunter2',
      nested: [{ refresh_token: 'r', secret_hash: 'h', note: `see ${key}` }],
    },
    after: { delegation: 'dlg_0123456789abcdef', invitation: { code: 'OPEN' } },
  })
  const text = Object.values((await newest()) ?? {}).join('\n')
  for (const secret of [key, token, 'hunter2', '"r"', '"h"', 'dlg_0', 'OPEN']) expect(text).not.toContain(secret)
  expect(text).toContain('leaked [redacted] and [redacted]')
  expect((await verifyAuditLog(database.db)).broken).toBeUndefined()
})

test('texts that the database cannot keep as they are do not break the chain', async () => {
  await record({ ...ban, reason: 'a lone \ud800 and a \0', after: { note: '\udfff\0' } })
  expect((await verifyAuditLog(database.db)).broken).toBeUndefined()
})

test('an amount beyond 2^53 is refused, not rounded', async () => {
  await expect(record({ ...ban, after: { amount_micro: 2n ** 53n } })).rejects.toThrow(/2\^53/)
})
