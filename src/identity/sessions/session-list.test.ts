import { afterAll, beforeAll, expect, test } from 'vitest'
import { newWallet, startServers, type TestServers } from '../../../test/servers.ts'

let servers: TestServers
beforeAll(async () => {
  servers = await startServers(2)
})
afterAll(() => servers.stop())

const send = (path: string, refreshToken: string) =>
  servers.send('POST', path, { body: { refresh_token: refreshToken } })
const sessionsOf = (token: string, at = 0) => servers.send('GET', '/v1/me/sessions', { at, token })

test("revoke-all ends every session of the account, the caller's too, and spares keys and other accounts", async () => {
  const wallet = newWallet()
  const [one, other, stranger] = [await servers.signIn(wallet), await servers.signIn(wallet, 1), await servers.signIn()]
  const answer = await servers.send('POST', '/v1/me/sessions/revoke-all', {
    token: one.accessToken,
  })
  expect([answer.status, answer.json.ok]).toEqual([200, true])
  for (const person of [one, other]) {
    expect((await sessionsOf(person.accessToken, 1)).status).toBe(401)
    expect((await send('/v1/auth/refresh', person.refreshToken)).status).toBe(401)
  }
  expect((await servers.send('GET', '/v1/me/api-keys', { token: one.apiKey })).status).toBe(200)
  expect((await send('/v1/auth/refresh', stranger.refreshToken)).status).toBe(200)
})

test('the list shows live sessions with their device, newest first, page by page, and which one asks', async () => {
  const wallet = newWallet()
  const people = [await servers.signIn(wallet), await servers.signIn(wallet), await servers.signIn(wallet)]
  await send('/v1/auth/logout', people[1]?.refreshToken ?? '')
  const { json } = await sessionsOf(people[0]?.accessToken ?? '')
  expect(json.data.map((one: { current: boolean }) => one.current)).toEqual([false, true])
  expect(json.data[0]).toEqual({
    id: expect.any(Number),
    device: 'node',
    created_at: expect.any(String),
    last_used_at: expect.any(String),
    expires_at: expect.any(String),
    current: false,
  })
  expect(Date.parse(json.data[0].expires_at) - Date.parse(json.data[0].created_at)).toBe(90 * 86_400_000)
  expect(json.next_cursor).toBe(0)
  const page = (before: number) =>
    servers.send('GET', `/v1/me/sessions?limit=1&before_id=${before}`, {
      token: people[0]?.accessToken ?? '',
    })
  const first = await page(0)
  const second = await page(first.json.next_cursor)
  expect([...first.json.data, ...second.json.data]).toEqual(json.data)
})

test("one session is ended by its id; another account's and an unknown one are not found", async () => {
  const wallet = newWallet()
  const [one, other, stranger] = [await servers.signIn(wallet), await servers.signIn(wallet), await servers.signIn()]
  const [newest] = (await sessionsOf(one.accessToken)).json.data
  const end = (id: unknown, token: string) => servers.send('DELETE', `/v1/me/sessions/${id}`, { token })
  expect((await end(newest.id, stranger.accessToken)).json.code).toBe('session_not_found')
  expect((await end(999_999_999, one.accessToken)).json.code).toBe('session_not_found')
  expect((await end('x', one.accessToken)).json.code).toBe('invalid_parameter')
  for (let count = 0; count < 2; count++) expect((await end(newest.id, one.accessToken)).json.ok).toBe(true)
  expect((await sessionsOf(other.accessToken, 1)).status).toBe(401)
  expect((await sessionsOf(one.accessToken)).status).toBe(200)
})
