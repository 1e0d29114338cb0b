import pg from 'pg'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { atOnce, isLastRepetition } from '../../../test/races/repeated.ts'
import { newWallet, type SignedInPerson, startServers, type TestServers } from '../../../test/servers.ts'
import { microcredits } from '../../kernel/money.ts'

/** Rounds of one race in `npm test`; the long form repeats the whole test. */
const ROUNDS = atOnce(5, 1)

let servers: TestServers
beforeAll(async () => {
  servers = await startServers(2)
})
afterEach(async (context) => {
  if (isLastRepetition(context)) expect(await servers.database.sql('select * from ledger_audit()')).toEqual([])
})
afterAll(() => servers.stop())

const link = (owner: SignedInPerson, address: string, at = 0, more: Record<string, unknown> = {}) =>
  servers.send('POST', '/v1/me/agents', {
    at,
    token: owner.accessToken,
    body: { agent_wallet_address: address, ...more },
  })
const statuses = (answers: ReadonlyArray<{ status: number }>) => answers.map(({ status }) => status).sort()

/** An owner with Credits and an Agent that it pays for. */
async function funded(creditsMicro: bigint, more: Record<string, unknown> = {}) {
  const wallet = newWallet()
  const [owner, agent] = [await servers.owner(), await servers.signIn(wallet)]
  await servers.grant(owner.accountId, creditsMicro)
  const { json } = await link(owner, wallet.address, 0, { billing_mode: 'owner_only', ...more })
  const [key] = await servers.database.sql<{ id: string }>('select id from api_keys where account_id = $1', [
    agent.accountId,
  ])
  return { owner, agent, wallet, linked: json.data, keyId: BigInt(key?.id ?? 0) }
}

/** One hold by one of the servers, as a call makes it; gives its id when it was granted. */
async function hold(
  agentId: bigint,
  keyId: bigint,
  amount: bigint,
  at: number,
): Promise<{ id: bigint; at: number } | undefined> {
  const { ledger } = servers.apps[at] as (typeof servers.apps)[number]
  const id = await ledger.nextHoldId()
  const reserved = await ledger.reserve({
    holdId: id,
    requestId: `req_${id}`,
    actorAccountId: agentId,
    credential: { kind: 'api_key', id: keyId },
    wantedMicro: microcredits(amount),
    minimumMicro: microcredits(amount),
    category: 'chat',
    subject: 'demo',
    detail: null,
  })
  return reserved.kind === 'reserved' ? { id, at } : undefined
}

const holds = (agentId: bigint, keyId: bigint, count: number, amount: bigint) =>
  Array.from({ length: count }, (_, index) => hold(agentId, keyId, amount, index % 2))

const end = ({ id, at }: { id: bigint; at: number }, actual: bigint) =>
  (servers.apps[at] as (typeof servers.apps)[number]).ledger.end({
    operation: 'capture',
    holdId: id,
    actualMicro: microcredits(actual),
    outcome: 'success',
    usage: null,
  })

const patch = async (owner: SignedInPerson, id: number, body: unknown) =>
  (await servers.send('PATCH', `/v1/me/agents/${id}`, { token: owner.accessToken, body })).json.data

test('of two owners that link one Agent at once, known or unknown, one gets it', async () => {
  for (const known of [true, false, true, false]) {
    const wallet = newWallet()
    if (known) await servers.signIn(wallet)
    const owners = await Promise.all(Array.from({ length: 10 }, () => servers.owner()))
    const answers = await Promise.all(owners.map((owner, index) => link(owner, wallet.address, index % 2)))
    expect(statuses(answers)).toEqual([200, ...Array(9).fill(409)])
    for (const { json } of answers.filter(({ status }) => status === 409))
      expect(json.code).toBe('agent_already_linked')
  }
})

test('a wallet that is linked and signs in for the first time at once becomes one account', async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const [owner, wallet] = [await servers.owner(), newWallet()]
    const [linked, agent] = await Promise.all([link(owner, wallet.address), servers.signIn(wallet, 1)])
    expect(BigInt(linked.json.data.id)).toBe(agent.accountId)
  }
})

test.each(['owner', 'agent'] as const)(
  'holds beside an unlink by the %s are granted before it or refused after it, and keep their payer',
  async (side) => {
    const { owner, agent, linked, keyId } = await funded(1_000_000n)
    const before = holds(agent.accountId, keyId, 100, 100n)
    const unlinking =
      side === 'owner'
        ? servers.send('DELETE', `/v1/me/agents/${linked.id}`, { token: owner.accessToken, at: 1 })
        : servers.send('DELETE', '/v1/me/owner-link', { token: agent.accessToken, at: 1 })
    const during = holds(agent.accountId, keyId, 100, 100n)
    expect((await unlinking).status).toBe(200)
    // begun after the answer: none of it is the owner's
    expect((await Promise.all(holds(agent.accountId, keyId, 20, 100n))).filter(Boolean)).toEqual([])
    const granted = (await Promise.all([...before, ...during])).filter((made) => made !== undefined)
    const [row] = await servers.database.sql<{ held: string; payers: string[] }>(
      'select coalesce(sum(amount_micro), 0) as held, array_agg(distinct payer_account_id) as payers from hold_allocations join holds on id = hold_id where actor_account_id = $1',
      [agent.accountId],
    )
    expect(Number(row?.held)).toBe(granted.length * 100)
    if (granted.length > 0) expect(row?.payers).toEqual([String(owner.accountId)])
    // what was granted is charged to the one who granted it, though the link is gone
    for (const answer of await Promise.all(granted.map((made) => end(made, 40n)))) expect(answer.kind).toBe('captured')
    const [balance] = await servers.database.sql<{ posted: string; held: string }>(
      'select sum(posted_micro) as posted, sum(held_micro) as held from buckets where account_id = $1',
      [owner.accountId],
    )
    expect(balance).toEqual({ posted: String(1_000_000 - granted.length * 40), held: '0' })
  },
)

test('a budget cut under 200 parallel holds is never overspent', async () => {
  for (const cut of [1_500, 0]) {
    const { owner, agent, linked, keyId } = await funded(1_000_000n, {
      budget: { total_micro: 10_000 },
    })
    const first = holds(agent.accountId, keyId, 100, 100n)
    const cutting = patch(owner, linked.id, { budget: { total_micro: cut } })
    const second = holds(agent.accountId, keyId, 100, 100n)
    const { budget } = await cutting
    const granted = (await Promise.all([...first, ...second])).filter((made) => made !== undefined)
    // what was held when the cut took effect may stand; nothing is granted beyond the new limit
    expect(granted.length * 100).toBeLessThanOrEqual(Math.max(cut, budget.windows.total.held_micro))
    await Promise.all(granted.map((made) => end(made, 100n)))
    const [{ budget: after }] = (await servers.send('GET', '/v1/me/agents', { token: owner.accessToken })).json.data
    expect(after.windows.total).toEqual({ spent_micro: granted.length * 100, held_micro: 0 })
  }
})

test('200 parallel holds after a cut get exactly what it leaves, and after a raise exactly the rest', async () => {
  const { owner, agent, linked, keyId } = await funded(1_000_000n, {
    budget: { daily_micro: 1_000_000 },
  })
  await patch(owner, linked.id, { budget: { daily_micro: 2_500 } })
  const granted = (await Promise.all(holds(agent.accountId, keyId, 200, 100n))).filter((made) => made !== undefined)
  expect(granted).toHaveLength(25)
  await patch(owner, linked.id, { budget: { daily_micro: 4_000 } })
  const more = (await Promise.all(holds(agent.accountId, keyId, 200, 100n))).filter((made) => made !== undefined)
  expect(more).toHaveLength(15)
  await Promise.all([...granted, ...more].map((made) => end(made, 0n)))
})

test("no hold that begins after the kill switch's answer takes the owner's Credits", async () => {
  const { owner, agent, linked, keyId } = await funded(1_000_000n)
  const before = holds(agent.accountId, keyId, 100, 100n)
  await patch(owner, linked.id, { funding_paused: true })
  expect((await Promise.all(holds(agent.accountId, keyId, 50, 100n))).filter(Boolean)).toEqual([])
  const granted = (await Promise.all(before)).filter((made) => made !== undefined)
  await Promise.all(granted.map((made) => end(made, 100n)))
})

test('links, changes and unlinks of one Agent by both sides at once leave one state that adds up', async () => {
  const { owner, agent, wallet, linked, keyId } = await funded(1_000_000n)
  const other = await servers.owner()
  await servers.grant(other.accountId, 1_000_000n)
  const work = Array.from({ length: 15 }, (_, index) => [
    servers.send('DELETE', `/v1/me/agents/${linked.id}`, {
      token: owner.accessToken,
      at: index % 2,
    }),
    link(other, wallet.address, index % 2, { billing_mode: 'owner_only' }),
    servers.send('DELETE', '/v1/me/owner-link', { token: agent.accessToken, at: index % 2 }),
    link(owner, wallet.address, index % 2, { billing_mode: 'owner_only' }),
    servers.send('PATCH', `/v1/me/agents/${linked.id}`, {
      token: other.accessToken,
      body: { funding_paused: index % 2 === 0 },
    }),
  ]).flat()
  const held = holds(agent.accountId, keyId, 100, 10n)
  for (const answer of await Promise.all(work)) expect([200, 404, 409]).toContain(answer.status)
  for (const made of (await Promise.all(held)).filter((made) => made !== undefined)) await end(made, 10n)
})

/** A hold inside a transaction that stays open: what the rest of the world waits for. */
async function openHold(agentId: bigint, keyId: bigint, amount: number) {
  const client = new pg.Client({ connectionString: servers.database.url })
  await client.connect()
  await client.query('begin')
  const [{ id }] = (await client.query(`select nextval('hold_ids') as id`)).rows
  const wish = {
    operation: 'reserve',
    id: Number(id),
    request_id: `req_${id}`,
    actor_account_id: Number(agentId),
    credential_kind: 'api_key',
    credential_id: Number(keyId),
    wanted_micro: amount,
    minimum_micro: amount,
    category: 'chat',
    subject: 'demo',
    process_id: Number(servers.apps[0]?.processId),
  }
  const { rows } = await client.query('select status from ledger_apply($1)', [JSON.stringify([wish])])
  expect(rows[0].status).toBe('reserved')
  return {
    commit: () => client.query('commit'),
    async end() {
      const charge = {
        operation: 'capture',
        id: Number(id),
        actual_micro: amount,
        outcome: 'success',
      }
      await client.query('select ledger_apply($1)', [JSON.stringify([charge])])
      await client.end()
    },
  }
}

/** Resolves once somebody waits for a lock of this database. */
async function somebodyWaits(): Promise<void> {
  for (;;) {
    const rows = await servers.database.sql(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    )
    if (rows.length > 0) return
  }
}

test.each<
  [
    string,
    (it: Awaited<ReturnType<typeof funded>>) => Promise<{
      status: number
      json: { data?: { budget: { windows: { total: { held_micro: number } } } } }
    }>,
  ]
>([
  [
    'a cut budget',
    ({ owner, linked }) =>
      servers.send('PATCH', `/v1/me/agents/${linked.id}`, {
        token: owner.accessToken,
        body: { budget: { total_micro: 0 } },
      }),
  ],
  [
    'the kill switch',
    ({ owner, linked }) =>
      servers.send('PATCH', `/v1/me/agents/${linked.id}`, {
        token: owner.accessToken,
        body: { funding_paused: true },
      }),
  ],
  [
    "the owner's unlink",
    ({ owner, linked }) => servers.send('DELETE', `/v1/me/agents/${linked.id}`, { token: owner.accessToken }),
  ],
  ["the Agent's leaving", ({ agent }) => servers.send('DELETE', '/v1/me/owner-link', { token: agent.accessToken })],
])('%s waits for a hold that is being made, and sees all of it', async (_what, act) => {
  const it = await funded(1_000n)
  const made = await openHold(it.agent.accountId, it.keyId, 400)
  const acting = act(it)
  await somebodyWaits()
  await made.commit()
  const answer = await acting
  expect(answer.status).toBe(200)
  if (answer.json.data) expect(answer.json.data.budget.windows.total.held_micro).toBe(400)
  expect(await hold(it.agent.accountId, it.keyId, 1n, 1)).toBeUndefined()
  await made.end()
})
