import { afterAll, beforeAll, expect, test } from 'vitest'
import { freshDatabase, type TestDatabase } from '../../test/database.ts'
import { masked, openTerminal } from './terminal.fixture.ts'

let database: TestDatabase
let terminal: ReturnType<typeof openTerminal>
beforeAll(async () => {
  database = await freshDatabase()
  terminal = openTerminal({ DATABASE_URL: database.url })
})
afterAll(async () => {
  terminal.close()
  await database.drop()
})

const WALLET = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'

async function newAccount(...more: string[]): Promise<string> {
  const ran = await terminal.run(['account', 'create', '--type', 'agent', '--json', ...more])
  return String(ran.json<{ account: { id: number } }>().account.id)
}

test('a created account is shown with its wallet in checksummed form, found by id, wallet and e-mail', async () => {
  const created = await terminal.run([
    'account',
    'create',
    '--type',
    'owner',
    '--wallet',
    WALLET.toLowerCase(),
    '--email',
    'ada@example.com',
    '--label',
    'Ada',
  ])
  expect(created).toMatchObject({ exitCode: 0, err: '' })
  const id = /Account (\d+)/.exec(created.out)?.[1] ?? ''
  expect(masked(created.out, { id })).toMatchInlineSnapshot(`
    "Account <id> is created.
    account  <id>
    type  owner
    status  active
    wallet  0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266
    e-mail  ada@example.com
    label  Ada
    created  <time>

    Next: farebox key create <id>"
  `)
  for (const name of [id, WALLET, WALLET.toLowerCase(), 'ADA@example.com']) {
    const shown = await terminal.run(['account', 'show', name, '--json'])
    expect(shown.json()).toMatchObject({
      account: { id: Number(id), wallet_address: WALLET },
      balance_micro: 0,
    })
  }
})

test('show lists buckets, keys and held Credits with both units', async () => {
  const id = await newAccount('--label', 'Bot')
  await terminal.run(['credits', 'grant', id, '2.5', '--reason', 'test', '--expires', '2999-01-01'])
  await terminal.run(['credits', 'grant', id, '1', '--reason', 'test', '--bucket', 'bonus'])
  await terminal.run(['key', 'create', id, '--name', 'laptop', '--daily', '0.5', '--quiet'])
  const key =
    (await terminal.run(['key', 'list', id, '--json'])).json<{ keys: Array<{ id: number }> }>().keys[0]?.id ?? 0
  const shown = await terminal.run(['account', 'show', id])
  expect(masked(shown.out, { id, key })).toMatchInlineSnapshot(`
    "account  <id>
    type  agent
    status  active
    label  Bot
    created  <time>
    balance  3.5 Credits (3500000 micro)
    available  3.5 Credits (3500000 micro)
    held  0 Credits (0 micro)
    open calls  0, reserving 0 Credits (0 micro)

    Buckets, in the order in which they are spent
    KIND  CREDITS  HELD  EXPIRES
    promo  2.5 Credits (2500000 micro)  0 Credits (0 micro)  <time>
    bonus  1 Credits (1000000 micro)  0 Credits (0 micro)  never

    Keys
    ID  KEY  NAME  STATUS  CREATED  LAST USED  EXPIRES  BUDGET IN CREDITS
    <key>  <short key>  laptop  active  <time>  never  never  0.5 daily"
  `)
})

test('an expired bucket counts in the balance but not in what is available', async () => {
  const id = await newAccount()
  await terminal.run(['credits', 'grant', id, '1', '--reason', 'test', '--expires', '1h'])
  await database.sql(`update buckets set expires_at = now() - interval '1 s' where account_id = $1`, [id])
  expect((await terminal.run(['account', 'show', id, '--json'])).json()).toMatchObject({
    balance_micro: 1_000_000,
    available_micro: 0,
    buckets: [{ expired: true }],
  })
})

test('a wallet belongs to one account: the second is a conflict that names the first', async () => {
  const wallet = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
  const id = await newAccount('--wallet', wallet)
  const second = await terminal.run(['account', 'create', '--type', 'owner', '--wallet', wallet])
  expect(second).toMatchObject({
    exitCode: 5,
    out: '',
    err: expect.stringContaining(`account ${id}`),
  })
})

test.each([
  ['no type', ['account', 'create']],
  ['an unknown type', ['account', 'create', '--type', 'robot']],
  ['a wallet that is none', ['account', 'create', '--type', 'owner', '--wallet', '0x12']],
  [
    'a wallet with a wrong checksum',
    ['account', 'create', '--type', 'owner', '--wallet', WALLET.replace('f39F', 'F39f')],
  ],
  ['an e-mail address that is none', ['account', 'create', '--type', 'owner', '--email', 'ada']],
  ['a ban without a reason', ['account', 'ban', '1']],
  ['a ban with a blank reason', ['account', 'ban', '1', '--reason', ' ']],
  ['a name that is no account', ['account', 'show', 'ada']],
])('%s is a usage error that changes nothing', async (_, args) => {
  const before = await database.sql('select count(*) from accounts')
  expect(await terminal.run(args)).toMatchObject({
    exitCode: 2,
    out: '',
    err: expect.stringMatching(/./),
  })
  expect(await database.sql('select count(*) from accounts')).toEqual(before)
})

test('an account that is not there is not found by any verb', async () => {
  for (const name of [
    '999999',
    '9999999999999999',
    '0x0000000000000000000000000000000000000001',
    'nobody@example.com',
  ]) {
    for (const args of [
      ['show', name],
      ['ban', name, '--reason', 'test'],
      ['reactivate', name, '--reason', 'test'],
    ]) {
      expect(await terminal.run(['account', ...args])).toMatchObject({
        exitCode: 1,
        out: '',
        err: expect.stringContaining('There is no account'),
      })
    }
  }
})

test('an e-mail address of several accounts names none of them', async () => {
  const ids = [await newAccount('--email', 'both@example.com'), await newAccount('--email', 'both@example.com')]
  expect(await terminal.run(['account', 'show', 'both@example.com'])).toMatchObject({
    exitCode: 5,
    err: expect.stringContaining(ids.join(', ')),
  })
})

test('ban, unban, deactivate and reactivate do what they say, say it once, and do not lift each other', async () => {
  const id = await newAccount()
  const verb = (name: string) => terminal.run(['account', name, id, '--reason', 'test'])
  expect((await verb('ban')).out).toBe(`Account ${id} is now banned (it was active).\n`)
  expect((await verb('ban')).out).toContain('already')
  expect(await verb('deactivate')).toMatchObject({ exitCode: 5, out: '' })
  expect(await verb('reactivate')).toMatchObject({ exitCode: 5, out: '' })
  expect((await verb('unban')).out).toContain('is now active')
  expect((await verb('deactivate')).out).toContain('is now deactivated')
  expect(await verb('unban')).toMatchObject({ exitCode: 5, out: '' })
  expect((await verb('reactivate')).out).toContain('is now active')
})

test('what somebody wrote into a label cannot steer the terminal', async () => {
  const id = await newAccount('--label', 'a\u001b[2Jb')
  expect((await terminal.run(['account', 'show', id])).out).not.toContain('\u001b')
})

test('sign-out ends every session of an account, once, and records why', async () => {
  const id = await newAccount()
  await database.sql(
    `insert into sessions (sid, account_id, expires_at) select gen_random_uuid(), $1, now() + interval '1 day' from generate_series(1, 2)`,
    [id],
  )
  const signOut = (...more: string[]) => terminal.run(['account', 'sign-out', id, '--reason', 'laptop lost', ...more])
  expect((await signOut()).out).toBe(`Account ${id} is signed out: 2 sessions ended. API keys stay.\n`)
  expect((await signOut('--json')).json()).toEqual({ account_id: Number(id), ended: 0 })
  expect((await signOut()).out).toContain('nothing was changed')
  expect(
    await database.sql(`select actor, reason from audit_log where action = 'revoke_all.sessions' and target_id = $1`, [
      id,
    ]),
  ).toEqual([{ actor: 'operator:ada', reason: 'laptop lost' }])
})
