import { afterAll, beforeAll, expect, test } from 'vitest'
import { freshDatabase, type TestDatabase } from '../../test/database.ts'
import { recordAction } from '../identity/audit-log/service.ts'
import { openTerminal } from './terminal.fixture.ts'

let database: TestDatabase
let terminal: ReturnType<typeof openTerminal>
beforeAll(async () => {
  database = await freshDatabase()
  terminal = openTerminal({ DATABASE_URL: database.url })
  await database.db.transaction().execute(async (tx) => {
    const ada = { kind: 'operator', name: 'ada' } as const
    await recordAction(tx, {
      actor: ada,
      action: 'ban.account',
      targetId: 7n,
      before: { status: 'active' },
      after: { status: 'banned' },
      reason: 'fraud',
    })
    await recordAction(tx, {
      actor: { kind: 'account', id: 9n },
      action: 'create.api_key',
      targetId: 3n,
      requestId: 'req_1',
    })
    await recordAction(tx, {
      actor: ada,
      action: 'unban.account',
      targetId: 7n,
      before: { status: 'banned' },
      after: { status: 'active' },
      reason: 'a mistake',
    })
  })
})
afterAll(async () => {
  terminal.close()
  await database.drop()
})

test('the newest entries are shown first, with who, what, whom and why', async () => {
  const { exitCode, out } = await terminal.run(['audit-log', 'list'])
  expect(exitCode).toBe(0)
  const lines = out
    .trimEnd()
    .split('\n')
    .map((line) =>
      line
        .replace(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ/, '<time>')
        .replace(/ {2,}/g, ' | ')
        .trim(),
    )
  expect(lines).toEqual([
    'ID | AT | BY | ACTION | TARGET | BEFORE | AFTER | REASON',
    '3 | <time> | operator:ada | unban.account | account:7 | {"status":"banned"} | {"status":"active"} | a mistake',
    '2 | <time> | account:9 | create.api_key | api_key:3',
    '1 | <time> | operator:ada | ban.account | account:7 | {"status":"active"} | {"status":"banned"} | fraud',
  ])
})

test('a list can be narrowed to an actor, an action and a target', async () => {
  const ids = async (...args: string[]) =>
    (await terminal.run(['audit-log', 'list', '--json', ...args]))
      .json<{ entries: Array<{ id: number }> }>()
      .entries.map(({ id }) => id)
  expect(await ids('--target', 'account:7')).toEqual([3, 1])
  expect(await ids('--actor', '9')).toEqual([2])
  expect(await ids('--action', 'ban.account', '--actor', 'operator:ada')).toEqual([1])
  expect(await ids('--limit', '1')).toEqual([3])
  expect(await terminal.run(['audit-log', 'list', '--action', 'steal.money'])).toMatchObject({
    exitCode: 2,
    err: expect.stringContaining('ban.account'),
  })
  expect(await terminal.run(['audit-log', 'list', '--target', '7'])).toMatchObject({
    exitCode: 2,
    err: expect.stringContaining('account:7'),
  })
})

test('the export is one JSON object a line, oldest first, each with the hash of the one before it', async () => {
  const { out } = await terminal.run(['audit-log', 'export'])
  const rows = out
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { id: number; hash: string; previous_hash: string })
  expect(rows.map(({ id }) => id)).toEqual([1, 2, 3])
  expect(rows.slice(1).map((row) => row.previous_hash)).toEqual(rows.slice(0, 2).map((row) => row.hash))
})

test('verify prints a head to note, finds it again, and ends with 1 when the log was changed', async () => {
  const { exitCode, out } = await terminal.run(['audit-log', 'verify'])
  expect(exitCode).toBe(0)
  const head = /head is (\d+:[0-9a-f]{64})\./.exec(out)?.[1] ?? ''
  expect(await terminal.run(['audit-log', 'verify', '--head', head])).toMatchObject({
    exitCode: 0,
    out,
  })
  expect(await terminal.run(['audit-log', 'verify', '--head', `3:${'0'.repeat(64)}`])).toMatchObject({ exitCode: 1 })
  await database.sql(
    `alter table audit_log disable trigger append_only; update audit_log set reason = 'nothing' where id = 3`,
  )
  expect(await terminal.run(['audit-log', 'verify'])).toMatchObject({
    exitCode: 1,
    out: expect.stringContaining('At 3: it was changed'),
    err: expect.stringContaining('not as it was written'),
  })
  expect((await terminal.run(['audit-log', 'verify', '--json'])).json()).toMatchObject({
    rows: 2,
    head: { id: 2 },
    broken: { id: 3, problem: 'it was changed' },
  })
})
