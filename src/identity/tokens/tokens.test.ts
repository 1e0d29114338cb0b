import { createHmac, generateKeyPairSync, randomBytes, sign as signBytes } from 'node:crypto'
import { decodeJwt, decodeProtectedHeader, SignJWT } from 'jose'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freshDatabase, type TestDatabase } from '../../../test/database.ts'
import type { Clock } from '../../kernel/clock.ts'
import { systemRandom } from '../../kernel/random.ts'
import { openKeyring, rotateSigningKey } from './keyring.ts'
import { LONGEST_LIFETIME_SECONDS, type TokenKind, tokenKinds } from './kinds.ts'
import { keyPairOf, seal, sealingKey, unseal } from './seal.ts'
import { createTokens, type Tokens } from './service.ts'

const pepper = randomBytes(32)
/** How late a server may notice a rotation. */
const RELOAD_AFTER_MS = 30_000
let database: TestDatabase
let aheadMs = 0
let monotonicMs = 0
const clock: Clock = { now: () => new Date(Date.now() + aheadMs), monotonicMs: () => monotonicMs }
const deps = () => ({ db: database.db, random: systemRandom, pepper, clock })
const rotate = (dropOld: boolean) =>
  database.db.transaction().execute((tx) => rotateSigningKey(tx, { pepper, random: systemRandom, dropOld }))
const newTokens = async (): Promise<Tokens> => createTokens({ keyring: await openKeyring(deps()), clock })
const newToken = (kind: TokenKind, tokens: Tokens) =>
  tokens.sign(kind, { accountId: 7n, claims: { sid: 's' }, issuedAt: new Date() })
const kinds = Object.keys(tokenKinds) as TokenKind[]

beforeAll(async () => {
  database = await freshDatabase()
})
afterAll(() => database.drop())

test('each kind of token verifies as that kind and as no other', async () => {
  const tokens = await newTokens()
  for (const signed of kinds) {
    const token = await newToken(signed, tokens)
    for (const read of kinds)
      expect([signed, read, (await tokens.verify(read, token))?.accountId]).toEqual([
        signed,
        read,
        signed === read ? 7n : undefined,
      ])
  }
})

test('what is no token of ours is refused: no algorithm, another algorithm, the public key as a secret, a foreign key, a foreign kid, a key inside the token', async () => {
  const tokens = await newTokens()
  const good = await newToken('access', tokens)
  const header = decodeProtectedHeader(good)
  const [, payload = '', signature = ''] = good.split('.')
  const withHeader = (changes: object, ending: (input: string) => string) => {
    const input = `${Buffer.from(JSON.stringify({ ...header, ...changes })).toString('base64url')}.${payload}`
    return `${input}.${ending(input)}`
  }
  const [row] = await database.sql<{ kid: string; sealed_seed: Buffer }>('select kid, sealed_seed from signing_keys')
  const { publicKey } = keyPairOf(
    unseal(row?.sealed_seed ?? Buffer.alloc(0), { key: sealingKey(pepper), kid: row?.kid ?? '' }) ?? Buffer.alloc(0),
  )
  const secrets = [
    publicKey.export({ type: 'spki', format: 'pem' }) as string,
    publicKey.export({ type: 'spki', format: 'der' }),
    Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url'),
  ]
  const foreign = generateKeyPairSync('ed25519')
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const by = (input: string, key: typeof foreign.privateKey) =>
    signBytes(null, Buffer.from(input), key).toString('base64url')
  const forged = [
    withHeader({ alg: 'none' }, () => ''),
    withHeader({ alg: 'none' }, () => signature),
    ...secrets.map((secret) =>
      withHeader({ alg: 'HS256' }, (input) => createHmac('sha256', secret).update(input).digest('base64url')),
    ),
    withHeader({ alg: 'RS256' }, (input) =>
      signBytes('sha256', Buffer.from(input), rsa.privateKey).toString('base64url'),
    ),
    withHeader({}, (input) => by(input, foreign.privateKey)),
    withHeader({ kid: 'AAAAAAAAAAAA' }, (input) => by(input, foreign.privateKey)),
    withHeader({ kid: "x' or true --" }, (input) => by(input, foreign.privateKey)),
    withHeader({ kid: undefined }, (input) => by(input, foreign.privateKey)),
    withHeader({ jwk: foreign.publicKey.export({ format: 'jwk' }) }, (input) => by(input, foreign.privateKey)),
    withHeader({ jku: 'http://127.0.0.1:1/keys', kid: undefined }, (input) => by(input, foreign.privateKey)),
    withHeader({ crit: ['exp'] }, () => signature),
    withHeader({ typ: 'JWT' }, () => signature),
    `${good}.${signature}`,
    good.slice(0, -4),
    `${good.split('.')[0]}..${signature}`,
    '..',
    '',
  ]
  for (const token of forged) expect([token, await tokens.verify('access', token)]).toEqual([token, undefined])
  expect(await tokens.verify('access', good)).toBeDefined()
})

test('a token that ours signed but that names no account, no end, another audience or another type is refused', async () => {
  const tokens = await newTokens()
  const { kid = '' } = decodeProtectedHeader(await newToken('access', tokens))
  const [row] = await database.sql<{ sealed_seed: Buffer }>('select sealed_seed from signing_keys where kid = $1', [
    kid,
  ])
  const { privateKey } = keyPairOf(
    unseal(row?.sealed_seed ?? Buffer.alloc(0), { key: sealingKey(pepper), kid }) ?? Buffer.alloc(0),
  )
  const claims = { sub: '7', aud: tokenKinds.access.audience, iat: 1, exp: Date.now() }
  const own = (changes: object, header: object = {}) =>
    new SignJWT({ ...claims, ...changes })
      .setProtectedHeader({ alg: 'EdDSA', typ: tokenKinds.access.typ, kid, ...header })
      .sign(privateKey)
  const wrong = await Promise.all([
    own({}, { typ: tokenKinds.refresh.typ }),
    own({}, { typ: undefined }),
    own({ aud: tokenKinds.refresh.audience }),
    own({ aud: undefined }),
    own({ exp: undefined }),
    own({ iat: undefined }),
    own({ sub: undefined }),
    own({ sub: '-1' }),
    own({ sub: '1e3' }),
  ])
  for (const token of wrong) expect(await tokens.verify('access', token)).toBeUndefined()
  expect(await tokens.verify('access', await own({}))).toBeDefined()
})

test('a token ends with its second, remembered or not, and servers whose clocks lie behind still take fresh ones', async () => {
  const tokens = await newTokens()
  const token = await newToken('access', tokens)
  const { exp = 0 } = decodeJwt(token)
  expect(await tokens.verify('access', token)).toBeDefined()
  aheadMs = exp * 1000 - Date.now()
  expect(await tokens.verify('access', token)).toBeUndefined()
  aheadMs = -300_000
  expect(await (await newTokens()).verify('access', token)).toBeDefined()
  aheadMs = 0
})

test('several servers that start on a new database share one key', async () => {
  await database.sql('truncate signing_keys')
  const rings = await Promise.all(Array.from({ length: 8 }, () => openKeyring(deps())))
  expect(new Set(await Promise.all(rings.map(async (ring) => (await ring.active()).kid))).size).toBe(1)
  expect((await database.sql('select kid from signing_keys')).length).toBe(1)
})

test('after a rotation old tokens verify, a new token verifies on a server that has not heard of its key, and all sign with it in time', async () => {
  const [here, there] = [await newTokens(), await newTokens()]
  const before = await newToken('refresh', here)
  const kid = await rotate(false)
  monotonicMs += RELOAD_AFTER_MS
  const after = await newToken('refresh', here)
  expect(decodeProtectedHeader(after).kid).toBe(kid)
  monotonicMs -= RELOAD_AFTER_MS - 2000
  for (const token of [before, after]) expect(await there.verify('refresh', token)).toBeDefined()
  expect(decodeProtectedHeader(await newToken('access', there)).kid).toBe(kid)
})

test('a retired key verifies until the longest token it signed has expired, and not longer', async () => {
  const tokens = await newTokens()
  const token = await newToken('access', tokens)
  await rotate(false)
  const [row] = await database.sql<{ seconds: string }>(
    'select extract(epoch from verifies_until - retired_at) as seconds from signing_keys where kid = $1',
    [decodeProtectedHeader(token).kid],
  )
  expect(Number(row?.seconds)).toBeGreaterThanOrEqual(LONGEST_LIFETIME_SECONDS + RELOAD_AFTER_MS / 1000)
  expect(await tokens.verify('access', token)).toBeDefined()
  await database.sql(`update signing_keys set verifies_until = now() where kid = $1`, [
    decodeProtectedHeader(token).kid,
  ])
  monotonicMs += RELOAD_AFTER_MS
  expect(await tokens.verify('access', token)).toBeUndefined()
})

test('a key that leaked is dropped with all its tokens, remembered ones too', async () => {
  const tokens = await newTokens()
  const token = await newToken('access', tokens)
  expect(await tokens.verify('access', token)).toBeDefined()
  await rotate(true)
  monotonicMs += RELOAD_AFTER_MS
  expect(await tokens.verify('access', token)).toBeUndefined()
  expect(await tokens.verify('access', await newToken('access', tokens))).toBeDefined()
})

test('rotations at once leave one key that signs', async () => {
  await Promise.all(Array.from({ length: 8 }, () => rotate(false)))
  expect((await database.sql('select kid from signing_keys where retired_at is null')).length).toBe(1)
})

test('any number of unknown kids at once cost one reading of the keys', async () => {
  let readings = 0
  const counted = database.db.withPlugin({
    transformQuery: ({ node }) => {
      if (node.kind === 'SelectQueryNode') readings += 1
      return node
    },
    transformResult: async ({ result }) => result,
  })
  const ring = await openKeyring({ ...deps(), db: counted })
  monotonicMs += 2000
  readings = 0
  const found = await Promise.all(Array.from({ length: 500 }, () => ring.find(randomBytes(9).toString('base64url'))))
  expect(new Set(found)).toEqual(new Set([undefined]))
  expect(readings).toBe(1)
})

test('at rest a key is sealed: neither a copy of the table nor a row written into it signs anything', async () => {
  const seed = randomBytes(32)
  const key = sealingKey(pepper)
  const sealed = seal(seed, { key, kid: 'a', random: systemRandom })
  expect(sealed.includes(seed)).toBe(false)
  expect(unseal(sealed, { key, kid: 'a' })).toEqual(seed)
  expect(unseal(sealed, { key, kid: 'b' })).toBeUndefined()
  expect(unseal(sealed, { key: sealingKey(randomBytes(32)), kid: 'a' })).toBeUndefined()
  expect(unseal(Buffer.concat([sealed, Buffer.alloc(1)]), { key, kid: 'a' })).toBeUndefined()
  for (let at = 0; at < sealed.length; at += 7) {
    const altered = Buffer.from(sealed)
    altered.writeUInt8(altered.readUInt8(at) ^ 1, at)
    expect(unseal(altered, { key, kid: 'a' })).toBeUndefined()
  }
})

test('under another pepper a server does not start, and says what to do', async () => {
  const opening = openKeyring({ ...deps(), pepper: randomBytes(32) })
  await expect(opening).rejects.toMatchObject({ name: 'KeyringFault' })
  await expect(opening).rejects.toThrow(/FAREBOX_KEY_PEPPER|rotate/)
})
