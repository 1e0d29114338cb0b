import { createServer } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  Browser,
  type Landed,
  landed,
  type OwnerServer,
  startOwnerServer,
} from '../../../test/owner-server.ts'
import { systemRandom } from '../../kernel/random.ts'
import { setStatus } from '../accounts/store.ts'
import { createInvitation } from '../invitations/service.ts'

const RACERS = 50
const silent = createServer((socket) => socket.on('error', () => undefined))

let server: OwnerServer
let next = 0
const people = Array.from({ length: 200 }, (_, n) => ({
  subject: `person-${n}`,
  email: `person-${n}@example.com`,
}))

beforeAll(async () => {
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
  const { port } = silent.address() as { port: number }
  server = await startOwnerServer({
    people,
    names: ['acme', 'globex'],
    issuers: { hanging: `http://127.0.0.1:${port}`, away: 'http://127.0.0.1:1' },
  })
})
afterAll(async () => {
  silent.close()
  await server.stop()
})

/** The e-mail address of somebody who never signed in. */
const somebody = (): string => people[next++]?.email ?? ''

async function post(path: string, body: object) {
  const response = await fetch(`${server.url}/v1/auth/oidc/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects, and fails where it is not
  return { status: response.status, json: (await response.json()) as any }
}

const exchange = ({ code }: Landed) => post('exchange', { code })

async function accountOf(email: string): Promise<bigint | undefined> {
  const [row] = await server.database.sql<{ account_id: string }>(
    'select account_id from owner_identities where subject = $1 and issuer = $2',
    [email.split('@')[0], server.identityProviders.acme?.issuer],
  )
  return row && BigInt(row.account_id)
}

const invite = async (given: { maxUses?: number; expiresAt?: Date } = {}) =>
  createInvitation(
    { db: server.database.db, random: systemRandom },
    { maxUses: 1, expiresAt: undefined, note: '', createdBy: 'operator:test', ...given },
  )

const usesOf = async (id: bigint) =>
  (
    await server.database.sql<{ uses: number }>('select uses from invitations where id = $1', [id])
  )[0]?.uses

test('someone new becomes an owner, and the code of the sign-in becomes tokens of a session', async () => {
  const email = somebody()
  const end = await new Browser().signIn(server, {
    as: email,
    query: { return_to: '/console/keys?a=1' },
  })
  expect(end).toEqual({
    code: expect.stringMatching(/^[\w-]{43}$/),
    return_to: '/console/keys?a=1',
  })
  const { status, json } = await exchange(end)
  expect(status).toBe(200)
  expect(json).toEqual({
    account: {
      id: Number(await accountOf(email)),
      account_type: 'owner',
      status: 'active',
      role: 'user',
      wallet_address: '',
      email,
      created_at: expect.any(String),
    },
    tokens: {
      access_token: expect.any(String),
      refresh_token: expect.any(String),
      api_key: '',
      expires_in: 3600,
      token_type: 'Bearer',
    },
    request_id: expect.stringMatching(/^req_/),
  })
  const me = await fetch(`${server.url}/v1/me`, {
    headers: { authorization: `Bearer ${json.tokens.access_token}` },
  })
  expect(me.status).toBe(200)
})

test('someone known signs in to the same account, and a bad invitation code does not matter', async () => {
  const email = somebody()
  const first = await exchange(await new Browser().signIn(server, { as: email }))
  const again = await exchange(
    await new Browser().signIn(server, { as: email, query: { invite: 'inv_nonsense' } }),
  )
  expect(again.status).toBe(200)
  expect(again.json.account.id).toBe(first.json.account.id)
})

test('an owner who signs in with a good invitation code leaves it unused', async () => {
  const email = somebody()
  await new Browser().signIn(server, { as: email })
  const { id, code } = await invite()
  expect(await new Browser().signIn(server, { as: email, query: { invite: code } })).toHaveProperty(
    'code',
  )
  expect(await usesOf(id)).toBe(0)
})

test('a good invitation code is used up with the account that it admits', async () => {
  const email = somebody()
  const { id, code } = await invite()
  const end = await new Browser().signIn(server, {
    as: email,
    query: { invite: ` ${code.toUpperCase()} ` },
  })
  expect(end).toHaveProperty('code')
  expect(await usesOf(id)).toBe(1)
  expect(
    await new Browser().signIn(server, { as: somebody(), query: { invite: code } }),
  ).toMatchObject({ error: 'invitation_invalid' })
})

test('a bad code on a first registration makes no account, and can be corrected once', async () => {
  const email = somebody()
  const { code } = await invite()
  const end = await new Browser().signIn(server, {
    as: email,
    query: { invite: 'inv_typo', return_to: '/x' },
  })
  expect(end).toEqual({
    error: 'invitation_invalid',
    registration_id: expect.any(String),
    return_to: '/x',
  })
  expect(await accountOf(email)).toBeUndefined()
  const { registration_id } = end
  const wrong = await post('register', { registration_id, invitation_code: 'inv_typo2' })
  expect([wrong.status, wrong.json.error]).toEqual([403, 'invitation_invalid'])
  const corrected = await post('register', { registration_id, invitation_code: code })
  expect([corrected.status, corrected.json.account?.email]).toEqual([200, email])
  expect(await accountOf(email)).toBe(BigInt(corrected.json.account.id))
  const again = await post('register', { registration_id })
  expect([again.status, again.json.error]).toEqual([401, 'invalid_registration'])
})

test.each([{}, { invitation_code: '' }])(
  'who had a bad code goes on without one: %j',
  async (body) => {
    const email = somebody()
    const { registration_id } = await new Browser().signIn(server, {
      as: email,
      query: { invite: 'x' },
    })
    const { status, json } = await post('register', { registration_id, ...body })
    expect([status, json.account?.account_type]).toEqual([200, 'owner'])
  },
)

test('a registration is closed by ten wrong codes, and by time', async () => {
  const { registration_id } = await new Browser().signIn(server, {
    as: somebody(),
    query: { invite: 'x' },
  })
  for (let n = 0; n < 10; n++)
    expect(
      (await post('register', { registration_id, invitation_code: `wrong ${n}` })).status,
    ).toBe(403)
  expect((await post('register', { registration_id })).status).toBe(401)
  const late = await new Browser().signIn(server, { as: somebody(), query: { invite: 'x' } })
  await server.database.sql('update owner_registrations set expires_at = now()')
  expect((await post('register', { registration_id: late.registration_id })).status).toBe(401)
})

test('who registered in another tab meanwhile is signed in by the open registration, whatever the code', async () => {
  const email = somebody()
  const { registration_id } = await new Browser().signIn(server, {
    as: email,
    query: { invite: 'x' },
  })
  const elsewhere = await exchange(await new Browser().signIn(server, { as: email }))
  const { status, json } = await post('register', {
    registration_id,
    invitation_code: 'still wrong',
  })
  expect([status, json.account?.id]).toEqual([200, elsewhere.json.account.id])
})

test('a callback counts once: a second one, one at the same time and one of another browser find nothing', async () => {
  const email = somebody()
  const browser = new Browser()
  const callback = await browser.callbackOf(server, { as: email })
  expect(landed((await new Browser().follow(callback)).url)).toEqual({ error: 'sign_in_expired' })
  const ends = await Promise.all(Array.from({ length: 10 }, () => browser.follow(callback)))
  const outcomes = ends.map(({ url }) => Object.keys(landed(url)).join())
  expect(outcomes.filter((outcome) => outcome === 'code')).toHaveLength(1)
  expect(outcomes.filter((outcome) => outcome === 'error')).toHaveLength(9)
  expect(landed((await browser.follow(callback)).url)).toEqual({ error: 'sign_in_expired' })
})

test.each(['state=wrong', 'state=', 'code=x', ''])(
  'a callback with a wrong state is refused: %s',
  async (query) => {
    const browser = new Browser()
    await browser.callbackOf(server, { as: somebody() })
    const end = await browser.follow(`${server.url}/v1/auth/oidc/acme/callback?${query}`)
    expect(landed(end.url)).toEqual({ error: 'sign_in_expired' })
  },
)

test('a visit to one provider is not finished at the callback of another', async () => {
  const browser = new Browser()
  const callback = await browser.callbackOf(server, { as: somebody() })
  const end = await browser.follow(callback.replace('/acme/', '/globex/'))
  expect(landed(end.url)).toEqual({ error: 'sign_in_expired' })
})

test.each([
  ['nonce', `update owner_logins set nonce = 'other'`],
  ['verifier', `update owner_logins set code_verifier = repeat('v', 43)`],
])('an answer to another %s signs nobody in', async (_what, statement) => {
  const email = somebody()
  const browser = new Browser()
  const callback = await browser.callbackOf(server, { as: email })
  await server.database.sql(statement)
  expect(landed((await browser.follow(callback)).url)).toEqual({ error: 'sign_in_failed' })
  expect(await accountOf(email)).toBeUndefined()
})

test('a made-up code, and an answer that names another issuer, sign nobody in', async () => {
  for (const change of [
    (url: URL) => url.searchParams.set('code', 'made-up'),
    (url: URL) => url.searchParams.set('iss', 'http://127.0.0.1:1'),
  ]) {
    const browser = new Browser()
    const callback = new URL(await browser.callbackOf(server, { as: somebody() }))
    change(callback)
    expect(landed((await browser.follow(callback.href)).url)).toEqual({ error: 'sign_in_failed' })
  }
})

test('a visit that took more than ten minutes is over', async () => {
  const browser = new Browser()
  const callback = await browser.callbackOf(server, { as: somebody() })
  await server.database.sql('update owner_logins set expires_at = now()')
  expect(landed((await browser.follow(callback)).url)).toEqual({ error: 'sign_in_expired' })
})

test("one click on the provider's page signs in, and another one denies", async () => {
  const choose = async (choice: string): Promise<Landed> => {
    const browser = new Browser()
    const { url, page } = await browser.follow(`${server.url}/v1/auth/oidc/acme/start`)
    expect(page).toContain('Who are you?')
    const action = new RegExp(`action="([^"]+/${choice})"`).exec(page)?.[1] ?? ''
    return landed((await browser.follow(new URL(action, url).href, { method: 'POST' })).url)
  }
  expect(await choose('0')).toHaveProperty('code')
  expect(await choose('nobody')).toEqual({ error: 'sign_in_denied' })
})

test('two tabs at once make one account, and both are signed in', async () => {
  const email = somebody()
  const browser = new Browser()
  const callbacks = await Promise.all([1, 2].map(() => browser.callbackOf(server, { as: email })))
  const ends = await Promise.all(callbacks.map((callback) => browser.follow(callback)))
  const answers = await Promise.all(ends.map(({ url }) => exchange(landed(url))))
  expect(answers.map(({ status }) => status)).toEqual([200, 200])
  expect(new Set(answers.map(({ json }) => json.account.id)).size).toBe(1)
})

test('the same subject and e-mail address at two providers are two owners', async () => {
  const email = somebody()
  const ids = []
  for (const by of ['acme', 'globex'])
    ids.push(
      (await exchange(await new Browser().signIn(server, { as: email, by }))).json.account.id,
    )
  expect(new Set(ids).size).toBe(2)
})

test('of fifty registrations at once with a code of one use, one gets it and all can go on', async () => {
  const { id, code } = await invite()
  const ids: Array<string | undefined> = []
  for (let n = 0; n < RACERS; n++)
    ids.push(
      (await new Browser().signIn(server, { as: somebody(), query: { invite: 'typo' } }))
        .registration_id,
    )
  const answers = await Promise.all(
    ids.map((registration_id) => post('register', { registration_id, invitation_code: code })),
  )
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
  expect(
    answers.filter(({ status, json }) => status === 403 && json.error === 'invitation_invalid'),
  ).toHaveLength(RACERS - 1)
  expect(await usesOf(id)).toBe(1)
  expect(
    await server.database.sql('select from owner_identities where invitation_id = $1', [id]),
  ).toHaveLength(1)
  const after = await Promise.all(
    ids.map((registration_id) => post('register', { registration_id })),
  )
  expect(after.filter(({ status }) => status === 200)).toHaveLength(RACERS - 1)
})

test('of fifty callbacks at once with a code of one use, one gets it', async () => {
  const { id, code } = await invite()
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
  expect(ends.filter(({ url }) => landed(url).error === 'invitation_invalid')).toHaveLength(
    RACERS - 1,
  )
  expect(await usesOf(id)).toBe(1)
})

test('a code is exchanged once, however many try at once, and within a minute', async () => {
  const end = await new Browser().signIn(server, { as: somebody() })
  const answers = await Promise.all(Array.from({ length: 20 }, () => exchange(end)))
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
  expect(
    answers.filter(({ status, json }) => status === 401 && json.error === 'invalid_sign_in_code'),
  ).toHaveLength(19)
  const late = await new Browser().signIn(server, { as: somebody() })
  await server.database.sql('update owner_sign_in_codes set expires_at = now()')
  expect((await exchange(late)).status).toBe(401)
})

test.each([
  'https://evil.example',
  '//evil.example',
  '/\\evil.example',
  '\\\\evil.example',
  '/%09/evil.example'.replace('%09', '\t'),
  'javascript:alert(1)',
  'console',
  '/a\nb',
  `${'/a'.repeat(300)}`,
])('an address elsewhere is no place to return to: %j', async (returnTo) => {
  const query = new URLSearchParams({ return_to: returnTo })
  const response = await fetch(`${server.url}/v1/auth/oidc/acme/start?${query}`, {
    redirect: 'manual',
  })
  expect([response.status, ((await response.json()) as { code: string }).code]).toEqual([
    400,
    'invalid_parameter',
  ])
})

test('a banned owner is told so, before and after the code was given', async () => {
  const email = somebody()
  const { json } = await exchange(await new Browser().signIn(server, { as: email }))
  const end = await new Browser().signIn(server, { as: email })
  await server.database.db
    .transaction()
    .execute((tx) => setStatus(tx, BigInt(json.account.id), 'banned'))
  expect((await exchange(end)).json.error).toBe('account_banned')
  expect(await new Browser().signIn(server, { as: email })).toEqual({ error: 'account_banned' })
})

test.each(['away', 'hanging'])(
  'a provider that is %s costs seconds and an error word, not more',
  async (by) => {
    const startedMs = performance.now()
    expect(await new Browser().signIn(server, { as: 'x', by, query: { return_to: '/y' } })).toEqual(
      { error: 'provider_unavailable', return_to: '/y' },
    )
    expect(performance.now() - startedMs).toBeLessThan(7_000)
  },
  10_000,
)

test('a provider that went away during the visit is an error word too', async () => {
  const browser = new Browser()
  const callback = await browser.callbackOf(server, { as: somebody(), by: 'globex' })
  await server.identityProviders.globex?.stop()
  expect(landed((await browser.follow(callback)).url)).toEqual({ error: 'provider_unavailable' })
})

test('an unknown provider is refused, and the known ones are listed', async () => {
  for (const name of ['nobody', 'constructor'])
    expect(
      (await fetch(`${server.url}/v1/auth/oidc/${name}/start`, { redirect: 'manual' })).status,
    ).toBe(404)
  const list = await fetch(`${server.url}/v1/auth/oidc/providers`)
  expect(await list.json()).toMatchObject({
    invitation_required: false,
    data: [{ name: 'acme', label: 'Test' }, { name: 'globex' }, {}, {}],
  })
})

test('where an invitation is required, nobody new comes in without one, and those who are in need none', async () => {
  const closed = await startOwnerServer({ people, names: ['acme'], requireInvitation: true })
  try {
    const refused = await new Browser().signIn(closed, { as: 'person-0@example.com' })
    expect(refused).toEqual({ error: 'invitation_required', registration_id: expect.any(String) })
    const { code } = await createInvitation(
      { db: closed.database.db, random: systemRandom },
      { maxUses: 1, expiresAt: undefined, note: '', createdBy: 'operator:test' },
    )
    const register = (body: object) =>
      fetch(`${closed.url}/v1/auth/oidc/register`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ registration_id: refused.registration_id, ...body }),
      })
    expect((await register({})).status).toBe(403)
    expect((await register({ invitation_code: code })).status).toBe(200)
    expect(await new Browser().signIn(closed, { as: 'person-0@example.com' })).toHaveProperty(
      'code',
    )
  } finally {
    await closed.stop()
  }
})

test('no token is ever in an address, and nothing that opens a door is in the log', async () => {
  const browser = new Browser()
  const { code: invitation } = await invite()
  const end = await browser.signIn(server, { as: somebody(), query: { invite: invitation } })
  const { json } = await exchange(end)
  const log = server.log.join('')
  for (const secret of [json.tokens.access_token, json.tokens.refresh_token]) {
    expect(browser.visited.join()).not.toContain(secret)
    expect(log).not.toContain(secret)
  }
  for (const secret of [end.code, invitation, server.identityProviders.acme?.clientSecret])
    expect(log).not.toContain(secret)
  expect(log).toContain('a sign-in by globex failed: provider_unavailable')
})
