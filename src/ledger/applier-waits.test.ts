import { beforeEach, expect, test, vi } from 'vitest'
import { systemClock } from '../kernel/clock.ts'
import { type Applier, type ApplierOptions, createApplier } from './applier.ts'
import { captureOf, createFakeLane, type FakeLane, reserveOf } from './fake-lane.fixture.ts'

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

test('closing the applier closes its lane', async () => {
  const close = vi.spyOn(lane, 'close')
  await applierOf().close()
  expect(close).toHaveBeenCalledTimes(1)
})

test('a lost flush is sent again after 20 ms, then each time after twice as long, and never later than after a second', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout'] })
  try {
    const applier = applierOf()
    lane.fates.push(...Array<'lost before'>(8).fill('lost before'))
    const capture = applier.submit(captureOf(1n))
    while (vi.getTimerCount() === 0) await new Promise((resolve) => setImmediate(resolve))
    let sent = 1
    for (const delayMs of [20, 40, 80, 160, 320, 640, 1000, 1000]) {
      await vi.advanceTimersByTimeAsync(delayMs - 1)
      expect([delayMs, lane.flushes.length]).toEqual([delayMs, sent])
      await vi.advanceTimersByTimeAsync(1)
      sent += 1
      expect([delayMs, lane.flushes.length]).toEqual([delayMs, sent])
    }
    await capture
  } finally {
    vi.useRealTimers()
  }
})

test('a flush that met another transaction crosswise is sent again as it was, and refuses nobody', async () => {
  vi.spyOn(lane, 'apply').mockRejectedValueOnce(Object.assign(new Error('could not serialize'), { code: '40001' }))
  const applier = applierOf()
  const answers = await Promise.all([1n, 2n, 3n].map((id) => applier.submit(reserveOf(id))))
  expect(answers.map(({ status }) => status)).toEqual(Array(3).fill('reserved'))
  expect(lane.flushes).toEqual([[1n, 2n, 3n]])
  expect(trouble).toEqual([])
})

test('an abandoned reserve that the ledger refuses in the end has nothing to release', async () => {
  const applier = applierOf()
  const answer = { amountMicro: undefined, availableMicro: 0n, detail: undefined }
  lane.fates.push('lost before')
  await expect(applier.submit(reserveOf(1n))).rejects.toMatchObject({ code: 'unavailable', retryAfterMs: 1000 })
  vi.spyOn(lane, 'apply').mockResolvedValueOnce([{ status: 'insufficient_credits', ...answer }])
  expect(await applier.drained(10_000)).toBe(true)
  expect(lane.flushes).toEqual([[1n]])
  expect(applier.abandoned.size).toBe(0)
})

test('the release of an abandoned hold that the ledger refuses is told of', async () => {
  const applier = applierOf()
  lane.fates.push('lost after')
  await expect(applier.submit(reserveOf(1n))).rejects.toMatchObject({ code: 'unavailable' })
  const apply = lane.apply.bind(lane)
  vi.spyOn(lane, 'apply').mockImplementation((operations) => {
    if (operations.some(({ operation }) => operation === 'void')) lane.poison.add(1n)
    return apply(operations)
  })
  expect(await applier.drained(10_000)).toBe(true)
  expect(trouble).toEqual([
    'the ledger lane is lost; the same flush is sent again',
    'the ledger refused void of hold 1',
    'an abandoned hold is not released yet',
  ])
  // nothing of it is on its way any more
  expect(applier.abandoned.size).toBe(0)
})

test('every flush is reported with its size and how long it took', async () => {
  let now = 1000
  const flushes: unknown[] = []
  const applier = applierOf({
    clock: { ...systemClock, monotonicMs: () => now },
    onFlush: (report) => flushes.push(report),
  })
  const gate = Promise.withResolvers<void>()
  lane.gate = gate.promise
  const flush = Promise.all([1n, 2n, 3n].map((id) => applier.submit(reserveOf(id))))
  await vi.waitFor(() => expect(lane.flushes).toHaveLength(1))
  now += 25
  gate.resolve()
  await flush
  expect(flushes).toEqual([{ size: 3, durationMs: 25 }])
})
