import { beforeEach, expect, test, vi } from 'vitest'
import { systemClock } from '../kernel/clock.ts'
import { type Applier, type ApplierOptions, createApplier } from './applier.ts'
import { captureOf, createFakeLane, type FakeLane, reserveOf } from './fake-lane.fixture.ts'
import { createLedger } from './ledger.ts'

let lane: FakeLane
let trouble: string[]
beforeEach(() => {
  lane = createFakeLane()
  trouble = []
})

const applierOf = (options: Partial<ApplierOptions> = {}): Applier =>
  createApplier({
    lane,
    clock: systemClock,
    batchMax: 512,
    queueMax: 100,
    patienceMs: 60_000,
    onTrouble: (message) => trouble.push(message),
    ...options,
  })
const ids = (from: number, to: number): bigint[] =>
  Array.from({ length: to - from + 1 }, (_, index) => BigInt(from + index))
/** Keeps flushes waiting until the function that this gives is called. */
const closeGate = (): (() => void) => {
  const { promise, resolve } = Promise.withResolvers<void>()
  lane.gate = promise
  return () => {
    lane.gate = undefined
    resolve()
  }
}
const all = (applier: Applier, holdIds: readonly bigint[], operation = reserveOf) =>
  Promise.allSettled(holdIds.map((holdId) => applier.submit(operation(holdId))))
const outcomes = (settled: PromiseSettledResult<unknown>[]): string[] =>
  settled.map((result) =>
    result.status === 'fulfilled'
      ? (result.value as { status: string }).status
      : ((result.reason as { code?: string }).code ?? String(result.reason)),
  )

test('what comes while a flush runs shares the next one, in order and never above the limit of a flush', async () => {
  const applier = applierOf({ batchMax: 4 })
  const open = closeGate()
  const first = applier.submit(reserveOf(1n))
  await vi.waitFor(() => expect(lane.flushes).toHaveLength(1))
  const rest = all(applier, ids(2, 7))
  open()
  await Promise.all([first, rest])
  expect(lane.flushes).toEqual([[1n], [2n, 3n, 4n, 5n], [6n, 7n]])
  expect(applier.depth).toBe(0)
})

test.each(['lost before', 'lost after'] as const)(
  'ends whose flush is %s the commit are sent again as they were, and nothing is applied twice',
  async (fate) => {
    const applier = applierOf()
    await all(applier, ids(1, 5))
    lane.fates.push(fate, fate)
    expect(outcomes(await all(applier, ids(1, 5), captureOf))).toEqual(Array(5).fill('captured'))
    expect(lane.flushes.slice(1)).toEqual([ids(1, 5), ids(1, 5), ids(1, 5)])
    expect([...lane.made.values()].every((times) => times === 1)).toBe(true)
  },
)

test.each(['lost before', 'lost after'] as const)(
  'reserves whose flush is %s the commit are told 503 at once and released when the lane is back',
  async (fate) => {
    const applier = applierOf()
    lane.fates.push(fate, 'lost before')
    expect(outcomes(await all(applier, ids(1, 3)))).toEqual(Array(3).fill('unavailable'))
    expect([...applier.abandoned]).toEqual(ids(1, 3))
    expect(await applier.drained(10_000)).toBe(true)
    expect([...lane.holds]).toEqual(ids(1, 3).map((id) => [id, 'voided']))
    expect(applier.abandoned.size).toBe(0)
    expect([...lane.made.values()].every((times) => times === 1)).toBe(true)
  },
)

test('a reserve that only waited in the queue when the lane was lost is never made', async () => {
  const applier = applierOf({ batchMax: 2 })
  lane.fates.push('lost before')
  expect(outcomes(await all(applier, ids(1, 4)))).toEqual(Array(4).fill('unavailable'))
  await applier.drained(10_000)
  expect([...lane.holds.keys()]).toEqual([1n, 2n])
})

test('an end that only waited in the queue when the lane was lost is applied when it is back', async () => {
  const applier = applierOf({ batchMax: 2 })
  await all(applier, ids(1, 4))
  lane.fates.push('lost before')
  expect(outcomes(await all(applier, ids(1, 4), captureOf))).toEqual(Array(4).fill('captured'))
})

test('while the lane is lost a new reserve is refused at once, and an end waits for the lane', async () => {
  const applier = applierOf()
  await applier.submit(reserveOf(1n))
  lane.fates.push(...Array<'lost before'>(4).fill('lost before'))
  const capture = applier.submit(captureOf(1n))
  await vi.waitFor(() => expect(applier.failing).toBe(true))
  const sent = lane.flushes.length
  await expect(applier.submit(reserveOf(2n))).rejects.toMatchObject({ code: 'unavailable', retryAfterMs: 1000 })
  expect(lane.flushes.length).toBe(sent)
  expect((await capture).status).toBe('captured')
  expect(applier.failing).toBe(false)
  expect(lane.holds.has(2n)).toBe(false)
  expect((await applier.submit(reserveOf(3n))).status).toBe('reserved')
})

test('the patience of a caller ends at its last millisecond, not after it', async () => {
  const still = { ...systemClock, monotonicMs: () => 0 }
  const applier = applierOf({ patienceMs: 0, clock: still })
  lane.fates.push('lost before')
  await expect(applier.submit(captureOf(1n))).rejects.toMatchObject({ code: 'unavailable' })
  await applier.drained(10_000)
})

test('an end whose caller lost patience is applied all the same', async () => {
  const applier = applierOf({ patienceMs: 0 })
  await applier.submit(reserveOf(1n))
  lane.fates.push('lost before')
  await expect(applier.submit(captureOf(1n))).rejects.toMatchObject({ code: 'unavailable' })
  await applier.drained(10_000)
  expect(lane.holds.get(1n)).toBe('captured')
  expect(applier.abandoned.size).toBe(0)
  // and is not undone: it is sent until it is answered, and nothing after it
  expect(lane.flushes).toEqual([[1n], [1n], [1n]])
})

test.each([[[7]], [[1, 32]], [[10, 11, 12, 13]]])(
  'poisoned operations %j are found by halving and refused alone; all others are applied once',
  async (poisoned) => {
    const applier = applierOf()
    for (const holdId of poisoned) lane.poison.add(BigInt(holdId))
    const settled = outcomes(await all(applier, ids(1, 32)))
    expect(settled).toEqual(ids(1, 32).map((id) => (lane.poison.has(id) ? '22003' : 'reserved')))
    expect([...lane.holds.keys()].sort((a, b) => Number(a - b))).toEqual(
      ids(1, 32).filter((id) => !lane.poison.has(id)),
    )
    expect([...lane.made.values()].every((times) => times === 1)).toBe(true)
    expect(trouble).toHaveLength(poisoned.length)
  },
)

test('a poisoned flush that is also lost on the way comes to the same end', async () => {
  const applier = applierOf()
  await all(applier, ids(1, 8))
  lane.poison.add(3n)
  lane.fates.push('applied', 'lost after', 'lost before', 'applied', 'lost after')
  expect(outcomes(await all(applier, ids(1, 8), captureOf))).toEqual(
    ids(1, 8).map((id) => (id === 3n ? '22003' : 'captured')),
  )
  expect([...lane.made.values()].every((times) => times === 1)).toBe(true)
})

test('a lane that comes back with an error of its own takes new reserves again', async () => {
  const applier = applierOf()
  lane.poison.add(1n)
  lane.fates.push('lost before')
  await expect(applier.submit(reserveOf(1n))).rejects.toMatchObject({ code: 'unavailable' })
  await applier.drained(10_000)
  expect(applier.failing).toBe(false)
  expect((await applier.submit(reserveOf(2n))).status).toBe('reserved')
})

test('beyond its bound the queue refuses reserves as overloaded and still takes ends', async () => {
  const applier = applierOf({ queueMax: 3 })
  await applier.submit(reserveOf(1n))
  const open = closeGate()
  const running = applier.submit(reserveOf(2n))
  await vi.waitFor(() => expect(lane.flushes).toHaveLength(2))
  const waiting = all(applier, ids(3, 5))
  await expect(applier.submit(reserveOf(6n))).rejects.toMatchObject({ code: 'overloaded', retryAfterMs: 1000 })
  const end = applier.submit(captureOf(1n))
  open()
  expect((await end).status).toBe('captured')
  expect(outcomes(await waiting)).toEqual(Array(3).fill('reserved'))
  await running
  expect(lane.holds.has(6n)).toBe(false)
})

test('a closed applier refuses reserves and still takes ends', async () => {
  const applier = applierOf()
  await applier.submit(reserveOf(1n))
  await applier.close()
  await expect(applier.submit(reserveOf(2n))).rejects.toMatchObject({ code: 'shutting_down', retryAfterMs: 1000 })
  expect((await applier.submit(captureOf(1n))).status).toBe('captured')
})

test('waiting for the applier ends when time runs out, and when everything has its answer', async () => {
  const applier = applierOf()
  const open = closeGate()
  const reserve = applier.submit(reserveOf(1n))
  expect(await applier.drained(1)).toBe(false)
  open()
  expect(await applier.drained(10_000)).toBe(true)
  await reserve
  // one that has nothing to do is waited for by nobody
  expect(await applier.drained(0)).toBe(true)
})

test('the oldest open hold is kept while its reserve or its end may still be applied, and forgotten once neither can', async () => {
  const applier = applierOf({ queueMax: 1, patienceMs: 0 })
  let next = 0n
  const ledger = createLedger(applier, {
    next: async () => (next += 1n),
    get lowest() {
      return next + 1n
    },
  })
  const reserve = async () => {
    const { operation: _, ...wanted } = reserveOf(await ledger.nextHoldId()) as Extract<
      ReturnType<typeof reserveOf>,
      { operation: 'reserve' }
    >
    return ledger.reserve(wanted)
  }
  lane.fates.push('lost after', 'lost before')
  await expect(reserve()).rejects.toMatchObject({ code: 'unavailable' })
  expect(ledger.oldestOpenHoldId).toBe(1n)
  await applier.drained(10_000)
  expect(lane.holds.get(1n)).toBe('voided')
  expect(ledger.oldestOpenHoldId).toBe(2n)

  const open = closeGate()
  const running = reserve()
  await vi.waitFor(() => expect(lane.flushes.at(-1)).toEqual([2n]))
  const waiting = reserve()
  await vi.waitFor(() => expect(applier.depth).toBe(2))
  await expect(reserve()).rejects.toMatchObject({ code: 'overloaded' })
  expect([...ledger.openHoldIds]).toEqual([2n, 3n])
  open()
  await Promise.all([running, waiting])

  lane.fates.push('lost before')
  await expect(ledger.end({ operation: 'unknown', holdId: 2n, reason: 'a test' })).rejects.toMatchObject({
    code: 'unavailable',
  })
  expect(ledger.oldestOpenHoldId).toBe(2n)
  await applier.drained(10_000)
  expect(ledger.oldestOpenHoldId).toBe(3n)
})

test('an outage is told of once, however often the flush is sent again', async () => {
  const applier = applierOf()
  lane.fates.push('lost before', 'lost before', 'lost before')
  await all(applier, ids(1, 1), captureOf)
  expect(trouble).toHaveLength(1)
  lane.fates.push('lost before')
  await all(applier, ids(2, 2), captureOf)
  expect(lane.flushes).toHaveLength(6)
  expect(trouble).toEqual(Array(2).fill('the ledger lane is lost; the same flush is sent again'))
})

test('answers of which one is too many are given to nobody: they could be the answers of others', async () => {
  const own = lane
  const generous = {
    ...own,
    apply: async (operations: Parameters<FakeLane['apply']>[0]) => {
      const answers = await own.apply(operations)
      return [...answers, ...answers.slice(0, 1)]
    },
  }
  const settled = await all(applierOf({ lane: generous }), ids(1, 2))
  expect(settled.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
})
