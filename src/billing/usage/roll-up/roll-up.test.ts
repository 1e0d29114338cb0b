import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '../../../../test/app.ts'
import { freshDatabase, type TestDatabase } from '../../../../test/database.ts'
import { ledgerFixture, readingServer } from '../../../../test/ledger-fixture.ts'
import type { Caller } from '../../../kernel/caller.ts'
import { systemClock } from '../../../kernel/clock.ts'
import { usageRoutes } from '../routes.ts'
import { closedHour, rollUpUsage } from './service.ts'

let database: TestDatabase
let make: ReturnType<typeof ledgerFixture>
let http: ReturnType<typeof readingServer>
beforeAll(async () => {
  database = await freshDatabase()
  make = ledgerFixture(database)
  http = readingServer(usageRoutes({ db: database.db, clock: systemClock }))
})
afterAll(() => database.drop())

const WRITERS = 6
const CALLS = 25

/** Closes time as it is done in service, with a margin short enough for a test, and rolls up to there. */
async function closeAndRollUp(margin = '2 seconds'): Promise<Date> {
  const [row] = await database.sql<{ closed: Date }>('select ledger_close_time($1) as closed', [margin])
  const closed = row?.closed ?? new Date(0)
  await rollUpUsage(database.db, closed)
  return closed
}

const used = async (caller: Caller) => (await http.get(caller, '/v1/usage')).body.totals

/** What usage must come to. */
interface Expected {
  calls: number
  errors: number
  charged: number
  refunded: number
  tokens: number
  /** Calls that are left open. */
  readonly open: bigint[]
}

/** Makes calls, ends most of them, and has the failed ones refunded. */
async function write(keys: readonly Caller[], writer: number, expected: Expected): Promise<void> {
  for (let n = 0; n < CALLS; n++) {
    const caller = keys[(writer + n) % 2] as Caller
    const { id } = await make.hold(caller, 10n)
    expected.calls += 1
    if (n % 5 === 0) {
      expected.open.push(id)
      continue
    }
    const failed = n % 3 === 0
    await make.capture(id, 7n, { outcome: failed ? 'failed' : 'success', usage: { input_tokens: 3, output_tokens: 1 } })
    expected.charged += 7
    expected.tokens += 4
    if (!failed) continue
    expected.errors += 1
    await database.sql(`select * from ledger_refund($1, $2, 'a test')`, [id, caller.accountId])
    expected.refunded += 7
  }
}

/** Rolls up until everything that was written before is in. */
async function rollUpToNow(): Promise<void> {
  const [row] = await database.sql<{ at: Date }>('select clock_timestamp() as at')
  await until(async () => (await closeAndRollUp()) > (row?.at ?? 0), 'time is closed')
}

test('calls, ends and refunds that race with roll-ups are in usage once: none twice, none missing', async () => {
  const [agent, owner] = [await make.account('agent'), await make.account('owner')]
  await make.grant(owner, 1_000_000n)
  await make.link(agent, owner, 'owner_only')
  const keys = [await make.key(agent), await make.key(owner)] as const
  const expected: Expected = { calls: 0, errors: 0, charged: 0, refunded: 0, tokens: 0, open: [] }
  let writing = true
  let seen = 0
  const read = async (): Promise<void> => {
    while (writing) {
      // what was counted once stays counted, in whatever way it is read
      const { calls } = await used(keys[1])
      expect(calls).toBeGreaterThanOrEqual(seen)
      expect(calls).toBeLessThanOrEqual(expected.calls + WRITERS)
      seen = calls
    }
  }
  const roll = async (): Promise<void> => {
    while (writing) await closeAndRollUp()
  }
  const others = [read(), roll(), roll()]
  await Promise.all(Array.from({ length: WRITERS }, (_, writer) => write(keys, writer, expected)))
  // the rest ends only after its time was rolled up
  await rollUpToNow()
  const end = { outcome: 'success', usage: { input_tokens: 1, output_tokens: 0 } } as const
  await Promise.all(expected.open.map((id) => make.capture(id, 2n, end)))
  expected.charged += expected.open.length * 2
  expected.tokens += expected.open.length
  writing = false
  await Promise.all(others)

  const check = async (): Promise<void> => {
    const owners = await used(keys[1])
    expect({ ...owners, tokens: owners.input_tokens + owners.output_tokens }).toMatchObject({
      charged_micro: expected.charged,
      refunded_micro: expected.refunded,
      calls: expected.calls,
      errors: expected.errors,
      tokens: expected.tokens,
    })
    const own = await used(keys[0])
    expect(own).toMatchObject({ charged_micro: 0, calls: expected.calls / 2 })
    expect(own.owner_charged_micro).toBeGreaterThan(0)
  }
  await check()
  await rollUpToNow()
  await check()
  // nothing is left to be read live: what was checked last came from the roll-up alone
  expect(await database.sql('select * from usage_open')).toEqual([])
  const [rolled] = await database.sql<{ calls: string }>(
    'select sum(calls) as calls from usage_hours where account_id = $1',
    [owner],
  )
  expect(Number(rolled?.calls)).toBe(expected.calls)
}, 120_000)

test('time is not closed while a transaction runs that began before it, however late it writes', async () => {
  // without a margin it is this transaction alone that keeps time open
  const margin = '0 seconds'
  const client = await database.pool.connect()
  try {
    await client.query('begin')
    const { rows } = await client.query<{ began: Date }>('select now() as began')
    const began = rows[0]?.began ?? new Date(0)
    for (let n = 0; n < 5; n++) expect((await closeAndRollUp(margin)).getTime()).toBeLessThanOrEqual(began.getTime())
    await client.query('commit')
    await until(async () => (await closeAndRollUp(margin)) > began, 'time is closed')
  } finally {
    client.release()
  }
}, 120_000)

test('the roll-up of a server takes whole hours only, and may be run again by anybody', async () => {
  await database.sql(`update usage_rolled set rolled_until = date_trunc('hour', now()) - interval '30 hours'`)
  await database.sql(
    `update closed_time set closed_until = date_trunc('hour', now()) + interval '59 minutes', candidate = null`,
  )
  const hours = await Promise.all([
    rollUpUsage(database.db, await closedHour(database.db)),
    rollUpUsage(database.db, await closedHour(database.db)),
  ])
  hours.push(await rollUpUsage(database.db, await closedHour(database.db)))
  // between them they were behind by all of it, and by no hour twice
  expect(hours.reduce((sum, each) => sum + each, 0)).toBe(30)
  const [row] = await database.sql<{ whole: boolean }>(
    `select rolled_until = date_trunc('hour', closed_until) as whole from usage_rolled, closed_time`,
  )
  expect(row?.whole).toBe(true)
})

test('whole hours are read from the roll-up alone, and the parts of an hour at either end of a range from its calls', async () => {
  const id = await make.account('owner')
  const key = await make.key(id)
  const hour = new Date(Math.floor(Date.now() / 3_600_000) * 3_600_000 - 20 * 3_600_000)
  await database.sql(`update usage_rolled set rolled_until = $1`, [new Date(hour.getTime() + 5 * 3_600_000)])
  // no call is behind this: who counts it has read the roll-up
  await database.sql(
    `insert into usage_hours (account_id, hour, model, actor_account_id, key_id, charged_micro, refunded_micro, owner_charged_micro, calls, errors, input_tokens, output_tokens)
     values ($1, $2, 'demo', $1, null, 50, 0, 0, 5, 0, 0, 0)`,
    [id, hour],
  )
  const at = (hours: number) => new Date(hour.getTime() + hours * 3_600_000).toISOString()
  const calls = async (from: number, to?: number) => {
    const query = `from=${at(from)}${to === undefined ? '' : `&to=${at(to)}`}`
    return (await http.get(key, `/v1/usage?${query}`)).body.totals.calls
  }
  expect([await calls(0, 1), await calls(-0.5, 1.5), await calls(0, 12), await calls(0)]).toEqual([5, 5, 5, 5])
  expect([await calls(0, 0.5), await calls(0.5, 1), await calls(0.5, 3), await calls(1)]).toEqual([0, 0, 0, 0])
})
