import { createHash } from 'node:crypto'
import { parseSiweMessage } from 'viem/siwe'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  type Answer,
  newWallet,
  type SignedInPerson,
  startServers,
  type TestServers,
} from '../../../test/servers.ts'

let servers: TestServers
beforeAll(async () => {
  servers = await startServers(2)
})
afterAll(() => servers.stop())

const WRONG = `0x${'11'.repeat(64)}1b`
const code = (answer: Answer) => [answer.status, answer.json.code]

const delegate = (owner: SignedInPerson, agentWallet: string) =>
  servers.send('POST', '/v1/me/wallet/delegation', {
    token: owner.accessToken,
    body: { agent_wallet_address: agentWallet },
  })
const challenge = (agent: SignedInPerson, delegation: string, wallet: string) =>
  servers.send('POST', '/v1/me/owner-wallet/challenge', {
    token: agent.accessToken,
    body: { delegation_token: delegation, wallet_address: wallet },
  })
const bind = (
  agent: SignedInPerson,
  delegation: string,
  challengeId: string,
  signature: string,
  at = 0,
) =>
  servers.send('POST', '/v1/me/owner-wallet/bind', {
    at,
    token: agent.accessToken,
    body: { delegation_token: delegation, challenge_id: challengeId, signature },
  })
const walletsOf = async (owner: SignedInPerson) =>
  (await servers.send('GET', '/v1/me/wallets', { token: owner.accessToken })).json.data

async function pair(label: string | null = null) {
  const agentWallet = newWallet()
  const [owner, agent] = [await servers.owner(), await servers.signIn(agentWallet)]
  await servers.database.sql('update accounts set label = $2 where id = $1', [
    owner.accountId,
    label,
  ])
  await servers.send('POST', '/v1/me/agents', {
    token: owner.accessToken,
    body: { agent_wallet_address: agentWallet.address },
  })
  return { owner, agent, agentWallet }
}

/** Everything that a bind needs, up to the signature. */
async function ready(people?: Awaited<ReturnType<typeof pair>>, wallet = newWallet()) {
  const { owner, agent, agentWallet } = people ?? (await pair())
  const delegation = (await delegate(owner, agentWallet.address)).json.delegation_token as string
  const { json } = await challenge(agent, delegation, wallet.address)
  const signature = await wallet.signMessage({ message: json.message })
  return {
    owner,
    agent,
    agentWallet,
    wallet,
    delegation,
    id: json.challenge_id as string,
    message: json.message as string,
    signature,
  }
}

/** Neither the challenge nor the delegation was used up: with the right proof the wallet is bound. */
async function expectNothingConsumed(it: Awaited<ReturnType<typeof ready>>) {
  expect(await bind(it.agent, it.delegation, it.id, it.signature)).toMatchObject({ status: 200 })
}

test("an owner delegates, its Agent asks for the text, the wallet signs, and the wallet is the owner's", async () => {
  const { owner, agent, agentWallet } = await pair()
  const wallet = newWallet()
  const delegation = await delegate(owner, agentWallet.address.toLowerCase())
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
  const asked = await challenge(
    agent,
    delegation.json.delegation_token,
    wallet.address.toLowerCase(),
  )
  expect(Object.keys(asked.json).sort()).toEqual([
    'challenge_id',
    'expires_at',
    'message',
    'request_id',
    'wallet_address',
  ])
  expect(asked.json.wallet_address).toBe(wallet.address)
  const bound = await bind(
    agent,
    delegation.json.delegation_token,
    asked.json.challenge_id,
    await wallet.signMessage({ message: asked.json.message }),
  )
  expect(bound).toMatchObject({
    status: 200,
    json: { ok: true, wallet_address: wallet.address, account_id: Number(owner.accountId) },
  })
  expect(await walletsOf(owner)).toEqual([
    {
      wallet_address: wallet.address,
      primary: true,
      created_at: expect.stringMatching(/Z$/),
      verified_at: expect.stringMatching(/Z$/),
      added_by_account_id: Number(agent.accountId),
    },
  ])
  expect(
    (await servers.send('GET', '/v1/me', { token: owner.accessToken })).json.account.wallet_address,
  ).toBe(wallet.address)
})

test('the text names the owner by id and label, the purpose and the requesting Agent, and binds them as resources', async () => {
  const people = await pair('Acme Ltd.\n\nURI: https://evil.example "<b>" é')
  const { owner, agentWallet, message } = await ready(people)
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
  const { owner, agent, agentWallet } = await pair()
  const { json } = await servers.send('POST', '/v1/me/api-keys', {
    token: owner.accessToken,
    body: {},
  })
  expect(
    code(await delegate({ ...owner, accessToken: json.api_key }, agentWallet.address)),
  ).toEqual([403, 'access_token_required'])
  const byKey = { ...agent, accessToken: agent.apiKey }
  await expectNothingConsumed(await ready({ owner, agent: byKey, agentWallet }))
})

test('an Agent of nobody, of another owner, or unknown is not linked: one answer for all three', async () => {
  const [{ owner }, other, lonely] = [await pair(), await pair(), newWallet()]
  await servers.signIn(lonely)
  for (const wallet of [lonely.address, other.agentWallet.address, newWallet().address])
    expect(code(await delegate(owner, wallet))).toEqual([404, 'agent_not_linked'])
})

test('Agents cannot delegate and owners cannot bind', async () => {
  const it = await ready()
  expect(code(await delegate(it.agent, it.agentWallet.address))).toEqual([
    403,
    'owner_account_required',
  ])
  expect(code(await challenge(it.owner, it.delegation, newWallet().address))).toEqual([
    403,
    'agent_account_required',
  ])
  expect(code(await bind(it.owner, it.delegation, it.id, it.signature))).toEqual([
    403,
    'agent_account_required',
  ])
  await expectNothingConsumed(it)
})

test('a delegation of another Agent is refused, of the same owner too, at the challenge and at the bind', async () => {
  const it = await ready()
  const sibling = newWallet()
  const stranger = await servers.signIn(sibling)
  await servers.send('POST', '/v1/me/agents', {
    token: it.owner.accessToken,
    body: { agent_wallet_address: sibling.address },
  })
  expect(code(await challenge(stranger, it.delegation, newWallet().address))).toEqual([
    403,
    'delegation_invalid',
  ])
  expect(code(await bind(stranger, it.delegation, it.id, it.signature))).toEqual([
    403,
    'delegation_invalid',
  ])
  // nor does a delegation of its own open the other's challenge
  const own = (await delegate(it.owner, sibling.address)).json.delegation_token
  expect(code(await bind(stranger, own, it.id, it.signature))).toEqual([400, 'invalid_challenge'])
  await expectNothingConsumed(it)
})

test('a delegation is used once: after the bind it opens nothing', async () => {
  const it = await ready()
  const second = newWallet()
  const other = (await challenge(it.agent, it.delegation, second.address)).json
  await expectNothingConsumed(it)
  expect(
    code(
      await bind(
        it.agent,
        it.delegation,
        other.challenge_id,
        await second.signMessage({ message: other.message }),
      ),
    ),
  ).toEqual([403, 'delegation_invalid'])
  expect(code(await challenge(it.agent, it.delegation, newWallet().address))).toEqual([
    403,
    'delegation_invalid',
  ])
  expect(code(await bind(it.agent, it.delegation, it.id, it.signature))).toEqual([
    403,
    'delegation_invalid',
  ])
})

test("the newest delegation of an Agent takes the older one's place, and the older one's challenges with it", async () => {
  const it = await ready()
  const newest = (await delegate(it.owner, it.agentWallet.address)).json.delegation_token
  expect(code(await bind(it.agent, it.delegation, it.id, it.signature))).toEqual([
    403,
    'delegation_invalid',
  ])
  expect(code(await bind(it.agent, newest, it.id, it.signature))).toEqual([
    400,
    'invalid_challenge',
  ])
  const { json } = await challenge(it.agent, newest, it.wallet.address)
  expect(
    (
      await bind(
        it.agent,
        newest,
        json.challenge_id,
        await it.wallet.signMessage({ message: json.message }),
      )
    ).status,
  ).toBe(200)
})

test.each(['delegations', 'challenges'])(
  "of the %s one that expired a millisecond ago is refused, by the database's clock",
  async (table) => {
    const it = await ready()
    const which = table === 'delegations' ? ['agent_account_id', it.agent.accountId] : ['id', it.id]
    const [row] = await servers.database.sql<{ expires_at: Date }>(
      `select expires_at from ${table} where ${which[0]} = $1`,
      [which[1]],
    )
    await servers.database.sql(
      `update ${table} set expires_at = now() - interval '1 millisecond' where ${which[0]} = $1`,
      [which[1]],
    )
    expect(code(await bind(it.agent, it.delegation, it.id, it.signature))).toEqual(
      table === 'delegations' ? [403, 'delegation_invalid'] : [400, 'invalid_challenge'],
    )
    await servers.database.sql(`update ${table} set expires_at = $2 where ${which[0]} = $1`, [
      which[1],
      row?.expires_at,
    ])
    await expectNothingConsumed(it)
  },
)

test.each(['owner', 'agent'] as const)(
  'a link that the %s ended between challenge and bind ends the delegation, for a new link too',
  async (side) => {
    const it = await ready()
    if (side === 'owner')
      await servers.send('DELETE', `/v1/me/agents/${it.agent.accountId}`, {
        token: it.owner.accessToken,
      })
    else await servers.send('DELETE', '/v1/me/owner-link', { token: it.agent.accessToken })
    expect(code(await bind(it.agent, it.delegation, it.id, it.signature))).toEqual([
      403,
      'delegation_invalid',
    ])
    await servers.send('POST', '/v1/me/agents', {
      token: it.owner.accessToken,
      body: { agent_wallet_address: it.agentWallet.address },
    })
    expect(code(await bind(it.agent, it.delegation, it.id, it.signature))).toEqual([
      403,
      'delegation_invalid',
    ])
    expect(await walletsOf(it.owner)).toEqual([])
  },
)

test('a banned owner gets no wallet', async () => {
  const it = await ready()
  await servers.database.sql(`update accounts set status = 'banned' where id = $1`, [
    it.owner.accountId,
  ])
  expect(code(await bind(it.agent, it.delegation, it.id, it.signature))).toEqual([
    403,
    'delegation_invalid',
  ])
})

test('a wrong signature is a wrong request and no reason to log in again; four change nothing, five close the challenge', async () => {
  const it = await ready()
  for (let count = 0; count < 4; count++) {
    const answer = await bind(it.agent, it.delegation, it.id, WRONG)
    expect(answer).toMatchObject({
      status: 400,
      json: { error: 'bad_request', type: 'invalid_request_error', code: 'invalid_signature' },
    })
    expect(answer.headers.get('www-authenticate')).toBeNull()
  }
  expect(
    code(
      await bind(
        it.agent,
        it.delegation,
        it.id,
        await newWallet().signMessage({ message: it.message }),
      ),
    ),
  ).toEqual([400, 'invalid_signature'])
  expect(code(await bind(it.agent, it.delegation, it.id, it.signature))).toEqual([
    400,
    'invalid_challenge',
  ])
  await expectNothingConsumed(await ready(it))
})

test('a wallet that anybody has is refused, at the challenge and when it was taken since', async () => {
  const [ofOwner, ofAgent] = [newWallet(), newWallet()]
  await servers.owner(ofOwner.address)
  await servers.signIn(ofAgent)
  const it = await ready()
  for (const wallet of [ofOwner, ofAgent, it.agentWallet])
    expect(code(await challenge(it.agent, it.delegation, wallet.address))).toEqual([
      409,
      'wallet_already_bound',
    ])
  await servers.signIn(it.wallet)
  expect(code(await bind(it.agent, it.delegation, it.id, it.signature))).toEqual([
    409,
    'wallet_already_bound',
  ])
  // the delegation was not used up
  const free = newWallet()
  const { json } = await challenge(it.agent, it.delegation, free.address)
  expect(
    (
      await bind(
        it.agent,
        it.delegation,
        json.challenge_id,
        await free.signMessage({ message: json.message }),
      )
    ).status,
  ).toBe(200)
})

test("a challenge serves its purpose only: none of another opens the bind, and the binding's opens no other door", async () => {
  const it = await ready()
  const signIn = (
    await servers.send('POST', '/v1/auth/challenge', {
      body: { wallet_address: it.wallet.address },
    })
  ).json
  const linking = (
    await servers.send('POST', '/v1/me/wallet/challenge', {
      token: it.owner.accessToken,
      body: { wallet_address: it.wallet.address },
    })
  ).json
  for (const other of [signIn, linking]) {
    expect(
      code(
        await bind(
          it.agent,
          it.delegation,
          other.challenge_id,
          await it.wallet.signMessage({ message: other.message }),
        ),
      ),
    ).toEqual([400, 'invalid_challenge'])
  }
  expect(
    code(
      await servers.send('POST', '/v1/auth/verify', {
        body: { challenge_id: it.id, signature: it.signature },
      }),
    ),
  ).toEqual([401, 'invalid_challenge'])
  expect(
    code(
      await servers.send('PUT', '/v1/me/wallet', {
        token: it.owner.accessToken,
        body: { challenge_id: it.id, signature: it.signature },
      }),
    ),
  ).toEqual([400, 'invalid_challenge'])
  await expectNothingConsumed(it)
})

test('of 50 binds with one delegation at once, with one challenge or several, one binds', async () => {
  const one = await ready()
  const same = await Promise.all(
    Array.from({ length: 50 }, (_, index) =>
      bind(one.agent, one.delegation, one.id, one.signature, index % 2),
    ),
  )
  expect(same.filter(({ status }) => status === 200)).toHaveLength(1)
  for (const answer of same.filter(({ status }) => status !== 200))
    expect([
      [403, 'delegation_invalid'],
      [400, 'invalid_challenge'],
    ]).toContainEqual(code(answer))

  const people = await pair()
  const delegation = (await delegate(people.owner, people.agentWallet.address)).json
    .delegation_token
  const proofs = await Promise.all(
    Array.from({ length: 50 }, async () => {
      const wallet = newWallet()
      const { json } = await challenge(people.agent, delegation, wallet.address)
      return {
        id: json.challenge_id as string,
        signature: await wallet.signMessage({ message: json.message }),
      }
    }),
  )
  const several = await Promise.all(
    proofs.map(({ id, signature }, index) =>
      bind(people.agent, delegation, id, signature, index % 2),
    ),
  )
  expect(several.filter(({ status }) => status === 200)).toHaveLength(1)
  expect(await walletsOf(people.owner)).toHaveLength(1)
  const [open] = await servers.database.sql<{ count: string }>(
    'select count(*) from challenges where agent_account_id = $1 and consumed_at is null',
    [people.agent.accountId],
  )
  expect(Number(open?.count)).toBe(49)
})

test('a wallet that two owners are to get at once, or that signs in at once, belongs to one account', async () => {
  for (let round = 0; round < 5; round++) {
    const wallet = newWallet()
    const both = [await ready(undefined, wallet), await ready(undefined, wallet)]
    const signIn = (
      await servers.send('POST', '/v1/auth/challenge', { body: { wallet_address: wallet.address } })
    ).json
    const signature = await wallet.signMessage({ message: signIn.message })
    const answers = await Promise.all([
      ...both.map((it, index) => bind(it.agent, it.delegation, it.id, it.signature, index)),
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
    const it = await ready()
    const [bound, unlinked] = await Promise.all([
      bind(it.agent, it.delegation, it.id, it.signature),
      servers.send('DELETE', `/v1/me/agents/${it.agent.accountId}`, {
        token: it.owner.accessToken,
        at: 1,
      }),
    ])
    expect(unlinked.status).toBe(200)
    expect([200, 403]).toContain(bound.status)
    expect(await walletsOf(it.owner)).toHaveLength(bound.status === 200 ? 1 : 0)
  }
})

test('a bound wallet cannot sign in as an Agent', async () => {
  const it = await ready()
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
  const it = await ready()
  await bind(it.agent, it.delegation, it.id, WRONG)
  expect(servers.log.join('')).not.toMatch(/dlg_/)
  const [row] = await servers.database.sql<{ hash: Buffer }>(
    'select token_hash as hash from delegations where agent_account_id = $1',
    [it.agent.accountId],
  )
  expect(row?.hash).toEqual(createHash('sha256').update(it.delegation).digest())
})
