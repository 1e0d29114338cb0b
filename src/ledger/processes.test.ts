import { afterAll, beforeAll, expect, test } from 'vitest'
import { freshDatabase, type TestDatabase } from '../../test/database.ts'
import { captureOf, reserveOf } from './fake-lane.fixture.ts'
import { heldByState } from './held.ts'
import { openLane } from './lane.ts'
import * as processes from './processes.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await freshDatabase()
  await database.sql(`insert into families (id) values (1)`)
  await database.sql(`insert into accounts (account_type, family_id) values ('owner', 1)`)
  await database.sql(`select ledger_grant('operator', 'g', 1, 'promo', 5, null, 'a test', 'operator:test')`)
})
afterAll(() => database.drop())

const silent = (id: bigint) =>
  database.sql(`update processes set heartbeat_at = now() - interval '31 seconds' where id = $1`, [id])

test('a process that was taken for gone while it was only cut off is watched again from its next sign of life', async () => {
  const { db } = database
  const self = await processes.register(db, { host: 'here', pid: 1, oldest_hold_id: 0n })
  const other = await processes.register(db, { host: 'elsewhere', pid: 2, oldest_hold_id: 0n })
  const gone = () =>
    processes.gone(db, { self, host: 'here', isRunning: () => true }).then((rows) => rows.map(({ id }) => id))
  expect(await gone()).toEqual([])
  await silent(other)
  expect(await gone()).toEqual([other])
  await processes.end(db, other)
  await processes.reaped(db, other)
  // a flush of it may still be on its way
  expect(await gone()).toEqual([other])
  await database.sql(`update processes set ended_at = ended_at - interval '121 seconds' where id = $1`, [other])
  await processes.reaped(db, other)
  expect(await gone()).toEqual([])
  await processes.beat(db, other, 0n)
  expect(await gone()).toEqual([])
  await silent(other)
  expect(await gone()).toEqual([other])
})

test('a process of this host that runs no more is gone at once; of another host only its silence tells', async () => {
  const { db } = database
  const self = await processes.register(db, { host: 'one', pid: 10, oldest_hold_id: 0n })
  const [dead, alive, elsewhere] = [
    await processes.register(db, { host: 'one', pid: 11, oldest_hold_id: 5n }),
    await processes.register(db, { host: 'one', pid: 12, oldest_hold_id: 0n }),
    await processes.register(db, { host: 'two', pid: 11, oldest_hold_id: 0n }),
  ]
  const here = { self, host: 'one', isRunning: (pid: number) => pid !== 11 }
  const gone = async () =>
    (await processes.gone(db, here)).filter(({ id }) => id >= self).toSorted((a, b) => Number(a.id - b.id))
  expect(await gone()).toMatchObject([{ id: dead, oldest_hold_id: 5n, ended: false }])
  await silent(elsewhere)
  expect((await gone()).map(({ id }) => id)).toEqual([dead, elsewhere])
  await processes.end(db, alive)
  expect((await gone()).map(({ id, ended }) => [id, ended])).toEqual([
    [dead, false],
    [alive, true],
    [elsewhere, false],
  ])
  expect((await processes.running(db)).filter(({ id }) => id >= self)).toEqual([
    { id: self, host: 'one', pid: 10 },
    { id: dead, host: 'one', pid: 11 },
  ])
  for (const id of [self, dead, alive, elsewhere]) await database.sql('delete from processes where id = $1', [id])
})

test('what a gone process left behind is found by its own oldest hold, and not what has an end or a flag', async () => {
  const { db } = database
  const process = await processes.register(db, { host: 'elsewhere', pid: 3, oldest_hold_id: 2n })
  const lane = openLane({ url: database.url, processId: process, answerTimeoutMs: 10_000 })
  await lane.apply(
    [1n, 2n, 3n, 4n, 5n]
      .map(reserveOf)
      .map((operation) => ({ ...operation, credential: { kind: 'operator' as const, id: 1n } })),
  )
  await lane.apply([captureOf(3n), { operation: 'unknown', holdId: 4n, reason: 'a test' }])
  expect(
    await processes.leftBehind(db, { id: process, oldest_hold_id: 2n, ended: false, is_final: false }, 10),
  ).toEqual([2n, 5n])
  expect(await processes.leftBehind(db, { id: process, oldest_hold_id: 2n, ended: false, is_final: false }, 1)).toEqual(
    [2n],
  )

  expect(await heldByState(db)).toEqual({ in_flight: 3, usage_unknown: 1, pending_settlement: 0, review: 0 })
  // the usage came after all, above the hold and above what is left: one hold, counted once
  const [late] = await lane.apply([{ ...captureOf(4n), actualMicro: 9n as never } as ReturnType<typeof captureOf>])
  expect(late?.status).toBe('shortfall')
  expect(await heldByState(db)).toEqual({ in_flight: 3, usage_unknown: 0, pending_settlement: 1, review: 0 })
  await lane.close()
})

test('a hold of a process that has ended is refused, however late its flush comes; a repeat of one that was made is answered', async () => {
  const { db } = database
  const process = await processes.register(db, { host: 'elsewhere', pid: 4, oldest_hold_id: 0n })
  const lane = openLane({ url: database.url, processId: process, answerTimeoutMs: 10_000 })
  const hold = (id: bigint) => ({ ...reserveOf(id), credential: { kind: 'operator' as const, id: 1n } })
  await database.sql(`select ledger_grant('operator', 'more', 1, 'promo', 50, null, 'a test', 'operator:test')`)
  expect((await lane.apply([hold(10n)])).map(({ status }) => status)).toEqual(['reserved'])
  await processes.end(db, process)
  const late = await lane.apply([hold(10n), hold(11n), { ...hold(12n), detached: true } as ReturnType<typeof hold>])
  expect(late.map(({ status }) => status)).toEqual(['reserved', 'process_ended', 'reserved'])
  expect(await processes.leftBehind(db, { id: process, oldest_hold_id: 0n, ended: true, is_final: false }, 10)).toEqual(
    [10n],
  )
  await processes.beat(db, process, 0n)
  expect((await lane.apply([hold(11n)])).map(({ status }) => status)).toEqual(['reserved'])
  await lane.close()
})
