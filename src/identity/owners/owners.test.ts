import { createServer } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Browser, type Landed, landed, type OwnerServer, people, startOwnerServer } from '../../../test/owner-server.ts'
import { setStatus } from '../accounts/store.ts'

const silent = createServer((socket) => socket.on('error', () => undefined))

let server: OwnerServer
let next = 0

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
  const { status, json } = await server.exchange(end)
  expect(status).toBe(200)
  expect(json).toEqual({
    account: {
      id: Number(await server.accountOf(email)),
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
  const first = await server.exchange(await new Browser().signIn(server, { as: email }))
  const again = await server.exchange(
    await new Browser().signIn(server, { as: email, query: { invite: 'inv_nonsense' } }),
  )
  expect(again.status).toBe(200)
  expect(again.json.account.id).toBe(first.json.account.id)
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

test.each(['state=wrong', 'state=', 'code=x', ''])('a callback with a wrong state is refused: %s', async (query) => {
  const browser = new Browser()
  await browser.callbackOf(server, { as: somebody() })
  const end = await browser.follow(`${server.url}/v1/auth/oidc/acme/callback?${query}`)
  expect(landed(end.url)).toEqual({ error: 'sign_in_expired' })
})

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
  expect(await server.accountOf(email)).toBeUndefined()
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
  const answers = await Promise.all(ends.map(({ url }) => server.exchange(landed(url))))
  expect(answers.map(({ status }) => status)).toEqual([200, 200])
  expect(new Set(answers.map(({ json }) => json.account.id)).size).toBe(1)
})

test('the same subject and e-mail address at two providers are two owners', async () => {
  const email = somebody()
  const ids = []
  for (const by of ['acme', 'globex'])
    ids.push((await server.exchange(await new Browser().signIn(server, { as: email, by }))).json.account.id)
  expect(new Set(ids).size).toBe(2)
})

test('a code is exchanged once, however many try at once, and within a minute', async () => {
  const end = await new Browser().signIn(server, { as: somebody() })
  const answers = await Promise.all(Array.from({ length: 20 }, () => server.exchange(end)))
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
  expect(answers.filter(({ status, json }) => status === 401 && json.error === 'invalid_sign_in_code')).toHaveLength(19)
  const late = await new Browser().signIn(server, { as: somebody() })
  await server.database.sql('update owner_sign_in_codes set expires_at = now()')
  expect((await server.exchange(late)).status).toBe(401)
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
  expect([response.status, ((await response.json()) as { code: string }).code]).toEqual([400, 'invalid_parameter'])
})

test('a banned owner is told so, before and after the code was given', async () => {
  const email = somebody()
  const { json } = await server.exchange(await new Browser().signIn(server, { as: email }))
  const end = await new Browser().signIn(server, { as: email })
  await server.database.db.transaction().execute((tx) => setStatus(tx, BigInt(json.account.id), 'banned'))
  expect((await server.exchange(end)).json.error).toBe('account_banned')
  expect(await new Browser().signIn(server, { as: email })).toEqual({ error: 'account_banned' })
})

test.each(['away', 'hanging'])(
  'a provider that is %s is an error word, not a request that never ends',
  async (by) => {
    expect(await new Browser().signIn(server, { as: 'x', by, query: { return_to: '/y' } })).toEqual({
      error: 'provider_unavailable',
      return_to: '/y',
    })
  },
  30_000,
)

test('a provider that went away during the visit is an error word too', async () => {
  const browser = new Browser()
  const callback = await browser.callbackOf(server, { as: somebody(), by: 'globex' })
  await server.identityProviders.globex?.stop()
  expect(landed((await browser.follow(callback)).url)).toEqual({ error: 'provider_unavailable' })
})

test('an unknown provider is refused, and the known ones are listed', async () => {
  for (const name of ['nobody', 'constructor'])
    expect((await fetch(`${server.url}/v1/auth/oidc/${name}/start`, { redirect: 'manual' })).status).toBe(404)
  const list = await fetch(`${server.url}/v1/auth/oidc/providers`)
  expect(await list.json()).toMatchObject({
    invitation_required: false,
    support_contact: 'help@example.com',
    data: [{ name: 'acme', label: 'Test' }, { name: 'globex' }, {}, {}],
  })
})

test('no token is ever in an address, and nothing that opens a door is in the log', async () => {
  const browser = new Browser()
  const { code: invitation } = await server.invite()
  const end = await browser.signIn(server, { as: somebody(), query: { invite: invitation } })
  const { json } = await server.exchange(end)
  const log = server.log.join('')
  for (const secret of [json.tokens.access_token, json.tokens.refresh_token]) {
    expect(browser.visited.join()).not.toContain(secret)
    expect(log).not.toContain(secret)
  }
  for (const secret of [end.code, invitation, server.identityProviders.acme?.clientSecret])
    expect(log).not.toContain(secret)
  expect(log).toContain('a sign-in by globex failed: provider_unavailable')
})
