import { decodeJwt } from 'jose'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newWallet, type SignedInPerson, startServers, type TestServers } from '../../../test/servers.ts'

let servers: TestServers
beforeAll(async () => {
  servers = await startServers(2)
})
afterAll(() => servers.stop())

const refresh = (token: string, at = 0) =>
  servers.send('POST', '/v1/auth/refresh', { at, body: { refresh_token: token } })
const logout = (token: string, at = 0) =>
  servers.send('POST', '/v1/auth/logout', { at, body: { refresh_token: token } })
const sessionsOf = (token: string, at = 0) => servers.send('GET', '/v1/me/sessions', { at, token })
const tampered = (token: string) => token.slice(0, -6) + (token.endsWith('AAAAAA') ? 'BBBBBB' : 'AAAAAA')

async function exchanged(person: SignedInPerson): Promise<SignedInPerson> {
  const { status, json } = await refresh(person.refreshToken)
  expect(status).toBe(200)
  return {
    ...person,
    accessToken: json.tokens.access_token,
    refreshToken: json.tokens.refresh_token,
  }
}

test('a refresh gives the account and new tokens of the same session, and no key', async () => {
  const agent = await servers.signIn()
  const { status, json, headers } = await refresh(agent.refreshToken, 1)
  expect(status).toBe(200)
  expect(json.account).toMatchObject({ id: Number(agent.accountId), account_type: 'agent' })
  expect(json.tokens).toMatchObject({ api_key: '', expires_in: 3600, token_type: 'Bearer' })
  expect(headers.get('cache-control')).toBe('no-store')
  expect(json.tokens.access_token).not.toBe(agent.accessToken)
  expect(json.tokens.refresh_token).not.toBe(agent.refreshToken)
  expect(decodeJwt(json.tokens.access_token).sid).toBe(decodeJwt(agent.accessToken).sid)
  expect((await sessionsOf(json.tokens.access_token)).status).toBe(200)
})

test('access tokens live an hour, refresh tokens 30 days, and neither outlives the session', async () => {
  const agent = await servers.signIn()
  const life = (token: string) => (decodeJwt(token).exp ?? 0) - (decodeJwt(token).iat ?? 0)
  expect([life(agent.accessToken), life(agent.refreshToken)]).toEqual([3600, 30 * 86_400])
  await servers.database.sql(`update sessions set expires_at = now() + interval '10 minutes' where account_id = $1`, [
    agent.accountId,
  ])
  const later = await exchanged(agent)
  for (const token of [later.accessToken, later.refreshToken]) expect(life(token)).toBeLessThanOrEqual(600)
})

test('of 50 exchanges of one refresh token at once, on two servers, one succeeds and the session lives on', async () => {
  const agent = await servers.signIn()
  const answers = await Promise.all(Array.from({ length: 50 }, (_, index) => refresh(agent.refreshToken, index % 2)))
  const [winner, ...more] = answers.filter(({ status }) => status === 200)
  expect(more).toEqual([])
  for (const answer of answers.filter(({ status }) => status !== 200))
    expect([answer.status, answer.json.code]).toEqual([401, 'refresh_token_reused'])
  expect((await sessionsOf(agent.accessToken)).status).toBe(200)
  expect((await refresh(winner?.json.tokens.refresh_token)).status).toBe(200)
})

test('a refresh token that was exchanged several generations ago is refused, and the session lives on', async () => {
  const first = await servers.signIn()
  let latest = first
  for (let generation = 0; generation < 4; generation++) latest = await exchanged(latest)
  expect((await refresh(first.refreshToken)).json.code).toBe('refresh_token_reused')
  await exchanged(latest)
})

test('logout with a token that was exchanged long ago ends the newer tokens too, access and refresh, and spares keys', async () => {
  const first = await servers.signIn()
  const latest = await exchanged(await exchanged(first))
  expect((await logout(first.refreshToken)).json).toEqual({
    ok: true,
    request_id: expect.stringMatching(/^req_/),
  })
  for (const token of [first.accessToken, latest.accessToken])
    expect((await sessionsOf(token, 1)).json.code).toBe('unauthorized')
  expect((await refresh(latest.refreshToken)).json.code).toBe('invalid_refresh_token')
  expect((await servers.send('GET', '/v1/me/api-keys', { token: first.apiKey })).status).toBe(200)
})

test('logout again is confirmed again', async () => {
  const agent = await servers.signIn()
  for (let count = 0; count < 3; count++) expect([(await logout(agent.refreshToken, count % 2)).status]).toEqual([200])
})

test('logout of one session leaves the others of its account', async () => {
  const wallet = newWallet()
  const [one, other] = [await servers.signIn(wallet), await servers.signIn(wallet)]
  await logout(one.refreshToken)
  expect((await sessionsOf(other.accessToken)).status).toBe(200)
  await exchanged(other)
})

test('a refresh token that is tampered, expired, missing, sid-less, or an access token neither refreshes nor logs out, and its session lives on', async () => {
  const agent = await servers.signIn()
  const claims = decodeJwt(agent.refreshToken)
  const sign = (own: Record<string, string | number>, issuedAt = new Date()) =>
    servers.tokens.sign('refresh', { accountId: agent.accountId, claims: own, issuedAt })
  const refused = {
    tampered: tampered(agent.refreshToken),
    expired: await sign({ sid: String(claims.sid), gen: 0 }, new Date(Date.now() - 31 * 86_400_000)),
    sidless: await sign({ gen: 0 }),
    'sid of another form': await sign({ sid: '1 or 1=1', gen: 0 }),
    'no generation': await sign({ sid: String(claims.sid) }),
    access: agent.accessToken,
    key: agent.apiKey,
    empty: '',
    words: 'not a token',
    long: 'e'.repeat(5000),
  }
  for (const [what, token] of Object.entries(refused)) {
    for (const send of [refresh, logout]) {
      const answer = await send(token)
      expect([what, answer.status, answer.json.code]).toEqual([what, 401, 'invalid_refresh_token'])
    }
  }
  const missing = await servers.send('POST', '/v1/auth/logout', { body: {} })
  expect([missing.status, missing.json.code]).toEqual([401, 'invalid_refresh_token'])
  expect(missing.headers.get('www-authenticate')).toContain('Bearer')
  expect((await servers.send('POST', '/v1/auth/refresh', { body: {} })).json.code).toBe('missing_field')
  await exchanged(agent)
})

test("a token that names another account's session ends nothing", async () => {
  const [mallory, victim] = [await servers.signIn(), await servers.signIn()]
  const forged = await servers.tokens.sign('refresh', {
    accountId: mallory.accountId,
    claims: { sid: String(decodeJwt(victim.refreshToken).sid), gen: 0 },
    issuedAt: new Date(),
  })
  expect((await refresh(forged)).json.code).toBe('invalid_refresh_token')
  await logout(forged)
  await exchanged(victim)
})

test('an access token without sid, from before there were sessions, is refused while the API key works', async () => {
  const agent = await servers.signIn()
  const legacy = await servers.tokens.sign('access', {
    accountId: agent.accountId,
    claims: {},
    issuedAt: new Date(),
  })
  expect((await sessionsOf(legacy)).status).toBe(401)
  expect((await servers.chat(legacy)).status).toBe(401)
  expect((await servers.send('GET', '/v1/me/api-keys', { token: agent.apiKey })).status).toBe(200)
})

test('an access token ends after its hour, and the refresh token goes on', async () => {
  const agent = await servers.signIn()
  await servers.grant(agent.accountId, 1_000_000n)
  expect((await servers.chat(agent.accessToken)).status).toBe(200)
  servers.advance(3_601_000)
  try {
    expect((await servers.chat(agent.accessToken)).status).toBe(401)
    expect((await sessionsOf(agent.accessToken)).status).toBe(401)
    expect((await refresh(agent.refreshToken)).status).toBe(200)
  } finally {
    servers.advance(-3_601_000)
  }
})

test('a session whose absolute end was a millisecond ago is over, for spending too', async () => {
  const agent = await servers.signIn()
  await servers.grant(agent.accountId, 1_000_000n)
  expect((await servers.chat(agent.accessToken)).status).toBe(200)
  await servers.database.sql(
    `update sessions set expires_at = now() - interval '1 millisecond' where account_id = $1`,
    [agent.accountId],
  )
  expect((await servers.chat(agent.accessToken)).json.code).toBe('unauthorized')
  expect((await sessionsOf(agent.accessToken)).json.code).toBe('unauthorized')
  expect((await refresh(agent.refreshToken)).json.code).toBe('invalid_refresh_token')
})

test.each(['banned', 'deactivated'])(
  'a refresh of an account that is %s is refused and does not use the token up',
  async (status) => {
    const agent = await servers.signIn()
    await servers.database.sql('update accounts set status = $2 where id = $1', [agent.accountId, status])
    const answer = await refresh(agent.refreshToken)
    expect([answer.status, answer.json.code]).toEqual([403, `account_${status}`])
    await servers.database.sql(`update accounts set status = 'active' where id = $1`, [agent.accountId])
    await exchanged(agent)
  },
)

test('once a session was ended, no call that begins afterwards is charged, on any server', async () => {
  const agent = await servers.signIn()
  await servers.grant(agent.accountId, 100_000_000n)
  const begun: Array<{ at: number; status: Promise<number> }> = []
  let going = true
  const callers = Array.from({ length: 20 }, async (_, index) => {
    while (going) {
      const call = {
        at: performance.now(),
        status: servers.chat(agent.accessToken, index % 2).then(({ status }) => status),
      }
      begun.push(call)
      await call.status
    }
  })
  while (begun.length < 100) await new Promise((resolve) => setImmediate(resolve))
  await logout(agent.refreshToken, 1)
  const endedAt = performance.now()
  while (begun.filter(({ at }) => at > endedAt).length < 100) await new Promise((resolve) => setImmediate(resolve))
  going = false
  await Promise.all(callers)
  const after = await Promise.all(begun.filter(({ at }) => at > endedAt).map(({ status }) => status))
  const before = await Promise.all(begun.filter(({ at }) => at <= endedAt).map(({ status }) => status))
  expect(new Set(after)).toEqual(new Set([401]))
  expect(before.filter((status) => status === 200).length).toBeGreaterThan(50)
})
