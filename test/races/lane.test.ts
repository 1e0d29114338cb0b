import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, inject, test, vi } from 'vitest'
import { systemClock } from '../../src/kernel/clock.ts'
import { type Applier, createApplier } from '../../src/ledger/applier.ts'
import { auditLedger } from '../../src/ledger/audit.ts'
import { type Lane, LaneLost, openLane } from '../../src/ledger/lane.ts'
import { wireForm } from '../../src/ledger/operations.ts'
import * as processes from '../../src/ledger/processes.ts'
import { freshDatabase, type TestDatabase } from '../database.ts'
import { amount, balanceOf, makeEconomy, reserveOf } from './economy.ts'
import { type Proxy as DatabaseProxy, openProxy } from './proxy.ts'

const CREDITS = 1_000_000n
const ANSWER_TIMEOUT_MS = 1000

let database: TestDatabase
let folder: string
let proxy: DatabaseProxy
let lane: Lane
let applier: Applier
beforeEach(async () => {
  database = await freshDatabase()
  await makeEconomy(database, CREDITS)
  folder = await mkdtemp(join(tmpdir(), 'farebox-proxy-'))
  proxy = await openProxy({ folder, target: inject('socketFolder') })
  const url = database.url.replace(encodeURIComponent(inject('socketFolder')), encodeURIComponent(folder))
  lane = openLane({ url, processId: 1n, answerTimeoutMs: ANSWER_TIMEOUT_MS })
  applier = createApplier({ lane, clock: systemClock, batchMax: 64, queueMax: 10_000, patienceMs: 60_000 })
})
afterEach(async () => {
  proxy.weather = { kind: 'clear' }
  await applier.close()
  await proxy.close()
  await rm(folder, { recursive: true, force: true })
  await database.drop()
})

/** A hold of 10, and a line that stands, however slow the machine is: the impatience is for what comes after. */
const held = () => vi.waitFor(() => lane.apply([reserveOf(1n, 10n)]), { timeout: 20_000 })
const captureOf = (holdId: bigint, actual: number) =>
  ({ operation: 'capture', holdId, actualMicro: amount(actual), outcome: 'success', usage: null }) as const
const audit = async () =>
  (await auditLedger(database.db)).filter((finding) => finding.check_name !== 'open_hold_without_process')
const captures = () =>
  database.sql<{ hold_id: string; total: string; times: string }>(
    `select hold_id, sum(amount_micro) as total, count(*) as times from transfers where kind = 'capture' group by hold_id order by hold_id::bigint`,
  )

test('a flush whose line is cut after the commit and before the reply is unknown to the lane, and applied once when sent again', async () => {
  await held()
  proxy.weather = { kind: 'cut before the reply' }
  await expect(lane.apply([captureOf(1n, 7), reserveOf(2n, 10n)])).rejects.toThrow(LaneLost)
  // it is committed: the owner of the database sees it
  await vi.waitFor(async () => expect((await balanceOf(database)).charged).toBe(7n))
  const again = await lane.apply([captureOf(1n, 7), reserveOf(2n, 10n)])
  expect(again.map(({ status, amountMicro }) => [status, amountMicro])).toEqual([
    ['captured', 7n],
    ['reserved', 10n],
  ])
  expect(await balanceOf(database)).toEqual({ posted: CREDITS - 7n, held: 10n, charged: 7n })
})

test('a database that says nothing is given up after the time for an answer, and the same flush succeeds on a new line', async () => {
  await held()
  proxy.weather = { kind: 'black hole' }
  await expect(lane.apply([captureOf(1n, 7)])).rejects.toThrow(LaneLost)
  proxy.weather = { kind: 'clear' }
  expect((await lane.apply([captureOf(1n, 7)]))[0]?.status).toBe('captured')
  expect(await balanceOf(database)).toEqual({ posted: CREDITS - 7n, held: 0n, charged: 7n })
})

test('a flush that waits for a lock longer than the time for an answer is applied once, by the first backend or by the second', async () => {
  await held()
  const blocker = await database.pool.connect()
  await blocker.query('begin; select ledger_lock_families(array[1]::bigint[])')
  const capture = applier.submit(captureOf(1n, 7))
  // two backends wait for the family now: the one that was given up and the one of the resent flush
  await vi.waitFor(
    async () => {
      const waiting = await database.sql(
        `select from pg_stat_activity where datname = current_database() and application_name = 'farebox ledger' and wait_event_type = 'Lock'`,
      )
      expect(waiting.length).toBeGreaterThanOrEqual(2)
    },
    { timeout: 10_000 },
  )
  await blocker.query('commit')
  blocker.release()
  expect((await capture).status).toBe('captured')
  await applier.drained(10_000)
  expect(await balanceOf(database)).toEqual({ posted: CREDITS - 7n, held: 0n, charged: 7n })
  expect(await captures()).toHaveLength(1)
})

test('a backend that an administrator ends in the middle counts as a lost line, and nothing is lost', async () => {
  await held()
  const [ended] = await database.sql<{ done: boolean }>(
    `select pg_terminate_backend(pid) as done from pg_stat_activity where datname = current_database() and application_name = 'farebox ledger'`,
  )
  expect(ended?.done).toBe(true)
  expect((await applier.submit(captureOf(1n, 7))).status).toBe('captured')
  expect(await balanceOf(database)).toEqual({ posted: CREDITS - 7n, held: 0n, charged: 7n })
})

test('an end whose statement is cancelled is not poison: it is sent again until it is applied', async () => {
  await held()
  const blocker = await database.pool.connect()
  await blocker.query('begin; select ledger_lock_families(array[1]::bigint[])')
  const capture = applier.submit(captureOf(1n, 7))
  const cancelled = await vi.waitFor(
    async () => {
      const rows = await database.sql(
        `select pg_cancel_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'farebox ledger' and wait_event_type = 'Lock'`,
      )
      expect(rows.length).toBeGreaterThan(0)
      return rows
    },
    { timeout: 10_000, interval: 5 },
  )
  expect(cancelled).toHaveLength(1)
  await vi.waitFor(() => expect(applier.failing).toBe(true), { interval: 1 })
  await blocker.query('commit')
  blocker.release()
  expect((await capture).status).toBe('captured')
  expect(await balanceOf(database)).toEqual({ posted: CREDITS - 7n, held: 0n, charged: 7n })
})

describe('a hold whose server died while it was on its way', () => {
  const deadProcess = () => processes.register(database.db, { host: 'elsewhere', pid: 1, oldest_hold_id: 0n })
  /** What whoever looks after the dead finds of this one. */
  const leftBy = async (dead: bigint) => {
    const self = await processes.register(database.db, { host: 'here', pid: 2, oldest_hold_id: 0n })
    const gone = await processes.gone(database.db, { self, host: 'here', isRunning: () => true })
    const found = gone.find(({ id }) => id === dead)
    return found && processes.leftBehind(database.db, found, 10)
  }

  test('is refused when its family was locked until its server counted as dead', async () => {
    const dead = await deadProcess()
    const line = openLane({ url: database.url, processId: dead, answerTimeoutMs: 20_000 })
    const blocker = await database.pool.connect()
    await blocker.query('begin; select ledger_lock_families(array[1]::bigint[])')
    const stuck = line.apply([reserveOf(1n, 10n)])
    await vi.waitFor(
      async () => {
        const rows = await database.sql(
          `select from pg_stat_activity where datname = current_database() and application_name = 'farebox ledger' and wait_event_type = 'Lock'`,
        )
        expect(rows).toHaveLength(1)
      },
      { timeout: 10_000 },
    )
    await processes.end(database.db, dead)
    await blocker.query('commit')
    blocker.release()
    expect((await stuck).map(({ status }) => status)).toEqual(['process_ended'])
    expect(await balanceOf(database)).toMatchObject({ held: 0n })
    await line.close()
  })

  test('is found by the next who looks, when it was committed after the last look', async () => {
    const dead = await deadProcess()
    const backend = await database.pool.connect()
    await backend.query('begin')
    await backend.query('select ledger_apply($1)', [JSON.stringify([wireForm(reserveOf(1n, 10n), dead)])])
    await processes.end(database.db, dead)
    await processes.reaped(database.db, dead)
    expect(await leftBy(dead)).toEqual([])
    await backend.query('commit')
    backend.release()
    expect(await leftBy(dead)).toEqual([1n])
  })
})

const SEED = Number(process.env.FAREBOX_MODEL_SEED ?? 1)
const ROUNDS = Number(process.env.FAREBOX_PROXY_ROUNDS ?? 40)

test(`over ${ROUNDS} random breaks of the line under load every acknowledged operation is there once, and none is doubled`, {
  timeout: 600_000,
}, async () => {
  const storms = fc.sample(
    fc.oneof<fc.Arbitrary<DatabaseProxy['weather']>[]>(
      fc.record({ kind: fc.constant('cut after sending' as const), bytes: fc.integer({ min: 1, max: 20_000 }) }),
      fc.constant({ kind: 'cut before the reply' as const }),
      fc.constant({ kind: 'down' as const }),
      fc.constant({ kind: 'black hole' as const }),
    ),
    { seed: SEED, numRuns: ROUNDS },
  )
  const acknowledged = new Map<bigint, number>()
  let refused = 0
  let next = 0n
  let storming = true
  const one = async () => {
    while (storming) {
      next += 1n
      const holdId = next
      const cost = Number(holdId % 10n)
      const reserved = await applier.submit(reserveOf(holdId, 10n)).catch(() => undefined)
      if (reserved === undefined) {
        refused += 1
        // as a client does that was told 503: not at once
        await new Promise<void>((resolve) => setImmediate(resolve))
        if (applier.failing) await applier.drained(10_000)
        continue
      }
      expect(reserved.status).toBe('reserved')
      const end = await applier.submit(captureOf(holdId, cost))
      expect(end).toMatchObject({ status: 'captured', amountMicro: BigInt(cost) })
      acknowledged.set(holdId, cost)
    }
  }
  const load = Promise.all(Array.from({ length: 16 }, one))
  for (const storm of storms) {
    const before = acknowledged.size
    await vi.waitFor(() => expect(acknowledged.size).toBeGreaterThan(before), { timeout: 30_000, interval: 1 })
    proxy.weather = { ...storm }
    if (storm.kind !== 'cut before the reply')
      await vi.waitFor(() => expect(applier.failing).toBe(true), { timeout: 30_000, interval: 1 })
    if (storm.kind === 'down' || storm.kind === 'black hole') proxy.weather = { kind: 'clear' }
  }
  storming = false
  await load
  expect(await applier.drained(30_000)).toBe(true)

  const charged = new Map((await captures()).map(({ hold_id, total }) => [BigInt(hold_id), Number(total)]))
  const lost = [...acknowledged].filter(([holdId, cost]) => (charged.get(holdId) ?? 0) !== cost)
  expect(lost).toEqual([])
  expect([...charged.keys()].filter((holdId) => !acknowledged.has(holdId))).toEqual([])
  const total = [...acknowledged.values()].reduce((sum, cost) => sum + BigInt(cost), 0n)
  expect(await balanceOf(database)).toEqual({ posted: CREDITS - total, held: 0n, charged: total })
  expect(await audit()).toEqual([])
  process.stdout.write(
    `proxy: seed ${SEED}, ${ROUNDS} breaks (${proxy.cuts} in the middle of a flush), ${acknowledged.size} calls acknowledged, ${refused} told 503, 0 lost, 0 doubled\n`,
  )
})
