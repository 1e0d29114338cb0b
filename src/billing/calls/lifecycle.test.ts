import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { freshDatabase, type TestDatabase } from '../../../test/database.ts'
import { systemClock } from '../../kernel/clock.ts'
import { Fault } from '../../kernel/errors.ts'
import { microcredits } from '../../kernel/money.ts'
import { createApplier } from '../../ledger/applier.ts'
import { auditLedger } from '../../ledger/audit.ts'
import { createHoldIds } from '../../ledger/hold-ids.ts'
import { openLane } from '../../ledger/lane.ts'
import { createLedger, type Ledger } from '../../ledger/ledger.ts'
import { heldCall, openCall, openCallAs } from './lifecycle.ts'

let database: TestDatabase
let ledger: Ledger
beforeAll(async () => {
  database = await freshDatabase()
  const lane = openLane({ url: database.url, processId: 1n, answerTimeoutMs: 10_000 })
  const applier = createApplier({ lane, clock: systemClock, batchMax: 512, queueMax: 100, patienceMs: 10_000 })
  ledger = createLedger(applier, await createHoldIds(database.db))
})
afterAll(async () => {
  await ledger.applier.close()
  await database.drop()
})

/** The people of one test: an owner with 1,000 microcredits and two keys, the second with a daily budget, and its Agent with one. */
let owner = 0n
let agent = 0n
let keys = { plain: 0n, budgeted: 0n, agents: 0n }
let linkBudget = 0n
let hinted: bigint[] = []
beforeEach(async () => {
  hinted = []
  owner += 10n
  agent = owner + 1n
  keys = { plain: owner, budgeted: owner + 1n, agents: owner + 2n }
  const budget = owner
  linkBudget = owner + 1n
  await database.sql(`insert into families (id) values ($1)`, [owner])
  await database.sql(
    `insert into accounts (id, account_type, family_id) overriding system value values ($1, 'owner', $1), ($2, 'agent', $1)`,
    [owner, agent],
  )
  await database.sql(`insert into budgets (id, daily_micro) overriding system value values ($1, 600), ($2, null)`, [
    budget,
    linkBudget,
  ])
  await database.sql(`insert into agent_links (agent_account_id, owner_account_id, budget_id) values ($1, $2, $3)`, [
    agent,
    owner,
    linkBudget,
  ])
  const insertKey = `insert into api_keys (id, account_id, budget_id, secret_hash, prefix, last4) overriding system value values ($1, $2, $3, $4, '', '')`
  await database.sql(insertKey, [keys.plain, owner, null, `plain ${owner}`])
  await database.sql(insertKey, [keys.budgeted, owner, budget, `budgeted ${owner}`])
  await database.sql(insertKey, [keys.agents, agent, null, `agent ${owner}`])
  await database.sql(`select ledger_grant('operator', $1, $2, 'promo', 1000, null, 'a test', 'operator:test')`, [
    `opening ${owner}`,
    owner,
  ])
})

let requests = 0
const open = (wanted: number, options: { accountId?: bigint; key?: bigint; minimum?: number } = {}) => {
  requests += 1
  return openCall(
    {
      ledger,
      paymentHint(shortfall) {
        hinted.push(shortfall)
        return { topup_url: 'https://console.example/topup' }
      },
    },
    {
      caller: { accountId: options.accountId ?? owner, credential: { kind: 'api_key', id: options.key ?? keys.plain } },
      requestId: `req_${requests}`,
      category: 'model',
      subject: 'demo-chat',
      detail: { price: 1 },
      wantedMicro: microcredits(wanted),
      minimumMicro: microcredits(options.minimum ?? wanted),
    },
  )
}
const refusalOf = (call: Promise<unknown>): Promise<Fault> =>
  call.then(
    () => Promise.reject(new Error('the call was not refused')),
    (error: unknown) => (error instanceof Fault ? error : Promise.reject(error)),
  )
const buckets = () =>
  database.sql<{ posted: number; held: number }>(
    'select posted_micro::int as posted, held_micro::int as held from buckets where account_id = $1 order by id',
    [owner],
  )

test('a call holds its worst case, and its capture takes what it cost and gives the rest back', async () => {
  const call = await open(400)
  expect(call).toMatchObject({ reserveMicro: 400n, availableMicro: 600n })
  expect(await buckets()).toEqual([{ posted: 1000, held: 400 }])
  expect(
    await call.capture({ actualMicro: microcredits(150), outcome: 'success', usage: { input_tokens: 1 } }),
  ).toEqual({ state: 'settled', chargedMicro: 150n, availableMicro: 850n })
  expect(await buckets()).toEqual([{ posted: 850, held: 0 }])
})

test('a call that was not made gives everything back', async () => {
  const call = await open(400)
  expect(await call.release()).toEqual({ state: 'released', chargedMicro: 0n, availableMicro: 1000n })
  expect(await buckets()).toEqual([{ posted: 1000, held: 0 }])
})

test('an end that comes after another leaves the call as it ended, and does not say what it would have cost', async () => {
  const call = await open(400)
  await call.release()
  expect(await call.capture({ actualMicro: microcredits(150), outcome: 'success', usage: null })).toEqual({
    state: 'settled',
    chargedMicro: undefined,
    availableMicro: 1000n,
  })
  expect(await buckets()).toEqual([{ posted: 1000, held: 0 }])
})

test('a call whose cost cannot be known keeps its hold, and its late capture still settles it', async () => {
  const call = await open(400)
  expect(await call.unknown('the provider reported no usage')).toEqual({
    state: 'usage_unknown',
    chargedMicro: undefined,
    availableMicro: 600n,
  })
  expect(await buckets()).toEqual([{ posted: 1000, held: 400 }])
  expect(await call.capture({ actualMicro: microcredits(10), outcome: 'success', usage: null })).toMatchObject({
    state: 'settled',
    chargedMicro: 10n,
  })
})

test('a cost above the hold is taken from the caller when it has enough, else nothing is captured and the item waits', async () => {
  const [covered, beyond] = [await open(400), await open(400)]
  expect(await covered.capture({ actualMicro: microcredits(450), outcome: 'success', usage: null })).toMatchObject({
    state: 'settled',
    chargedMicro: 450n,
    availableMicro: 150n,
  })
  expect(await beyond.capture({ actualMicro: microcredits(551), outcome: 'success', usage: null })).toEqual({
    state: 'shortfall',
    chargedMicro: undefined,
    availableMicro: 150n,
  })
  expect(await buckets()).toEqual([{ posted: 550, held: 400 }])
})

test('whatever a provider says of why it broke off, the hold is marked', async () => {
  const call = await open(400)
  expect(await call.unknown(`the provider said \0 and \ud800${'x'.repeat(100_000)}`)).toMatchObject({
    state: 'usage_unknown',
  })
  const [flag] = await database.sql<{ detail: string }>('select detail from hold_flags where hold_id = $1', [
    call.callId,
  ])
  expect(flag?.detail).toMatch(/^the provider said {2}and \ufffdx{400,480}$/)
})

test.each([10n ** 16n, 10n ** 19n, 10n ** 30n])(
  'a cost of %s, beyond every amount that can be stored, is left for the operator',
  async (actual) => {
    const call = await open(400)
    expect(
      await call.capture({ actualMicro: actual as ReturnType<typeof microcredits>, outcome: 'success', usage: null }),
    ).toMatchObject({ state: 'usage_unknown', chargedMicro: undefined })
    expect(await buckets()).toEqual([{ posted: 1000, held: 400 }])
  },
)

test('a call that may be clamped holds what there is, down to its minimum', async () => {
  expect(await open(5000, { minimum: 700 })).toMatchObject({ reserveMicro: 1000n, availableMicro: 0n })
  const refused = await refusalOf(open(5000, { minimum: 1 }))
  expect(refused.code).toBe('insufficient_credits')
})

test('too few Credits are refused with 402, the numbers, and where to pay the difference', async () => {
  await open(300)
  const refused = await refusalOf(open(750))
  expect(refused.code).toBe('insufficient_credits')
  expect(refused.refusal.status).toBe(402)
  expect(refused.fields).toEqual({
    available_micro: '700',
    required_micro: '750',
    shortfall_micro: '50',
    held_micro: '300',
    topup_url: 'https://console.example/topup',
  })
  expect(refused.message).toBe(
    'This call reserves up to 0.00075 Credits and 0.0007 are available (0.0003 more are held by calls in flight). Top up, or ask for less: a smaller max_tokens holds less.',
  )
  expect(hinted).toEqual([50n])
  expect(await buckets()).toEqual([{ posted: 1000, held: 300 }])
})

test('a refusal speaks of calls in flight only where there are some', async () => {
  const refused = await open(1001).catch((error: unknown) => error as Fault)
  expect((refused as Fault).message).toMatch(/0\.001 are available\. Top up/)
})

test("a key's budget is refused with 402 and the limit that binds", async () => {
  const spent = await open(400, { key: keys.budgeted })
  await spent.capture({ actualMicro: microcredits(100), outcome: 'success', usage: null })
  await open(350, { key: keys.budgeted })
  const refused = await refusalOf(open(200, { key: keys.budgeted }))
  expect(refused.code).toBe('budget_exceeded')
  expect(refused.refusal.status).toBe(402)
  expect(refused.fields).toMatchObject({
    budget: 'key',
    limit: 'daily',
    limit_micro: '600',
    spent_micro: '100',
    held_micro: '350',
    available_micro: '150',
    required_micro: '200',
  })
  expect(refused.message).toContain(
    'The daily budget of this key is 0.0006 Credits: 0.0001 spent, 0.00035 held by calls in flight.',
  )
  expect(hinted).toEqual([])
  // a limit that was lowered below what is spent leaves nothing, and not less
  await database.sql('update budgets set daily_micro = 400 where id = $1', [owner])
  expect((await refusalOf(open(1, { key: keys.budgeted }))).fields).toMatchObject({ available_micro: '0' })
})

test("what an owner lets its Agent spend is refused in the Agent's words", async () => {
  await database.sql('update budgets set per_call_micro = 50 where id = $1', [linkBudget])
  const refused = await refusalOf(open(51, { accountId: agent, key: keys.agents }))
  expect(refused.code).toBe('budget_exceeded')
  expect(refused.fields).toMatchObject({ budget: 'link', limit: 'per_call', limit_micro: '50' })
  expect(refused.message).toContain('The per-call budget of this Agent, set by its owner, is 0.00005 Credits')
  expect(await open(50, { accountId: agent, key: keys.agents })).toMatchObject({ reserveMicro: 50n })
})

test.each([
  ['unauthorized', 'update api_keys set revoked_at = now()'],
  ['unauthorized', `update api_keys set expires_at = now() - interval '1 millisecond'`],
  ['account_banned', `update accounts set status = 'banned'`],
  ['account_deactivated', `update accounts set status = 'deactivated'`],
] as const)('is refused as %s after %s, and holds nothing', async (code, change) => {
  await database.sql(change)
  expect((await refusalOf(open(1))).code).toBe(code)
  expect(await buckets()).toEqual([{ posted: 1000, held: 0 }])
})

test('the hold of detached work outlives its process and is ended by another one', async () => {
  const callId = await ledger.nextHoldId()
  await openCallAs({ ledger, paymentHint: () => ({}) }, callId, {
    caller: { accountId: owner, credential: { kind: 'api_key', id: keys.plain } },
    requestId: `detached ${owner}`,
    category: 'image',
    subject: 'm',
    wantedMicro: microcredits(100n),
    minimumMicro: microcredits(100n),
    detail: {},
    detached: true,
  })
  expect([...ledger.openHoldIds]).not.toContain(callId)
  const rows = await database.sql('select process_id from holds where id = $1', [callId])
  expect(rows).toEqual([{ process_id: null }])
  const complaints = await auditLedger(database.db)
  expect(complaints.filter(({ subject }) => subject === `hold ${callId}`)).toEqual([])

  const other = openLane({ url: database.url, processId: 2n, answerTimeoutMs: 10_000 })
  const applier = createApplier({ lane: other, clock: systemClock, batchMax: 512, queueMax: 100, patienceMs: 10_000 })
  const elsewhere = createLedger(applier, await createHoldIds(database.db))
  const end = { actualMicro: microcredits(40n), outcome: 'success' as const, usage: {} }
  expect(await heldCall(elsewhere, callId).capture(end)).toMatchObject({ state: 'settled', chargedMicro: 40n })
  expect(await heldCall(ledger, callId).release()).toMatchObject({ chargedMicro: 0n })
  expect(await database.sql('select kind from hold_resolutions where hold_id = $1', [callId])).toEqual([
    { kind: 'captured' },
  ])
  await elsewhere.applier.close()
})
