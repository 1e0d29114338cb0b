import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Answer, type SignedInPerson, startServers, type TestServers } from '../../../test/servers.ts'
import { systemRandom } from '../../kernel/random.ts'
import { newUserCode, userCodeFrom } from './codes.ts'
import { type Event, isRefusal, type Standing, stepOf } from './states.ts'
import { prune } from './store.ts'

let servers: TestServers
let owner: SignedInPerson
beforeAll(async () => {
  servers = await startServers(2)
  owner = await servers.owner()
})
afterAll(() => servers.stop())

const code = (answer: Answer) => [answer.status, answer.json.code]
const begin = async (body: unknown = { client_name: 'a test' }): Promise<{ device_code: string; user_code: string }> =>
  (await servers.send('POST', '/v1/auth/device', { body })).json
const poll = (login: { device_code: string }, at = 0) =>
  servers.send('POST', '/v1/auth/device/token', { at, body: { device_code: login.device_code } })
const look = (login: { user_code: string }, who = owner) =>
  servers.send('GET', `/v1/auth/device/${login.user_code}`, { token: who.accessToken })
const decide = (event: 'approve' | 'deny', login: { user_code: string }, who = owner, at = 0) =>
  servers.send('POST', `/v1/auth/device/${login.user_code}/${event}`, { at, token: who.accessToken, body: {} })
const approved = async (who = owner) => {
  const login = await begin()
  await decide('approve', login, who)
  return login
}
/** As if this much time had passed since the login began or was asked for. */
const older = (login: { user_code: string }, interval: string) =>
  servers.database.sql(
    `update device_logins set expires_at = expires_at - $2::interval, next_poll_at = next_poll_at - $2::interval where user_code = $1`,
    [userCodeFrom(login.user_code), interval],
  )

/** As if the program had asked a moment ago, however slow this machine is. */
const justAsked = (login: { user_code: string }) =>
  servers.database.sql(`update device_logins set next_poll_at = now() + interval '1 minute' where user_code = $1`, [
    userCodeFrom(login.user_code),
  ])

test('an owner approves what a program asks, and the program has a session of its own under its name', async () => {
  const begun = await servers.send('POST', '/v1/auth/device', { body: { client_name: 'farebox on build-7' } })
  expect(begun.headers.get('cache-control')).toBe('no-store')
  const address = `${servers.urls[0]}/console/device`
  expect(begun.json).toEqual({
    device_code: expect.stringMatching(/^dvc_[\w-]{43}$/),
    user_code: expect.stringMatching(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/),
    verification_uri: address,
    verification_uri_complete: `${address}?user_code=${begun.json.user_code}`,
    expires_in: 600,
    interval: 5,
    request_id: expect.stringMatching(/^req_/),
  })
  const seen = (await look(begun.json)).json.data
  expect(seen).toEqual({
    user_code: begun.json.user_code,
    client_name: 'farebox on build-7',
    network: '127.0.0.0/24',
    status: 'pending',
    created_at: expect.stringMatching(/Z$/),
    expires_at: expect.stringMatching(/Z$/),
  })
  expect(Date.parse(seen.expires_at) - Date.parse(seen.created_at)).toBe(600_000)
  expect((await decide('approve', begun.json)).json.data).toEqual({ ...seen, status: 'approved' })
  const { status, json, headers } = await poll(begun.json, 1)
  expect([status, headers.get('cache-control')]).toEqual([200, 'no-store'])
  expect(json.account).toMatchObject({ id: Number(owner.accountId), account_type: 'owner' })
  expect(json.tokens).toMatchObject({ api_key: '', expires_in: 3600, token_type: 'Bearer' })
  expect((await look(begun.json)).json.data.status).toBe('completed')
  const sessions = await servers.send('GET', '/v1/me/sessions', { token: json.tokens.access_token })
  expect(sessions.json.data[0]).toMatchObject({ device: 'farebox on build-7', current: true })
  const body = { refresh_token: json.tokens.refresh_token }
  expect((await servers.send('POST', '/v1/auth/refresh', { body })).status).toBe(200)
})

test('a code is understood however a person types it, and what cannot be one is not there', async () => {
  const login = await begin({})
  const typed = login.user_code.toLowerCase().replace('-', ' ')
  expect((await look({ user_code: encodeURIComponent(typed) })).json.data).toMatchObject({ client_name: '' })
  for (const user_code of ['ABCD-EFGH', 'BCDF', `${login.user_code}B`, '1'])
    expect(code(await look({ user_code }))).toEqual([404, 'device_login_not_found'])
})

const standings: readonly Standing[] = ['pending', 'approved', 'denied', 'completed', 'lapsed']
const events: readonly Event[] = ['look', 'approve', 'deny', 'poll', 'poll_too_soon']

/** A login that stands like this, brought there through its own doors. */
async function standing(wanted: Standing) {
  const login = await begin()
  if (wanted === 'denied') await decide('deny', login)
  if (wanted === 'approved' || wanted === 'completed') await decide('approve', login)
  if (wanted === 'completed') await poll(login)
  if (wanted === 'lapsed') await older(login, '10 minutes')
  return login
}

test.each(standings.flatMap((from) => events.map((event) => [from, event] as const)))(
  'a login that is %s answers %s as the table says',
  async (from, event) => {
    const login = await standing(from)
    if (event === 'poll_too_soon') await justAsked(login)
    const answer = await { look, poll, poll_too_soon: poll, approve: decideAs('approve'), deny: decideAs('deny') }[
      event
    ](login)
    const step = stepOf(event, from)
    if (isRefusal(step)) expect(answer.json.code).toBe(step)
    else if (event === 'poll' || event === 'poll_too_soon') expect(answer.json.tokens.access_token).toMatch(/^eyJ/)
    else expect(answer.json.data.status).toBe(step)
    const [row] = await servers.database.sql<{ status: string }>(
      'select status from device_logins where user_code = $1',
      [userCodeFrom(login.user_code)],
    )
    expect(row?.status).toBe(isRefusal(step) ? (from === 'lapsed' ? 'pending' : from) : step)
  },
)
function decideAs(event: 'approve' | 'deny') {
  return (login: { user_code: string }) => decide(event, login)
}

test('a program that asks too soon waits longer from then on, and refusals are those of RFC 8628', async () => {
  const login = await begin()
  const first = await poll(login)
  expect([...code(first), first.json.error, first.json.interval, first.headers.get('retry-after')]).toEqual([
    400,
    'authorization_pending',
    'authorization_pending',
    5,
    '5',
  ])
  await justAsked(login)
  const second = await poll(login)
  expect([...code(second), second.json.interval, second.headers.get('retry-after')]).toEqual([
    400,
    'slow_down',
    10,
    '10',
  ])
  await older(login, '10 seconds')
  const inTime = await poll(login)
  expect([...code(inTime), inTime.json.interval]).toEqual([400, 'authorization_pending', 10])
  const intervals: number[] = []
  for (let count = 0; count < 12; count++) {
    await justAsked(login)
    intervals.push((await poll(login)).json.interval)
  }
  expect(intervals).toEqual([15, 20, 25, 30, 35, 40, 45, 50, 55, 60, 60, 60])
})

test('of 60 programs with one approved code at once, on two servers, one gets tokens', async () => {
  const login = await approved()
  const answers = await Promise.all(Array.from({ length: 60 }, (_, index) => poll(login, index % 2)))
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
  for (const answer of answers.filter(({ status }) => status !== 200))
    expect(code(answer)).toEqual([400, 'expired_token'])
})

test('approved, denied and asked for at once, a login gives tokens or is denied, never both', async () => {
  for (let round = 0; round < 12; round++) {
    const login = await begin()
    const [approve, deny, ...polls] = await Promise.all([
      decide('approve', login, owner, 0),
      decide('deny', login, owner, 1),
      ...Array.from({ length: 4 }, (_, index) => poll(login, index % 2)),
    ])
    const given = [...polls, await poll(login)].filter(({ status }) => status === 200).length
    const { status } = (await look(login)).json.data
    expect([status, given]).toEqual(deny.status === 200 ? ['denied', 0] : ['completed', 1])
    expect([200, 409]).toContain(approve.status)
  }
})

test('of two owners who approve one code at once, one has the program, and to the other it is not there', async () => {
  const [login, other] = [await begin(), await servers.owner()]
  const answers = await Promise.all([decide('approve', login), decide('approve', login, other, 1)])
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 404])
  const winner = answers[0]?.status === 200 ? owner : other
  expect((await poll(login)).json.account.id).toBe(Number(winner.accountId))
  expect(code(await look(login, winner === owner ? other : owner))).toEqual([404, 'device_login_not_found'])
})

test('what one owner approved, another can neither see, deny nor take', async () => {
  const [login, other] = [await approved(), await servers.owner()]
  for (const answer of [
    await look(login, other),
    await decide('deny', login, other),
    await decide('approve', login, other),
  ])
    expect(code(answer)).toEqual([404, 'device_login_not_found'])
  expect((await poll(login)).json.account.id).toBe(Number(owner.accountId))
})

test.each(['banned', 'deactivated'])('an owner who is %s after the approval has no new session', async (status) => {
  const other = await servers.owner()
  const login = await approved(other)
  await servers.database.sql('update accounts set status = $2 where id = $1', [other.accountId, status])
  expect(code(await poll(login))).toEqual([403, `account_${status}`])
  expect(code(await decide('approve', await begin(), other))).toEqual([403, `account_${status}`])
  const sessions = await servers.database.sql('select from sessions where account_id = $1', [other.accountId])
  expect(sessions).toHaveLength(1)
})

test('only an owner with a session sees and decides: no Agent, no API key, nobody', async () => {
  const login = await begin()
  const agent = await servers.signIn()
  const { json } = await servers.send('POST', '/v1/me/api-keys', { token: owner.accessToken, body: {} })
  for (const [token, expected] of [
    [agent.accessToken, [403, 'owner_account_required']],
    [json.api_key, [403, 'access_token_required']],
    [undefined, [401, 'unauthorized']],
  ] as const)
    for (const [method, path] of [
      ['GET', ''],
      ['POST', '/approve'],
      ['POST', '/deny'],
    ] as const) {
      const sent = { ...(token === undefined ? {} : { token }), ...(method === 'POST' ? { body: {} } : {}) }
      expect(code(await servers.send(method, `/v1/auth/device/${login.user_code}${path}`, sent))).toEqual(expected)
    }
  expect((await look(login)).json.data.status).toBe('pending')
})

test('a decision is in the audit log, once, and no code or token is there, in the database or in the log', async () => {
  const login = await begin({ client_name: 'audited' })
  await Promise.all(Array.from({ length: 8 }, (_, index) => decide('approve', login, owner, index % 2)))
  const { tokens } = (await poll(login)).json
  const rows = await servers.database.sql<{ action: string; actor: string; after: unknown }>(
    `select action, actor, after from audit_log where action like '%.device_login' and after::text like '%audited%'`,
  )
  expect(rows).toEqual([
    {
      action: 'approve.device_login',
      actor: String(owner.accountId),
      after: { client_name: 'audited', network: '127.0.0.0/24' },
    },
  ])
  const kept = await servers.database.sql(
    'select d::text from device_logins d union all select a::text from audit_log a',
  )
  const text = JSON.stringify(kept) + servers.log.join('')
  for (const secret of [login.device_code, tokens.access_token, tokens.refresh_token])
    expect(text).not.toContain(secret)
})

test('upkeep forgets logins whose time is over, and no others', async () => {
  const [over, open] = [await begin(), await begin()]
  await older(over, '11 minutes')
  expect(await prune(servers.database.db)).toBeGreaterThan(0)
  expect(code(await poll(over))).toEqual([400, 'expired_token'])
  expect(code(await poll(open))).toEqual([400, 'authorization_pending'])
})

test('user codes have no vowels and take every letter alike', () => {
  const text = Array.from({ length: 2_000 }, () => newUserCode(systemRandom)).join('')
  expect(text).toMatch(/^[BCDFGHJKLMNPQRSTVWXZ]{16000}$/)
  expect(new Set(text).size).toBe(20)
})

test.each([
  ['a name of 81 characters', { client_name: 'x'.repeat(81) }, 'invalid_field'],
  ['a name that would steer a terminal', { client_name: 'a\u001b[2J' }, 'invalid_field'],
  ['an unknown field', { scope: 'all' }, 'unknown_field'],
])('a login with %s is refused', async (_what, body, expected) => {
  expect((await servers.send('POST', '/v1/auth/device', { body })).json.code).toBe(expected)
})
