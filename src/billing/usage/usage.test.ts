import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { freshDatabase, type TestDatabase } from '../../../test/database.ts'
import { ledgerFixture, readingServer } from '../../../test/ledger-fixture.ts'
import type { Caller } from '../../kernel/caller.ts'
import { systemClock } from '../../kernel/clock.ts'
import { usageRoutes } from './routes.ts'

let database: TestDatabase
let make: ReturnType<typeof ledgerFixture>
let http: ReturnType<typeof readingServer>
/** Where a test stopped the server's clock. */
let stopped: Date | undefined
afterEach(() => {
  stopped = undefined
})
beforeAll(async () => {
  database = await freshDatabase()
  make = ledgerFixture(database)
  http = readingServer(usageRoutes({ db: database.db, clock: { ...systemClock, now: () => stopped ?? new Date() } }))
})
afterAll(() => database.drop())

const session = (accountId: bigint): Caller => ({ accountId, credential: { kind: 'session', id: 1n } })
const today = () => new Date().toISOString().slice(0, 10)

test('usage counts calls, errors, tokens and Credits, and an account without calls reads zeros', async () => {
  const id = await make.account('owner')
  const key = await make.key(id)
  const empty = (await http.get(key, '/v1/usage')).body
  expect(empty).toMatchObject({
    data: [],
    totals: {
      charged_micro: 0,
      refunded_micro: 0,
      owner_charged_micro: 0,
      calls: 0,
      errors: 0,
      input_tokens: 0,
      output_tokens: 0,
    },
  })
  expect(Date.parse(empty.to) - Date.parse(empty.from)).toBeLessThanOrEqual(30 * 86_400_000)
  expect(Date.parse(empty.to) - Date.parse(empty.from)).toBeGreaterThanOrEqual(29 * 86_400_000)

  await make.grant(id, 1000n)
  await make.capture((await make.hold(key, 100n)).id, 60n, { usage: { input_tokens: 7, output_tokens: 9 } })
  await make.capture((await make.hold(key, 100n, { model: 'other' })).id, 5n, {
    outcome: 'failed',
    usage: { input_tokens: 1, output_tokens: 0 },
  })
  await make.release((await make.hold(key, 100n)).id)
  await make.hold(key, 100n)
  const sums = {
    charged_micro: 65,
    refunded_micro: 0,
    owner_charged_micro: 0,
    calls: 4,
    errors: 2,
    input_tokens: 8,
    output_tokens: 9,
  }
  const { body } = await http.get(key, '/v1/usage')
  expect(body).toMatchObject({ group_by: ['day'], data: [{ day: today(), ...sums }], totals: sums })
  expect((await http.get(key, '/v1/usage?group_by=model,key')).body.data).toEqual([
    {
      model: 'demo',
      key_id: Number(key.credential.id),
      ...sums,
      charged_micro: 60,
      calls: 3,
      errors: 1,
      input_tokens: 7,
    },
    {
      model: 'other',
      key_id: Number(key.credential.id),
      charged_micro: 5,
      refunded_micro: 0,
      owner_charged_micro: 0,
      calls: 1,
      errors: 1,
      input_tokens: 1,
      output_tokens: 0,
    },
  ])
})

test('an owner reads by Agent what it funded, without what the Agents paid themselves; an Agent reads its own', async () => {
  const [agent, rich, owner] = [await make.account('agent'), await make.account('agent'), await make.account('owner')]
  await make.grant(owner, 1000n)
  await make.grant(agent, 10n)
  await make.grant(rich, 500n)
  await make.link(agent, owner, 'self_then_owner', {})
  await make.link(rich, owner, 'self_then_owner', {})
  const key = await make.key(agent)
  await make.capture((await make.hold(key, 100n)).id, 70n)
  await make.capture((await make.hold(await make.key(rich), 100n)).id, 70n)
  await make.capture((await make.hold(await make.key(owner), 100n)).id, 9n)
  const byAgent = (await http.get(session(owner), '/v1/usage?group_by=agent')).body
  expect(byAgent.data).toMatchObject([
    { actor_account_id: Number(agent), charged_micro: 60, calls: 1 },
    { actor_account_id: Number(owner), charged_micro: 9, calls: 1 },
  ])
  expect(byAgent.totals).toMatchObject({ charged_micro: 69, calls: 2, refunded_micro: 0, owner_charged_micro: 0 })
  expect((await http.get(key, '/v1/usage')).body.totals).toMatchObject({
    charged_micro: 10,
    owner_charged_micro: 60,
    calls: 1,
  })
})

test('what was called without a key is a group of its own', async () => {
  const id = await make.account('owner')
  await make.grant(id, 100n)
  const key = await make.key(id)
  await make.capture((await make.hold(key, 9n)).id, 9n)
  await make.apply({
    operation: 'reserve',
    id: 70_000,
    request_id: 'without a key',
    actor_account_id: id,
    credential_kind: 'operator',
    credential_id: 1,
    wanted_micro: 5,
    minimum_micro: 5,
    category: 'chat',
    subject: 'demo',
    process_id: 1,
  })
  await make.capture(70_000n, 5n)
  expect((await http.get(key, '/v1/usage?group_by=key')).body.data).toMatchObject([
    { key_id: Number(key.credential.id), charged_micro: 9 },
    { key_id: null, charged_micro: 5 },
  ])
})

test('beyond a thousand groups the rest is one row, so that the rows still make the totals', async () => {
  const id = await make.account('owner')
  const key = await make.key(id)
  await make.grant(id, 10_000n)
  const operations = Array.from({ length: 1010 }, (_, index) => ({
    operation: 'reserve',
    id: 9_000_000 + index,
    request_id: `many_${index}`,
    actor_account_id: Number(id),
    credential_kind: 'api_key',
    credential_id: Number(key.credential.id),
    wanted_micro: 3,
    minimum_micro: 3,
    category: 'chat',
    subject: `model-${index}`,
    process_id: 1,
  }))
  await database.pool.query('select * from ledger_apply($1)', [JSON.stringify(operations)])
  const captures = operations.map((operation) => ({
    operation: 'capture',
    id: operation.id,
    actual_micro: 2,
    outcome: 'success',
    usage: {},
  }))
  await database.pool.query('select * from ledger_apply($1)', [JSON.stringify(captures)])
  const { data, totals } = (await http.get(key, '/v1/usage?group_by=model')).body
  expect(data).toHaveLength(1001)
  expect(data.at(-1)).toEqual({
    other: true,
    charged_micro: 20,
    refunded_micro: 0,
    owner_charged_micro: 0,
    calls: 10,
    errors: 0,
    input_tokens: 0,
    output_tokens: 0,
  })
  expect(totals).toMatchObject({ charged_micro: 2020, calls: 1010 })
})

test('without a range it is the 30 UTC days that end now, of which midnight begins none; a range that begins now is refused', async () => {
  const caller = session(await make.account('owner'))
  stopped = new Date('2026-01-31T00:00:00Z')
  expect((await http.get(caller, '/v1/usage')).body).toMatchObject({
    from: '2026-01-01T00:00:00.000Z',
    to: '2026-01-31T00:00:00.000Z',
  })
  const empty = await http.get(caller, '/v1/usage?from=2026-01-31T00:00:00Z')
  expect([empty.status, empty.body.code]).toEqual([400, 'invalid_parameter'])
  expect((await http.get(caller, '/v1/usage?from=2026-01-30T23:59:59.999Z')).status).toBe(200)
  stopped = new Date('2026-01-31T00:00:00.001Z')
  expect((await http.get(caller, '/v1/usage')).body.from).toBe('2026-01-02T00:00:00.000Z')
})

test('ranges over 366 days, backwards or unknown groups are refused', async () => {
  const caller = session(await make.account('owner'))
  for (const query of [
    'from=2024-01-01T00:00:00Z&to=2025-01-02T00:00:01Z',
    'from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z',
    'from=2999-01-01T00:00:00Z',
    'group_by=hour',
    'group_by=day,model,key',
    'group_by=',
    'from=now',
  ]) {
    const { status, body } = await http.get(caller, `/v1/usage?${query}`)
    expect([query, status, body.code]).toEqual([query, 400, 'invalid_parameter'])
  }
  const told = async (query: string) => (await http.get(caller, `/v1/usage?${query}`)).body.message
  expect(await told('from=2024-01-01T00:00:00Z&to=2025-01-02T00:00:01Z')).toBe(
    'The range from 2024-01-01T00:00:00.000Z to 2025-01-02T00:00:01.000Z is longer than 366 days.',
  )
  expect(await told('from=2999-01-01T00:00:00Z')).toBe('The parameter from must be earlier than to, or now.')
  expect((await http.get(caller, '/v1/usage?from=2024-01-01T00:00:00Z&to=2025-01-01T00:00:00Z')).status).toBe(200)
})
