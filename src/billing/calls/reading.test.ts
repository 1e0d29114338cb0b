import { afterAll, beforeAll, expect, test } from 'vitest'
import { freshDatabase, type TestDatabase } from '../../../test/database.ts'
import { ledgerFixture, readingServer } from '../../../test/ledger-fixture.ts'
import type { Caller } from '../../kernel/caller.ts'
import { callRoutes } from './routes.ts'

let database: TestDatabase
let make: ReturnType<typeof ledgerFixture>
let http: ReturnType<typeof readingServer>
beforeAll(async () => {
  database = await freshDatabase()
  make = ledgerFixture(database)
  http = readingServer(callRoutes({ db: database.db }))
})
afterAll(() => database.drop())

/** A funded account with a key. */
async function customer(amount = 1000n): Promise<Caller> {
  const id = await make.account('owner')
  if (amount) await make.grant(id, amount)
  return make.key(id)
}
const session = (accountId: bigint): Caller => ({ accountId, credential: { kind: 'session', id: 1n } })
const read = async (caller: Caller, id: bigint) => (await http.get(caller, `/v1/calls/${id}`)).body.data

test('a call can be read with its usage, its price and every microcredit that it held and cost', async () => {
  const key = await customer()
  const price = { version: '1', input_micro_per_m: 5, output_micro_per_m: 9 }
  const { id } = await make.hold(key, 300n, { model: 'demo-1', detail: { price, bounds: { input: 7 }, secret: 'x' } })
  expect(await read(key, id)).toMatchObject({
    status: 'running',
    billing_state: 'reserved',
    actual_amount_micro: null,
    outcome: null,
    usage: null,
    resolved_at: null,
    refundable: false,
    refund_reason_not: 'call_running',
  })
  await make.capture(id, 120n, { usage: { input_tokens: 3, output_tokens: 4, cached_input_tokens: 1 } })
  expect(await read(key, id)).toEqual({
    call_id: Number(id),
    request_id: `req_${id}`,
    category: 'chat',
    model: 'demo-1',
    actor_account_id: Number(key.accountId),
    key_id: Number(key.credential.id),
    status: 'success',
    outcome: 'success',
    billing_state: 'settled',
    usage: { input_tokens: 3, output_tokens: 4, cached_input_tokens: 1 },
    price,
    bounds: { input: 7 },
    reserve_amount_micro: 300,
    actual_amount_micro: 120,
    charged_micro: 120,
    funding: [
      { account_id: Number(key.accountId), bucket: 'purchased', reserved_amount_micro: 300, amount_micro: 120 },
    ],
    refundable: false,
    refund_reason_not: 'call_successful',
    refund_id: null,
    created_at: expect.stringMatching(/Z$/),
    resolved_at: expect.stringMatching(/Z$/),
  })
})

test('a call that no key made has none', async () => {
  const { accountId } = await customer()
  const id = 70_000n
  await make.apply({
    operation: 'reserve',
    id,
    request_id: `req_${id}`,
    actor_account_id: accountId,
    credential_kind: 'operator',
    credential_id: 1,
    wanted_micro: 10,
    minimum_micro: 10,
    category: 'chat',
    subject: 'demo',
    process_id: 1,
    detail: null,
  })
  expect(await read(session(accountId), id)).toMatchObject({
    call_id: Number(id),
    key_id: null,
    price: null,
    bounds: null,
    usage: null,
  })
})

test('each way that a call can stand has its own words, and only a failed and charged one is refundable', async () => {
  const key = await customer()
  const failed = (await make.hold(key, 10n)).id
  await make.capture(failed, 5n, { outcome: 'failed' })
  const free = (await make.hold(key, 10n)).id
  await make.capture(free, 0n, { outcome: 'failed' })
  const released = (await make.hold(key, 10n)).id
  await make.release(released)
  const lost = (await make.hold(key, 10n)).id
  await make.unknown(lost)
  const short = (await make.hold(key, 10n)).id
  await make.capture(short, 100_000n)
  expect(await read(key, failed)).toMatchObject({
    status: 'failed',
    billing_state: 'settled',
    charged_micro: 5,
    refundable: true,
    refund_reason_not: null,
  })
  expect(await read(key, free)).toMatchObject({
    status: 'failed',
    billing_state: 'settled',
    charged_micro: 0,
    refund_reason_not: 'nothing_charged',
  })
  expect(await read(key, released)).toMatchObject({
    status: 'failed',
    billing_state: 'released',
    actual_amount_micro: 0,
    charged_micro: 0,
    refund_reason_not: 'nothing_charged',
  })
  expect(await read(key, lost)).toMatchObject({
    status: 'usage_unknown',
    billing_state: 'usage_unknown',
    actual_amount_micro: null,
    charged_micro: 0,
    refund_reason_not: 'usage_unknown',
  })
  expect(await read(key, short)).toMatchObject({
    status: 'pending_settlement',
    billing_state: 'pending_settlement',
    outcome: 'success',
    actual_amount_micro: 100_000,
    charged_micro: 0,
    refund_reason_not: 'pending_settlement',
  })
  for (const [status, id] of [
    ['usage_unknown', lost],
    ['pending_settlement', short],
  ] as const) {
    expect(
      (await http.get(key, `/v1/calls?status=${status}`)).body.data.map((call: { call_id: number }) => call.call_id),
    ).toEqual([Number(id)])
  }
  expect((await http.get(key, '/v1/calls?status=failed')).body.data).toHaveLength(3)
  expect((await http.get(key, '/v1/calls?status=success')).body.data).toEqual([])
  const running = (await make.hold(key, 10n)).id
  expect((await http.get(key, '/v1/calls?status=running')).body.data).toMatchObject([{ call_id: Number(running) }])
})

test('the owner reads a call that it funded with its own part only, and the Agent with its own', async () => {
  const [agent, owner] = [await make.account('agent'), await make.account('owner')]
  await make.grant(agent, 40n)
  await make.grant(owner, 500n, { bucket: 'bonus' })
  await make.link(agent, owner, 'self_then_owner', {})
  const key = await make.key(agent)
  const shared = (await make.hold(key, 100n)).id
  await make.capture(shared, 70n, { outcome: 'failed' })
  await make.grant(agent, 25n)
  const ownOnly = (await make.hold(key, 20n)).id

  expect(await read(key, shared)).toMatchObject({
    charged_micro: 40,
    funding: [{ account_id: Number(agent), amount_micro: 40 }],
    refundable: true,
  })
  expect(await read(session(owner), shared)).toMatchObject({
    actor_account_id: Number(agent),
    actual_amount_micro: 70,
    charged_micro: 30,
    funding: [{ account_id: Number(owner), bucket: 'bonus', reserved_amount_micro: 60, amount_micro: 30 }],
    refundable: false,
    refund_reason_not: 'not_original_account',
  })
  expect((await http.get(session(owner), `/v1/calls/${ownOnly}`)).body.code).toBe('not_original_account')
  expect(
    (await http.get(session(owner), '/v1/calls')).body.data.map((call: { call_id: number }) => call.call_id),
  ).toEqual([Number(shared)])
  expect((await http.get(key, '/v1/calls')).body.data).toHaveLength(2)
})

test('an owner keeps what it funded after the Agent is unlinked, and nobody else reads it', async () => {
  const [agent, owner] = [await make.account('agent'), await make.account('owner')]
  await make.grant(owner, 500n)
  await make.link(agent, owner, 'owner_only')
  const key = await make.key(agent)
  const { id } = await make.hold(key, 100n)
  // who made it reads it, though it paid nothing
  expect(await read(key, id)).toMatchObject({ actor_account_id: Number(agent), charged_micro: 0, funding: [] })
  await database.sql('delete from agent_links where agent_account_id = $1', [agent])
  await database.sql('update accounts set family_id = id where id = $1', [agent])
  expect((await http.get(session(owner), '/v1/calls')).body.data).toHaveLength(1)
  const stranger = await customer(0n)
  expect(await http.get(stranger, `/v1/calls/${id}`)).toMatchObject({
    status: 403,
    body: { code: 'not_original_account' },
  })
  expect((await http.get(stranger, '/v1/calls')).body).toEqual({ data: [], next_cursor: 0 })
  expect(await http.get(stranger, '/v1/calls/9007199254740991')).toMatchObject({
    status: 404,
    body: { code: 'call_not_found' },
  })
})

test('pages give every call once, newest first, even where ids are not in the order of time', async () => {
  const key = await customer()
  const ids: bigint[] = []
  // two processes take ids from blocks of their own: later calls may have smaller ids
  for (let index = 0; index < 7; index++) {
    const id = (index % 2 ? 50_000n : 90_000n) + BigInt(index)
    await make.apply({
      operation: 'reserve',
      id,
      request_id: `req_${id}`,
      actor_account_id: key.accountId,
      credential_kind: 'api_key',
      credential_id: key.credential.id,
      wanted_micro: 1,
      minimum_micro: 1,
      category: 'chat',
      subject: 'demo',
      process_id: 1,
      detail: null,
    })
    ids.unshift(id)
  }
  const seen: number[] = []
  for (let before = 0; ; ) {
    const { body } = await http.get(key, `/v1/calls?limit=3&before_id=${before}`)
    expect(body.data.length).toBeLessThanOrEqual(3)
    seen.push(...body.data.map((call: { call_id: number }) => call.call_id))
    before = body.next_cursor
    if (before === 0) break
  }
  expect(seen).toEqual(ids.map(Number))
  // a page that is full and has nothing after it is the last
  expect((await http.get(key, '/v1/calls?limit=7')).body.next_cursor).toBe(0)
})

test('calls are filtered by model, key and time', async () => {
  const first = await customer()
  const second = await make.key(first.accountId)
  const one = (await make.hold(first, 1n, { model: 'a' })).id
  const two = (await make.hold(second, 1n, { model: 'b' })).id
  const [{ at } = { at: '' }] = await database.sql<{ at: string }>(
    `select to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at from holds where id = $1`,
    [two],
  )
  const listed = async (query: string) =>
    (await http.get(first, `/v1/calls?${query}`)).body.data.map((call: { call_id: number }) => call.call_id)
  expect(await listed('model=a')).toEqual([Number(one)])
  const [{ request_id: named } = { request_id: '' }] = await database.sql<{ request_id: string }>(
    'select request_id from holds where id = $1',
    [two],
  )
  expect(await listed(`request_id=${named}`)).toEqual([Number(two)])
  expect(await listed('request_id=req_nobody')).toEqual([])
  expect(await listed(`key_id=${second.credential.id}`)).toEqual([Number(two)])
  expect(await listed(`model=a&key_id=${second.credential.id}`)).toEqual([])
  expect(await listed(`to=${new Date(Date.parse(at) + 1000).toISOString()}`)).toEqual([Number(two), Number(one)])
  expect(await listed(`from=${new Date(Date.parse(at) + 1000).toISOString()}`)).toEqual([])
  for (const query of ['status=done', 'before_id=123456789', 'from=x', 'key_id=0']) {
    expect([query, (await http.get(first, `/v1/calls?${query}`)).body.code]).toEqual([query, 'invalid_parameter'])
  }
  expect((await http.get(first, '/v1/calls?before_id=123456789')).body.message).toMatch(
    /next_cursor of the page before/,
  )
})
