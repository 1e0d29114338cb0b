import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Answer, newWallet, type SignedInPerson, startServers, type TestServers } from '../../test/servers.ts'
import type { Route } from '../http/route.ts'

let servers: TestServers
const bodies: string[] = []
beforeAll(async () => {
  servers = await startServers(2)
})
afterAll(() => servers.stop())

const closed = (): Route[] => (servers.apps[0]?.routes ?? []).filter(({ access }) => access !== 'public')

async function knock({ method, path }: Route, token: string | undefined): Promise<Answer> {
  const answer = await servers.send(method, path.replace(/:\w+/g, '1'), {
    ...(token === undefined ? {} : { token }),
    ...(method === 'GET' ? {} : { body: {} }),
  })
  bodies.push(JSON.stringify(answer.json))
  return answer
}

async function strangers(person: SignedInPerson): Promise<Record<string, string | undefined>> {
  const sign = (kind: 'refresh' | 'payment_context') =>
    servers.tokens.sign(kind, {
      accountId: person.accountId,
      claims: { sid: '00000000-0000-0000-0000-000000000000', gen: 0 },
      issuedAt: new Date(),
    })
  const [, payload, signature] = person.accessToken.split('.')
  const header = (fields: object) =>
    Buffer.from(JSON.stringify({ typ: 'farebox-access+jwt', ...fields })).toString('base64url')
  return {
    nothing: undefined,
    'its refresh token': person.refreshToken,
    'a refresh token': await sign('refresh'),
    'a payment context': await sign('payment_context'),
    'a delegation': `dlg_${'a'.repeat(43)}`,
    'no algorithm': `${header({ alg: 'none' })}.${payload}.`,
    'another algorithm': `${header({ alg: 'HS256' })}.${payload}.${signature}`,
    'a foreign kid': `${header({ alg: 'EdDSA', kid: 'AAAAAAAAAAAA' })}.${payload}.${signature}`,
    'a token without sid': await servers.tokens.sign('access', {
      accountId: person.accountId,
      claims: {},
      issuedAt: new Date(),
    }),
    'an unknown sid': await servers.tokens.sign('access', {
      accountId: person.accountId,
      claims: { sid: '00000000-0000-0000-0000-000000000000' },
      issuedAt: new Date(),
    }),
    'an address': newWallet().address,
  }
}

test('what is no key and no access token opens no route that needs a credential', async () => {
  const agent = await servers.signIn()
  expect(closed().length).toBeGreaterThan(8)
  for (const [what, token] of Object.entries(await strangers(agent))) {
    const knocks = closed().map(async (route) => {
      const { status, json, headers } = await knock(route, token)
      // clients of /mcp are told besides where they read which credentials are taken
      const challenge = headers.get('www-authenticate')?.replace(/resource_metadata="[^"]+\/mcp", /, '')
      return [what, route.path, status, json.code, challenge]
    })
    const refused = closed().map(({ path }) => [what, path, 401, 'unauthorized', 'Bearer realm="farebox"'])
    expect(await Promise.all(knocks)).toEqual(refused)
  }
})

test('a key opens no route that is for sessions, alive or revoked', async () => {
  const agent = await servers.signIn()
  const ofSessions = closed().filter(({ access }) => access === 'session')
  for (const route of ofSessions)
    expect([route.path, (await knock(route, agent.apiKey)).json.code]).toEqual([route.path, 'access_token_required'])
  await servers.send('DELETE', '/v1/me/api-keys', { token: agent.accessToken })
  for (const route of closed())
    expect([route.path, (await knock(route, agent.apiKey)).json.code]).toEqual([route.path, 'unauthorized'])
})

test.each(['banned', 'deactivated'])(
  'an account that is %s is refused on every route, by key and by session, remembered or not',
  async (status) => {
    const agent = await servers.signIn()
    await servers.grant(agent.accountId, 1_000_000n)
    for (const token of [agent.apiKey, agent.accessToken]) expect((await servers.chat(token)).status).toBe(200)
    await servers.database.sql('update accounts set status = $2 where id = $1', [agent.accountId, status])
    for (const token of [agent.apiKey, agent.accessToken]) {
      for (const route of closed()) {
        const answer = await knock(route, token)
        expect([route.path, answer.status, answer.json.code]).toEqual([route.path, 403, `account_${status}`])
      }
      for (const at of [0, 1]) expect((await servers.chat(token, at)).json.code).toBe(`account_${status}`)
    }
    expect(
      (
        await servers.send('POST', '/v1/auth/refresh', {
          body: { refresh_token: agent.refreshToken },
        })
      ).json.code,
    ).toBe(`account_${status}`)
    // ending a session is never refused
    expect(
      (
        await servers.send('POST', '/v1/auth/logout', {
          body: { refresh_token: agent.refreshToken },
        })
      ).json.ok,
    ).toBe(true)
  },
)

test('no key, token, signature or private part of them is in a log line, an error body or the database', async () => {
  const wallet = newWallet()
  const challenge = await servers.send('POST', '/v1/auth/challenge', {
    body: { wallet_address: wallet.address },
  })
  const signature = await wallet.signMessage({ message: challenge.json.message })
  const { json } = await servers.send('POST', '/v1/auth/verify', {
    body: { challenge_id: challenge.json.challenge_id, signature },
  })
  const secrets: string[] = [
    signature.slice(2),
    json.tokens.access_token,
    json.tokens.refresh_token,
    json.tokens.api_key,
  ]
  for (const secret of secrets) {
    for (const path of ['/v1/auth/refresh', '/v1/auth/logout'])
      bodies.push(JSON.stringify((await servers.send('POST', path, { body: { refresh_token: `${secret}x` } })).json))
    bodies.push(
      JSON.stringify(
        (
          await servers.send('POST', '/v1/auth/verify', {
            body: { challenge_id: secret, signature: secret },
          })
        ).json,
      ),
    )
    bodies.push(
      JSON.stringify((await servers.send('POST', '/v1/auth/verify', { body: { [secret]: 1 } })).json).replaceAll(
        secret,
        '',
      ),
    )
    for (const route of closed()) await knock(route, `${secret}x`)
  }
  const tables = await servers.database.sql<{ row: string }>(
    'select t::text as row from sessions t union all select t::text from api_keys t union all select t::text from challenges t union all select t::text from signing_keys t',
  )
  const everything = [...servers.log, ...bodies, ...tables.map(({ row }) => row)].join('\n')
  expect(servers.log.length).toBeGreaterThan(100)
  for (const secret of secrets) expect(everything).not.toContain(secret)
  for (const secret of secrets.slice(1, 3)) expect(everything).not.toContain(secret.split('.')[2])
})
