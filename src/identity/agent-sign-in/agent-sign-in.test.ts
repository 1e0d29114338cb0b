import { privateKeyToAccount } from 'viem/accounts'
import { parseSiweMessage } from 'viem/siwe'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { atOnce } from '../../../test/races/repeated.ts'
import { newWallet, startServers, type TestServers } from '../../../test/servers.ts'
import * as accounts from '../accounts/store.ts'

let servers: TestServers
beforeAll(async () => {
  servers = await startServers(2)
})
afterAll(() => servers.stop())

const challengeFor = (address: string, at = 0) =>
  servers.send('POST', '/v1/auth/challenge', { at, body: { wallet_address: address } })
const verify = (challengeId: string, signature: string, at = 0) =>
  servers.send('POST', '/v1/auth/verify', { at, body: { challenge_id: challengeId, signature } })

async function signed(wallet = newWallet()) {
  const { json } = await challengeFor(wallet.address)
  return {
    wallet,
    id: json.challenge_id as string,
    message: json.message as string,
    signature: await wallet.signMessage({ message: json.message }),
  }
}

test('a challenge is an EIP-4361 text for this server, this wallet and 5 minutes', async () => {
  const wallet = newWallet()
  const { status, json } = await challengeFor(wallet.address.toLowerCase())
  expect(status).toBe(200)
  expect(Object.keys(json).sort()).toEqual(['challenge_id', 'expires_at', 'message', 'request_id', 'wallet_address'])
  expect(json.wallet_address).toBe(wallet.address)
  const text = parseSiweMessage(json.message)
  const host = new URL(servers.urls[0] ?? '').host
  expect(text).toMatchObject({
    domain: host,
    address: wallet.address,
    uri: `http://${host}/v1/auth/verify`,
    version: '1',
    requestId: json.challenge_id,
  })
  expect(text.nonce).toMatch(/^[0-9a-f]{32}$/)
  expect(Math.floor((text.expirationTime?.getTime() ?? 0) / 1000)).toBe(json.expires_at)
  expect((text.expirationTime?.getTime() ?? 0) - (text.issuedAt?.getTime() ?? 0)).toBe(300_000)
})

test.each(['', '0x12', 'vitalik.eth', `0x${'g'.repeat(40)}`])('what is no address is refused: %j', async (address) => {
  expect((await challengeFor(address)).json).toMatchObject({
    error: 'bad_request',
    code: 'invalid_field',
    field: 'wallet_address',
  })
})

test('an unknown wallet becomes an Agent with a first key, which is shown once', async () => {
  const wallet = newWallet()
  const { id, signature } = await signed(wallet)
  const { status, json } = await verify(id, signature)
  expect(status).toBe(200)
  expect(json.account).toMatchObject({
    id: expect.any(Number),
    account_type: 'agent',
    wallet_address: wallet.address,
    email: '',
    role: 'user',
  })
  expect(json.tokens).toEqual({
    access_token: expect.stringMatching(/^eyJ/),
    refresh_token: expect.stringMatching(/^eyJ/),
    api_key: expect.stringMatching(/^fbx_/),
    expires_in: 3600,
    token_type: 'Bearer',
  })
  const again = await servers.signIn(wallet, 1)
  expect(again.apiKey).toBe('')
  expect(Number(again.accountId)).toBe(json.account.id)
  expect((await servers.send('GET', '/v1/me/api-keys', { token: json.tokens.api_key })).json.keys).toHaveLength(1)
})

test('an account whose keys are all revoked gets no other first key by signing in', async () => {
  const wallet = newWallet()
  const { accessToken } = await servers.signIn(wallet)
  await servers.send('DELETE', '/v1/me/api-keys', { token: accessToken })
  expect((await servers.signIn(wallet)).apiKey).toBe('')
})

test('an Agent without keys, such as one that an owner linked first, gets one first key, however often it signs in at once', async () => {
  for (let round = 0; round < 3; round++) {
    const wallet = newWallet()
    const accountId = await servers.database.db.transaction().execute((tx) =>
      accounts.insert(tx, {
        accountType: 'agent',
        walletAddress: wallet.address,
        email: undefined,
        label: undefined,
      }),
    )
    const proofs = await Promise.all([1, 2, 3, 4, 5].map(() => signed(wallet)))
    const answers = await Promise.all(proofs.map(({ id, signature }, index) => verify(id, signature, index % 2)))
    for (const { json } of answers) expect(json.account.id).toBe(Number(accountId))
    expect(answers.filter(({ json }) => json.tokens.api_key !== '')).toHaveLength(1)
  }
})

test('an unknown wallet signs in, is granted Credits, and its first call is billed, by session and by key', async () => {
  const agent = await servers.signIn()
  expect((await servers.chat(agent.accessToken)).json.code).toBe('insufficient_credits')
  await servers.grant(agent.accountId, 1_000_000n)
  expect((await servers.chat(agent.accessToken)).status).toBe(200)
  expect((await servers.chat(agent.apiKey)).status).toBe(200)
  const kinds = await servers.database.sql<{ credential_kind: string }>(
    'select credential_kind from holds where actor_account_id = $1 order by id',
    [agent.accountId],
  )
  expect(kinds.map((row) => row.credential_kind)).toEqual(['session', 'api_key'])
})

/** The long form: npm run test:races. */
const VERIFIES = atOnce(200, 50)

test(`of ${VERIFIES} verifies of one challenge at once, on two servers, one signs in`, async () => {
  const { id, signature } = await signed()
  const answers = await Promise.all(Array.from({ length: VERIFIES }, (_, index) => verify(id, signature, index % 2)))
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
  for (const answer of answers.filter(({ status }) => status !== 200))
    expect([answer.status, answer.json.code]).toEqual([401, 'invalid_challenge'])
})

test('one new wallet that answers several challenges at once becomes one account with one key', async () => {
  const wallet = newWallet()
  const proofs = await Promise.all([1, 2, 3, 4, 5].map(() => signed(wallet)))
  const answers = await Promise.all(proofs.map(({ id, signature }, index) => verify(id, signature, index % 2)))
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
  expect(new Set(answers.map(({ json }) => json.account.id)).size).toBe(1)
  expect(answers.filter(({ json }) => json.tokens.api_key !== '')).toHaveLength(1)
})

test('a challenge is answered once, and an unknown one never, with the same words', async () => {
  const { id, signature } = await signed()
  expect((await verify(id, signature)).status).toBe(200)
  const [used, unknown] = [await verify(id, signature), await verify('chl_unknown', signature)]
  for (const answer of [used, unknown]) expect([answer.status, answer.json.code]).toEqual([401, 'invalid_challenge'])
  expect({ ...used.json, request_id: '' }).toEqual({ ...unknown.json, request_id: '' })
})

test("a challenge that expired a millisecond ago is refused, by the database's clock", async () => {
  const { id, signature } = await signed()
  await servers.database.sql(`update challenges set expires_at = now() - interval '1 millisecond' where id = $1`, [id])
  expect((await verify(id, signature)).json.code).toBe('invalid_challenge')
  const late = await signed()
  servers.advance(600_000)
  expect((await verify(late.id, late.signature)).status).toBe(200)
  servers.advance(-600_000)
})

test('signatures count with and without 0x, in any case, with 27 or 28 or 0 or 1 at the end', async () => {
  const forms: Array<(signature: string) => string> = [
    (text) => text,
    (text) => text.slice(2),
    (text) => `0x${text.slice(2).toUpperCase()}`,
    (text) => text.slice(0, -2) + (text.endsWith('1b') ? '00' : '01'),
  ]
  for (const form of forms) {
    const { id, signature } = await signed()
    expect((await verify(id, form(signature))).status).toBe(200)
  }
})

const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
/** The other signature that recovers to the same wallet. */
const mirrored = (text: string) =>
  `${text.slice(0, 66)}${(ORDER - BigInt(`0x${text.slice(66, 130)}`)).toString(16).padStart(64, '0')}${text.endsWith('1b') ? '1c' : '1b'}`

test.each<[string, (signature: string) => string]>([
  ['the mirror image with a high s', mirrored],
  ['64 bytes', (text) => text.slice(0, -2)],
  ['66 bytes', (text) => `${text}00`],
  ['a recovery byte of 29', (text) => `${text.slice(0, -2)}1d`],
  ['nothing', () => ''],
  ['no hex', (text) => `0xzz${text.slice(4)}`],
  ['zeros', () => `0x${'00'.repeat(64)}1b`],
  ['a point off the curve', (text) => `0x${'ff'.repeat(32)}${text.slice(66)}`],
])('a signature that is %s is refused and does not use the challenge up', async (_what, form) => {
  const { id, signature } = await signed()
  const answer = await verify(id, form(signature))
  expect([answer.status, answer.json.code]).toEqual([401, 'invalid_signature'])
  expect((await verify(id, signature)).status).toBe(200)
})

test('the stored text is what counts: a signature of another text, or by another wallet, is refused', async () => {
  const { wallet, id, message } = await signed()
  const other = newWallet()
  for (const signature of [
    await wallet.signMessage({ message: `${message} ` }),
    await wallet.signMessage({ message: message.replaceAll('\n', '\r\n') }),
    await other.signMessage({ message }),
  ]) {
    expect((await verify(id, signature)).json.code).toBe('invalid_signature')
  }
})

test('five wrong signatures close a challenge, four do not', async () => {
  const wrong = `0x${'11'.repeat(64)}1b`
  const [four, five] = [await signed(), await signed()]
  for (let count = 0; count < 4; count++) expect((await verify(four.id, wrong)).json.code).toBe('invalid_signature')
  expect((await verify(four.id, four.signature)).status).toBe(200)
  const answers = await Promise.all(Array.from({ length: 20 }, (_, index) => verify(five.id, wrong, index % 2)))
  for (const answer of answers) expect(answer.status).toBe(401)
  expect((await verify(five.id, five.signature)).json.code).toBe('invalid_challenge')
})

test("five challenges of a wallet are open at most: a sixth takes the oldest one's place, in whatever case the address is sent", async () => {
  const wallet = newWallet()
  const first = await signed(wallet)
  const ids = []
  for (let count = 0; count < 5; count++)
    ids.push(
      (await challengeFor(count % 2 ? wallet.address : wallet.address.toLowerCase(), count % 2)).json.challenge_id,
    )
  expect((await verify(first.id, first.signature)).json.code).toBe('invalid_challenge')
  await Promise.all(Array.from({ length: 30 }, (_, index) => challengeFor(wallet.address, index % 2)))
  const [row] = await servers.database.sql<{ count: string }>(
    'select count(*) from challenges where wallet_address = $1 and consumed_at is null',
    [wallet.address.toLowerCase()],
  )
  expect(Number(row?.count)).toBe(5)
  // who asks in somebody's name does not keep that wallet out
  expect((await servers.signIn(wallet)).accessToken).toMatch(/^eyJ/)
})

test('lapsed challenges are cleared away by new ones', async () => {
  await Promise.all(Array.from({ length: 20 }, () => challengeFor(newWallet().address)))
  await servers.database.sql(`update challenges set expires_at = now() - interval '1 second'`)
  for (let count = 0; count < 30; count++) await challengeFor(newWallet().address)
  const [row] = await servers.database.sql<{ count: string }>(
    'select count(*) from challenges where expires_at < now()',
  )
  expect(Number(row?.count)).toBe(0)
})

test("an owner's wallet is refused only once its signature proved it, and the challenge is not used up", async () => {
  const wallet = newWallet()
  await servers.owner(wallet.address)
  const { id, signature } = await signed(wallet)
  expect((await verify(id, `0x${'11'.repeat(64)}1b`)).json.code).toBe('invalid_signature')
  for (let count = 0; count < 2; count++) {
    const answer = await verify(id, signature)
    expect([answer.status, answer.json.code]).toEqual([403, 'owner_wallet_not_allowed'])
  }
})

test.each(['banned', 'deactivated'])('an Agent that is %s cannot sign in', async (status) => {
  const wallet = newWallet()
  const { accountId } = await servers.signIn(wallet)
  const { id, signature } = await signed(wallet)
  await servers.database.sql('update accounts set status = $2 where id = $1', [accountId, status])
  const answer = await verify(id, signature)
  expect([answer.status, answer.json.code]).toEqual([403, `account_${status}`])
})

test('a challenge made for another purpose cannot sign in', async () => {
  const { id, signature } = await signed()
  for (const purpose of ['owner_wallet_binding', 'wallet_linking']) {
    await servers.database.sql('update challenges set purpose = $2 where id = $1', [id, purpose])
    expect((await verify(id, signature)).json.code).toBe('invalid_challenge')
  }
})

test('the well-known development wallet signs in like any other', async () => {
  const wallet = privateKeyToAccount('0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d')
  expect((await servers.signIn(wallet)).apiKey).toMatch(/^fbx_/)
})
