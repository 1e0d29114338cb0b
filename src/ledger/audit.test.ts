import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '../../test/app.ts'
import { freshDatabase, type TestDatabase } from '../../test/database.ts'
import { ledgerFixture } from '../../test/ledger-fixture.ts'
import { auditLedger, auditRecent, type Finding } from './audit.ts'

let database: TestDatabase
let make: ReturnType<typeof ledgerFixture>
beforeAll(async () => {
  database = await freshDatabase()
  make = ledgerFixture(database)
  await database.sql(
    `insert into processes (id, host, pid, oldest_hold_id) overriding system value values (1, 'test', 1, 0)`,
  )
})
afterAll(() => database.drop())

/** Closes time with a margin that a test can wait for, and audits up to there; gives what was found. */
async function increment(margin = '2 seconds'): Promise<Finding[]> {
  await database.sql(`select ledger_close_time($1)`, [margin])
  return auditRecent(database.db)
}

/** Audits until everything that was written before this was called is audited. */
async function upToNow(margin?: string): Promise<Finding[]> {
  const [row] = await database.sql<{ at: Date }>('select clock_timestamp() as at')
  const found: Finding[] = []
  await until(async () => {
    found.push(...(await increment(margin)))
    const [progress] = await database.sql<{ at: Date }>('select audited_until as at from audit_progress')
    return (progress?.at ?? 0) > (row?.at ?? 0)
  }, 'what was written is audited')
  return found
}

/** Changes what nothing may change. */
async function corrupt(table: string, statement: string, values: unknown[]): Promise<void> {
  await database.sql(`alter table ${table} disable trigger append_only`)
  await database.sql(statement, values)
  await database.sql(`alter table ${table} enable trigger append_only`)
}

test('increments that race with calls find nothing wrong, and know what is open when the calls are over', async () => {
  const [agent, owner] = [await make.account('agent'), await make.account('owner')]
  await make.grant(owner, 100_000n, { bucket: 'promo', expiresAt: new Date(Date.now() + 86_400_000) })
  await make.grant(agent, 500n)
  await make.link(agent, owner, 'self_then_owner', {})
  const key = await make.key(agent)
  const open: bigint[] = []
  let writing = true
  const found: Finding[] = []
  const audit = async (): Promise<void> => {
    while (writing) found.push(...(await increment()))
  }
  const write = async (): Promise<void> => {
    for (let n = 0; n < 25; n++) {
      const { id } = await make.hold(key, 20n)
      if (n % 6 === 0) open.push(id)
      else if (n % 6 === 1) await make.release(id)
      else if (n % 6 === 2) {
        await make.capture(id, 5n, { outcome: 'failed' })
        await database.sql(`select * from ledger_refund($1, $2, 'a test')`, [id, agent])
      } else await make.capture(id, n % 6 === 3 ? 25n : 20n)
    }
  }
  const audits = [audit(), audit()]
  await Promise.all([write(), write(), write(), write()])
  writing = false
  await Promise.all(audits)
  found.push(...(await upToNow()))
  expect(found).toEqual([])
  expect(await auditLedger(database.db)).toEqual([])
  const kept = await database.sql<{ hold_id: string }>('select hold_id from audit_open_holds order by 1')
  const still = await database.sql<{ id: string }>(
    'select id from holds h where not exists (select from hold_resolutions r where r.hold_id = h.id) order by 1',
  )
  expect(kept.map(({ hold_id }) => hold_id)).toEqual(still.map(({ id }) => id))
  expect(still.length).toBeGreaterThanOrEqual(open.length)
}, 120_000)

test('an increment finds each wrong number in what is new, once', async () => {
  // nobody else writes: nothing lies between reading the clock and beginning
  const alone = '0 seconds'
  const id = await make.account('owner')
  const key = await make.key(id)
  await make.grant(id, 1000n)
  expect(await upToNow(alone)).toEqual([])
  const wrongs = [
    [
      'capture_moved',
      'hold_resolutions',
      'update hold_resolutions set actual_micro = actual_micro + 1 where hold_id = $1',
    ],
    [
      'transfer_balance',
      'transfers',
      'update transfers set balance_after_micro = balance_after_micro + 1 where hold_id = $1',
    ],
    ['hold_allocated', 'holds', 'update holds set reserve_micro = reserve_micro + 1 where id = $1'],
    [
      'grant_of_transfer',
      'transfers',
      `update transfers set kind = 'grant', debit_id = -2, credit_id = debit_id where hold_id = $1`,
    ],
  ] as const
  for (const [check, table, statement] of wrongs) {
    const { id: call } = await make.hold(key, 10n)
    await make.capture(call, 4n)
    await corrupt(table, statement, [call])
    expect((await upToNow(alone)).map((finding) => finding.check_name)).toContain(check)
    expect(await upToNow(alone)).toEqual([])
  }
  await make.hold(key, 10n)
  await database.sql(
    'update buckets set held_micro = held_micro + 1, posted_micro = posted_micro + 1 where account_id = $1',
    [id],
  )
  expect((await upToNow(alone)).map((finding) => finding.check_name)).toContain('bucket_held')
  const other = await make.account('owner')
  await make.grant(other, 5n)
  await database.sql('update buckets set posted_micro = posted_micro + 1 where account_id = $1', [other])
  expect((await upToNow(alone)).map((finding) => finding.check_name)).toEqual(['account_posted'])
}, 120_000)

test('an increment of many movements names the one that does not follow from the one before it, and no other account', async () => {
  const alone = '0 seconds'
  const [id, other] = [await make.account('owner'), await make.account('owner')]
  const [key, otherKey] = [await make.key(id), await make.key(other)]
  await make.grant(id, 1000n)
  await make.grant(other, 1000n)
  await upToNow(alone)
  const calls: bigint[] = []
  for (let n = 0; n < 6; n++) {
    const { id: call } = await make.hold(n % 2 === 0 ? key : otherKey, 10n)
    await make.capture(call, 4n)
    calls.push(call)
  }
  await corrupt('transfers', 'update transfers set balance_after_micro = balance_after_micro + 1 where hold_id = $1', [
    calls[2],
  ])
  const found = (await upToNow(alone)).filter((finding) => finding.check_name === 'transfer_balance')
  // the wrong one, and the next of its account, which was right and follows from it no more
  expect(found.map(({ expected, found: is }) => [expected, is])).toEqual([
    ['992', '993'],
    ['989', '988'],
  ])
}, 120_000)

test('an increment finds a capture that took from another bucket than its hold, and a hold with too little set aside', async () => {
  const alone = '0 seconds'
  const id = await make.account('owner')
  const key = await make.key(id)
  await make.grant(id, 1000n)
  await make.grant(id, 5n, { bucket: 'promo', expiresAt: new Date(Date.now() + 86_400_000) })
  await upToNow(alone)
  const { id: call } = await make.hold(key, 10n)
  await make.capture(call, 8n)
  await corrupt(
    'transfers',
    `update transfers t set debit_id = (select b.id from buckets b where b.account_id = $2 and b.id <> t.debit_id)
     where hold_id = $1 and amount_micro = 3`,
    [call, id],
  )
  expect((await upToNow(alone)).filter(({ check_name }) => check_name === 'capture_from_allocation')).toHaveLength(2)
  const { id: open } = await make.hold(key, 10n)
  await corrupt('hold_allocations', 'update hold_allocations set amount_micro = amount_micro - 1 where hold_id = $1', [
    open,
  ])
  expect((await upToNow(alone)).map(({ check_name }) => check_name).sort()).toEqual(['bucket_held', 'hold_allocated'])
}, 120_000)

test('a search by time reads no more than the last range of blocks, though no vacuum came by; beside one nothing waits', async () => {
  const own = await freshDatabase()
  try {
    const account = await ledgerFixture(own).account('owner')
    await own.sql(
      `insert into holds (id, request_id, actor_account_id, family_id, credential_kind, credential_id, category, subject, reserve_micro, wanted_micro, minimum_micro)
       select n, 'request ' || n, $1, $1, 'operator', 0, 'chat', 'test', 1, 1, 1 from generate_series(1, 12000) n`,
      [account],
    )
    const summarize = () => own.pool.query('select ledger_summarize_times()')
    const vacuum = new pg.Client({ connectionString: own.url })
    await vacuum.connect()
    await vacuum.query('begin; lock table holds in share update exclusive mode')
    await summarize()
    await vacuum.end()
    // twice, should the server itself be at it
    for (const _ of [1, 2]) await summarize()
    const [left] = await own.sql<{ ranges: number }>(`select brin_summarize_new_values('holds_time') as ranges`)
    // the range that is not full yet
    expect(left?.ranges).toBeLessThanOrEqual(1)
  } finally {
    await own.drop()
  }
}, 120_000)
