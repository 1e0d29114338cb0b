import { afterAll, beforeAll, expect, test } from 'vitest'
import { freshDatabase, type TestDatabase } from '../../test/database.ts'
import { invitationHash } from '../identity/invitations/code.ts'
import { consumeInvitation } from '../identity/invitations/service.ts'
import { openTerminal } from './terminal.fixture.ts'

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

const use = (code: string) => database.db.transaction().execute((tx) => consumeInvitation(tx, invitationHash(code)))

async function invite(...more: string[]): Promise<{ id: string; code: string }> {
  const ran = await terminal.run(['owner', 'invite', '--json', ...more])
  const { invitation, code } = ran.json<{ invitation: { id: number }; code: string }>()
  return { id: String(invitation.id), code }
}

async function stateOf(id: string): Promise<unknown> {
  const ran = await terminal.run(['owner', 'invitations', '--json'])
  const { invitations } = ran.json<{ invitations: Array<{ id: number; state: string }> }>()
  return invitations.find((row) => String(row.id) === id)?.state
}

test('an invitation admits as many as it was made for, in any case of letters, and the code is nowhere at rest', async () => {
  const { id, code } = await invite('--uses', '2')
  expect(code).toMatch(/^inv_[0-9a-z]{26}$/)
  expect(String(await use(code.toUpperCase()))).toBe(id)
  expect(await stateOf(id)).toBe('open')
  expect(String(await use(code))).toBe(id)
  expect(await use(code)).toBeUndefined()
  expect(await stateOf(id)).toBe('used up')
  const [row] = await database.sql('select invitations::text from invitations')
  expect(JSON.stringify(row)).not.toContain(code)
})

test('an invitation that expired or was revoked admits nobody, and both are listed as such', async () => {
  const late = await invite()
  await database.sql('update invitations set expires_at = now() where id = $1', [late.id])
  expect(await use(late.code)).toBeUndefined()
  expect(await stateOf(late.id)).toBe('expired')

  const { id, code } = await invite()
  const end = ['owner', 'revoke-invitation', id, '--reason', 'leaked']
  expect((await terminal.run(end)).out).toBe(`Invitation ${id} admits nobody any more.\n`)
  expect((await terminal.run(end)).out).toContain('nothing was changed')
  expect(await use(code)).toBeUndefined()
  expect(await stateOf(id)).toBe('revoked')
  const log = await database.sql(
    `select action, reason from audit_log where target_kind = 'invitation' and target_id = $1 order by id`,
    [id],
  )
  expect(log).toEqual([
    { action: 'create.invitation', reason: null },
    { action: 'revoke.invitation', reason: 'leaked' },
  ])
  expect(await terminal.run(['owner', 'revoke-invitation', '999999', '--reason', 'x'])).toMatchObject({
    exitCode: 1,
    err: expect.stringContaining('no invitation 999999'),
  })
})

test('without options an invitation is for one account and thirty days', async () => {
  const ran = await terminal.run(['owner', 'invite', '--json'])
  const { invitation } = ran.json<{ invitation: { max_uses: number; expires_at: string } }>()
  expect(invitation.max_uses).toBe(1)
  const days = (Date.parse(invitation.expires_at) - Date.now()) / 86_400_000
  expect(days).toBeGreaterThan(29.9)
  expect(days).toBeLessThan(30.1)
})

test('the note says for whom it is; quiet prints the code alone; a wrong number of uses is refused', async () => {
  const ran = await terminal.run(['owner', 'invite', '--email', 'grace@example.com', '--quiet'])
  expect(ran.out).toMatch(/^inv_\w+\n$/)
  expect((await terminal.run(['owner', 'invitations', '--limit', '1'])).out).toContain('grace@example.com')
  for (const uses of ['0', '-1', '1.5', '100001'])
    expect((await terminal.run(['owner', 'invite', `--uses=${uses}`])).exitCode).toBe(2)
})

test('an owner is made an admin and an ordinary user again; an Agent is left as it is', async () => {
  const create = async (type: string) => {
    const ran = await terminal.run(['account', 'create', '--type', type, '--json'])
    return String(ran.json<{ account: { id: number } }>().account.id)
  }
  const role = (id: string, to: string) => terminal.run(['account', 'role', id, to, '--reason', 'a test'])
  const owner = await create('owner')
  expect((await role(owner, 'admin')).out).toBe(`Account ${owner} is now admin (it was user).\n`)
  expect((await role(owner, 'admin')).out).toContain('is admin already')
  expect((await terminal.run(['account', 'show', owner])).out).toMatch(/^role +admin$/m)
  expect((await role(owner, 'user')).out).toContain('is now user (it was admin)')
  expect(await role(await create('agent'), 'admin')).toMatchObject({
    exitCode: 5,
    err: expect.stringContaining('only an owner'),
  })
  const log = await database.sql(
    `select actor, action, before::text, after::text, reason from audit_log where target_id = $1 and action like 'change_role.%' order by id`,
    [owner],
  )
  expect(log).toEqual([
    {
      actor: 'operator:ada',
      action: 'change_role.account',
      before: '{"role":"user"}',
      after: '{"role":"admin"}',
      reason: 'a test',
    },
    {
      actor: 'operator:ada',
      action: 'change_role.account',
      before: '{"role":"admin"}',
      after: '{"role":"user"}',
      reason: 'a test',
    },
  ])
  expect((await role(owner, 'root')).exitCode).toBe(2)
  expect((await terminal.run(['account', 'role', owner, 'admin'])).exitCode).toBe(2)
})
