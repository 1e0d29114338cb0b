import { afterAll, beforeAll, expect, test } from 'vitest'
import { freshDatabase, type TestDatabase } from '../../test/database.ts'
import { isWellFormed } from '../identity/keys/secret.ts'
import { masked, openTerminal } from './terminal.fixture.ts'

let database: TestDatabase
let terminal: ReturnType<typeof openTerminal>
let account: string
beforeAll(async () => {
  database = await freshDatabase()
  terminal = openTerminal({ DATABASE_URL: database.url })
  const created = await terminal.run(['account', 'create', '--type', 'agent', '--json'])
  account = String(created.json<{ account: { id: number } }>().account.id)
})
afterAll(async () => {
  terminal.close()
  await database.drop()
})

async function newKey(...more: string[]): Promise<{ id: string; secret: string }> {
  const { key, api_key } = (await terminal.run(['key', 'create', account, '--json', ...more])).json<{
    key: { id: number }
    api_key: string
  }>()
  return { id: String(key.id), secret: api_key }
}

test('a new key is printed once on stdout, with its limits; the warning is on stderr', async () => {
  const ran = await terminal.run([
    'key',
    'create',
    account,
    '--name',
    'ci',
    '--expires',
    '2999-01-01',
    '--per-call',
    '0.1',
    '--daily',
    '1',
    '--monthly',
    '10.5',
    '--total',
    '100',
  ])
  expect(ran).toMatchObject({
    exitCode: 0,
    err: 'Keep the key now: it is shown this once and stored nowhere.\n',
  })
  expect(ran.out.match(/fbx_[0-9A-Za-z]{36}/g)).toHaveLength(1)
  const id = /^key +(\d+)/.exec(ran.out)?.[1] ?? ''
  expect(masked(ran.out.replace(id, '<id>').replace(/(account +)\d+/, '$1<account>'))).toMatchInlineSnapshot(`
    "key  <id>
    account  <account>
    name  ci
    begins and ends  <short key>
    status  active
    created  <time>
    expires  <time>
    budget in Credits  0.1 per call, 1 daily, 10.5 monthly, 100 total

    <secret>"
  `)
})

test('--quiet prints the secret and nothing else', async () => {
  const ran = await terminal.run(['key', 'create', account, '--quiet'])
  expect(ran.err).toBe('')
  expect(isWellFormed(ran.out.trimEnd())).toBe(true)
  expect(ran.out.endsWith('\n')).toBe(true)
})

test('the secret of a key is nowhere in any later output or in the database', async () => {
  const { id, secret } = await newKey('--name', 'hidden')
  const later = [
    await terminal.run(['key', 'list', account]),
    await terminal.run(['key', 'list', account, '--json']),
    await terminal.run(['account', 'show', account, '--json']),
    await terminal.run(['key', 'whois', '-'], { input: secret }),
    await terminal.run(['key', 'whois', '--json'], { input: secret }),
    await terminal.run(['key', secret]),
    await terminal.run(['key', 'whois', secret]),
    await terminal.run([secret]),
    await terminal.run(['account', 'show', secret]),
    await terminal.run(['key', 'revoke', id, '--reason', 'test']),
  ]
  for (const ran of later) expect(ran.out + ran.err).not.toContain(secret)
  const rows = await database.sql('select row_to_json(k)::text as row from api_keys k')
  expect(JSON.stringify(rows)).not.toContain(secret.slice(8, -4))
})

test('whois tells whose a key is and whether it works, from standard input alone', async () => {
  const { id, secret } = await newKey('--name', 'mine')
  const ran = await terminal.run(['key', 'whois', '-'], { input: `  ${secret} ` })
  expect(
    masked(ran.out.replace(/(key +)\d+/, '$1<id>').replace(/(account +)\d+/, '$1<account>')),
  ).toMatchInlineSnapshot(`
    "key  <id>
    account  <account>
    name  mine
    begins and ends  <short key>
    status  active
    created  <time>
    expires  never
    budget in Credits  none
    account status  active
    works  yes"
  `)
  expect((await terminal.run(['key', 'whois', '--json'], { input: secret })).json()).toMatchObject({
    key: { id: Number(id), status: 'active', last_used_at: null },
    works: true,
  })
  await terminal.run(['key', 'revoke', id, '--reason', 'test'])
  expect((await terminal.run(['key', 'whois', '--json'], { input: secret })).json()).toMatchObject({
    key: { status: 'revoked' },
    works: false,
  })
})

test('whois refuses a key on the command line, an empty input, a typo, an unknown key and another pepper', async () => {
  const { secret } = await newKey()
  expect(await terminal.run(['key', 'whois', secret])).toMatchObject({
    exitCode: 2,
    err: expect.stringContaining('shell history'),
  })
  expect(await terminal.run(['key', 'whois'])).toMatchObject({
    exitCode: 2,
    err: expect.stringContaining('No key'),
  })
  expect(await terminal.run(['key', 'whois'], { input: `${secret.slice(0, -1)}!` })).toMatchObject({
    exitCode: 1,
    err: expect.stringContaining('not a whole key'),
  })
  const other = { FAREBOX_KEY_PEPPER: Buffer.alloc(32, 8).toString('hex') }
  expect(await terminal.run(['key', 'whois'], { input: secret, environment: other })).toMatchObject({
    exitCode: 1,
    err: expect.stringContaining('FAREBOX_KEY_PEPPER'),
  })
})

test('a revoked key stays revoked since the first time', async () => {
  const { id } = await newKey()
  expect((await terminal.run(['key', 'revoke', id, '--reason', 'lost'])).out).toContain('is revoked')
  const again = await terminal.run(['key', 'revoke', id, '--reason', 'lost', '--json'])
  expect(again.json()).toMatchObject({ changed: false, key: { status: 'revoked' } })
})

test('revoke-all ends every key of one account and of no other, and says how many it ended', async () => {
  const other = await terminal.run(['account', 'create', '--type', 'agent', '--json'])
  const { id } = other.json<{ account: { id: number } }>().account
  const mine = await newKey()
  for (let n = 0; n < 2; n++) await terminal.run(['key', 'create', String(id)])
  const revoke = (...more: string[]) => terminal.run(['key', 'revoke-all', String(id), '--reason', 'lost', ...more])
  expect((await revoke()).out).toBe(
    `2 keys of account ${id} revoked. Calls that run are finished and billed; none begins any more.\n`,
  )
  expect((await revoke('--json')).json()).toEqual({ account_id: id, revoked: 0 })
  expect((await revoke()).out).toContain('nothing was changed')
  expect((await terminal.run(['key', 'whois', '--json'], { input: mine.secret })).json()).toMatchObject({ works: true })
})

test('a list is newest first, says when there is more, and tells expired keys from active ones', async () => {
  await newKey('--name', 'older')
  const { id } = await newKey('--name', 'newer')
  await database.sql(`update api_keys set expires_at = now() - interval '1 s' where id = $1`, [id])
  const listed = await terminal.run(['key', 'list', account, '--limit', '1'])
  expect(listed.out).toMatch(/newer +expired/)
  expect(listed.out).not.toContain('older')
  expect(listed.out).toContain('There are more')
})

test.each([
  ['an expiry in the past', ['create', '1', '--expires', '2020-01-01']],
  ['a day that does not exist', ['create', '1', '--expires', '2999-02-30']],
  ['a limit that is no amount', ['create', '1', '--daily', '1e3']],
  ['a limit with seven places', ['create', '1', '--total', '0.1234567']],
  ['a negative limit', ['create', '1', '--total=-1']],
  ['a revocation without a reason', ['revoke', '1']],
  ['a key id that is no number', ['revoke', 'x', '--reason', 'test']],
  ['no account', ['create']],
])('%s is a usage error', async (_, args) => {
  expect(await terminal.run(['key', ...args])).toMatchObject({
    exitCode: 2,
    out: '',
    err: expect.stringMatching(/./),
  })
})

test('accounts and keys that are not there are not found', async () => {
  for (const args of [
    ['create', '99999'],
    ['list', '99999'],
    ['revoke', '99999', '--reason', 'test'],
  ]) {
    expect(await terminal.run(['key', ...args])).toMatchObject({
      exitCode: 1,
      out: '',
      err: expect.stringContaining('There is no'),
    })
  }
})

test('without a pepper no key is made', async () => {
  const ran = await terminal.run(['key', 'create', account], {
    environment: { FAREBOX_KEY_PEPPER: undefined },
  })
  expect(ran).toMatchObject({
    exitCode: 1,
    out: '',
    err: expect.stringContaining('FAREBOX_KEY_PEPPER'),
  })
})
