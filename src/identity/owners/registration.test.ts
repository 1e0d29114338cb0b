import { afterAll, beforeAll, expect, test } from 'vitest'
import { Browser, landed, type OwnerServer, people, startOwnerServer } from '../../../test/owner-server.ts'

const RACERS = 50

let server: OwnerServer
let next = 0
beforeAll(async () => {
  server = await startOwnerServer({ people, names: ['acme'] })
})
afterAll(() => server.stop())

/** The e-mail address of somebody who never signed in. */
const somebody = (): string => people[next++]?.email ?? ''

test('an owner who signs in with a good invitation code leaves it unused', async () => {
  const email = somebody()
  await new Browser().signIn(server, { as: email })
  const { id, code } = await server.invite()
  expect(await new Browser().signIn(server, { as: email, query: { invite: code } })).toHaveProperty('code')
  expect(await server.usesOf(id)).toBe(0)
})

test('a good invitation code is used up with the account that it admits', async () => {
  const email = somebody()
  const { id, code } = await server.invite()
  const end = await new Browser().signIn(server, {
    as: email,
    query: { invite: ` ${code.toUpperCase()} ` },
  })
  expect(end).toHaveProperty('code')
  expect(await server.usesOf(id)).toBe(1)
  expect(await new Browser().signIn(server, { as: somebody(), query: { invite: code } })).toMatchObject({
    error: 'invitation_invalid',
  })
})

test('a bad code on a first registration makes no account, and can be corrected once', async () => {
  const email = somebody()
  const { code } = await server.invite()
  const end = await new Browser().signIn(server, {
    as: email,
    query: { invite: 'inv_typo', return_to: '/x' },
  })
  expect(end).toEqual({
    error: 'invitation_invalid',
    registration_id: expect.any(String),
    return_to: '/x',
  })
  expect(await server.accountOf(email)).toBeUndefined()
  const { registration_id } = end
  const wrong = await server.post('register', { registration_id, invitation_code: 'inv_typo2' })
  expect([wrong.status, wrong.json.error]).toEqual([403, 'invitation_invalid'])
  const corrected = await server.post('register', { registration_id, invitation_code: code })
  expect([corrected.status, corrected.json.account?.email]).toEqual([200, email])
  expect(await server.accountOf(email)).toBe(BigInt(corrected.json.account.id))
  const again = await server.post('register', { registration_id })
  expect([again.status, again.json.error]).toEqual([401, 'invalid_registration'])
})

test.each([{}, { invitation_code: '' }])('who had a bad code goes on without one: %j', async (body) => {
  const email = somebody()
  const { registration_id } = await new Browser().signIn(server, {
    as: email,
    query: { invite: 'x' },
  })
  const { status, json } = await server.post('register', { registration_id, ...body })
  expect([status, json.account?.account_type]).toEqual([200, 'owner'])
})

test('a registration is closed by ten wrong codes, and by time', async () => {
  const { registration_id } = await new Browser().signIn(server, {
    as: somebody(),
    query: { invite: 'x' },
  })
  for (let n = 0; n < 10; n++)
    expect((await server.post('register', { registration_id, invitation_code: `wrong ${n}` })).status).toBe(403)
  expect((await server.post('register', { registration_id })).status).toBe(401)
  const late = await new Browser().signIn(server, { as: somebody(), query: { invite: 'x' } })
  await server.database.sql('update owner_registrations set expires_at = now()')
  expect((await server.post('register', { registration_id: late.registration_id })).status).toBe(401)
})

test('who registered in another tab meanwhile is signed in by the open registration, whatever the code', async () => {
  const email = somebody()
  const { registration_id } = await new Browser().signIn(server, {
    as: email,
    query: { invite: 'x' },
  })
  const elsewhere = await server.exchange(await new Browser().signIn(server, { as: email }))
  const { status, json } = await server.post('register', {
    registration_id,
    invitation_code: 'still wrong',
  })
  expect([status, json.account?.id]).toEqual([200, elsewhere.json.account.id])
})

test('of fifty registrations at once with a code of one use, one gets it and all can go on', async () => {
  const { id, code } = await server.invite()
  const ids: Array<string | undefined> = []
  for (let n = 0; n < RACERS; n++)
    ids.push((await new Browser().signIn(server, { as: somebody(), query: { invite: 'typo' } })).registration_id)
  const answers = await Promise.all(
    ids.map((registration_id) => server.post('register', { registration_id, invitation_code: code })),
  )
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
  expect(answers.filter(({ status, json }) => status === 403 && json.error === 'invitation_invalid')).toHaveLength(
    RACERS - 1,
  )
  expect(await server.usesOf(id)).toBe(1)
  expect(await server.database.sql('select from owner_identities where invitation_id = $1', [id])).toHaveLength(1)
  const after = await Promise.all(ids.map((registration_id) => server.post('register', { registration_id })))
  expect(after.filter(({ status }) => status === 200)).toHaveLength(RACERS - 1)
})

test('of fifty callbacks at once with a code of one use, one gets it', async () => {
  const { id, code } = await server.invite()
  const visits = await Promise.all(
    Array.from({ length: RACERS }, async () => {
      const browser = new Browser()
      return {
        browser,
        callback: await browser.callbackOf(server, { as: somebody(), query: { invite: code } }),
      }
    }),
  )
  const ends = await Promise.all(visits.map(({ browser, callback }) => browser.follow(callback)))
  expect(ends.filter(({ url }) => landed(url).code)).toHaveLength(1)
  expect(ends.filter(({ url }) => landed(url).error === 'invitation_invalid')).toHaveLength(RACERS - 1)
  expect(await server.usesOf(id)).toBe(1)
})

test('where an invitation is required, nobody new comes in without one, and those who are in need none', async () => {
  const closed = await startOwnerServer({ people, names: ['acme'], requireInvitation: true })
  try {
    const refused = await new Browser().signIn(closed, { as: 'person-0@example.com' })
    expect(refused).toEqual({ error: 'invitation_required', registration_id: expect.any(String) })
    const { code } = await closed.invite()
    const register = (body: object) => closed.post('register', { registration_id: refused.registration_id, ...body })
    expect((await register({})).status).toBe(403)
    expect((await register({ invitation_code: code })).status).toBe(200)
    expect(await new Browser().signIn(closed, { as: 'person-0@example.com' })).toHaveProperty('code')
  } finally {
    await closed.stop()
  }
})
