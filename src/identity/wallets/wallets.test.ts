import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Answer, newWallet, type SignedInPerson, startServers, type TestServers } from '../../../test/servers.ts'

let servers: TestServers
beforeAll(async () => {
  servers = await startServers()
})
afterAll(() => servers.stop())

type Wallet = ReturnType<typeof newWallet>
const code = (answer: Answer) => [answer.status, answer.json.code]
const challenge = (owner: SignedInPerson, wallet: Wallet) =>
  servers.send('POST', '/v1/me/wallet/challenge', {
    token: owner.accessToken,
    body: { wallet_address: wallet.address },
  })
const put = (owner: SignedInPerson, challengeId: string, signature: string) =>
  servers.send('PUT', '/v1/me/wallet', {
    token: owner.accessToken,
    body: { challenge_id: challengeId, signature },
  })
const remove = (owner: SignedInPerson, address: string) =>
  servers.send('DELETE', `/v1/me/wallets/${address}`, { token: owner.accessToken })
const walletsOf = async (owner: SignedInPerson) =>
  (await servers.send('GET', '/v1/me/wallets', { token: owner.accessToken })).json.data
const accountOf = async (owner: SignedInPerson) =>
  (await servers.send('GET', '/v1/me', { token: owner.accessToken })).json.account

async function signed(owner: SignedInPerson, wallet = newWallet()) {
  const { json } = await challenge(owner, wallet)
  return {
    wallet,
    id: json.challenge_id as string,
    message: json.message as string,
    signature: await wallet.signMessage({ message: json.message }),
  }
}

async function added(owner: SignedInPerson) {
  const { wallet, id, signature } = await signed(owner)
  expect((await put(owner, id, signature)).status).toBe(200)
  return wallet
}

test('an owner adds wallets of its own: the first is the one that it is known by', async () => {
  const owner = await servers.owner()
  const first = await signed(owner)
  expect(first.message).toContain(`Add this wallet to owner account ${owner.accountId}. Purpose: wallet-linking.`)
  expect(first.message).toContain('- urn:farebox:purpose:wallet-linking')
  expect(await put(owner, first.id, first.signature)).toMatchObject({
    status: 200,
    json: { ok: true, wallet_address: first.wallet.address, account_id: Number(owner.accountId) },
  })
  const second = await added(owner)
  expect(
    (await walletsOf(owner)).map((wallet: { wallet_address: string; primary: boolean }) => [
      wallet.wallet_address,
      wallet.primary,
    ]),
  ).toEqual([
    [first.wallet.address, true],
    [second.address, false],
  ])
  expect((await accountOf(owner)).wallet_address).toBe(first.wallet.address)
})

test('a sign-in challenge is taken too, from an owner', async () => {
  const [owner, wallet] = [await servers.owner(), newWallet()]
  const { json } = await servers.send('POST', '/v1/auth/challenge', {
    body: { wallet_address: wallet.address },
  })
  const signature = await wallet.signMessage({ message: json.message })
  expect((await put(owner, json.challenge_id, signature)).status).toBe(200)
  // used up, and the wallet is an owner's now
  expect(
    code(
      await servers.send('POST', '/v1/auth/verify', {
        body: { challenge_id: json.challenge_id, signature },
      }),
    ),
  ).toEqual([401, 'invalid_challenge'])
  const again = (await servers.send('POST', '/v1/auth/challenge', { body: { wallet_address: wallet.address } })).json
  expect(
    code(
      await servers.send('POST', '/v1/auth/verify', {
        body: {
          challenge_id: again.challenge_id,
          signature: await wallet.signMessage({ message: again.message }),
        },
      }),
    ),
  ).toEqual([403, 'owner_wallet_not_allowed'])
})

test('its own wallet is proved again, and stays one', async () => {
  const wallet = newWallet()
  const owner = await servers.owner(wallet.address)
  expect(await walletsOf(owner)).toMatchObject([{ wallet_address: wallet.address, verified_at: null, primary: true }])
  const { id, signature } = await signed(owner, wallet)
  expect((await put(owner, id, signature)).status).toBe(200)
  expect(await walletsOf(owner)).toMatchObject([
    { wallet_address: wallet.address, verified_at: expect.stringMatching(/Z$/), primary: true },
  ])
})

test('a challenge made for one owner adds nothing to another', async () => {
  const [owner, other] = [await servers.owner(), await servers.owner()]
  const { id, signature } = await signed(owner)
  expect(code(await put(other, id, signature))).toEqual([400, 'invalid_challenge'])
  expect((await put(owner, id, signature)).status).toBe(200)
})

test('a wrong signature is 400 and uses nothing up; a used or unknown challenge is refused', async () => {
  const owner = await servers.owner()
  const { id, signature } = await signed(owner)
  expect(code(await put(owner, id, `0x${'11'.repeat(64)}1b`))).toEqual([400, 'invalid_signature'])
  expect((await put(owner, id, signature)).status).toBe(200)
  for (const used of [id, 'chl_unknown'])
    expect(code(await put(owner, used, signature))).toEqual([400, 'invalid_challenge'])
})

test('a linking challenge cannot sign an Agent in', async () => {
  const { id, signature } = await signed(await servers.owner())
  expect(code(await servers.send('POST', '/v1/auth/verify', { body: { challenge_id: id, signature } }))).toEqual([
    401,
    'invalid_challenge',
  ])
})

test("another account's wallet is refused, an Agent's too, and nothing is used up by it", async () => {
  const [owner, agentWallet] = [await servers.owner(), newWallet()]
  await servers.signIn(agentWallet)
  const taken = await added(await servers.owner())
  for (const wallet of [agentWallet, taken]) {
    expect(code(await challenge(owner, wallet))).toEqual([409, 'wallet_already_bound'])
    const { json } = await servers.send('POST', '/v1/auth/challenge', {
      body: { wallet_address: wallet.address },
    })
    const signature = await wallet.signMessage({ message: json.message })
    expect(code(await put(owner, json.challenge_id, signature))).toEqual([409, 'wallet_already_bound'])
    const [row] = await servers.database.sql('select consumed_at from challenges where id = $1', [json.challenge_id])
    expect(row).toEqual({ consumed_at: null })
  }
})

test('wallets are changed by owners with access tokens only; an Agent reads its own', async () => {
  const wallet = newWallet()
  const agent = await servers.signIn(wallet)
  expect(code(await challenge(agent, newWallet()))).toEqual([403, 'owner_account_required'])
  expect(code(await put(agent, 'chl_unknown', '0x'))).toEqual([403, 'owner_account_required'])
  expect(code(await remove(agent, wallet.address))).toEqual([403, 'owner_account_required'])
  for (const [method, path, body] of [
    ['POST', '/v1/me/wallet/challenge', { wallet_address: wallet.address }],
    ['PUT', '/v1/me/wallet', { challenge_id: '', signature: '' }],
    ['DELETE', `/v1/me/wallets/${wallet.address}`],
  ] as const) {
    expect(code(await servers.send(method, path, { token: agent.apiKey, body }))).toEqual([
      403,
      'access_token_required',
    ])
    expect(code(await servers.send(method, path, { body }))).toEqual([401, 'unauthorized'])
  }
  expect(await walletsOf({ ...agent, accessToken: agent.apiKey })).toMatchObject([
    { wallet_address: wallet.address, primary: true, added_by_account_id: Number(agent.accountId) },
  ])
})

test('a removed wallet is free: the account is known by the next oldest, and at last by none', async () => {
  const owner = await servers.owner()
  const [first, second, third] = [await added(owner), await added(owner), await added(owner)]
  expect(await remove(owner, first.address.toLowerCase())).toMatchObject({
    status: 200,
    json: { ok: true },
  })
  expect((await accountOf(owner)).wallet_address).toBe(second.address)
  await remove(owner, third.address)
  expect((await accountOf(owner)).wallet_address).toBe(second.address)
  await remove(owner, second.address)
  expect((await accountOf(owner)).wallet_address).toBe('')
  expect(await walletsOf(owner)).toEqual([])
  expect(code(await remove(owner, second.address))).toEqual([404, 'wallet_not_found'])
  // free for anybody: as an Agent now
  expect((await servers.signIn(first)).apiKey).toMatch(/^fbx_/)
})

test('of wallets that are removed at once, each is, and the account is known by none', async () => {
  for (let round = 0; round < 5; round++) {
    const owner = await servers.owner()
    const wallets = [await added(owner), await added(owner), await added(owner)]
    const answers = await Promise.all(wallets.map((wallet) => remove(owner, wallet.address)))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
    expect((await accountOf(owner)).wallet_address).toBe('')
  }
})

test("another owner's wallet cannot be removed, and what is no address is refused", async () => {
  const [owner, wallet] = [await servers.owner(), await added(await servers.owner())]
  expect(code(await remove(owner, wallet.address))).toEqual([404, 'wallet_not_found'])
  expect(code(await remove(owner, '0x12'))).toEqual([400, 'invalid_parameter'])
})

test.each([
  ['pending', 409],
  ['confirming', 409],
  ['review_required', 409],
  ['completed', 200],
  ['expired', 200],
] as const)('while an order of a wallet is %s, removing it answers %i', async (status, expected) => {
  const owner = await servers.owner()
  const wallet = await added(owner)
  await servers.database.sql(
    `insert into orders (id, payer_account_id, account_id, payer_address, asset_id, chain_id, token_address, recipient_address, amount_micro, credit_micro, rate_ppm,
       status, idempotency_key, idempotency_fingerprint, created_at, expires_at)
     values (gen_random_uuid(), $1, $1, $2, 'dev_usdc', 31337, $2, $2, 1, 1, 1000000, $3, 'k', '', now(), now())`,
    [owner.accountId, wallet.address.toLowerCase(), status],
  )
  const answer = await remove(owner, wallet.address)
  expect(answer.status).toBe(expected)
  if (expected === 409) expect(answer.json.code).toBe('wallet_in_use')
  expect(await walletsOf(owner)).toHaveLength(expected === 409 ? 1 : 0)
})

test('while a quote asks for a payment of a wallet in the native token, it cannot be removed', async () => {
  const owner = await servers.owner()
  const wallet = await added(owner)
  await servers.database.sql(
    `with r as (insert into axon_rates (source, rate, observed_at, sampled_at) values ('fixed', 1, now(), now()) returning id)
     insert into axon_quotes (account_id, mode, chain_id, payer_address, pay_to_address, expected_wei, credit_micro, rate_id, rate, created_at, expires_at)
     select $1, 'pay_axon', 1, $2, $2, 1, 1, id, 1, now(), now() + interval '10 minutes' from r`,
    [owner.accountId, wallet.address.toLowerCase()],
  )
  expect(code(await remove(owner, wallet.address))).toEqual([409, 'wallet_in_use'])
  await servers.database.sql("update axon_quotes set expires_at = now() - interval '1 second'")
  expect((await remove(owner, wallet.address)).status).toBe(200)
})

test('the database itself refuses a wallet of two accounts, and a known wallet that the account has not', async () => {
  const [owner, other] = [await servers.owner(), await servers.owner()]
  const wallet = (await added(owner)).address.toLowerCase()
  await expect(
    servers.database.sql('insert into account_wallets (address, account_id, added_by) values ($1, $2, $2)', [
      wallet,
      other.accountId,
    ]),
  ).rejects.toMatchObject({ code: '23505' })
  await expect(
    servers.database.sql('update accounts set wallet_address = $1 where id = $2', [
      newWallet().address.toLowerCase(),
      other.accountId,
    ]),
  ).rejects.toMatchObject({ code: '23503' })
})

test('wallets that came and went are in the audit log', async () => {
  const owner = await servers.owner()
  const wallet = (await added(owner)).address.toLowerCase()
  await remove(owner, wallet)
  const rows = await servers.database.sql(
    `select action, actor, before::json as before, after::json as after from audit_log where target_id = $1 order by id`,
    [String(owner.accountId)],
  )
  expect(rows).toEqual([
    {
      action: 'bind.wallet',
      actor: String(owner.accountId),
      before: null,
      after: { wallet_address: wallet },
    },
    {
      action: 'remove.wallet',
      actor: String(owner.accountId),
      before: { wallet_address: wallet },
      after: null,
    },
  ])
})
