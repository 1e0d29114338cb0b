import { afterAll, beforeAll, expect, test } from 'vitest'
import { inTurns, raceRepeats, repeatedRace } from '../../../test/races/repeated.ts'
import { type SignedInPerson, startServers, type TestServers } from '../../../test/servers.ts'

/** The long form: npm run test:races, 200 repetitions of each. */
const REPEATS = raceRepeats(3)
const timeout = 20_000 + REPEATS * 500

let servers: TestServers
beforeAll(async () => {
  servers = await startServers(2)
})
afterAll(() => servers.stop())

const refresh = (token: string, at: number) =>
  servers.send('POST', '/v1/auth/refresh', { at, body: { refresh_token: token } })

test.each<[string, (person: SignedInPerson) => Promise<{ status: number }>]>([
  [
    'a logout',
    ({ refreshToken }) => servers.send('POST', '/v1/auth/logout', { body: { refresh_token: refreshToken } }),
  ],
  [
    'the end of all sessions',
    ({ accessToken }) => servers.send('POST', '/v1/me/sessions/revoke-all', { token: accessToken, body: {} }),
  ],
])('after %s that a refresh raced with, no token of the session is alive', { timeout }, async (title, leave) => {
  await repeatedRace(`refresh against ${title}`, REPEATS, ['exchanged', 'refused'], async (turn) => {
    const agent = await servers.signIn()
    const [exchanged, left] = await inTurns(
      turn,
      () => refresh(agent.refreshToken, 1),
      () => leave(agent),
    )
    expect(left.status).toBe(200)
    const tokens = exchanged.status === 200 ? [agent, exchanged.json.tokens] : [agent]
    if (exchanged.status !== 200) expect(exchanged.status).toBe(401)
    for (const [n, { accessToken, access_token, refreshToken, refresh_token }] of tokens.entries()) {
      const asked = await servers.send('GET', '/v1/me/sessions', { at: n, token: accessToken ?? access_token })
      expect(asked.status).toBe(401)
      expect((await refresh(refreshToken ?? refresh_token, n)).status).toBe(401)
    }
    return exchanged.status === 200 ? 'exchanged' : 'refused'
  })
})
