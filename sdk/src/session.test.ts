import { expect, test } from 'vitest'
import { type Reply, refusal, type SentRequest, scripted, signedIn } from './answers.fixture.ts'
import { AuthenticationError, UnavailableError } from './errors.ts'
import { memoryStore, type Tokens } from './session.ts'

const wallet = { address: '0x1', signMessage: async () => '0xsigned', signTypedData: async () => '0xsigned' }
const expired: Tokens = { accessToken: 'access-0', refreshToken: 'refresh-0', expiresAt: 0 }

async function storeWith(tokens: Tokens | undefined) {
  const store = memoryStore()
  await store.write(tokens)
  return store
}

/** A server that takes each refresh token once and only the newest access token, as ours does. */
function rotating() {
  let generation = 0
  return ({ path, headers, body }: SentRequest): Reply => {
    if (path === '/v1/auth/challenge') return { status: 200, body: { challenge_id: 'c', message: 'm' } }
    if (path === '/v1/auth/verify') return signedIn(++generation)
    if (path === '/v1/auth/refresh')
      return body.refresh_token === `refresh-${generation}`
        ? signedIn(++generation)
        : refusal(401, 'refresh_token_reused')
    return headers.get('authorization') === `Bearer access-${generation}`
      ? { status: 200 }
      : refusal(401, 'unauthorized')
  }
}
const timesOf = (sent: readonly SentRequest[], path: string): number => sent.filter((one) => one.path === path).length

test('50 calls at once with an expired token make one refresh, and each is answered', async () => {
  const { farebox, sent } = scripted(rotating(), { tokens: await storeWith(expired) })
  await Promise.all(Array.from({ length: 50 }, () => farebox.credits.balance()))
  expect(timesOf(sent, '/v1/auth/refresh')).toBe(1)
  expect(timesOf(sent, '/v1/credits/balance')).toBe(50)
})

test('50 calls at once whose token is refused make one refresh, and each is sent again', async () => {
  const revoked = { ...expired, accessToken: 'access-revoked', expiresAt: Number.MAX_SAFE_INTEGER }
  const { farebox, sent } = scripted(rotating(), { tokens: await storeWith(revoked) })
  await Promise.all(Array.from({ length: 50 }, () => farebox.credits.balance()))
  expect(timesOf(sent, '/v1/auth/refresh')).toBe(1)
  expect(timesOf(sent, '/v1/credits/balance')).toBe(100)
})

test('both tokens are stored together, before the new one is used', async () => {
  const written: (Tokens | undefined)[] = []
  const tokens = {
    read: async () => written.at(-1) ?? expired,
    write: async (kept?: Tokens) => void written.push(kept),
  }
  const answer = rotating()
  const { farebox } = scripted(
    (request) => {
      if (request.path === '/v1/credits/balance') expect(written).toHaveLength(1)
      return answer(request)
    },
    { tokens },
  )
  await farebox.credits.balance()
  expect(written).toMatchObject([{ accessToken: 'access-1', refreshToken: 'refresh-1' }])
})

/** Loses the answer of the first refresh, after the server has done it. */
function losing(): (request: SentRequest) => Reply {
  const answer = rotating()
  let lost = false
  return (request) => {
    const reply = answer(request)
    if (request.path !== '/v1/auth/refresh' || lost) return reply
    lost = true
    return 'lost'
  }
}

test('a refresh whose answer was lost says that one must sign in again', async () => {
  const { farebox } = scripted(losing(), { tokens: await storeWith(expired) })
  const error = await farebox.credits.balance().catch((error: unknown) => error)
  expect(error).toBeInstanceOf(AuthenticationError)
  expect(error).toMatchObject({
    code: 'refresh_token_reused',
    message: expect.stringMatching(/auth\.signIn\(\) again/),
  })
})

test('a client with a wallet signs in again by itself when the answer of a refresh was lost', async () => {
  const { farebox, sent } = scripted(losing(), { tokens: await storeWith(expired), wallet })
  await Promise.all(Array.from({ length: 10 }, () => farebox.credits.balance()))
  expect(timesOf(sent, '/v1/auth/verify')).toBe(1)
})

test('a refresh that never is answered leaves the tokens for another try', async () => {
  const tokens = await storeWith(expired)
  const { farebox } = scripted(() => 'lost', { tokens })
  await expect(farebox.credits.balance()).rejects.toBeInstanceOf(UnavailableError)
  expect(await tokens.read()).toEqual(expired)
})

test('tokens that another process of the same store renewed are used', async () => {
  const tokens = await storeWith(expired)
  const { farebox } = scripted(
    ({ path }) => {
      if (path !== '/v1/auth/refresh') return { status: 200 }
      void tokens.write({ ...expired, accessToken: 'theirs', refreshToken: 'theirs' })
      return refusal(401, 'refresh_token_reused')
    },
    { tokens },
  )
  expect(await farebox.auth.accessToken()).toBe('theirs')
})

test('a client without any credential says so before it sends anything', async () => {
  const { farebox, sent } = scripted(() => ({ status: 200 }))
  await expect(farebox.credits.balance()).rejects.toMatchObject({ message: expect.stringMatching(/auth\.signIn\(\)/) })
  await expect(farebox.auth.signIn()).rejects.toBeInstanceOf(TypeError)
  expect(sent).toEqual([])
})

test('signing out forgets the tokens only when the server has confirmed, or they are worth nothing', async () => {
  const tokens = await storeWith(expired)
  let reply: Reply = refusal(503, 'unavailable')
  const { farebox } = scripted(() => reply, { tokens })
  await expect(farebox.auth.signOut()).rejects.toBeInstanceOf(UnavailableError)
  expect(await tokens.read()).toEqual(expired)
  reply = { status: 200, body: { ok: true } }
  await farebox.auth.signOut()
  expect(await tokens.read()).toBeUndefined()
})

test('processes that share a store with a lock make one refresh, however many need it at once', async () => {
  const kept = await storeWith(expired)
  let turn: Promise<unknown> = Promise.resolve()
  const tokens = {
    ...kept,
    exclusively<T>(work: () => Promise<T>): Promise<T> {
      const mine = turn.then(work)
      turn = mine.catch(() => undefined)
      return mine
    },
  }
  const answer = rotating()
  const clients = Array.from({ length: 8 }, () => scripted(answer, { tokens }))
  await Promise.all(clients.map(({ farebox }) => farebox.credits.balance()))
  expect(clients.map(({ sent }) => timesOf(sent, '/v1/auth/refresh')).reduce((sum, times) => sum + times, 0)).toBe(1)
})

test('with a key and a wallet, what takes a session is sent in one, and all else with the key', async () => {
  const answer = rotating()
  const reply = (request: SentRequest): Reply => {
    if (request.headers.get('authorization') !== 'Bearer key') return answer(request)
    return request.path === '/v1/me/api-keys' ? refusal(403, 'access_token_required') : { status: 200 }
  }
  const both = scripted(reply, { apiKey: 'key', wallet })
  await both.farebox.credits.balance()
  await both.farebox.request('POST', '/v1/me/api-keys', { body: {} })
  expect(both.sent.map(({ path }) => path)).toEqual([
    '/v1/credits/balance',
    '/v1/me/api-keys',
    '/v1/auth/challenge',
    '/v1/auth/verify',
    '/v1/me/api-keys',
  ])
  const keyOnly = scripted(reply, { apiKey: 'key', tokens: await storeWith(expired) })
  await expect(keyOnly.farebox.request('POST', '/v1/me/api-keys', { body: {} })).rejects.toMatchObject({
    code: 'access_token_required',
  })
})
