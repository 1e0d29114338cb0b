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

test('an Agent of nobody, of another owner, or unknown is not linked: one answer for all three', async () => {
  const [{ owner }, other, lonely] = [await steps.pair(), await steps.pair(), newWallet()]
  await servers.signIn(lonely)
  for (const wallet of [lonely.address, other.agentWallet.address, newWallet().address])
    expect(code(await steps.delegate(owner, wallet))).toEqual([404, 'agent_not_linked'])
})

test('Agents cannot delegate and owners cannot bind', async () => {
  const it = await steps.ready()
  expect(code(await steps.delegate(it.agent, it.agentWallet.address))).toEqual([403, 'owner_account_required'])
  expect(code(await steps.challenge(it.owner, it.delegation, newWallet().address))).toEqual([
    403,
    'agent_account_required',
  ])
  expect(code(await steps.bind(it.owner, it.delegation, it.id, it.signature))).toEqual([403, 'agent_account_required'])
  await expectNothingConsumed(it)
})

test('a delegation of another Agent is refused, of the same owner too, at the challenge and at the bind', async () => {
  const it = await steps.ready()
  const sibling = newWallet()
  const stranger = await servers.signIn(sibling)
  await servers.send('POST', '/v1/me/agents', {
    token: it.owner.accessToken,
    body: { agent_wallet_address: sibling.address },
  })
  expect(code(await steps.challenge(stranger, it.delegation, newWallet().address))).toEqual([403, 'delegation_invalid'])
  expect(code(await steps.bind(stranger, it.delegation, it.id, it.signature))).toEqual([403, 'delegation_invalid'])
  // nor does a delegation of its own open the other's challenge
  const own = (await steps.delegate(it.owner, sibling.address)).json.delegation_token
  expect(code(await steps.bind(stranger, own, it.id, it.signature))).toEqual([400, 'invalid_challenge'])
  await expectNothingConsumed(it)
})

test('a delegation is used once: after the bind it opens nothing', async () => {
  const it = await steps.ready()
  const second = newWallet()
  const other = (await steps.challenge(it.agent, it.delegation, second.address)).json
  await expectNothingConsumed(it)
  expect(
    code(
      await steps.bind(
        it.agent,
        it.delegation,
        other.challenge_id,
        await second.signMessage({ message: other.message }),
      ),
    ),
  ).toEqual([403, 'delegation_invalid'])
  expect(code(await steps.challenge(it.agent, it.delegation, newWallet().address))).toEqual([403, 'delegation_invalid'])
  expect(code(await steps.bind(it.agent, it.delegation, it.id, it.signature))).toEqual([403, 'delegation_invalid'])
})

test("the newest delegation of an Agent takes the older one's place, and the older one's challenges with it", async () => {
  const it = await steps.ready()
  const newest = (await steps.delegate(it.owner, it.agentWallet.address)).json.delegation_token
  expect(code(await steps.bind(it.agent, it.delegation, it.id, it.signature))).toEqual([403, 'delegation_invalid'])
  expect(code(await steps.bind(it.agent, newest, it.id, it.signature))).toEqual([400, 'invalid_challenge'])
  const { json } = await steps.challenge(it.agent, newest, it.wallet.address)
  expect(
    (await steps.bind(it.agent, newest, json.challenge_id, await it.wallet.signMessage({ message: json.message })))
      .status,
  ).toBe(200)
})

test.each(['delegations', 'challenges'])(
  "of the %s one that expired a millisecond ago is refused, by the database's clock",
  async (table) => {
    const it = await steps.ready()
    const which = table === 'delegations' ? ['agent_account_id', it.agent.accountId] : ['id', it.id]
    const [row] = await servers.database.sql<{ expires_at: Date }>(
      `select expires_at from ${table} where ${which[0]} = $1`,
      [which[1]],
    )
    await servers.database.sql(
      `update ${table} set expires_at = now() - interval '1 millisecond' where ${which[0]} = $1`,
      [which[1]],
    )
    expect(code(await steps.bind(it.agent, it.delegation, it.id, it.signature))).toEqual(
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
    const it = await steps.ready()
    if (side === 'owner')
      await servers.send('DELETE', `/v1/me/agents/${it.agent.accountId}`, {
        token: it.owner.accessToken,
      })
    else await servers.send('DELETE', '/v1/me/owner-link', { token: it.agent.accessToken })
    expect(code(await steps.bind(it.agent, it.delegation, it.id, it.signature))).toEqual([403, 'delegation_invalid'])
    await servers.send('POST', '/v1/me/agents', {
      token: it.owner.accessToken,
      body: { agent_wallet_address: it.agentWallet.address },
    })
    expect(code(await steps.bind(it.agent, it.delegation, it.id, it.signature))).toEqual([403, 'delegation_invalid'])
    expect(await steps.walletsOf(it.owner)).toEqual([])
  },
)

test('a banned owner gets no wallet', async () => {
  const it = await steps.ready()
  await servers.database.sql(`update accounts set status = 'banned' where id = $1`, [it.owner.accountId])
  expect(code(await steps.bind(it.agent, it.delegation, it.id, it.signature))).toEqual([403, 'delegation_invalid'])
})

test('a wrong signature is a wrong request and no reason to log in again; four change nothing, five close the challenge', async () => {
  const it = await steps.ready()
  for (let count = 0; count < 4; count++) {
    const answer = await steps.bind(it.agent, it.delegation, it.id, WRONG)
    expect(answer).toMatchObject({
      status: 400,
      json: { error: 'bad_request', type: 'invalid_request_error', code: 'invalid_signature' },
    })
    expect(answer.headers.get('www-authenticate')).toBeNull()
  }
  expect(
    code(await steps.bind(it.agent, it.delegation, it.id, await newWallet().signMessage({ message: it.message }))),
  ).toEqual([400, 'invalid_signature'])
  expect(code(await steps.bind(it.agent, it.delegation, it.id, it.signature))).toEqual([400, 'invalid_challenge'])
  await expectNothingConsumed(await steps.ready(it))
})

test('a wallet that anybody has is refused, at the challenge and when it was taken since', async () => {
  const [ofOwner, ofAgent] = [newWallet(), newWallet()]
  await servers.owner(ofOwner.address)
  await servers.signIn(ofAgent)
  const it = await steps.ready()
  for (const wallet of [ofOwner, ofAgent, it.agentWallet])
    expect(code(await steps.challenge(it.agent, it.delegation, wallet.address))).toEqual([409, 'wallet_already_bound'])
  await servers.signIn(it.wallet)
  expect(code(await steps.bind(it.agent, it.delegation, it.id, it.signature))).toEqual([409, 'wallet_already_bound'])
  // the delegation was not used up
  const free = newWallet()
  const { json } = await steps.challenge(it.agent, it.delegation, free.address)
  expect(
    (await steps.bind(it.agent, it.delegation, json.challenge_id, await free.signMessage({ message: json.message })))
      .status,
  ).toBe(200)
})

test("a challenge serves its purpose only: none of another opens the bind, and the binding's opens no other door", async () => {
  const it = await steps.ready()
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
        await steps.bind(
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
