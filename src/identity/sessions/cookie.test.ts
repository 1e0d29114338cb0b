import { decodeJwt } from 'jose'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newWallet, startServers, type TestServers } from '../../../test/servers.ts'

let servers: TestServers
beforeAll(async () => {
  servers = await startServers(1)
})
afterAll(() => servers.stop())

const asks = { 'x-farebox-session': 'cookie' }

/** Signs a page in: what the answer's body and cookie say. */
async function pageSignsIn() {
  const wallet = newWallet()
  const { json } = await servers.send('POST', '/v1/auth/challenge', { body: { wallet_address: wallet.address } })
  const signature = await wallet.signMessage({ message: json.message })
  return servers.send('POST', '/v1/auth/verify', {
    headers: asks,
    body: { challenge_id: json.challenge_id, signature },
  })
}
const cookieOf = (headers: Headers): string => (headers.get('set-cookie') ?? '').split(';')[0] ?? ''

test('a page that asks for it never sees its refresh token: the browser keeps it where no script can read it', async () => {
  const signedIn = await pageSignsIn()
  expect([signedIn.status, signedIn.json.tokens.refresh_token]).toEqual([200, ''])
  expect(signedIn.headers.get('set-cookie')).toMatch(
    /^farebox_refresh=[\w.-]+; Path=\/v1\/auth; Max-Age=2592000; HttpOnly; SameSite=Strict$/,
  )
  const headers = { ...asks, cookie: `other=1; ${cookieOf(signedIn.headers)}` }
  const renewed = await servers.send('POST', '/v1/auth/refresh', { headers, body: {} })
  expect([renewed.status, renewed.json.tokens.refresh_token]).toEqual([200, ''])
  expect(decodeJwt(renewed.json.tokens.access_token).sid).toBe(decodeJwt(signedIn.json.tokens.access_token).sid)
  expect(cookieOf(renewed.headers)).not.toBe(cookieOf(signedIn.headers))
})

test('the cookie alone moves nothing: a request without the header is one without a token', async () => {
  const signedIn = await pageSignsIn()
  const headers = { cookie: cookieOf(signedIn.headers) }
  expect((await servers.send('POST', '/v1/auth/refresh', { headers, body: {} })).json.code).toBe('missing_field')
  expect((await servers.send('POST', '/v1/auth/logout', { headers, body: {} })).status).toBe(401)
  expect((await servers.send('POST', '/v1/auth/refresh', { headers: { ...asks, ...headers }, body: {} })).status).toBe(
    200,
  )
})

test('a logout by cookie ends the session and takes the cookie back', async () => {
  const signedIn = await pageSignsIn()
  const headers = { ...asks, cookie: cookieOf(signedIn.headers) }
  const out = await servers.send('POST', '/v1/auth/logout', { headers, body: {} })
  expect([out.status, out.json.ok]).toEqual([200, true])
  expect(out.headers.get('set-cookie')).toMatch(/^farebox_refresh=; Path=\/v1\/auth; Max-Age=0;/)
  expect((await servers.send('POST', '/v1/auth/refresh', { headers, body: {} })).status).toBe(401)
  expect((await servers.send('POST', '/v1/auth/refresh', { headers: asks, body: {} })).status).toBe(401)
})
