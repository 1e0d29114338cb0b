import { createServer, type Server } from 'node:http'
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT, UnsecuredJWT } from 'jose'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { systemClock } from '../../kernel/clock.ts'
import { type IdentityProvider, identityProvider, NotIdentified } from './identity-provider.ts'

const CLIENT_SECRET = 'a-client-secret-of-more-than-32-bytes'
const visit = { redirectUri: 'http://127.0.0.1:9/callback', state: 's', nonce: 'n', codeVerifier: 'v'.repeat(43) }

let server: Server
let issuer: string
let provider: IdentityProvider
let asked: string[]
/** What the provider answers with next; by default somebody in order. */
let idToken: (claims: JWTPayload) => string | Promise<string>
let answers: Partial<Record<string, { status?: number; body: string }>>
let honest: typeof idToken
let userInfo: object

beforeAll(async () => {
  const { privateKey, publicKey } = await generateKeyPair('ES256')
  const jwk = { ...(await exportJWK(publicKey)), kid: 'k', alg: 'ES256', use: 'sig' }
  honest = (claims) => new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid: 'k' }).sign(privateKey)
  const respond: Record<string, () => Promise<object>> = {
    '/.well-known/openid-configuration': async () => ({
      issuer,
      authorization_endpoint: `${issuer}/auth`,
      token_endpoint: `${issuer}/token`,
      userinfo_endpoint: `${issuer}/me`,
      jwks_uri: `${issuer}/jwks`,
      response_types_supported: ['code'],
      id_token_signing_alg_values_supported: ['ES256'],
    }),
    '/jwks': async () => ({ keys: [jwk] }),
    '/token': async () => ({ access_token: 'a', token_type: 'Bearer', id_token: await idToken(claims()) }),
    '/me': async () => userInfo,
  }
  server = createServer((request, response) => {
    const path = request.url ?? ''
    asked.push(path)
    const canned = answers[path]
    response.setHeader('content-type', 'application/json')
    if (canned) response.writeHead(canned.status ?? 200).end(canned.body)
    else void respond[path]?.().then((body) => response.end(JSON.stringify(body)))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  issuer = `http://127.0.0.1:${(server.address() as { port: number }).port}`
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})
beforeEach(() => {
  asked = []
  answers = {}
  userInfo = { sub: 'somebody' }
  idToken = honest
  const settings = { issuer, clientId: 'farebox', clientSecret: CLIENT_SECRET, scopes: ['openid', 'email'], label: 'X' }
  provider = identityProvider(settings, systemClock)
})

function claims(): JWTPayload {
  const now = Math.floor(Date.now() / 1000)
  return {
    iss: issuer,
    sub: 'somebody',
    aud: 'farebox',
    nonce: 'n',
    iat: now,
    exp: now + 60,
    email: 'a@b.example',
    email_verified: true,
  }
}

const identify = () => provider.identify(visit, new URL(`${visit.redirectUri}?code=c&state=s`))

async function refusal(): Promise<string> {
  const error = await identify().catch((thrown: unknown) => thrown)
  if (!(error instanceof NotIdentified)) throw new Error(`it was let through: ${JSON.stringify(error)}`)
  return error.refusal
}

test('an ID token in order identifies somebody by issuer and subject', async () => {
  expect(await identify()).toEqual({ issuer, subject: 'somebody', email: 'a@b.example' })
})

const changed = (change: JWTPayload) => (before: JWTPayload) => honest({ ...before, ...change })

test.each<[string, (before: JWTPayload) => string | Promise<string>]>([
  ['unsigned', (before) => new UnsecuredJWT(before).encode()],
  [
    'signed by a stranger',
    async (before) =>
      new SignJWT(before)
        .setProtectedHeader({ alg: 'ES256', kid: 'k' })
        .sign((await generateKeyPair('ES256')).privateKey),
  ],
  [
    'signed with the client secret',
    (before) => new SignJWT(before).setProtectedHeader({ alg: 'HS256' }).sign(Buffer.from(CLIENT_SECRET)),
  ],
  ['of another issuer', changed({ iss: 'https://accounts.google.com' })],
  ['for another client', changed({ aud: 'somebody-else' })],
  ['of another visit', changed({ nonce: 'other' })],
  ['that has expired', changed({ exp: 1_700_000_000 })],
  ['without a subject', ({ sub: _sub, ...rest }) => honest(rest)],
  ['without a nonce', ({ nonce: _nonce, ...rest }) => honest(rest)],
])('an ID token %s identifies nobody', async (_what, forge) => {
  idToken = forge
  expect(await refusal()).toBe('sign_in_failed')
})

test('an answer for another state is not even taken to the provider', async () => {
  const error = await provider.identify(visit, new URL(`${visit.redirectUri}?code=c&state=other`)).catch(String)
  expect(error).toContain('NotIdentified')
  expect(asked).not.toContain('/token')
})

test('an e-mail address counts only when the provider says that it was verified, there or in its user info', async () => {
  idToken = changed({ email_verified: false })
  expect(await identify()).toMatchObject({ email: undefined })
  userInfo = { sub: 'somebody', email: 'c@d.example', email_verified: true }
  expect(await identify()).toMatchObject({ email: 'c@d.example' })
  userInfo = { sub: 'somebody-else', email: 'e@f.example', email_verified: true }
  expect(await identify()).toMatchObject({ email: undefined })
  answers['/me'] = { status: 500, body: '{}' }
  expect(await identify()).toMatchObject({ subject: 'somebody', email: undefined })
})

test('an answer without an end is not read to its end', async () => {
  answers['/token'] = { body: JSON.stringify({ access_token: 'a'.repeat(2_000_000), token_type: 'Bearer' }) }
  expect(await refusal()).toMatch(/sign_in_failed|provider_unavailable/)
})

test('a provider that fails is told from one that refuses', async () => {
  answers['/token'] = { status: 503, body: 'down' }
  expect(await refusal()).toBe('provider_unavailable')
  answers['/token'] = { status: 400, body: '{"error":"invalid_grant"}' }
  expect(await refusal()).toBe('sign_in_failed')
})

test('settings and keys of a provider are asked for once, by however many sign-ins at once, and a failure is not kept', async () => {
  answers['/.well-known/openid-configuration'] = { status: 500, body: '{}' }
  expect(await refusal()).toBe('provider_unavailable')
  answers = {}
  asked = []
  await Promise.all(Array.from({ length: 20 }, identify))
  await identify()
  expect(asked.filter((path) => path.includes('well-known'))).toHaveLength(1)
  asked = []
  await identify()
  expect(asked).toEqual(['/token'])
})
