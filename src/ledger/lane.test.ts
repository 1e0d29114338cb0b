import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { freshDatabase, type TestDatabase } from '../../test/database.ts'
import { reserveOf } from './fake-lane.fixture.ts'
import { LaneLost, openLane } from './lane.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await freshDatabase()
})
afterAll(() => database.drop())

test('a lane that reaches no database is lost, says why, and can be closed', async () => {
  const lane = openLane({ url: 'postgresql://x@localhost/x?host=%2Fnowhere', processId: 1n, answerTimeoutMs: 10_000 })
  const lost = await lane.apply([reserveOf(1n)]).catch((error: unknown) => error)
  expect(lost).toBeInstanceOf(LaneLost)
  expect((lost as LaneLost).cause).toMatchObject({ code: 'ENOENT' })
  await lane.close()
})

test('a lane that is lost under a flush says why, and a closed one opens again', async () => {
  const lane = openLane({ url: database.url, processId: 1n, answerTimeoutMs: 10_000 })
  const held = await database.pool.connect()
  await held.query('begin; lock table families in access exclusive mode')
  const stuck = lane.apply([reserveOf(1n)]).catch((error: unknown) => error)
  await vi.waitFor(
    async () => {
      const ended = await database.sql(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and application_name = 'farebox ledger' and wait_event_type = 'Lock'`,
      )
      expect(ended).toHaveLength(1)
    },
    { timeout: 10_000, interval: 5 },
  )
  const lost = await stuck
  await held.query('rollback')
  held.release()
  expect(lost).toBeInstanceOf(LaneLost)
  expect((lost as LaneLost).cause).toMatchObject({ message: expect.any(String) })
  // nobody has an account here: what matters is that the flush arrives
  const arrives = async () => (await lane.apply([reserveOf(2n)])).map(({ status }) => status)
  expect(await arrives()).toEqual(['unauthorized'])
  await lane.close()
  expect(await arrives()).toEqual(['unauthorized'])
  await lane.close()
})

const connections = async () =>
  (
    await database.sql(
      `select pid from pg_stat_activity where datname = current_database() and application_name = 'farebox ledger'`,
    )
  ).length

test('one connection serves flush after flush, and none is left when the lane is closed', async () => {
  const lane = openLane({ url: database.url, processId: 1n, answerTimeoutMs: 10_000 })
  for (const holdId of [1n, 2n, 3n]) await lane.apply([reserveOf(holdId)])
  await vi.waitFor(async () => expect(await connections()).toBe(1), { timeout: 5_000 })
  await lane.close()
  await vi.waitFor(async () => expect(await connections()).toBe(0), { timeout: 10_000 })
})

test('a lane whose connection was ended between two flushes loses neither', async () => {
  const lane = openLane({ url: database.url, processId: 1n, answerTimeoutMs: 10_000 })
  await lane.apply([reserveOf(1n)])
  await database.sql(
    `select pg_terminate_backend(pid, 10000) from pg_stat_activity where datname = current_database() and application_name = 'farebox ledger'`,
  )
  expect(await lane.apply([reserveOf(2n)])).toHaveLength(1)
  await lane.close()
})

test('a flush without an answer in time is lost for that reason, and its connection is cut, not asked to end', async () => {
  const lane = openLane({ url: database.url, processId: 1n, answerTimeoutMs: 100 })
  const held = await database.pool.connect()
  await held.query('begin; lock table families in access exclusive mode')
  await expect(lane.apply([reserveOf(1n)])).rejects.toThrow(/did not answer in time/)
  await held.query('rollback')
  held.release()
  await vi.waitFor(async () => expect(await connections()).toBe(0), { timeout: 10_000 })
  await lane.close()
})
