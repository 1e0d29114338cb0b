import { createHash } from 'node:crypto'
import { parseSiweMessage } from 'viem/siwe'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newWallet, startServers, type TestServers } from '../../../test/servers.ts'
import { bindingSteps, code, WRONG } from './binding.fixture.ts'

let servers: TestServers
let steps: ReturnType<typeof bindingSteps>
beforeAll(async () => {
  servers = await startServers(2)
  steps = bindingSteps(servers)
})
afterAll(() => servers.stop())

/** Neither the challenge nor the delegation was used up: with the right proof the wallet is bound. */
async function expectNothingConsumed(it: Awaited<ReturnType<typeof steps.ready>>) {
  expect(await steps.bind(it.agent, it.delegation, it.id, it.signature)).toMatchObject({
    status: 200,
  })
}

test("an owner delegates, its Agent asks for the text, the wallet signs, and the wallet is the owner's", async () => {
  const { owner, agent, agentWallet } = await steps.pair()
  const wallet = newWallet()
  const delegation = await steps.delegate(owner, agentWallet.address.toLowerCase())
  expect(delegation).toMatchObject({
    status: 200,
    json: {
      delegation_token: expect.stringMatching(/^dlg_[\w-]{43}$/),
      agent_wallet_address: agentWallet.address,
    },
  })
  expect(delegation.headers.get('cache-control')).toBe('no-store')
  expect(delegation.json.expires_at - Date.now() / 1000).toBeGreaterThan(595)
  expect(delegation.json.expires_at - Date.now() / 1000).toBeLessThan(601)
  const asked = await steps.challenge(agent, delegation.json.delegation_token, wallet.address.toLowerCase())
  expect(Object.keys(asked.json).sort()).toEqual([
    'challenge_id',
    'expires_at',
    'message',
    'request_id',
    'wallet_address',
  ])
  expect(asked.json.wallet_address).toBe(wallet.address)
  const bound = await steps.bind(
    agent,
    delegation.json.delegation_token,
    asked.json.challenge_id,
    await wallet.signMessage({ message: asked.json.message }),
  )
  expect(bound).toMatchObject({
    status: 200,
    json: { ok: true, wallet_address: wallet.address, account_id: Number(owner.accountId) },
  })
  expect(await steps.walletsOf(owner)).toEqual([
    {
      wallet_address: wallet.address,
      primary: true,
      created_at: expect.stringMatching(/Z$/),
      verified_at: expect.stringMatching(/Z$/),
      added_by_account_id: Number(agent.accountId),
    },
  ])
  expect((await servers.send('GET', '/v1/me', { token: owner.accessToken })).json.account.wallet_address).toBe(
    wallet.address,
  )
})

test('the text names the owner by id and label, the purpose and the requesting Agent, and binds them as resources', async () => {
  const people = await steps.pair('Acme Ltd.\n\nURI: https://evil.example "<b>" é')
  const { owner, agentWallet, message } = await steps.ready(people)
  const text = parseSiweMessage(message)
  const host = new URL(servers.urls[0] ?? '').host
  expect(text.statement).toBe(
    `Bind this wallet as an owner wallet of owner account ${owner.accountId} (Acme Ltd. URI https evil.example b). Purpose: owner-wallet-binding. Requested by linked Agent ${agentWallet.address} with the delegation of that owner. This sends no transaction and costs no gas.`,
  )
  expect(text.uri).toBe(`http://${host}/v1/me/owner-wallet/bind`)
  expect(text.resources).toEqual([
    'urn:farebox:purpose:owner-wallet-binding',
    `urn:farebox:owner:${owner.accountId}`,
    `urn:farebox:agent:eip155:8453:${agentWallet.address}`,
  ])
})

test('an API key of the Agent asks and binds, an API key of the owner cannot delegate', async () => {
  const { owner, agent, agentWallet } = await steps.pair()
  const { json } = await servers.send('POST', '/v1/me/api-keys', {
    token: owner.accessToken,
    body: {},
  })
  expect(code(await steps.delegate({ ...owner, accessToken: json.api_key }, agentWallet.address))).toEqual([
    403,
    'access_token_required',
  ])
  const byKey = { ...agent, accessToken: agent.apiKey }
  await expectNothingConsumed(await steps.ready({ owner, agent: byKey, agentWallet }))
})

test('of 50 binds with one delegation at once, with one challenge or several, one binds', async () => {
  const one = await steps.ready()
  const same = await Promise.all(
    Array.from({ length: 50 }, (_, index) => steps.bind(one.agent, one.delegation, one.id, one.signature, index % 2)),
  )
  expect(same.filter(({ status }) => status === 200)).toHaveLength(1)
  for (const answer of same.filter(({ status }) => status !== 200))
    expect([
      [403, 'delegation_invalid'],
      [400, 'invalid_challenge'],
    ]).toContainEqual(code(answer))

  const people = await steps.pair()
  const delegation = (await steps.delegate(people.owner, people.agentWallet.address)).json.delegation_token
  const proofs = await Promise.all(
    Array.from({ length: 50 }, async () => {
      const wallet = newWallet()
      const { json } = await steps.challenge(people.agent, delegation, wallet.address)
      return {
        id: json.challenge_id as string,
        signature: await wallet.signMessage({ message: json.message }),
      }
    }),
  )
  const several = await Promise.all(
    proofs.map(({ id, signature }, index) => steps.bind(people.agent, delegation, id, signature, index % 2)),
  )
  expect(several.filter(({ status }) => status === 200)).toHaveLength(1)
  expect(await steps.walletsOf(people.owner)).toHaveLength(1)
  const [open] = await servers.database.sql<{ count: string }>(
    'select count(*) from challenges where agent_account_id = $1 and consumed_at is null',
    [people.agent.accountId],
  )
  expect(Number(open?.count)).toBe(49)
})

test('a wallet that two owners are to get at once, or that signs in at once, belongs to one account', async () => {
  for (let round = 0; round < 5; round++) {
    const wallet = newWallet()
    const both = [await steps.ready(undefined, wallet), await steps.ready(undefined, wallet)]
    const signIn = (await servers.send('POST', '/v1/auth/challenge', { body: { wallet_address: wallet.address } })).json
    const signature = await wallet.signMessage({ message: signIn.message })
    const answers = await Promise.all([
      ...both.map((it, index) => steps.bind(it.agent, it.delegation, it.id, it.signature, index)),
      servers.send('POST', '/v1/auth/verify', {
        body: { challenge_id: signIn.challenge_id, signature },
      }),
    ])
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    for (const answer of answers.filter(({ status }) => status !== 200))
      expect([
        [409, 'wallet_already_bound'],
        [403, 'owner_wallet_not_allowed'],
      ]).toContainEqual(code(answer))
  }
})

test('an unlink beside a bind comes before it or after it', async () => {
  for (let round = 0; round < 10; round++) {
    const it = await steps.ready()
    const [bound, unlinked] = await Promise.all([
      steps.bind(it.agent, it.delegation, it.id, it.signature),
      servers.send('DELETE', `/v1/me/agents/${it.agent.accountId}`, {
        token: it.owner.accessToken,
        at: 1,
      }),
    ])
    expect(unlinked.status).toBe(200)
    expect([200, 403]).toContain(bound.status)
    expect(await steps.walletsOf(it.owner)).toHaveLength(bound.status === 200 ? 1 : 0)
  }
})

test('a bound wallet cannot sign in as an Agent', async () => {
  const it = await steps.ready()
  await expectNothingConsumed(it)
  const { json } = await servers.send('POST', '/v1/auth/challenge', {
    body: { wallet_address: it.wallet.address },
  })
  const signature = await it.wallet.signMessage({ message: json.message })
  expect(
    code(
      await servers.send('POST', '/v1/auth/verify', {
        body: { challenge_id: json.challenge_id, signature },
      }),
    ),
  ).toEqual([403, 'owner_wallet_not_allowed'])
})

test('tokens and signatures stay out of the log and the database', async () => {
  const it = await steps.ready()
  await steps.bind(it.agent, it.delegation, it.id, WRONG)
  expect(servers.log.join('')).not.toMatch(/dlg_/)
  const [row] = await servers.database.sql<{ hash: Buffer }>(
    'select token_hash as hash from delegations where agent_account_id = $1',
    [it.agent.accountId],
  )
  expect(row?.hash).toEqual(createHash('sha256').update(it.delegation).digest())
})
