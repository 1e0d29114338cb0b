import { afterAll, beforeAll, expect, test } from 'vitest'
import { freshDatabase, type TestDatabase } from '../../test/database.ts'
import { createHoldIds } from './hold-ids.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await freshDatabase()
})
afterAll(() => database.drop())

test('ids are unique over processes and rise within one, over the edges of blocks and however many callers wait', async () => {
  const processes = await Promise.all([createHoldIds(database.db), createHoldIds(database.db)])
  const given = await Promise.all(processes.map((ids) => Promise.all(Array.from({ length: 3500 }, () => ids.next()))))
  expect(new Set(given.flat()).size).toBe(7000)
  for (const ids of given) expect(ids).toEqual(ids.toSorted((a, b) => Number(a - b)))
})

test('no id that is given from now on is smaller than the lowest', async () => {
  const ids = await createHoldIds(database.db)
  for (let n = 0; n < 2100; n += 1) {
    const { lowest } = ids
    expect(await ids.next()).toBeGreaterThanOrEqual(lowest)
  }
})

test('a process that is alone leaves no id out', async () => {
  const ids = await createHoldIds(database.db)
  const first = ids.lowest
  const given = await Promise.all(Array.from({ length: 3500 }, () => ids.next()))
  expect(given).toEqual(given.map((_, index) => first + BigInt(index)))
})
