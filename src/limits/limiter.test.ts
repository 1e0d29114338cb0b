import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freshDatabase, type TestDatabase } from '../../test/database.ts'
import { type Database, openDatabase } from '../db/database.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Limiter, Quota, Standing } from '../kernel/limiter.ts'
import { createLimiter } from './limiter.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await freshDatabase()
})
afterAll(() => database.drop())

const quota: Quota = { name: 'credential', requests: 600, windowMs: 60_000 }

/** A clock that only moves by hand. */
function handMoved(startMs = Date.UTC(2030, 0, 1)): Clock & { advance(ms: number): void; set(ms: number): void } {
  let atMs = startMs
  let runMs = 0
  return {
    now: () => new Date(atMs),
    monotonicMs: () => runMs,
    advance(ms) {
      atMs += ms
      runMs += ms
    },
    set(ms) {
      atMs = ms
    },
  }
}

interface Setting {
  readonly db?: Database
  readonly clock?: Clock
  readonly troubles?: string[]
  readonly keysMax?: number
}

function limiterOf({ db = database.db, clock = handMoved(), troubles = [], keysMax = 1000 }: Setting = {}): Limiter {
  return createLimiter({ db, clock, keysMax, onTrouble: (message) => troubles.push(message) })
}

async function burst(limiter: Limiter, key: string, count: number, of = quota): Promise<number> {
  const standings = await Promise.all(Array.from({ length: count }, () => limiter.take(of, key)))
  return standings.filter((standing) => standing?.allowed).length
}

async function taken(key: string, limiter: Limiter, of = quota): Promise<Standing> {
  return (await limiter.take(of, key)) as Standing
}

/** Counts statements on their way to the database. */
function counting(db: Database): { db: Database; count(): number } {
  let statements = 0
  const counted = db.withPlugin({
    transformQuery({ node }) {
      statements++
      return node
    },
    transformResult: async ({ result }) => result,
  })
  return { db: counted, count: () => statements }
}

test('one process allows exactly the quota, and the rest of a burst is refused', async () => {
  expect(await burst(limiterOf(), 'exact', 2000)).toBe(600)
})

test('a new window gives the whole quota again, at the moment that was announced', async () => {
  const clock = handMoved()
  const limiter = limiterOf({ clock })
  expect(await burst(limiter, 'windows', 700)).toBe(600)
  const refused = await taken('windows', limiter)
  expect(refused).toMatchObject({ allowed: false, remaining: 0 })
  expect(refused.resetMs).toBeLessThanOrEqual(60_000)
  clock.advance(refused.resetMs - 1)
  expect(await taken('windows', limiter)).toMatchObject({ allowed: false, resetMs: 1 })
  clock.advance(1)
  expect(await taken('windows', limiter)).toMatchObject({
    allowed: true,
    remaining: 599,
    resetMs: 60_000,
  })
  expect(await burst(limiter, 'windows', 700)).toBe(599)
})

test('two processes on one database never allow more than the quota together, and a burst gets all of it', async () => {
  const clock = handMoved()
  const [one, other] = [limiterOf({ clock }), limiterOf({ clock })]
  const [first, second] = await Promise.all([burst(one, 'shared', 1000), burst(other, 'shared', 1000)])
  expect(first + second).toBe(600)
})

test('two operating-system processes never allow more than the quota together under a burst of 2,000', async () => {
  const program = fileURLToPath(new URL('burst.fixture.ts', import.meta.url))
  const processes = [0, 1].map(() => {
    const child = spawn(process.execPath, [program, database.url, '600', String(Date.UTC(2030, 5, 1))], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    return { child, answers: createInterface({ input: child.stdout })[Symbol.asyncIterator]() }
  })
  const sent = (count: number): Promise<number[]> =>
    Promise.all(
      processes.map(async ({ child, answers }) => {
        child.stdin.write(`${count}\n`)
        return Number((await answers.next()).value)
      }),
    )
  // both run and have leases before the burst
  expect(await sent(50)).toEqual([50, 50])
  const [first = 0, second = 0] = await sent(1000)
  expect(100 + first + second).toBe(600)
  expect(await sent(100)).toEqual([0, 0])
  for (const { child } of processes) child.stdin.end()
  await Promise.all(processes.map(({ child }) => once(child, 'exit')))
})

test('what a process took and did not use is lost, never given out twice', async () => {
  const clock = handMoved()
  const ended = limiterOf({ clock })
  for (let n = 0; n < 20; n++) await taken('crashed', ended)
  const others = await burst(limiterOf({ clock }), 'crashed', 2000)
  expect(others).toBeLessThanOrEqual(580)
  expect(others).toBeGreaterThanOrEqual(600 - 2 * 20 - 8)
})

test('steady use asks the database far less than once a request', async () => {
  const { db, count } = counting(database.db)
  const limiter = limiterOf({ db })
  for (let n = 0; n < 600; n++) expect((await taken('steady', limiter)).allowed).toBe(true)
  expect(count()).toBeLessThan(40)
})

test('requests that wait for a lease share one query', async () => {
  const { db, count } = counting(database.db)
  expect(await burst(limiterOf({ db }), 'together', 500)).toBe(500)
  // the first one, what came while it was on its way, and the pruning
  expect(count()).toBeLessThanOrEqual(3)
})

test('a used-up window is refused without a query', async () => {
  const { db, count } = counting(database.db)
  const limiter = limiterOf({ db })
  await burst(limiter, 'used up', 601)
  const before = count()
  expect(limiter.spent(quota, 'used up')).toMatchObject({ allowed: false, remaining: 0 })
  expect(await burst(limiter, 'used up', 1000)).toBe(0)
  expect(count()).toBe(before)
})

test('keys and quotas are counted apart', async () => {
  const limiter = limiterOf()
  expect(await burst(limiter, 'a', 601)).toBe(600)
  expect(await burst(limiter, 'b', 601)).toBe(600)
  expect(await burst(limiter, 'a', 20, { name: 'topup', requests: 10, windowMs: 60_000 })).toBe(10)
})

test('a limit that was lowered refuses at once and gives nothing back to a process that does not know yet', async () => {
  const clock = handMoved()
  expect(await burst(limiterOf({ clock }), 'lowered', 600)).toBe(600)
  expect(await burst(limiterOf({ clock }), 'lowered', 10, { ...quota, requests: 100 })).toBe(0)
  expect(await burst(limiterOf({ clock }), 'lowered', 10)).toBe(0)
})

test('the remaining requests fall by one with each', async () => {
  const limiter = limiterOf()
  const remaining: number[] = []
  for (let n = 0; n < 30; n++) remaining.push((await taken('falling', limiter)).remaining)
  expect(remaining).toEqual(Array.from({ length: 30 }, (_, n) => 599 - n))
})

test('forgotten keys keep their counts in the database, so a bounded memory never allows more', async () => {
  const limiter = limiterOf({ keysMax: 2 })
  let allowed = 0
  for (let n = 0; n < 200; n++) {
    if ((await taken('busy', limiter, { ...quota, requests: 50 })).allowed) allowed++
    await taken(`passer-by ${n}`, limiter)
    await taken(`passer-by ${n} too`, limiter)
  }
  expect(allowed).toBeLessThanOrEqual(50)
  expect(allowed).toBeGreaterThan(5)
})

test('a clock that is set back does not keep a key in its old window', async () => {
  const clock = handMoved()
  const limiter = limiterOf({ clock })
  await burst(limiter, 'set back', 601)
  clock.set(Date.UTC(2029, 0, 1))
  expect(await taken('set back', limiter)).toMatchObject({ allowed: true })
})

test('while the database is away nothing is known, it is asked at most once a second, and counting goes on after it', async () => {
  const clock = handMoved()
  const troubles: string[] = []
  const { db: lost, pool } = openDatabase({
    url: 'postgresql://nobody@127.0.0.1:1/nothing',
    connections: 2,
    statementTimeoutMs: 1000,
    onIdleError: () => undefined,
  })
  const away = limiterOf({ db: lost, clock, troubles })
  expect(await Promise.all(Array.from({ length: 50 }, () => away.take(quota, 'away')))).toEqual(
    Array(50).fill(undefined),
  )
  expect(await away.take(quota, 'another')).toBeUndefined()
  expect(troubles).toHaveLength(1)
  clock.advance(1001)
  expect(await away.take(quota, 'away')).toBeUndefined()
  expect(troubles).toHaveLength(2)
  await pool.end()
})

test('a count that was unknown is known again once the database is back', async () => {
  const clock = handMoved()
  await database.sql('alter table rate_limit_windows rename to gone')
  const limiter = limiterOf({ clock })
  try {
    expect(await limiter.take(quota, 'back')).toBeUndefined()
  } finally {
    await database.sql('alter table gone rename to rate_limit_windows')
  }
  expect(await limiter.take(quota, 'back')).toBeUndefined()
  clock.advance(1001)
  expect(await taken('back', limiter)).toMatchObject({ allowed: true, remaining: 599 })
})

test('windows that are long over are forgotten, running ones are kept, and no address is stored in the clear', async () => {
  await database.sql('delete from rate_limit_windows')
  const clock = handMoved(Date.UTC(2031, 0, 1))
  const limiter = limiterOf({ clock })
  await taken('203.0.113.7', limiter)
  clock.advance(240_000)
  await taken('203.0.113.8', limiter)
  await expect.poll(async () => (await database.sql('select from rate_limit_windows')).length).toBe(1)
  const rows = await database.sql<{ key: Buffer }>('select key from rate_limit_windows')
  expect(rows.map(({ key }) => key.length)).toEqual([16])
})
