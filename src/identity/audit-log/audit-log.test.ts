import { createHash } from 'node:crypto'
import canonicalize from 'canonicalize'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { freshDatabase, type TestDatabase } from '../../../test/database.ts'
import {
  type AuditEntry,
  exportAuditLog,
  listAuditLog,
  recordAction,
  type Verification,
  verifyAuditLog,
} from './service.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await freshDatabase()
})
afterAll(() => database.drop())

const everything = {
  actor: undefined,
  action: undefined,
  targetKind: undefined,
  targetId: undefined,
  limit: 100,
}
const ban: AuditEntry = {
  actor: { kind: 'operator', name: 'ada' },
  action: 'ban.account',
  targetId: 7n,
  before: { status: 'active', balance_micro: 9_000_000_000_000_000n },
  after: { status: 'banned', list: [1, null, { at: new Date(0) }], rate: 0.1 },
  reason: 'asked for by “court” №5 \u{1F4A9}',
  requestId: 'req_1',
}

const record = (...entries: AuditEntry[]): Promise<void> =>
  database.db.transaction().execute(async (tx) => {
    for (const entry of entries) await recordAction(tx, entry)
  })

/** Changes the log as somebody with the owner's rights and no scruples would. */
async function tamper(statement: string): Promise<void> {
  await database.sql(
    `alter table audit_log disable trigger append_only; ${statement}; alter table audit_log enable trigger append_only`,
  )
}

const emptyAgain = () =>
  tamper(`truncate audit_log; update audit_log_head set last_id = 0, last_hash = decode(repeat('00', 32), 'hex')`)
const verified = (): Promise<Verification> => verifyAuditLog(database.db)

beforeEach(async () => {
  await emptyAgain()
  await record(
    ban,
    { ...ban, action: 'unban.account', actor: { kind: 'account', id: 3n } },
    { actor: { kind: 'system', name: 'upkeep' }, action: 'rotate.signing_key', targetId: 'k2' },
    ban,
    ban,
  )
})

test('an untouched log is whole, and its head is the hash of its last row', async () => {
  const { rows, head, broken } = await verified()
  expect({ rows, broken }).toEqual({ rows: 5, broken: undefined })
  const [last] = await listAuditLog(database.db, { ...everything, limit: 1 })
  expect(head).toEqual({ id: 5n, hash: last?.hash.toString('hex') })
})

test('an empty log is whole', async () => {
  await emptyAgain()
  expect(await verified()).toEqual({
    rows: 0,
    head: { id: 0n, hash: '00'.repeat(32) },
    broken: undefined,
  })
})

test('an entry tells who did what to whom, what changed, why and in which request', async () => {
  const rows = await listAuditLog(database.db, {
    ...everything,
    targetKind: 'account',
    targetId: '7',
    action: 'unban.account',
  })
  expect(rows).toMatchObject([
    {
      id: 2n,
      actor_kind: 'account',
      actor: '3',
      action: 'unban.account',
      target_kind: 'account',
      target_id: '7',
      reason: ban.reason,
      request_id: 'req_1',
    },
  ])
  expect(JSON.parse(rows[0]?.after ?? '')).toEqual({
    status: 'banned',
    list: [1, null, { at: '1970-01-01T00:00:00.000Z' }],
    rate: 0.1,
  })
  expect(
    (await listAuditLog(database.db, { ...everything, actor: 'operator:ada', limit: 2 })).map(({ id }) => id),
  ).toEqual([5n, 4n])
})

test.each([
  ['id', 'update audit_log set id = 99 where id = 3', 4n],
  ['at', `update audit_log set at = at + interval '1 microsecond' where id = 3`, 3n],
  ['actor_kind', `update audit_log set actor_kind = 'operator' where id = 3`, 3n],
  ['actor', `update audit_log set actor = 'operator:eve' where id = 3`, 3n],
  ['action', `update audit_log set action = 'ban.account' where id = 3`, 3n],
  ['target_kind', `update audit_log set target_kind = 'order' where id = 3`, 3n],
  ['target_id', `update audit_log set target_id = 'k3' where id = 3`, 3n],
  [
    'a value of before',
    `update audit_log set before = replace(before::text, 'active', 'banned')::json where id = 2`,
    2n,
  ],
  [
    'the smallest digit of before',
    `update audit_log set before = replace(before::text, '9000000000000000', '9000000000000000.0000001')::json where id = 2`,
    2n,
  ],
  ['the form of after', `update audit_log set after = (after::text || ' ')::json where id = 2`, 2n],
  [
    'a second member of after',
    `update audit_log set after = ('{"rate":5,' || substr(after::text, 2))::json where id = 2`,
    2n,
  ],
  ['an absent before', `update audit_log set before = '{}' where id = 3`, 3n],
  ['a removed after', `update audit_log set after = null where id = 2`, 2n],
  ['reason', `update audit_log set reason = null where id = 4`, 4n],
  ['an empty reason', `update audit_log set reason = '' where id = 3`, 3n],
  ['request_id', `update audit_log set request_id = 'req_2' where id = 4`, 4n],
  ['previous_hash', `update audit_log set previous_hash = sha256('') where id = 3`, 3n],
  ['hash', `update audit_log set hash = sha256('') where id = 3`, 3n],
])('a change of %s is found at its row', async (_what, statement, id) => {
  await tamper(statement)
  expect((await verified()).broken?.id).toBe(id)
})

test('a row whose own hash was made to fit is found at the row after it', async () => {
  const [row] = await exportedRows()
  const { hash: _hash, ...kept } = row ?? {}
  const forged = { ...kept, reason: 'forged' }
  const hash = createHash('sha256')
    .update(canonicalize(forged) ?? '')
    .digest('hex')
  await tamper(`update audit_log set reason = 'forged', hash = '\\x${hash}' where id = 1`)
  expect((await verified()).broken).toEqual({
    id: 2n,
    problem: expect.stringContaining('does not follow'),
  })
})

test.each([
  ['first', 1, 2n],
  ['a middle', 3, 4n],
  ['last', 5, 5n],
])('the removal of the %s row is found', async (_which, id, found) => {
  await tamper(`delete from audit_log where id = ${id}`)
  expect((await verified()).broken?.id).toBe(found)
})

test('a removed row is found when the rows after it close the gap', async () => {
  await tamper('delete from audit_log where id = 3; update audit_log set id = id - 1 where id > 3')
  expect((await verified()).broken?.id).toBe(3n)
})

test('rows that were exchanged are found', async () => {
  await tamper(
    'update audit_log set id = 99 where id = 2; update audit_log set id = 2 where id = 3; update audit_log set id = 3 where id = 99',
  )
  expect((await verified()).broken?.id).toBe(2n)
})

test('a row that was added past the program is found', async () => {
  await tamper(
    `insert into audit_log select 6, at, actor_kind, actor, action, target_kind, target_id, before, after, reason, request_id, hash, sha256('x') from audit_log where id = 5`,
  )
  expect((await verified()).broken?.id).toBe(6n)
})

test('a chain that was made anew, head and all, is found by a head that was noted before', async () => {
  const { head } = await verified()
  await emptyAgain()
  for (let n = 0; n < 6; n++) await record({ ...ban, reason: 'a nicer story' })
  expect((await verified()).broken).toBeUndefined()
  expect((await verifyAuditLog(database.db, head)).broken).toEqual({
    id: 5n,
    problem: expect.stringContaining('noted'),
  })
  await emptyAgain()
  await record(ban)
  expect((await verifyAuditLog(database.db, head)).broken).toEqual({
    id: 2n,
    problem: expect.stringContaining('row 5'),
  })
})

test('the log of a later day still contains the head that was noted', async () => {
  const { head } = await verified()
  await record(ban)
  expect(await verifyAuditLog(database.db, head)).toMatchObject({ rows: 6, broken: undefined })
})

test('20 transactions at once make one chain', async () => {
  await Promise.all(
    Array.from({ length: 20 }, (_, n) =>
      record({ ...ban, targetId: BigInt(n) }, { ...ban, action: 'unban.account', targetId: BigInt(n) }),
    ),
  )
  expect(await verified()).toMatchObject({ rows: 45, broken: undefined })
})

test('an entry is there exactly when its transaction is, and leaves no gap', async () => {
  const undone = database.db.transaction().execute(async (tx) => {
    await recordAction(tx, ban)
    throw new Error('changed my mind')
  })
  await expect(undone).rejects.toThrow('changed my mind')
  await record(ban)
  expect(await verified()).toMatchObject({ rows: 6, broken: undefined })
})

test('a log longer than a page is read to its end', async () => {
  await record(...Array<AuditEntry>(2100).fill(ban))
  expect(await verified()).toMatchObject({ rows: 2105, broken: undefined })
  await tamper(`update audit_log set reason = 'x' where id = 2050`)
  expect((await verified()).broken?.id).toBe(2050n)
})

async function exportedRows(): Promise<Array<Record<string, unknown>>> {
  const rows: Array<Record<string, unknown>> = []
  await exportAuditLog(database.db, (row) => {
    rows.push(row)
  })
  return rows
}

test('the export can be checked by anybody who has SHA-256 and canonical JSON', async () => {
  let previous = '00'.repeat(32)
  for (const row of await exportedRows()) {
    const { hash, ...covered } = JSON.parse(JSON.stringify(row)) as Record<string, unknown>
    expect(covered.previous_hash).toBe(previous)
    expect(
      createHash('sha256')
        .update(canonicalize(covered) ?? '')
        .digest('hex'),
    ).toBe(hash)
    previous = String(hash)
  }
  expect(previous).toBe((await verified()).head.hash)
})

test('neither the application nor the owner of the tables can change or remove an entry', async () => {
  for (const statement of ['update audit_log set reason = null', 'delete from audit_log', 'truncate audit_log']) {
    await expect(database.pool.query(statement)).rejects.toThrow(/permission denied/)
    await expect(database.sql(statement)).rejects.toThrow(/append-only/)
  }
  await expect(database.pool.query('delete from audit_log_head')).rejects.toThrow(/permission denied/)
})
