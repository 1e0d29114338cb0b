import { afterAll, beforeAll, expect, test } from 'vitest'
import { freshDatabase, type TestDatabase } from '../../test/database.ts'
import { auditLedger } from '../ledger/audit.ts'
import { masked, openTerminal } from './terminal.fixture.ts'

let database: TestDatabase
let terminal: ReturnType<typeof openTerminal>
let account: string
beforeAll(async () => {
  database = await freshDatabase()
  terminal = openTerminal({ DATABASE_URL: database.url })
  account = String(
    (await terminal.run(['account', 'create', '--type', 'owner', '--json'])).json<{
      account: { id: number }
    }>().account.id,
  )
})
afterAll(async () => {
  terminal.close()
  await database.drop()
})

const grant = (...args: string[]) => terminal.run(['credits', 'grant', account, ...args])
const granted = () => database.sql<{ n: string }>('select count(*) as n from credit_grants')

test('a grant is in the bucket that was named, with who gave it and why', async () => {
  const ran = await grant(
    '12.5',
    '--reason',
    'welcome',
    '--bucket',
    'bonus',
    '--expires',
    '2999-01-01T12:00:00Z',
    '--idempotency',
    'ticket-1',
  )
  expect(ran).toMatchObject({ exitCode: 0, err: '' })
  expect(masked(ran.out.replace(/((?:grant|account) +)\d+/g, '$1<id>'))).toMatchInlineSnapshot(`
    "grant  <id>
    account  <id>
    amount  12.5 Credits (12500000 micro)
    bucket  bonus
    expires  <time>
    reason  welcome
    granted by  operator:ada
    idempotency  ticket-1"
  `)
  expect(
    await database.sql(
      `select amount_micro, reason, granted_by, source, source_id from credit_grants where source_id = 'ticket-1'`,
    ),
  ).toEqual([
    {
      amount_micro: '12500000',
      reason: 'welcome',
      granted_by: 'operator:ada',
      source: 'operator',
      source_id: 'ticket-1',
    },
  ])
  expect(await auditLedger(database.db)).toEqual([])
})

test('a repeat with the same --idempotency gives nothing and says so; without it every run gives', async () => {
  const first = (await grant('1', '--reason', 'a', '--idempotency', 'ticket-2', '--json')).json<{
    grant: { id: number }
  }>()
  const before = await granted()
  const repeat = await grant('1', '--reason', 'a', '--idempotency', 'ticket-2', '--json')
  expect(repeat).toMatchObject({ exitCode: 0 })
  expect(repeat.json()).toMatchObject({ repeated: true, grant: { id: first.grant.id } })
  expect((await grant('1', '--reason', 'a', '--idempotency', 'ticket-2')).out).toContain('nothing was given again')
  expect(await granted()).toEqual(before)
  await grant('1', '--reason', 'a')
  expect(await granted()).not.toEqual(before)
})

test('the same --idempotency for another grant is a conflict', async () => {
  await grant('1', '--reason', 'a', '--idempotency', 'ticket-3')
  const before = await granted()
  expect(await grant('2', '--reason', 'a', '--idempotency', 'ticket-3')).toMatchObject({
    exitCode: 5,
    out: '',
    err: expect.stringContaining('Nothing was given'),
  })
  expect(await grant('1', '--reason', 'a', '--bucket', 'bonus', '--idempotency', 'ticket-3')).toMatchObject({
    exitCode: 5,
  })
  expect(await granted()).toEqual(before)
})

test.each([
  ['no reason', ['1']],
  ['nothing', ['0', '--reason', 'a']],
  ['a seventh decimal', ['0.0000001', '--reason', 'a']],
  ['an exponent', ['1e3', '--reason', 'a']],
  ['more than an amount can be', ['9999999999', '--reason', 'a']],
  ['a bucket that only payments fill', ['1', '--reason', 'a', '--bucket', 'purchased']],
  ['an expiry that has passed', ['1', '--reason', 'a', '--expires', '2020-01-01']],
  ['one amount too many', ['1', '2', '--reason', 'a']],
])('%s is a usage error and gives nothing', async (_, args) => {
  const before = await granted()
  expect(await grant(...args)).toMatchObject({
    exitCode: 2,
    out: '',
    err: expect.stringMatching(/./),
  })
  expect(await granted()).toEqual(before)
})

test('a grant to nobody is not found', async () => {
  expect(await terminal.run(['credits', 'grant', '99999', '1', '--reason', 'a'])).toMatchObject({
    exitCode: 1,
    out: '',
    err: expect.stringContaining('There is no account'),
  })
})
